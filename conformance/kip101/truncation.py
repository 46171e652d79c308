"""The two data losses behind KIP-101: truncation to the high watermark, and diverging logs after a hard crash."""

from functools import partial
from itertools import pairwise

from hypothesis.strategies import integers

from conformance.core.checks import Claims, held_if, premise
from conformance.rigs.log.crashes import LAGGING_TRIO, PAIR, AcknowledgedRecord, Crashing
from conformance.rigs.log.partition import Boundary
from conformance.rigs.log.quiescence import at_rest
from conformance.rigs.log.scenarios import log_scenario
from protocol.codes import Error
from protocol.words import say

# --- KIP101-SC-01: an acknowledged record and truncation to the high watermark

ACKNOWLEDGED = 2
"""The number of records acknowledged before anything else happens."""


def acknowledged_records_survive(
    partition: Crashing, written: list[AcknowledgedRecord], ends: list[int], leader: int, case: str
) -> Claims:
    """Check that the log end of the now leading replica never fell, and that it has all acknowledged records."""
    read = partition.read(leader)
    rose = ends[0] >= ACKNOWLEDGED and all(one <= other for one, other in pairwise(ends))
    detail = f"{say(written)} were acknowledged; its log ended at {say(list(dict.fromkeys(ends)))}"
    yield held_if(rose and all(one.is_kept_in(read) for one in written), read, case=case, detail=detail)


@log_scenario("KIP101-SC-01", "KIP101-TRUNC-01", rig=LAGGING_TRIO)
def kept_over_an_epoch_change(partition: Crashing) -> Claims:
    """A follower whose high watermark lags restarts fetching at a new epoch, and then its leader dies."""
    leader, follower, third = partition.replicas
    written = partition.write_acknowledged(b"m1", b"m2")
    before = partition.state_by(leader)
    yield partition.premise_of_lag(follower, ACKNOWLEDGED)
    partition.assign(leader, follower)
    ends = partition.poll_log_ends(
        follower, partial(partition.acting_state, follower, above=before.leader_epoch), "a higher epoch"
    )
    after, lagging = partition.state_by(follower), partition.premise_of_lag(follower, ACKNOWLEDGED)
    partition.kill(leader)
    ends += partition.poll_log_ends(
        follower, partial(partition.state_if_led_by, follower), "the follower as the leader", "leader"
    )
    yield lagging
    yield premise(before.leader == after.leader == leader, f"{leader} leads all the time: {before}, {after}")
    what = f"without {third} the epoch rose from {before.leader_epoch} to {after.leader_epoch}"
    yield premise(before.leader_epoch < after.leader_epoch, what, promised=("KIP101-EPOCH-03", "removal"))
    yield from acknowledged_records_survive(partition, written, ends, follower, "epoch-change")
    partition.start(leader)
    at_rest(partition)


@log_scenario("KIP101-SC-01", "KIP101-TRUNC-01", rig=LAGGING_TRIO)
def kept_over_a_restart(partition: Crashing) -> Claims:
    """A follower is killed and restarted; as soon as it is in sync again, its high watermark lagging, its leader dies."""
    leader, follower, third = partition.replicas
    written = partition.write_acknowledged(b"m1", b"m2")
    partition.kill(follower)
    partition.wait_until(lambda: partition.state_with_isr(leader, leader, third), f"an ISR without {follower}")
    partition.start(follower)
    ends = partition.poll_log_ends(follower, lambda: partition.is_listed(leader, follower), f"{follower} unfenced")
    # A fetch is still delayed that was sent when the follower was fenced: its answer, and the next fetch, bring it into
    # the ISR.
    written += partition.write_acknowledged(b"m3", by=leader)
    whole = partial(partition.state_with_isr, leader, leader, follower, third)
    ends += partition.poll_log_ends(follower, whole, f"{follower} in the ISR again")
    yield partition.premise_of_lag(follower, written[-1].offset + 1)
    partition.kill(leader)
    ends += partition.poll_log_ends(
        follower, partial(partition.state_if_led_by, follower), "the follower as the leader", "leader"
    )
    yield from acknowledged_records_survive(partition, written, ends, follower, "restart")
    partition.start(leader)
    at_rest(partition)


# --- KIP101-SC-02: two histories after a hard crash


def former_leader_returns(partition: Crashing, id: int, before: int) -> Claims:
    """Check EPOCH-05: a former leader that returns while all other brokers are down leads at a new epoch."""
    state = partition.await_leadership(id, above=-1)
    end = partition.await_log_end(id)
    entry = Boundary(state.leader_epoch, end)
    detail = f"Metadata had epoch {before}, and then {state}"
    yield held_if(state.leader_epoch > before, row="KIP101-EPOCH-05", case="metadata", detail=detail)
    entries = partition.entries(id, lambda found: entry in found)
    detail = f"epoch {state.leader_epoch} began at {end}; the leader epoch cache has {say(entries)}"
    yield held_if(entry in entries, row="KIP101-EPOCH-05", case="entry", detail=detail)


