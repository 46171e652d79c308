"""The state that a voter recovers after it was killed (KIP-595)."""

from hypothesis.strategies import sampled_from

from conformance.core.checks import Claims, held_if, premise, probe
from conformance.judging.facts.quorum import Stored
from conformance.rigs.quorum.candidates import is_vote, other_peer
from conformance.rigs.quorum.durable import durable_if
from conformance.rigs.quorum.frozen import FROZEN, PEERS, Frozen, LogEnd
from conformance.rigs.quorum.quorum import stored_or_not
from conformance.rigs.quorum.voter_restarts import kill_and_restart
from protocol.codes import Error
from protocol.log import FetchOptions, FetchPartition, LeaderAndEpoch
from protocol.quorum import METADATA
from protocol.words import say
from strategies.inputs import NEAR_EPOCHS_AHEAD, near_or_far

CANDIDATES = sampled_from(PEERS)


@probe("KIP595-VOTE-12", "KIP595-FETCH-10", rig=FROZEN, examples=2, candidate=CANDIDATES, ahead=NEAR_EPOCHS_AHEAD)
def vote_survives_a_kill(frozen: Frozen, candidate: int, ahead: int) -> Claims:
    """A voter that is killed right after it granted its vote still has the vote on disk, and grants no other; nor does
    it forget its log."""
    end = frozen.log_end()
    epoch = frozen.next_epoch(ahead)
    given = frozen.vote(candidate, epoch, end)
    arrived, left = frozen.bench.now().unix_ms, kill_and_restart(frozen)
    yield premise(given.vote_granted, "a vote that was granted", promised=("KIP595-VOTE-02", "granted"))
    before, stored = stored_or_not(left), frozen.quorum_state()
    kept = before == stored == Stored(-1, epoch, candidate)
    detail = f"the answer: it has {say(before)} while the voter is down, {say(stored)} after its restart"
    yield from durable_if(kept, left, arrived, given, case="stored", detail=detail)
    refused = frozen.vote(other_peer(candidate), epoch, LogEnd(end.epoch, end.offset + 1))
    yield held_if(is_vote(refused, granted=False), given, refused, case="other-candidate")
    again = frozen.vote(candidate, epoch, end)
    yield held_if(is_vote(again, granted=True), given, again, case="same-candidate")
    recovered = frozen.log_end()
    detail = f"its log ended at {say(end)}; after its restart it fetches from {say(recovered)}"
    yield held_if(recovered == end, row="KIP595-FETCH-10", case="position", detail=detail)


@probe("KIP595-VOTE-13", "KIP595-VOTE-11", "KIP595-VOTE-18", rig=FROZEN, candidate=CANDIDATES,
       beyond=near_or_far(1000, 0), smoke=False)  # fmt: skip
def restarted_leader_neither_votes_nor_leads(frozen: Frozen, candidate: int, beyond: int) -> Claims:
    """A killed leader restarts as resigned: it keeps its epoch, neither votes nor leads in it, and may lead a later
    one."""
    epoch = frozen.lead()
    before = frozen.log_on_disk()
    kill_and_restart(frozen)
    yield premise(frozen.reported_leader().leader_epoch <= epoch, f"no epoch after {epoch}: it asked for no votes yet")
    stored = frozen.quorum_state()
    end = before[-1].last_offset + 1 + beyond
    vote = frozen.vote(candidate, epoch, LogEnd(epoch - 1, end))
    refused = is_vote(vote, granted=False)
    yield held_if(refused, vote, case="vote")
    yield held_if(refused and frozen.quorum_state() == stored, vote, row="KIP595-VOTE-11", case="resigned")
    if frozen.pre_votes:
        asked = frozen.vote(candidate, epoch, LogEnd(epoch, end), pre_vote=True)
        granted = asked.error is Error.NONE and asked.vote_granted
        yield held_if(granted, asked, row="KIP595-VOTE-18", case="resigned")
    fetch = frozen.client.fetch(
        FetchPartition(METADATA, 0, 0, current_leader_epoch=epoch, last_fetched_epoch=0),
        FetchOptions(cluster_id=frozen.cluster_id),
    )
    named = fetch.current_leader == LeaderAndEpoch(frozen.id, epoch)
    yield held_if(fetch.error is Error.NOT_LEADER_OR_FOLLOWER and named and not fetch.batches, fetch, case="fetch")
    described = frozen.client.describe_quorum()
    yield held_if(described.error is Error.NOT_LEADER_OR_FOLLOWER, described, case="describe-quorum")
    after = frozen.log_on_disk()
    again = frozen.lead()
    later = frozen.log_on_disk()
    appended = [batch for batch in later[len(before) :] if batch.leader_epoch == epoch]
    kept = after == before == later[: len(before)] and not appended
    detail = f"{len(before)} batches before, {len(after)} after, {len(appended)} when it led {again} after {epoch}"
    yield held_if(kept and again > epoch, case="no-append", detail=detail)
