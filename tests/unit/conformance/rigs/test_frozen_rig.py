"""The request after an answer to a voter's fetch, if the voter may have given up on that fetch before it was answered."""

from math import inf
from typing import Any

import msgspec
import pytest

from conformance.core.checks import Claim, ExcuseClaim, ObservationClaim
from conformance.judging.excuses import GIVEN_UP, NODE_SLOW, STARVED, Evidence
from conformance.judging.facts.quorum import Stored
from conformance.kip595.frozen_begin_and_end import backoff_ms
from conformance.kip595.frozen_followers import sole_in_flight
from conformance.rigs.quorum.bounds import AT_ONCE, TRIES, RequestWait, bound_holds, judge_waits, measure_waits
from conformance.rigs.quorum.frozen import ANSWERS, Frozen, LogEnd, log_end_of
from conformance.rigs.quorum.quorum import stored_or_not
from fixtures.waiting import Overdue
from history.readings import File, Received
from protocol.log import EpochAndOffset
from tests.miniature.bench import mini_bench
from tests.miniature.core.cluster import MiniCluster

EPOCH, LEADER = 8, 3
HERE, THERE = LogEnd(7, 63), LogEnd(4, 57)


def fetch_from(end: LogEnd, number: int = 0) -> Received:
    """Each comes 300 ms after the one before: that was given up."""
    place = {"current_leader_epoch": EPOCH, "fetch_offset": end.offset, "last_fetched_epoch": end.epoch}
    return Received(number, LEADER, "Fetch", 16, {"topics": [{"partitions": [place]}]}, at=number * 0.3)


class Voter(Frozen):
    """It sends the fetches it is made with, one after each answer."""

    name = "controller-101"

    def __init__(self, *ends: LogEnd) -> None:
        self.bench = mini_bench(MiniCluster())
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


def test_each_fetch_that_was_given_up_is_counted() -> None:
    voter = Voter(HERE, HERE, THERE)
    assert after_divergence(voter) == THERE
    assert voter.bench.excuses == [GIVEN_UP] * 2


def test_a_voter_that_repeats_its_fetch_at_once_keeps_its_tail() -> None:
    voter = Voter(HERE, HERE)
    voter.fetches = [msgspec.structs.replace(one, at=0.02) for one in voter.fetches]
    assert after_divergence(voter) == HERE
    assert (len(voter.answered), voter.bench.excuses) == (1, [])


