"""BeginQuorumEpoch and EndQuorumEpoch at a voter without a leader, and its quorum-state at each answer (KIP-595,
KIP-853)."""

from math import inf
from typing import Any, NamedTuple
from uuid import UUID

from hypothesis.strategies import integers, sampled_from

from conformance.core.checks import Claims, held_if, kept_if, premise, probe
from conformance.judging.facts.quorum import Stored
from conformance.rigs.quorum.bounds import AT_ONCE, RequestWait, judge_waits, measure_waits
from conformance.rigs.quorum.candidates import BEHIND, other_peer
from conformance.rigs.quorum.durable import durable_if
from conformance.rigs.quorum.frozen import (
    FROZEN,
    PEERS,
    SOON,
    Frozen,
    LogEnd,
    candidate_epoch,
    epoch_of,
    log_end_of,
    no_ops,
)
from conformance.rigs.quorum.quorum import leader_in, stored_or_not
from fixtures.cluster.config import peer_host, peer_port
from fixtures.wire.records import encode_batch
from history.readings import Received
from protocol.cluster import Node
from protocol.codes import Error
from protocol.log import LeaderAndEpoch
from protocol.quorum import RaftAnswer, VoteAnswer
from protocol.words import say
from strategies.inputs import NEAR_EPOCHS_AHEAD, versions_back

LEADERS = sampled_from(PEERS)
BACKOFF_MAX = 1000
"""The default of controller.quorum.election.backoff.max.ms."""
OVER = 200
"""The milliseconds after a wait in which an election would become visible."""


@probe(
    "KIP595-BEGIN-01",
    "KIP595-QS-02",
    "KIP595-API-07",
    rig=FROZEN,
    cases=["version-0", "version-1"],
    leader=LEADERS,
    ahead=NEAR_EPOCHS_AHEAD,
)
def newer_leader_is_followed(frozen: Frozen, case: str, leader: int, ahead: int) -> Claims:
    """A voter that learns of a newer epoch's leader writes it to disk before it answers, and fetches from it."""
    epoch = frozen.next_epoch(ahead)
    version = 0 if case == "version-0" else frozen.version("BeginQuorumEpoch")
    answer = frozen.begin(leader, epoch, version=version)
    arrived, file = frozen.bench.now().unix_ms, frozen.quorum_state_file()
    stored = stored_or_not(file)
    fetch = frozen.fetch_in(epoch, leader)
    on_disk = stored == Stored(leader, epoch, -1)
    followed = answer.error is Error.NONE and leader_in(answer) == LeaderAndEpoch(leader, epoch) and fetch is not None
    yield held_if(
        followed and on_disk,
        answer,
        detail=f"its quorum-state has {say(stored)}; it fetched from {leader}: {say(fetch is not None)}",
    )
    if answer.error is Error.NONE:
        detail = f"the answer: it has {say(stored)}"
        yield from durable_if(on_disk, file, arrived, answer, row="KIP595-QS-02", case="begin", detail=detail)
    if version > 0 and answer.leader_id == leader:
        named = answer.node_endpoints == (Node(node_id=leader, host=peer_host(leader), port=peer_port(leader)),)
        yield held_if(named, answer, row="KIP595-API-07", case="begin")


@probe("KIP595-BEGIN-02", "KIP595-QS-02", "KIP595-API-06", rig=FROZEN, leader=LEADERS, ahead=NEAR_EPOCHS_AHEAD,
       older=versions_back(1))  # fmt: skip
