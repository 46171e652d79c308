"""Steps that no election could bring about, as brokers last described their partitions."""

from __future__ import annotations

import pytest

from conformance.judging.elections_withheld import NEEDS_LEADERS, candidates, withheld_by_elections
from conformance.judging.excuses import NO_REPLICA_MAY_LEAD, PREFERRED_OUT_OF_SYNC, Evidence
from history.due import Due
from history.events import Overdue
from protocol.codes import Error
from protocol.topics import ElectionType, PartitionResult, PartitionResults
from tests.support.histories import TOPIC, LogHistory


class WithElections(LogHistory):
    """The same with elections of the preferred leader."""

    def elects_preferred(self, error: Error) -> WithElections:
        call = self._asked(1, "elect_leaders", [(TOPIC.name, 0)], ElectionType.PREFERRED)
        result = PartitionResult(version=2, topic=TOPIC.name, partition=0, error=error)
        return self._answered(call, PartitionResults(version=2, partitions=(result,)))


def overdue(history: LogHistory, due: Due = "leader") -> Overdue:
    """A wait of 30 s after the last event."""
    passed = history.events[-1].t + 30.0 if history.events else 30.0
    event = Overdue(n=len(history.events), t=passed, due=due, what="a leader", within=30.0)
    history.events.append(event)
    return event


def excuse(history: LogHistory, due: Due = "leader") -> Evidence | None:
    return withheld_by_elections(history.history, overdue(history, due))


def without_1() -> WithElections:
    return WithElections().kill(1)


def leaderless(isr: tuple[int, ...] = (1,), alive: tuple[int, ...] = (2, 3)) -> WithElections:
    return without_1().metadata(2, -1, 1, isr=isr, unfenced=alive)


def fenced_since_its_start(looks: int) -> WithElections:
    """Broker 1 is started, and a look each 10 s does not list it."""
    history = without_1().start(1)
    for _ in range(looks):
        history.later(10).metadata(2, -1, 1, isr=(1,), unfenced=(2, 3))
    return history


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        (WithElections(), None),
        (leaderless(), NO_REPLICA_MAY_LEAD),
        (leaderless(alive=(1, 2)), None),
        (leaderless(isr=()), None),
        (WithElections().metadata(2, 1, 1, isr=(1,), unfenced=(2, 3)), None),
        (leaderless().metadata(2, 2, 2, isr=(2, 3), unfenced=(2, 3)), None),
        (without_1().metadata(2, 2, 2).metadata(2, -1, 3, isr=(1,), unfenced=(2, 3)), NO_REPLICA_MAY_LEAD),
        (leaderless().metadata(3, 2, 2, isr=(2, 3), unfenced=(2, 3)), NO_REPLICA_MAY_LEAD),
        (leaderless().described(2, -1, 1, isr=(1,), eligible=(3,)), None),
        (leaderless().described(2, -1, 1, isr=(1,), eligible=(1,)), NO_REPLICA_MAY_LEAD),
        (leaderless().start(1), None),
        (fenced_since_its_start(looks=2), NO_REPLICA_MAY_LEAD),
        (fenced_since_its_start(looks=3), None),
        (WithElections().metadata(2, -1, 1, isr=(1,), unfenced=(2, 3)), None),
    ],
    ids=[
        "never described",
        "none alive",
        "one alive",
        "an empty ISR",
        "a leader",
        "a later leader",
        "no leader any more",
        "by the last answer of each broker",
        "an eligible one alive",
        "no eligible one alive",
        "described before a return",
        "described after a return",
        "fenced for longer than a start takes",
        "fenced though no fault hit it",
    ],
)
def test_no_replica_may_lead_if_none_of_isr_and_elr_is_alive(history: LogHistory, expected: Evidence | None) -> None:
    assert excuse(history) == expected


@pytest.mark.parametrize("due", sorted(NEEDS_LEADERS))
def test_whatever_needs_a_leader_is_excused(due: Due) -> None:
    assert excuse(leaderless(), due) == NO_REPLICA_MAY_LEAD


@pytest.mark.parametrize("due", ["quorum", "commit"])
def test_other_steps_are_not(due: Due) -> None:
    assert due not in NEEDS_LEADERS
    assert excuse(leaderless(), due) is None


def test_what_is_answered_later_excuses_nothing() -> None:
    history = WithElections()
    event = overdue(history)
    assert withheld_by_elections(history.metadata(2, -1, 1, isr=(1,), unfenced=(2, 3)).history, event) is None


class TestThePreferredLeader:
    @pytest.mark.parametrize(
        ("isr", "alive", "error", "expected"),
        [
            ((2, 3), (1, 2, 3), Error.PREFERRED_LEADER_NOT_AVAILABLE, PREFERRED_OUT_OF_SYNC),
            ((1, 2, 3), (2, 3), Error.PREFERRED_LEADER_NOT_AVAILABLE, PREFERRED_OUT_OF_SYNC),
            ((1, 2, 3), (1, 2, 3), Error.PREFERRED_LEADER_NOT_AVAILABLE, None),
            ((2, 3), (1, 2, 3), Error.NONE, None),
            ((2, 3), (1, 2, 3), Error.ELECTION_NOT_NEEDED, None),
        ],
        ids=["out of the ISR", "fenced", "in sync", "elected", "another error"],
    )
    def test_it_may_not_lead_while_it_is_out_of_sync_and_its_election_was_refused(
        self, isr: tuple[int, ...], alive: tuple[int, ...], error: Error, expected: Evidence | None
    ) -> None:
        history = WithElections().metadata(2, 2, 1, isr=isr, unfenced=alive).elects_preferred(error)
        assert excuse(history) == expected

    def test_the_last_election_counts(self) -> None:
        history = WithElections().metadata(2, 2, 1, isr=(2, 3))
        history.elects_preferred(Error.PREFERRED_LEADER_NOT_AVAILABLE).elects_preferred(Error.NONE)
        assert excuse(history) is None

    def test_an_unclean_election_says_nothing_of_it(self) -> None:
        history = WithElections().metadata(2, 2, 1, isr=(2, 3))
        assert excuse(history.elect_uncleanly(1, error=Error.PREFERRED_LEADER_NOT_AVAILABLE)) is None


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        (leaderless(isr=(1, 2)), [{1, 2}]),
        (leaderless(isr=()), [{1, 2, 3}]),
        (leaderless().described(2, -1, 1, eligible=(3,)), [{1, 3}]),
        (leaderless(isr=()).described(2, -1, 1, last_known=(3,)), [{3}]),
        (WithElections().metadata(2, 2, 1), []),
        (leaderless().metadata(3, 2, 2), []),
        (leaderless().restart(1), []),
    ],
    ids=["the ISR", "all replicas", "eligible too", "the last known", "led", "led by now", "described before a return"],
)
def test_candidates_are_those_that_may_lead_a_partition_without_a_leader(
    history: LogHistory, expected: list[set[int]]
) -> None:
    assert candidates(history.history, overdue(history)) == expected
