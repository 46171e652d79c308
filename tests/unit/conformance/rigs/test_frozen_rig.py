"""The request after an answer to a voter's fetch, if the voter may have given up on that fetch before it was answered."""

from typing import Any

import msgspec
import pytest

from conformance.kip595.frozen_begin_and_end import accepted
from conformance.kip595.frozen_followers import sole_in_flight
from conformance.rigs.quorum.frozen import Frozen, LogEnd, log_end_of
from fixtures.cluster import Received
from fixtures.errors import KitError
from fixtures.wire.log import EpochAndOffset

EPOCH, LEADER = 8, 3
HERE, THERE = LogEnd(7, 63), LogEnd(4, 57)


def fetch_from(end: LogEnd, number: int = 0) -> Received:
    place = {"current_leader_epoch": EPOCH, "fetch_offset": end.offset, "last_fetched_epoch": end.epoch}
    return Received(number, LEADER, "Fetch", 16, {"topics": [{"partitions": [place]}]}, at=0.0)


class Voter(Frozen):
    """It sends the fetches it is made with, one after each answer."""

    name = "controller-101"

    def __init__(self, *ends: LogEnd) -> None:
        self.fetches = [fetch_from(end, number) for number, end in enumerate(ends, 1)]
        self.answered: list[int] = []

    def serve(self, fetch: Received, **answer: Any) -> bool:
        self.answered.append(fetch.number)
        return True

    def fetch_in(self, epoch: int, leader: int) -> Received | None:
        assert (epoch, leader) == (EPOCH, LEADER)
        return self.fetches.pop(0) if self.fetches else None


def after_divergence(voter: Voter) -> LogEnd | None:
    following = voter.diverge(fetch_from(HERE), EpochAndOffset(5, 60))
    return None if following is None else log_end_of(following)


def test_the_fetch_after_the_answer_is_the_one_that_counts() -> None:
    voter = Voter(THERE)
    assert (after_divergence(voter), voter.answered) == (THERE, [0])


def test_a_fetch_that_was_given_up_is_answered_again() -> None:
    voter = Voter(HERE, THERE)
    assert (after_divergence(voter), voter.answered) == (THERE, [0, 1])


def test_a_voter_that_keeps_its_tail_is_seen_to() -> None:
    voter = Voter(HERE, HERE, HERE, HERE)
    assert after_divergence(voter) == HERE
    assert len(voter.answered) == 3


def test_a_voter_that_falls_silent_gives_nothing() -> None:
    assert after_divergence(Voter(HERE)) is None


def test_records_are_served_again_too() -> None:
    voter = Voter(HERE, LogEnd(EPOCH, 70))
    assert log_end_of(voter.feed(fetch_from(HERE))) == LogEnd(EPOCH, 70)
    assert voter.answered == [0, 1]
    with pytest.raises(KitError, match="did not go on"):
        Voter().feed(fetch_from(HERE))


@pytest.mark.parametrize(("next_at", "taken"), [((0.2,), True), ((0.299, 0.9), True), ((0.48,), False), ((), False)])
def test_an_answer_counts_if_the_next_fetch_came_within_the_request_timeout(
    next_at: tuple[float, ...], taken: bool
) -> None:
    voter = Voter()
    voter.left_open = [msgspec.structs.replace(fetch_from(HERE, n), at=at) for n, at in enumerate(next_at, 1)]
    assert accepted(voter, fetch_from(HERE)) is taken


@pytest.mark.parametrize(("seconds", "alone"), [(0.0, False), (0.14, False), (0.278, True), (0.3, True)])
def test_a_fetch_that_was_given_up_is_not_in_flight(seconds: float, alone: bool) -> None:
    """A voter gives up after 300 ms; on a busy machine the two fetches were seen 278 ms apart."""
    later = msgspec.structs.replace(fetch_from(HERE), at=seconds)
    assert sole_in_flight(fetch_from(HERE), later) == alone
    assert sole_in_flight(fetch_from(HERE), None)