@log_scenario("KIP101-SC-02", "KIP101-TRUNC-02", "KIP101-EPOCH-05", rig=PAIR)
def orphan_is_truncated(partition: Crashing) -> Claims:
    """Both replicas are killed; the first to return has lost a record and writes another, which the second must adopt."""
    first, second = partition.replicas
    bystander = partition.bystander()
    kept, orphan = partition.write_acknowledged(b"m1", b"m2")
    partition.kill(first)
    before = partition.await_leadership(second, isr={second})
    partition.kill(second)
    partition.wait_until(lambda: partition.state_without_leader(bystander), "no leader")
    cut = partition.disk(second).cut_log(orphan.offset)
    held = partition.disk(first).read_replica()
    yield premise(cut.before == held.log_end == orphan.offset + 1, f"both held the orphan: {say(cut)}, {say(held)}")
    partition.start(second)
    yield from former_leader_returns(partition, second, before.leader_epoch)
    [other] = partition.write_acknowledged(b"m3", by=second)
    yield premise(
        other.offset == orphan.offset and other.epoch > before.leader_epoch, f"{say(other)} in place of {say(orphan)}"
    )
    partition.start(first)
    partition.await_in_sync(lambda: partition.state_with_isr(second, first, second), "both in sync")
    yield from without_orphan(partition, first, second, [kept, other], orphan)
    at_rest(partition)


def without_orphan(
    partition: Crashing, first: int, second: int, written: list[AcknowledgedRecord], orphan: AcknowledgedRecord
) -> Claims:
    """Check that the replica with the orphan has the leader's log as soon as it is in sync (TRUNC-02)."""
    mine, theirs = partition.read(first), partition.read(second)
    entry = Boundary(written[-1].epoch, written[-1].offset)
    entries = partition.entries(first, lambda found: entry in found)
    same = mine.batches == theirs.batches and all(one.is_kept_in(mine) for one in written)
    detail = f"the leader epoch cache of {first} has {say(entries)}"
    held = same and not orphan.is_kept_in(mine) and entry in entries
    yield held_if(held, mine, theirs, row="KIP101-TRUNC-02", case="orphan", detail=detail)


@log_scenario(
    "KIP101-SC-02", "KIP101-TRUNC-02", rig=PAIR, cases=["trimmed"], trimmed=integers(1, 3), above=integers(1, 3)
)
def orphans_are_truncated_after_a_trim(partition: Crashing, trimmed: int, above: int) -> Claims:
    """The replica that lost its suffix writes one batch in its place, and deletes records up to an offset inside that batch.

    The other still has the orphans, also above that offset.
    """
    first, second = partition.replicas
    bystander = partition.bystander()
    _, *lost = partition.write_acknowledged(b"kept", *(b"orphan %d" % n for n in range(trimmed + above)))
    partition.kill(first)
    before = partition.await_leadership(second, isr={second})
    partition.kill(second)
    partition.wait_until(lambda: partition.state_without_leader(bystander), "no leader")
    cut = partition.disk(second).cut_log(lost[0].offset)
    held = partition.disk(first).read_replica()
    yield premise(cut.before == held.log_end == lost[-1].offset + 1, f"both held the orphans: {say(cut)}, {say(held)}")
    partition.start(second)
    led = partition.await_leadership(second, above=before.leader_epoch)
    node = partition.bench.node(second)
    written = partition.write(*[b"in one batch"] * (trimmed + 1), to=node)
    start = written.base_offset + trimmed
    answer = node.delete_records(partition.name, partition.index, start)
    yield premise(
        written.base_offset == lost[0].offset, f"{written} at epoch {led.leader_epoch} in place of {say(lost)}"
    )
    trimmed_there = (answer.error, answer.low_watermark) == (Error.NONE, start)
    yield premise(trimmed_there, f"deleted up to {start}: {answer}", promised=("KIP320-DR-02", "low-watermark"))
    partition.start(first)
    at_rest(partition)
    joined = first in partition.await_agreement().isr
    yield from without_suffix(partition, first, second, joined=joined)
    if not joined:  # so that the next check starts with a healthy cluster
        node.delete_topics([partition.name])


def without_suffix(partition: Crashing, first: int, second: int, *, joined: bool) -> Claims:
    """Check TRUNC-02: the logs agree from the leader's log start on, and the replica that had orphans is in the ISR."""
    mine, theirs = partition.read(first), partition.read(second)
    low = theirs.log_start_offset
    logs = [[batch for batch in read.batches if batch.last_offset >= low] for read in (mine, theirs)]
    detail = f"{first} is in the ISR: {say(joined)}"
    yield held_if(joined and logs[0] == logs[1], mine, theirs, detail=detail)
