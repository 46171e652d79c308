"""Committed offsets of a new topic with the name of a deleted one, by the answers of its coordinator (GEN-22)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, repeat
from typing import cast
from uuid import UUID

import pytest

from conformance.core.bench import Bench
from conformance.judging.excuses import STARVED
from conformance.kip320.coordinator_failover import Commits, GroupCommit
from protocol.codes import Error
from protocol.groups import CommittedOffset, OffsetFetchAnswer
from protocol.messages import Topic
from tests.support.clocked_bench import ClockedBench, results

NEW = Topic("topic", UUID(int=2))
OLD = CommittedOffset(version=8, partition=0, error=Error.NONE, offset=7, leader_epoch=2)
AT_ZERO = CommittedOffset(version=8, partition=0, error=Error.NONE, offset=0)
NONE = CommittedOffset(version=8, partition=0, error=Error.NONE)
REFUSED = CommittedOffset(version=8, partition=0, error=Error.UNKNOWN_TOPIC_OR_PARTITION)


class Answered(Commits):
    """Groups that committed for a topic which is deleted; each has these answers about the new one, the last one forever."""

    def __init__(self, *answers: list[CommittedOffset], late: float = 0.0) -> None:
        self.bench = cast(Bench, ClockedBench(late=late))
        self.sent = [GroupCommit(f"group-{n}", 7, 2) for n in range(len(answers))]
        self._answers: dict[str, Iterator[CommittedOffset]] = {
            commit.group: chain(given, repeat(given[-1])) for commit, given in zip(self.sent, answers, strict=True)
        }

    def fetch(self, commit: GroupCommit, topic: Topic | None = None, version: int = -1) -> OffsetFetchAnswer:
        assert (topic, version) == (NEW, 8)
        return OffsetFetchAnswer(version=8, partitions=(next(self._answers[commit.group]),))


@pytest.mark.parametrize("answers", [[NONE], [OLD, OLD, NONE], [REFUSED, NONE]])
def test_a_coordinator_that_hears_of_the_deletion_holds(answers: list[CommittedOffset]) -> None:
    assert results(Answered(answers).none_of(NEW, "undisturbed", 8)) == [("undisturbed", "held")]


@pytest.mark.parametrize("answers", [[OLD], [AT_ZERO], [REFUSED, OLD], [REFUSED]])
def test_a_coordinator_that_keeps_them_is_seen(answers: list[CommittedOffset]) -> None:
    assert results(Answered(answers).none_of(NEW, "coordinator-down", 8)) == [("coordinator-down", "violated")]


def test_groups_are_observed_up_to_the_first_that_has_an_offset() -> None:
    commits = Answered([NONE], [OLD], [NONE])
    assert [result for _, result in results(commits.none_of(NEW, "undisturbed", 8))] == ["held", "violated"]


def test_a_wait_in_which_the_kit_starved_shows_nothing() -> None:
    assert results(Answered([OLD], late=8.0).none_of(NEW, "undisturbed", 8)) == [("undisturbed", STARVED.name)]
    assert results(Answered([NONE], late=8.0).none_of(NEW, "undisturbed", 8)) == [("undisturbed", "held")]
