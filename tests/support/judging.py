"""Observations of judges in a history, and the story that they read."""

from __future__ import annotations

from conformance.judging.excuses import EVERY_EVIDENCE, Evidence
from conformance.judging.judge import Judge, judge_all, judge_history
from conformance.judging.judges import JUDGES
from conformance.judging.log.story import PartitionStory
from conformance.judging.reading import Reading
from history.observations import Observation
from tests.support.histories import LogHistory

WITH_WHAT_IS_TOLD = [judge for judge in JUDGES if judge.row not in ("GEN-15", "GEN-16")]
"""All judges but those of requests that short histories leave out: who wrote what is read, and who moved the log start."""


def judged_by(judge: Judge, history: LogHistory) -> list[Observation]:
    return judge(history.history)


def broken(judge: Judge, history: LogHistory) -> list[str]:
    """The cases in which the judge sees its row broken."""
    return [o.case for o in judged_by(judge, history) if o.result == "violated"]


def held(judge: Judge, history: LogHistory) -> list[str]:
    """The cases it sees held, in a history in which nothing is broken by any judge."""
    everything = judge_all(WITH_WHAT_IS_TOLD, history.history)
    assert [(o.requirement, o.case, o.detail) for o in everything if o.result == "violated"] == []
    return [o.case for o in judged_by(judge, history)]


def labels(judge: Judge, history: LogHistory) -> set[str]:
    """The anomalies by name that the judge sees."""
    return {o.label for o in judged_by(judge, history) if o.result == "violated"}


def excused(judge: Judge, history: LogHistory) -> list[tuple[str, Evidence]]:
    """The cases that the judge leaves undecided, each with its evidence."""
    return [(one.case, named(one.excuse)) for one in judge_history([judge], history.history).excuses]


def named(name: str) -> Evidence:
    """The evidence of this name in the registry."""
    [found] = [one for one in EVERY_EVIDENCE if one.name == name]
    return found


def partition_story(history: LogHistory) -> PartitionStory:
    """The story of the only partition of a history."""
    reading = Reading(history.example, [PartitionStory])
    reading.feed(history.events)
    [story] = reading.stories(PartitionStory)
    assert isinstance(story, PartitionStory)
    return story