def leader_of_the_present_epoch_is_followed(frozen: Frozen, case: str, leader: int, ahead: int, older: int) -> Claims:
    """A voter without a leader follows the one that BeginQuorumEpoch of its epoch names, whichever candidate it voted
    for."""
    candidate, granted = leader if case == "voted-for-leader" else other_peer(leader), case != "no-vote"
    vote, epoch = _without_leader(frozen, candidate, ahead, granted)
    row = ("KIP595-VOTE-02", "granted" if granted else "refused")
    yield premise(vote.vote_granted is granted, f"its vote in epoch {epoch} given or free", promised=row)
    yield premise(frozen.reported_leader() == LeaderAndEpoch(-1, epoch), f"no leader in epoch {epoch}", promised=row)
    answer = frozen.begin(leader, epoch, version=frozen.version("BeginQuorumEpoch", older))
    arrived, file = frozen.bench.now().unix_ms, frozen.quorum_state_file()
    stored = frozen.quorum_state()
    fetch = frozen.fetch_in(epoch, leader)
    followed = answer.error is Error.NONE and stored.leader == LeaderAndEpoch(leader, epoch)
    yield held_if(
        followed and fetch is not None,
        answer,
        detail=f"its quorum-state has {say(stored)}; it fetched from {leader}: {say(fetch is not None)}",
    )
    if answer.error is Error.NONE:
        led = LeaderAndEpoch(leader, epoch)
        yield held_if(leader_in(answer) == led, answer, row="KIP595-API-06", case="begin")
        at_once = stored_or_not(file)
        detail = f"the answer: it has {say(at_once)}"
        right = at_once.leader == led
        yield from durable_if(right, file, arrived, answer, row="KIP595-QS-02", case="begin", detail=detail)


def _without_leader(frozen: Frozen, candidate: int, ahead: int, granted: bool) -> tuple[VoteAnswer, int]:
    """Move the voter to a new epoch, in which it votes for a candidate or none. Return its answer and that epoch."""
    end = frozen.log_end()
    epoch = frozen.next_epoch(ahead)
    return frozen.vote(candidate, epoch, end if granted else BEHIND), epoch


@probe("KIP595-QS-03", rig=FROZEN, cases=["follower"], leader=LEADERS, voted_for=LEADERS, ahead=NEAR_EPOCHS_AHEAD)
def following_on_disk(frozen: Frozen, leader: int, voted_for: int, ahead: int) -> Claims:
    """A follower's quorum-state has its leader, and its vote of the same epoch, if any."""
    _, epoch = _without_leader(frozen, voted_for, ahead, granted=True)
    yield premise(
        frozen.quorum_state() == Stored(-1, epoch, voted_for), "a vote on disk", promised=("KIP595-QS-02", "vote")
    )
    answer = frozen.begin(leader, epoch)
    stored = frozen.quorum_state()
    legal = {Stored(leader, epoch, voted_for): "vote kept", Stored(leader, epoch, -1): "vote dropped"}
    held = stored in legal and _settled_state(frozen)
    yield held_if(held, answer, detail=f"its quorum-state has {say(stored)}", variant=legal.get(stored, ""))


@probe("KIP595-QS-03", rig=FROZEN, cases=["candidate", "leader"], leader=LEADERS, ahead=NEAR_EPOCHS_AHEAD)
def candidate_and_leader_on_disk(frozen: Frozen, case: str, leader: int, ahead: int) -> Claims:
    """A candidate's quorum-state has its vote for itself; a leader's names itself as leader and has no vote."""
    epoch = candidate_epoch(frozen.candidate(leader, ahead)) if case == "candidate" else frozen.lead(leader, ahead)
    stored = frozen.quorum_state()
    expected = Stored(-1, epoch, frozen.id) if case == "candidate" else Stored(frozen.id, epoch, -1)
    yield held_if(
        stored == expected and _settled_state(frozen),
        detail=f"as {case} of epoch {epoch} its quorum-state has {say(stored)}",
    )


def _settled_state(frozen: Frozen) -> bool:
    return frozen.bench.read_file(frozen.name, "__cluster_metadata-0/quorum-state.tmp").content is None


@probe("KIP595-BEGIN-08", rig=FROZEN, leader=LEADERS, ahead=NEAR_EPOCHS_AHEAD, voter=integers(200, 1 << 30),
       directory=integers(2, 1 << 100))  # fmt: skip
def misaddressed_begin_is_refused(
    frozen: Frozen, case: str, leader: int, ahead: int, voter: int, directory: int
) -> Claims:
    """A BeginQuorumEpoch for another voter id, or another directory of this voter, is answered INVALID_VOTER_KEY."""
    key: dict[str, Any] = {"voter_id": voter}
    if case == "directory-id":
        key = {"voter_id": frozen.id, "voter_directory_id": UUID(int=directory)}
    answer = frozen.begin(leader, frozen.next_epoch(ahead), **key)
    yield held_if(answer.error is Error.INVALID_VOTER_KEY, answer)


class Resignation(NamedTuple):
    """The resignation of the voter's leader: the unanswered fetch, the time in seconds, and the voter's answer."""

    fetch: Received
    at: float
    answer: RaftAnswer


