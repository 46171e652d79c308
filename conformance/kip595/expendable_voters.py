"""Answers and requests from which a voter may end: what it never does, even so, and what becomes of its process (KIP-595)."""

from hypothesis.strategies import integers, sampled_from

from conformance.core.checks import Claims, held_if, kept_if, premise, probe
from conformance.judging.facts.quorum import Stored
from conformance.rigs.quorum.candidates import other_peer
from conformance.rigs.quorum.expendable import EXPENDABLE, Expendable
from conformance.rigs.quorum.frozen import OUTSIDER, PEERS, LogEnd, epoch_of, log_end_of, no_ops
from conformance.rigs.quorum.quorum import LISTENER, leader_in
from fixtures.cluster.config import peer_host, peer_port
from protocol.codes import Error
from protocol.log import EpochAndOffset, LeaderAndEpoch
from protocol.quorum import Listener
from protocol.words import say
from strategies.inputs import NEAR_EPOCHS_AHEAD, versions_back

LEADERS = sampled_from(PEERS)


@probe("KIP595-FETCH-12", rig=EXPENDABLE, cases=["below-hw"], examples=2, smoke=False, leader=LEADERS, committed=integers(2, 8),
       more=integers(1, 4), cut=integers(1, 10))  # fmt: skip
def committed_records_outlive_a_divergence(
    voter: Expendable, leader: int, committed: int, more: int, cut: int
) -> Claims:
    """A follower that learns of a divergence below its high watermark keeps all records below that."""
    first = voter.follow(leader, ahead=5)
    start, epoch = log_end_of(first).offset, epoch_of(first)
    known = start + committed
    singles = [no_ops(1, offset, epoch - 3) for offset in range(start, known)]
    fetch = voter.feed(first, *singles, high_watermark=known)
    fetch = voter.feed(fetch, no_ops(more, known, epoch - 1), high_watermark=known)
    taken = log_end_of(fetch) == LogEnd(epoch - 1, known + more)
    yield premise(taken, f"a log up to {known + more}: {say(fetch)}", promised=("KIP595-FETCH-10", "position"))
    before = [batch for batch in voter.log_on_disk() if batch.last_offset < known]
    voter.give_up()
    # Both the epoch and its end are in the voter's log, so that nothing but the high watermark speaks against them.
    diverging = EpochAndOffset(epoch - 3, known - min(cut, committed - 1))
    delivered = voter.serve(fetch, diverging=diverging, high_watermark=known)
    yield premise(delivered, "a divergence that reached the voter in time")
    seen = voter.watch()
    after = voter.log_on_disk()
    kept = [batch for batch in after if batch.last_offset < known]
    left = after[-1].last_offset + 1 if after else 0
    detail = f"high watermark {known}, then {say(diverging)}: its log ended at {known + more}, now at {left}"
    yield held_if(kept == before, detail=detail)
    yield voter.record_fate(seen)


@probe("KIP595-BEGIN-05", rig=EXPENDABLE, cases=["second-leader"], smoke=False, leader=LEADERS, ahead=NEAR_EPOCHS_AHEAD,
       older=versions_back(1))  # fmt: skip
def second_leader_of_an_epoch_is_not_followed(voter: Expendable, leader: int, ahead: int, older: int) -> Claims:
    """A follower that is told of a second leader in its epoch keeps the first, whatever becomes of its process."""
    epoch = epoch_of(voter.follow(leader, ahead))
    first = LeaderAndEpoch(leader, epoch)
    yield premise(
        voter.quorum_state().leader == first, f"{say(first)} on disk", promised=("KIP595-BEGIN-01", "version-0")
    )
    voter.give_up()
    version = voter.version("BeginQuorumEpoch", older)
    answer = voter.attempt(lambda: voter.begin(other_peer(leader), epoch, version=version))
    seen = voter.watch()
    stored, known = voter.quorum_state(), voter.known_leader()
    kept = stored.leader == first and known in (None, first)
    detail = f"told of {other_peer(leader)} after {say(first)}: it reports {say(known)}, and has {say(stored)} on disk"
    yield held_if(kept, *([answer] if answer else []), detail=detail)
    yield voter.record_fate(seen)


@probe(
    "KIP595-BEGIN-06",
    "KIP595-BEGIN-06-L",
    rig=EXPENDABLE,
    smoke=False,
    leader=LEADERS,
    ahead=NEAR_EPOCHS_AHEAD,
    through=LEADERS,
)
def leader_outside_the_voters(
    voter: Expendable, case: str, expected: str, leader: int, ahead: int, through: int
) -> Claims:
    """Up to 3.7 a voter refuses a leader that is no voter; from 3.8 on it follows one whose address it is told, and without
    an address its quorum-state never has a second leader in one epoch."""
    epoch = epoch_of(voter.follow(leader, ahead))
    before, newer = voter.quorum_state(), LeaderAndEpoch(OUTSIDER, epoch + ahead)
    voter.give_up()
    named = case == "endpoints"
    address = (Listener(LISTENER, peer_host(through), peer_port(through)),) if named else ()
    answer = voter.attempt(
        lambda: voter.client.begin_quorum_epoch(
            newer.leader_id,
            newer.leader_epoch,
            cluster_id=voter.cluster_id,
            leader_endpoints=address,
            version=voter.version("BeginQuorumEpoch"),
        )
    )
    if not named:
        known = answer is None or answer.error is not Error.INCONSISTENT_VOTER_SET
        yield kept_if("KIP595-BEGIN-06-L", known, *([answer] if answer else []))
    if expected == "INCONSISTENT_VOTER_SET":
        refused = answer is not None and answer.error is Error.INCONSISTENT_VOTER_SET
        same = voter.quorum_state() == before and voter.known_leader() == before.leader
        yield held_if(refused and same, *([answer] if answer else []), detail=f"then {say(voter.quorum_state())}")
    elif named:
        fetched = voter.fetch_in(newer.leader_epoch, through) is not None
        stored = voter.quorum_state()
        followed = answer is not None and answer.error is Error.NONE and leader_in(answer) == newer
        on_disk = stored.leader == newer
        detail = f"it has {say(stored)}, and fetched from that address: {say(fetched)}"
        yield held_if(followed and on_disk and fetched, *([answer] if answer else []), detail=detail)
    else:
        seen = voter.watch()
        stored = voter.quorum_state()
        yield held_if(is_safe(before, stored, newer), detail=f"{say(newer)} after {say(before)}: now {say(stored)}")
        yield voter.record_fate(seen)


def is_safe(before: Stored, stored: Stored, newer: LeaderAndEpoch) -> bool:
    """True if a voter that was told of a newer leader has its state of before on disk, or the newer epoch with that leader or
    none."""
    if stored == before:
        return True
    return (
        stored.leader_epoch == newer.leader_epoch
        and stored.leader_id in (newer.leader_id, -1)
        and stored.voted_id == -1
    )
