"""BeginQuorumEpoch and EndQuorumEpoch at a voter without a leader, and its quorum-state by then (KIP-595, KIP-853)."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any
from uuid import UUID

from hypothesis.strategies import integers, sampled_from

from conformance.core.checks import Claim, held_if, premise, probe
from conformance.rigs.quorum.candidates import BEHIND, other
from conformance.rigs.quorum.frozen import FROZEN, PEERS, REQUEST_TIMEOUT, Frozen, candidate_epoch, epoch_of
from conformance.rigs.quorum.quorum import Stored, of
from fixtures.cluster import Received
from fixtures.wire import Error
from fixtures.wire.log import LeaderAndEpoch
from strategies.epochs import NEAR_EPOCHS_AHEAD
from strategies.requests import versions_back

LEADERS = sampled_from(PEERS)
BACKOFF_MAX = 1000
"""controller.quorum.election.backoff.max.ms, at its default."""
OVER = 200
"""Milliseconds after a wait in which an election would become visible."""
LATE = 1000
"""Milliseconds of delay that a busy machine may add."""


@probe(
    "KIP595-BEGIN-01",
    "KIP595-QS-02",
    rig=FROZEN,
    cases=["version-0", "version-1"],
    leader=LEADERS,
    ahead=NEAR_EPOCHS_AHEAD,
)
def newer_leader_is_followed(frozen: Frozen, case: str, leader: int, ahead: int) -> Generator[Claim, None, None]:
    """A voter that learns of a newer epoch's leader has it on disk before it answers, and fetches from it."""
    epoch = frozen.next_epoch(ahead)
    version = 0 if case == "version-0" else frozen.version("BeginQuorumEpoch")
    answer = frozen.begin(leader, epoch, version=version)
    stored = frozen.stored()
    fetch = frozen.fetch_in(epoch, leader)
    on_disk = stored == Stored(leader, epoch, -1)
    followed = answer.error is Error.NONE and of(answer) == LeaderAndEpoch(leader, epoch) and fetch is not None
    yield held_if(followed and on_disk, answer, detail=f"{answer}; {stored}; fetch: {fetch is not None}")
    if answer.error is Error.NONE:
        yield held_if(on_disk, answer, row="KIP595-QS-02", case="begin", detail=f"{stored}")


@probe("KIP595-BEGIN-02", rig=FROZEN, leader=LEADERS, ahead=NEAR_EPOCHS_AHEAD, older=versions_back(1))
def leader_of_the_present_epoch_is_followed(
    frozen: Frozen, case: str, leader: int, ahead: int, older: int
) -> Generator[Claim, None, None]:
    """A voter without a leader in its epoch follows the one that BeginQuorumEpoch names, whichever candidate it voted for."""
    epoch = _without_leader(frozen, leader if case == "voted-for-leader" else other(leader), ahead, case != "no-vote")
    yield premise(frozen.reported() == LeaderAndEpoch(-1, epoch), f"no leader in epoch {epoch}")
    answer = frozen.begin(leader, epoch, version=frozen.version("BeginQuorumEpoch", older))
    stored = frozen.stored()
    fetch = frozen.fetch_in(epoch, leader)
    followed = answer.error is Error.NONE and of(answer) == stored.leader == LeaderAndEpoch(leader, epoch)
    yield held_if(followed and fetch is not None, answer, detail=f"{answer}; {stored}; fetch: {fetch is not None}")


def _without_leader(frozen: Frozen, candidate: int, ahead: int, granted: bool) -> int:
    """Move the voter to a new epoch, in which it votes for a candidate or not at all."""
    end = frozen.log_end()
    epoch = frozen.next_epoch(ahead)
    frozen.vote(candidate, epoch, end if granted else BEHIND)
    return epoch