def follow_and_resign(frozen: Frozen, leader: int, successors: list[int], version: int | None = None) -> Resignation:
    """Make the voter follow a leader, which then resigns."""
    fetch = frozen.follow(leader)
    at = frozen.bench.now().seconds
    answer = frozen.end(leader, epoch_of(fetch), successors, version=version)
    return Resignation(fetch, at, answer)


class Candidacy(NamedTuple):
    """The resignation of the voter's leader, and the voter's first request for votes after that; None if there is none."""

    resignation: Resignation
    asked: Received | None
    wait: RequestWait

    @property
    def pre_vote(self) -> bool:
        return self.asked is not None and bool(self.asked.partition.get("pre_vote", False))

    @property
    def right_epoch(self) -> bool:
        """True if it is a Vote in the next epoch, or a pre-vote in the same."""
        epoch = epoch_of(self.resignation.fetch)
        return self.asked is not None and candidate_epoch(self.asked) == (epoch if self.pre_vote else epoch + 1)


def candidacy(
    frozen: Frozen, leader: int, successors: list[int], share: float, version: int | None = None
) -> Candidacy:
    """Let the leader resign. The voter should become a candidate after `share` milliseconds.

    The step before, its fetch from that leader, involves no wait.
    """
    began = frozen.bench.now().seconds
    gone = follow_and_resign(frozen, leader, successors, version)
    asked = frozen.vote_after(epoch_of(gone.fetch))
    lasted = (asked.at - gone.at) * 1000 if asked else inf
    late = 0.0 if lasted < share + AT_ONCE else frozen.bench.wait.recorded_late(min(lasted / 1000, SOON))
    return Candidacy(gone, asked, RequestWait(lasted, (gone.fetch.at - began) * 1000, late))


def _asked_in_words(one: Candidacy) -> str:
    epoch = candidate_epoch(one.asked) if one.asked else -1
    return f"{'pre-vote' if one.pre_vote else 'Vote'} at epoch {epoch} after {epoch_of(one.resignation.fetch)}"


@probe(
    "KIP595-END-02",
    "KIP595-END-02-L",
    rig=FROZEN,
    cases=["version-0", "version-1"],
    leader=LEADERS,
    more=sampled_from([0, 1, 2]),
)
def first_successor_is_a_candidate_at_once(frozen: Frozen, case: str, expected: str, leader: int, more: int) -> Claims:
    """The first successor asks for votes at once: in the next epoch up to 3.9, by a pre-vote in its own epoch from 4.0."""
    version = 0 if case == "version-0" else frozen.version("EndQuorumEpoch")
    found: list[Candidacy] = []

    def wait() -> RequestWait:
        found.append(candidacy(frozen, leader, [frozen.id, *PEERS[:more]], 0, version))
        return found[-1].wait

    waits = measure_waits(wait, AT_ONCE)
    came = [one for one in found if one.asked is not None]
    right = all(one.right_epoch and one.pre_vote is (expected == "PRE_VOTE") for one in came)
    answers = [one.resignation.answer for one in found]
    accepted = all(answer.error is Error.NONE for answer in answers)
    yield from judge_waits(
        waits,
        0,
        *answers,
        right=right and accepted,
        detail=f", as first successor: {say([_asked_in_words(one) for one in came])}",
    )
    kept = bool(came) and all(one.pre_vote and one.right_epoch for one in came)
    yield kept_if("KIP595-END-02-L", kept, *answers)


RANKS = {"first of two": (PEERS[:1], ()), "first of three": (PEERS[:1], PEERS[1:]), "last of three": (PEERS, ())}
"""The successors listed before the voter, and those after it."""


def backoff_ms(position: int, count: int) -> int:
    """Return the milliseconds that a successor waits, by its place in the list (KIP-595, EndQuorumEpoch handling)."""
    return min(BACKOFF_MAX, (BACKOFF_MAX >> (count - 1)) << (position - 1))


