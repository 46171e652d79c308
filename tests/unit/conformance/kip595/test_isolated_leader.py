"""When a leader that is cut off gives up, by its answers and their times, and what it does then (KIP595-LIVE-06)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import cast

import msgspec
import pytest

from conformance.core.checks import Claim, ObservationClaim
from conformance.core.cluster import Moment
from conformance.judging.facts.quorum import Stored
from conformance.kip595.isolated_leader import Isolated, ResignedVoter, gives_up, resigned_keeps_its_vote
from conformance.rigs.quorum.quorum import ControllerCondition
from protocol.codes import Error
from protocol.log import LeaderAndEpoch
from protocol.quorum import METADATA_TOPIC, QuorumAnswer, VoteAnswer
from protocol.topics import CreatedTopic, CreateTopicsAnswer

LEADS = QuorumAnswer(version=2, topic=METADATA_TOPIC, partition=0, error=Error.NONE, leader_id=101, leader_epoch=3)
GONE = QuorumAnswer(version=2, topic=METADATA_TOPIC, partition=0, error=Error.NOT_LEADER_OR_FOLLOWER)
LOST = QuorumAnswer(version=2, topic=METADATA_TOPIC, partition=0, error=Error.UNKNOWN_SERVER_ERROR)


class Clock:
    """A bench whose time passes between two looks."""

    def __init__(self, begins: float, every: float, late: float = 0.0) -> None:
        self.seconds = begins - every
        self._every = every
        self._late = late

    def now(self) -> Moment:
        self.seconds += self._every
        return Moment(self.seconds, 0)

    @property
    def wait(self) -> Clock:
        return self

    def recorded_late(self, within: float) -> float:
        return self._late

    def becomes_true(self, probe: Callable[[], bool], what: str, within: float) -> None:
        any(probe() for _ in range(100))


class IsolatedUntil:
    """A leader that is looked at from `first` on, and leads until `gone` seconds after the cut."""

    def __init__(
        self,
        gone: float,
        first: float = 3.0,
        every: float = 0.25,
        late: float = 0.0,
        then: QuorumAnswer = GONE,
        writes: bool = False,
    ) -> None:
        self.bench = Clock(first, every, late)
        self._gone = gone
        self._then = then
        self._writes = writes

    def describe(self, name: str) -> QuorumAnswer:
        return LEADS if self.bench.seconds < self._gone else self._then

    def ask_resigned(self, name: str) -> ResignedVoter | None:
        return None

    def write_at(self, name: str) -> CreateTopicsAnswer | None:
        error = Error.NONE if self._writes else Error.NOT_CONTROLLER
        return CreateTopicsAnswer(version=7, topics=(CreatedTopic(name="zombie", error=error),))


def results(claims: Iterable[Claim]) -> list[tuple[str, str]]:
    return [(one.observation.case, one.observation.result) for one in claims if isinstance(one, ObservationClaim)]


def seen(isolated: IsolatedUntil) -> list[tuple[str, str]]:
    return results(gives_up(cast(Isolated, isolated), "controller-101", 0.0))


HELD, LATE, QUIET = ("cut", "held"), ("cut", "violated"), ("no-acknowledgement", "held")


@pytest.mark.parametrize(("gone", "found"), [(1.0, [HELD, QUIET]), (4.9, [HELD, QUIET]), (5.6, [LATE]), (60.0, [LATE])])
def test_it_gives_up_within_one_and_a_half_fetch_timeouts_and_two_seconds(
    gone: float, found: list[tuple[str, str]]
) -> None:
    assert seen(IsolatedUntil(gone)) == found


def test_a_leader_that_had_given_up_before_a_late_look_shows_nothing_but_its_writes() -> None:
    assert seen(IsolatedUntil(gone=3.0, first=7.0)) == [QUIET]
    assert seen(IsolatedUntil(gone=8.0, first=7.0)) == [LATE]


def test_a_kit_that_starved_meanwhile_leaves_it_open() -> None:
    assert seen(IsolatedUntil(gone=5.6, late=2.0)) == []
    assert seen(IsolatedUntil(gone=5.6, late=1.0)) == [LATE]


def test_another_error_is_no_resignation() -> None:
    assert seen(IsolatedUntil(gone=4.0, then=LOST)) == [LATE]
    assert seen(IsolatedUntil(gone=1.0, then=LOST)) == [LATE]


def test_a_write_that_it_acknowledges_after_its_resignation_is_a_violation() -> None:
    assert seen(IsolatedUntil(gone=4.0, writes=True)) == [HELD, ("no-acknowledgement", "violated")]


RESIGNED = ControllerCondition(LeaderAndEpoch(101, 3), Stored(101, 3, -1))
MOVED_ON = ControllerCondition(LeaderAndEpoch(-1, 4), Stored(-1, 4, -1))


def answer(granted: bool) -> VoteAnswer:
    return VoteAnswer(
        version=2,
        topic=METADATA_TOPIC,
        partition=0,
        error=Error.NONE,
        leader_id=101,
        leader_epoch=3,
        vote_granted=granted,
    )


def votes(
    vote: bool,
    pre_vote: bool | None,
    *,
    before: ControllerCondition = RESIGNED,
    after: ControllerCondition = RESIGNED,
) -> list[str]:
    asked = ResignedVoter(before, answer(vote), None if pre_vote is None else answer(pre_vote), after)
    claims = [one for one in resigned_keeps_its_vote(asked) if isinstance(one, ObservationClaim)]
    return [f"{one.observation.requirement} {one.observation.result}" for one in claims]


def test_a_resigned_leader_refuses_a_vote_and_grants_a_pre_vote() -> None:
    assert votes(False, True) == ["KIP595-VOTE-11 held", "KIP595-VOTE-18 held"]
    assert votes(False, None) == ["KIP595-VOTE-11 held"]
    assert votes(True, False) == ["KIP595-VOTE-11 violated", "KIP595-VOTE-18 violated"]


def test_a_release_that_knows_no_candidate_but_voters_shows_nothing() -> None:
    refused = msgspec.structs.replace(answer(False), error=Error.INCONSISTENT_VOTER_SET)
    assert list(resigned_keeps_its_vote(ResignedVoter(RESIGNED, refused, None, RESIGNED))) == []


def test_a_vote_on_its_disk_is_a_trace() -> None:
    traced = ControllerCondition(LeaderAndEpoch(101, 3), Stored(101, 3, 102))
    assert votes(False, True, after=traced) == ["KIP595-VOTE-11 violated", "KIP595-VOTE-18 violated"]


def test_a_leader_that_has_left_its_epoch_shows_nothing() -> None:
    assert votes(False, True, after=MOVED_ON) == []
    assert votes(False, True, before=ControllerCondition(LeaderAndEpoch(101, 3), Stored(-1, 3, 101))) == []
