"""The observations of judges in a history, and the story that they read."""

from __future__ import annotations

from conformance.judging.excuses import Evidence
from conformance.judging.judge import Judge, judge_all, judge_history
from conformance.judging.judges import JUDGES
from conformance.judging.log.story import PartitionStory
from conformance.judging.reading import Reading
from conformance.judging.registry import EVERY_EVIDENCE
from history.observations import Observation
from tests.support.histories import LogHistory

WITH_WHAT_IS_TOLD = [judge for judge in JUDGES if judge.row not in ("GEN-15", "GEN-16")]
"""All judges but those that need requests which short histories leave out: writes of the records that are read, and
DeleteRecords."""


def judged_by(judge: Judge, history: LogHistory) -> list[Observation]:
    return judge(history.history)


def broken(judge: Judge, history: LogHistory) -> list[str]:
    """Return the cases in which the judge sees a violation."""
    return [o.case for o in judged_by(judge, history) if o.result == "violated"]


def held(judge: Judge, history: LogHistory) -> list[str]:
    """Return the cases that the judge sees held, in a history in which no judge sees a violation."""
    everything = judge_all(WITH_WHAT_IS_TOLD, history.history)
    assert [(o.requirement, o.case, o.detail) for o in everything if o.result == "violated"] == []
    return [o.case for o in judged_by(judge, history)]


def labels(judge: Judge, history: LogHistory) -> set[str]:
    """Return the names of the anomalies that the judge sees."""
    return {o.label for o in judged_by(judge, history) if o.result == "violated"}


def excused(judge: Judge, history: LogHistory) -> list[tuple[str, Evidence]]:
    """Return the cases that the judge leaves undecided, each with its evidence."""
    return [(one.case, named(one.excuse)) for one in judge_history([judge], history.history).excuses]


def named(name: str) -> Evidence:
    """Return the evidence of this name in the registry."""
    [found] = [one for one in EVERY_EVIDENCE if one.name == name]
    return found


def partition_story(history: LogHistory) -> PartitionStory:
    """Return the story of a history's only partition."""
    reading = Reading(history.example, [PartitionStory])
    reading.feed(history.events)
    [story] = reading.stories(PartitionStory)
    assert isinstance(story, PartitionStory)
    return story