@probe("KIP595-QS-03", rig=FROZEN, cases=["follower"], leader=LEADERS, voted_for=LEADERS, ahead=NEAR_EPOCHS_AHEAD)
def following_on_disk(
    frozen: Frozen, expected: str, leader: int, voted_for: int, ahead: int
) -> Generator[Claim, None, None]:
    """On disk a follower has its leader; its vote of the same epoch is dropped up to 3.9 and kept from 4.0."""
    epoch = _without_leader(frozen, voted_for, ahead, granted=True)
    yield premise(frozen.stored() == Stored(-1, epoch, voted_for), "a vote on disk")
    answer = frozen.begin(leader, epoch)
    stored = frozen.stored()
    vote = voted_for if expected == "VOTE_KEPT" else -1
    yield held_if(stored == Stored(leader, epoch, vote) and _settled_state(frozen), answer, detail=f"{stored}")


@probe("KIP595-QS-03", rig=FROZEN, cases=["candidate", "leader"], leader=LEADERS, ahead=NEAR_EPOCHS_AHEAD)
def candidate_and_leader_on_disk(frozen: Frozen, case: str, leader: int, ahead: int) -> Generator[Claim, None, None]:
    """On disk a candidate has voted for itself, and a leader has itself as leader."""
    epoch = candidate_epoch(frozen.candidate(leader, ahead)) if case == "candidate" else frozen.lead(leader, ahead)
    stored = frozen.stored()
    # A leader may keep on disk the vote for itself that made it one.
    expected = Stored(-1, epoch, frozen.id) if case == "candidate" else Stored(frozen.id, epoch, stored.voted_id)
    yield held_if(stored == expected and _settled_state(frozen), detail=f"{case} of epoch {epoch}: {stored}")


def _settled_state(frozen: Frozen) -> bool:
    return frozen.bench.read_file(frozen.name, "__cluster_metadata-0/quorum-state.tmp").content is None


@probe("KIP595-BEGIN-08", rig=FROZEN, leader=LEADERS, ahead=NEAR_EPOCHS_AHEAD, voter=integers(200, 1 << 30),
       directory=integers(2, 1 << 100))  # fmt: skip
def misaddressed_begin_is_refused(
    frozen: Frozen, case: str, leader: int, ahead: int, voter: int, directory: int
) -> Generator[Claim, None, None]:
    """A BeginQuorumEpoch for another voter id, or another directory of this voter, is answered INVALID_VOTER_KEY."""
    key: dict[str, Any] = {"voter_id": voter}
    if case == "directory-id":
        key = {"voter_id": frozen.id, "voter_directory_id": UUID(int=directory)}
    answer = frozen.begin(leader, frozen.next_epoch(ahead), **key)
    yield held_if(answer.error is Error.INVALID_VOTER_KEY, answer)


def resigned(frozen: Frozen, leader: int, successors: list[int]) -> tuple[Received, float]:
    """The voter's leader resigns. Returns the fetch that the leader leaves unanswered, and the time of the resignation."""
    fetch = frozen.follow(leader)
    began = frozen.bench.now().seconds
    frozen.end(leader, epoch_of(fetch), successors)
    return fetch, began


@probe("KIP595-END-02", rig=FROZEN, cases=["version-0", "version-1"], leader=LEADERS, more=sampled_from([0, 1, 2]))
def first_successor_is_a_candidate_at_once(
    frozen: Frozen, case: str, expected: str, leader: int, more: int
) -> Generator[Claim, None, None]:
    """The first successor asks for votes at once: in the next epoch up to 3.9, by a pre-vote in its own epoch from 4.0."""
    fetch = frozen.follow(leader)
    epoch = epoch_of(fetch)
    version = 0 if case == "version-0" else frozen.version("EndQuorumEpoch")
    began = frozen.bench.now().seconds
    answer = frozen.end(leader, epoch, [frozen.id, *PEERS[:more]], version=version)
    asked = frozen.vote_after(epoch)
    after = (asked.at - began) * 1000 if asked else -1
    pre_vote = asked is not None and bool(asked.partition.get("pre_vote", False))
    right_kind = pre_vote is (expected == "PRE_VOTE")
    right_epoch = asked is not None and candidate_epoch(asked) == (epoch if pre_vote else epoch + 1)
    at_once = right_kind and right_epoch and 0 <= after < LATE
    yield held_if(answer.error is Error.NONE and at_once, answer, detail=f"{answer}; after {after:.0f} ms: {asked}")