@pytest.mark.parametrize(("late", "end"), [(0.149, HERE), (0.151, THERE)])
def test_a_kit_that_woke_late_does_not_know_when_two_fetches_came(
    late: float, end: LogEnd, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It read both at the same moment: seen on a host without CPU to spare."""
    voter = Voter(HERE, THERE)
    voter.fetches = [msgspec.structs.replace(one, at=0.0) for one in voter.fetches]
    monkeypatch.setattr(voter.bench.wait, "seconds_late", lambda _: late)
    assert after_divergence(voter) == end


def test_a_voter_that_gives_up_each_time_is_not_answered_forever() -> None:
    voter = Voter(*[HERE] * 99)
    assert after_divergence(voter) == HERE
    assert len(voter.answered) == ANSWERS


def test_a_voter_that_falls_silent_gives_nothing() -> None:
    assert after_divergence(Voter(HERE)) is None


def test_records_are_served_again_too() -> None:
    voter = Voter(HERE, LogEnd(EPOCH, 70))
    assert log_end_of(voter.feed(fetch_from(HERE))) == LogEnd(EPOCH, 70)
    assert voter.answered == [0, 1]
    with pytest.raises(Overdue, match="does not go on") as passed:
        Voter().feed(fetch_from(HERE))
    assert passed.value.due == "next fetch"


STATE = b'{"leaderId":-1,"leaderEpoch":3,"votedId":2,"other":0,"data_version":0}'


@pytest.mark.parametrize("content", [None, b"", STATE[:20], STATE + STATE, STATE.replace(b":0}", b":9}")])
def test_a_missing_or_damaged_quorum_state_equals_nothing(content: bytes | None) -> None:
    first, second = stored_or_not(File(content)), stored_or_not(File(content))
    assert first != second
    assert first != Stored(-2, -2, -2)
    assert stored_or_not(File(STATE)) == Stored(-1, 3, 2)


@pytest.mark.parametrize(("seconds", "alone"), [(0.0, False), (0.14, False), (0.278, True), (0.3, True)])
def test_a_fetch_that_was_given_up_is_not_in_flight(seconds: float, alone: bool) -> None:
    """A voter gives up after 300 ms; on a busy machine the two fetches were seen 278 ms apart."""
    later = msgspec.structs.replace(fetch_from(HERE), at=seconds)
    assert sole_in_flight(fetch_from(HERE), later) == alone
    assert sole_in_flight(fetch_from(HERE), None)


# --- waits that a requirement bounds


def result(claim: Claim) -> str:
    if isinstance(claim, ExcuseClaim):
        return claim.evidence.name
    assert isinstance(claim, ObservationClaim)
    return claim.observation.result


def test_a_wait_that_is_too_long_is_measured_twice_more() -> None:
    """Two of three say what the median is."""
    waits = iter([RequestWait(lasted, 5.0) for lasted in (700.0, 260.0, 690.0)])
    assert [one.lasted for one in measure_waits(lambda: next(waits), 450.0)] == [700.0, 260.0, 690.0]
    assert [one.lasted for one in measure_waits(lambda: RequestWait(260.0, 5.0), 450.0)] == [260.0]


def test_a_voter_that_is_late_two_times_of_three_is_recorded_as_late() -> None:
    late = [RequestWait(lasted, 5.0) for lasted in (700.0, 260.0, 690.0)]
    judged, recorded = judge_waits(late, 250.0)
    assert (result(judged), result(recorded)) == ("held", "recorded")
    assert isinstance(recorded, ObservationClaim)
    assert recorded.observation.detail == "late: the median of 3 waits is 690 ms; due after 250 ms"
    _, prompt = judge_waits([RequestWait(260.0, 5.0)], 250.0)
    assert isinstance(prompt, ObservationClaim)
    assert prompt.observation.detail.startswith("in time: the median of 1 waits is 260 ms")


def test_a_wait_that_is_the_same_for_all_positions_is_seen() -> None:
    """For the position with the shortest share it is too long, however often it is measured."""
    waits = measure_waits(lambda: RequestWait(512.0, 5.0), backoff_ms(1, 3) + AT_ONCE)
    assert len(waits) == TRIES
    assert result(bound_holds(waits, backoff_ms(1, 3))) == "violated"
    assert result(bound_holds(waits, backoff_ms(1, 2))) == "held"


@pytest.mark.parametrize(
    ("lasted", "shown"), [(199.0, "violated"), (250.0, "held"), (449.0, "held"), (450.0, "violated"), (inf, "violated")]
)
def test_a_wait_is_neither_shorter_than_its_share_nor_much_longer(lasted: float, shown: Evidence | str) -> None:
    assert result(bound_holds([RequestWait(lasted, 5.0)], 250.0)) == str(shown)


def test_a_wait_of_at_most_a_bound_may_be_shorter() -> None:
    assert result(bound_holds([RequestWait(3.0, 5.0)], 1000.0, at_most=True)) == "held"
    assert result(bound_holds([RequestWait(1200.0, 5.0)], 1000.0, at_most=True)) == "violated"


@pytest.mark.parametrize(("steps", "shown"), [((5.0, 65.0), NODE_SLOW), ((5.0, 60.0), "violated")])
def test_a_wait_is_excused_where_a_step_without_waiting_was_similarly_slow(
    steps: tuple[float, float], shown: str
) -> None:
    """It is 250 ms too long, which a step of 65 ms explains, as less than four times that."""
    assert result(bound_holds([RequestWait(500.0, step) for step in steps], 250.0)) == str(shown)
    assert result(bound_holds([RequestWait(inf, step) for step in steps], 250.0)) == "violated"


@pytest.mark.parametrize(("late", "shown"), [((0.12, 0.2), STARVED), ((0.12, 0.11), "violated")])
def test_waits_are_excused_where_the_kit_starved_each_time(late: tuple[float, float], shown: Evidence | str) -> None:
    """A quarter of 450 ms is 112 ms."""
    assert result(bound_holds([RequestWait(600.0, 5.0, one) for one in late], 250.0)) == str(shown)


@pytest.mark.parametrize(("late", "shown"), [(2.5, STARVED), (2.4, "violated")])
def test_a_wait_without_end_is_excused_only_by_starvation_of_ten_seconds(late: float, shown: Evidence | str) -> None:
    assert result(bound_holds([RequestWait(inf, 900.0, late)], 250.0)) == str(shown)


def test_slowness_excuses_nothing_else_that_is_wrong() -> None:
    assert result(bound_holds([RequestWait(500.0, 400.0)], 250.0, right=False)) == "violated"
