"""Observations of judges in a history, and the story that they read."""

from __future__ import annotations

from conformance.judging.judge import Judge, judge_all, judged
from conformance.judging.log.judges import LOG_JUDGES
from conformance.judging.log.story import PartitionStory
from conformance.judging.reading import Reading
from history.observations import Observation
from tests.support.histories import LogHistory


def judged_by(judge: Judge, history: LogHistory) -> list[Observation]:
    return judge(history.history)


def broken(judge: Judge, history: LogHistory) -> list[str]:
    """The cases in which the judge sees its row broken."""
    return [o.case for o in judged_by(judge, history) if o.result == "violated"]


def held(judge: Judge, history: LogHistory) -> list[str]:
    """The cases it sees held, in a history in which nothing is broken by any judge."""
    everything = judge_all(LOG_JUDGES, history.history)
    assert [(o.requirement, o.case, o.detail) for o in everything if o.result == "violated"] == []
    return [o.case for o in judged_by(judge, history)]


def labels(judge: Judge, history: LogHistory) -> set[str]:
    """The anomalies by name that the judge sees."""
    return {o.label for o in judged_by(judge, history) if o.result == "violated"}


def excused(judge: Judge, history: LogHistory) -> list[tuple[str, str]]:
    """The cases that the judge leaves undecided, each with its excuse's name."""
    return [(one.case, one.excuse) for one in judged([judge], history.history).excuses]


def partition_story(history: LogHistory) -> PartitionStory:
    """The story of the only partition of a history."""
    reading = Reading(history.example, [PartitionStory])
    reading.feed(history.events)
    [story] = reading.stories(PartitionStory)
    assert isinstance(story, PartitionStory)
    return story
