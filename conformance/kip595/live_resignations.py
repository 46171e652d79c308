"""A leader of five that resigns, and what it tells the other voters, which the kit plays (KIP-595)."""

from collections.abc import Iterator
from contextlib import contextmanager

from hypothesis.strategies import permutations

from conformance.core.checks import Claims, held_if, premise, probe
from conformance.core.waiting import Settled
from conformance.rigs.quorum.fetching import own_end
from conformance.rigs.quorum.frozen import REQUEST_TIMEOUT, SOON
from conformance.rigs.quorum.live import (
    CHECK_QUORUM,
    LIVE_RIG_OF_FIVE,
    NOT_LED,
    SLACK,
    LiveOfFive,
    React,
    first_on_time,
)
from conformance.rigs.quorum.voter_restarts import await_answer
from history.readings import Received
from protocol.codes import Error
from protocol.words import say

ORDER = permutations(LiveOfFive.others)
"""The other voters, by their fetch offsets, the largest first."""
TOLD_WITHIN = (CHECK_QUORUM + REQUEST_TIMEOUT + SLACK) / 1000
"""Seconds after the last fetch within which a leader has resigned and told all voters so."""
REPEATS_WITHIN = (REQUEST_TIMEOUT + SLACK) / 1000
"""Seconds within which an unanswered request comes again."""
SHUTDOWN = 10.0
"""Seconds within which a leader that is shut down has told all voters twice: those of its process to get there, and more."""


def lead_with_followers(live: LiveOfFive, order: list[int]) -> int:
    """Make the voter leader, with followers that have fetched up to different offsets. Return its epoch, NOT_LED if it does
    not lead for so long."""
    epoch = live.lead_by(*order[:2])
    *behind, first = reversed(order)
    reached = epoch != NOT_LED and all(has_grown(live, epoch, order[:2], voter) for voter in behind)
    return epoch if reached and has_grown(live, epoch, [first], first) else NOT_LED


def has_grown(live: LiveOfFive, epoch: int, fetching: list[int], voter: int) -> bool:
    """Let some voters fetch until the leader's log has grown; then fetch as this voter, which so has more than those that
    fetched before it. Return False if the log does not grow."""
    before = own_end(live.id, live.describe())

    def grows() -> bool:
        for one in fetching:
            live.fetch_to_end(one, epoch)
        return own_end(live.id, live.describe()) > before

    grown = live.bench.wait.becomes_true(grows, f"a log that ends after {before}", SOON)
    return grown.outcome is True and live.fetch_to_end(voter, epoch).error is Error.NONE


@contextmanager
def shut_down(live: LiveOfFive) -> Iterator[None]:
    """Begin a shutdown of the voter before the block, and start it again after it."""
    live.bench.processes.terminate(live.name)
    try:
        yield
    finally:
        live.bench.processes.stop(live.name)
        live.bench.processes.start(live.name)
        await_answer(live)


def successors(end: Received) -> list[int]:
    """Return the preferred successors in EndQuorumEpoch; from version 1 they have a directory id, too."""
    listed = end.partition.get("preferred_candidates") or []
    return [one["candidate_id"] for one in listed] or list(end.partition.get("preferred_successors") or [])


def await_ends(live: LiveOfFive, epoch: int, react: React, times: dict[int, int], within: float) -> Settled:
    """Wait until EndQuorumEpoch came to each of these peers this many times."""
    return live.answer_while_waiting(
        lambda: all(len(live.requests("EndQuorumEpoch", epoch, peer)) >= count for peer, count in times.items()),
        react,
        f"EndQuorumEpoch of epoch {epoch} at all voters",
        within,
    )


def names_successors(live: LiveOfFive, epoch: int, order: list[int]) -> bool:
    """True if each EndQuorumEpoch of this epoch is in the voter's own name, and lists the other voters by their fetch offsets,
    the largest first."""
    ends = live.requests("EndQuorumEpoch", epoch)
    return all(live.sent_as_leader(end) and successors(end) == order for end in ends)


def ends_in_words(live: LiveOfFive, epoch: int, order: list[int]) -> str:
    ends = live.requests("EndQuorumEpoch", epoch)
    lists = {tuple(successors(end)) for end in ends}
    named = sorted({end.partition["leader_id"] for end in ends})
    return (
        f"EndQuorumEpoch of epoch {epoch} and leader {say(named)} came to {say([end.peer for end in ends])} "
        f"with the successors {say(sorted(lists))}; "
        f"by fetch offset they are {say(order)}"
    )


@probe("KIP595-END-04", rig=LIVE_RIG_OF_FIVE, cases=["check-quorum"], examples=2, order=ORDER)
def leader_without_fetches_names_successors(live: LiveOfFive, order: list[int]) -> Claims:
    """A leader that resigns for lack of fetches tells all voters so, with the follower that has most records first."""
    epochs: list[int] = []

    def lead_and_resign() -> Settled:
        epochs.append(lead_with_followers(live, order))
        return await_ends(live, epochs[-1], live.granting(()), dict.fromkeys(order, 1), TOLD_WITHIN)

    sent_to_all, epoch = first_on_time(lead_and_resign), epochs[-1]
    yield premise(epoch != NOT_LED, "a leader with followers at different offsets")
    right = names_successors(live, epoch, order)
    yield held_if(sent_to_all.require_also(right), detail=ends_in_words(live, epoch, order))


@probe("KIP595-END-04", rig=LIVE_RIG_OF_FIVE, cases=["shutdown", "silent-voter"], examples=2, smoke=False, order=ORDER)
def leader_that_is_shut_down_names_successors(live: LiveOfFive, order: list[int]) -> Claims:
    """A leader that is shut down tells all voters so, again while one of them does not answer, with the follower that has
    most records first."""
    silent = order[-1]
    epoch = lead_with_followers(live, order)
    yield premise(epoch != NOT_LED, "a leader with followers at different offsets")
    unanswered, all_answer = live.granting((), silent=[silent]), live.granting(())
    with shut_down(live):
        sent_to_all = await_ends(live, epoch, unanswered, dict.fromkeys(order, 1), SHUTDOWN)
        again = await_ends(live, epoch, unanswered, {silent: 2}, REPEATS_WITHIN)
        await_ends(live, epoch, all_answer, {silent: 3}, REPEATS_WITHIN)  # So that it need not wait any more.
    right, shown = names_successors(live, epoch, order), ends_in_words(live, epoch, order)
    yield held_if(sent_to_all.require_also(right), case="shutdown", detail=shown)
    yield held_if(again.require_also(right), case="silent-voter", detail=f"{silent} was silent; {shown}")