@probe("KIP595-END-03", rig=FROZEN, cases=[rank.replace(" ", "-") for rank in RANKS], leader=LEADERS)
def later_successor_waits_by_its_position(frozen: Frozen, case: str, leader: int) -> Claims:
    """A successor after the first waits as long as its position says: not less, and not as long as the next one."""
    before, behind = RANKS[case.replace("-", " ")]
    successors = [*before, frozen.id, *behind]
    share = backoff_ms(len(before), len(successors))
    waits = measure_waits(lambda: candidacy(frozen, leader, successors, share).wait, share + AT_ONCE)
    yield from judge_waits(waits, share, detail=f", with the successors {say(successors)}")


@probe("KIP595-END-03", rig=FROZEN, cases=["absent"], leader=LEADERS, listed=integers(1, 2))
def unlisted_voter_waits(frozen: Frozen, leader: int, listed: int) -> Claims:
    """A voter that is not listed becomes a candidate after the maximum backoff at the latest."""
    successors = list(PEERS[:listed])
    waits = measure_waits(lambda: candidacy(frozen, leader, successors, BACKOFF_MAX).wait, BACKOFF_MAX + AT_ONCE)
    yield from judge_waits(waits, BACKOFF_MAX, at_most=True, detail=f", with the successors {say(successors)}")


@probe("KIP595-END-03", rig=FROZEN, cases=["fetch-cancels"], leader=LEADERS, rank=sampled_from(sorted(RANKS)))
def successful_fetch_cancels_the_wait(frozen: Frozen, leader: int, rank: str) -> Claims:
    """A successor to which its leader serves a record before the wait is over does not become a candidate."""
    before, behind = RANKS[rank]
    successors = [*before, frozen.id, *behind]
    wait = backoff_ms(len(before), len(successors))
    gone = follow_and_resign(frozen, leader, successors)
    epoch, start = epoch_of(gone.fetch), log_end_of(gone.fetch).offset
    delivered = frozen.serve(gone.fetch, records=encode_batch(no_ops(1, start, epoch)))
    yield premise(delivered, "a fetch that was served before the voter gave it up")
    asked = frozen.vote_after(epoch, within=(wait + OVER) / 1000)
    ends = [one.at for one in frozen.left_open if log_end_of(one) == LogEnd(epoch, start + 1)]
    in_time = bool(ends) and (ends[0] - gone.at) * 1000 < wait
    yield premise(in_time, "a record that was served before the wait was over, as the next fetch shows")
    follows = asked is None and frozen.reported_leader() == LeaderAndEpoch(leader, epoch)
    took = f"{leader} served it a record {(ends[0] - gone.at) * 1000:.0f} ms into its wait of {wait} ms"
    yield held_if(follows, detail=f"{took}; then it asked for votes: {say(asked is not None)}")


@probe(
    "KIP595-END-06",
    "KIP595-END-06-L",
    rig=FROZEN,
    cases=["forged"],
    smoke=False,
    leader=LEADERS,
    listed=sampled_from([0, 1]),
)
def forged_end_of_a_healthy_leader(frozen: Frozen, expected: str, leader: int, listed: int) -> Claims:
    """An EndQuorumEpoch that the leader never sent raises the epoch up to 3.9; from 4.0 on the other voters refuse the
    follower's pre-vote, and it returns to its leader in the same epoch."""
    fetch = frozen.follow(leader)
    led = LeaderAndEpoch(leader, epoch_of(fetch))
    answer = frozen.end(leader, led.leader_epoch, [frozen.id, *PEERS[:listed]])
    yield premise(answer.error is Error.NONE, f"an EndQuorumEpoch that is accepted: {answer}")
    asked = frozen.await_vote(led.leader_epoch)
    pre_vote, epoch = bool(asked.partition.get("pre_vote")), candidate_epoch(asked)
    if expected == "DEPOSED":
        stored = frozen.quorum_state()
        deposed = epoch == led.leader_epoch + 1 and stored == Stored(-1, epoch, frozen.id)
        yield held_if(deposed, answer, detail=f"after {say(led)} it asks for votes in {epoch}, and has {say(stored)}")
        yield kept_if("KIP595-END-06-L", False, answer)
        return
    again = frozen.fetch_while_refused(asked, led)
    found = frozen.condition()
    same = pre_vote and epoch == led.leader_epoch and found.reported == found.stored.leader == led
    detail = f"after {say(led)} it is at {say(found)}, and fetched again: {say(again is not None)}"
    yield held_if(same and again is not None, answer, detail=detail)
    yield kept_if("KIP595-END-06-L", same and again is not None, answer)