RANKS = {"first of two": (PEERS[:1], ()), "first of three": (PEERS[:1], PEERS[1:]), "last of three": (PEERS, ())}
"""The successors listed before the voter, and those after it."""


def backoff_ms(position: int, count: int) -> int:
    """Milliseconds that the successor at a position of the list waits (KIP-595, EndQuorumEpoch handling)."""
    return min(BACKOFF_MAX, (BACKOFF_MAX >> (count - 1)) << (position - 1))


@probe("KIP595-END-03", rig=FROZEN, cases=["ranked"], leader=LEADERS, rank=sampled_from(sorted(RANKS)))
def later_successor_waits_by_its_position(frozen: Frozen, leader: int, rank: str) -> Generator[Claim, None, None]:
    """A preferred successor that is not the first backs off in proportion to its position in the list."""
    before, behind = RANKS[rank]
    successors = [*before, frozen.id, *behind]
    wait = backoff_ms(len(before), len(successors))
    yield _becomes_candidate(frozen, leader, successors, wait, wait + LATE)


@probe("KIP595-END-03", rig=FROZEN, cases=["absent"], leader=LEADERS, listed=integers(1, 2))
def unlisted_voter_waits(frozen: Frozen, expected: str, leader: int, listed: int) -> Generator[Claim, None, None]:
    """A voter that is not listed becomes a candidate at once up to 3.8, and after the maximum backoff from 3.9."""
    at_once = expected == "ABSENT_AT_ONCE"
    wait, within = (0, BACKOFF_MAX) if at_once else (BACKOFF_MAX, BACKOFF_MAX + LATE)
    yield _becomes_candidate(frozen, leader, list(PEERS[:listed]), wait, within)


def _becomes_candidate(frozen: Frozen, leader: int, successors: list[int], earliest: int, latest: int) -> Claim:
    fetch, began = resigned(frozen, leader, successors)
    asked = frozen.vote_after(epoch_of(fetch))
    after = (asked.at - began) * 1000 if asked else -1
    return held_if(earliest <= after < latest, detail=f"after {after:.0f} ms of {earliest}, {successors}: {asked}")


def accepted(frozen: Frozen, fetch: Received) -> bool:
    """True if the voter took the answer to a fetch in time: an answer after its request timeout counts for nothing.

    Its next fetch tells when it was done with this one.
    """
    following = next(iter(frozen.left_open), None)
    return following is not None and (following.at - fetch.at) * 1000 < REQUEST_TIMEOUT


@probe("KIP595-END-03", rig=FROZEN, cases=["fetch-cancels"], leader=LEADERS, rank=sampled_from(sorted(RANKS)))
def successful_fetch_cancels_the_wait(frozen: Frozen, leader: int, rank: str) -> Generator[Claim, None, None]:
    """A successor whose leader serves a fetch before the wait is over does not become a candidate."""
    before, behind = RANKS[rank]
    successors = [*before, frozen.id, *behind]
    wait = backoff_ms(len(before), len(successors))
    fetch, began = resigned(frozen, leader, successors)
    delivered = frozen.serve(fetch)
    served = (frozen.bench.now().seconds - began) * 1000
    yield premise(delivered and served < wait, "a fetch that was served before the wait was over")
    asked = frozen.vote_after(epoch_of(fetch), within=(wait + OVER) / 1000)
    if asked is not None:
        yield premise(accepted(frozen, fetch), "an answer within the request timeout, as the next fetch shows")
    yield held_if(asked is None and frozen.reported() == LeaderAndEpoch(leader, epoch_of(fetch)), detail=f"{asked}")
