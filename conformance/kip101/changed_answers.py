"""A leader's log that is truncated and rewritten while its answer to a follower is in flight (KIP101-SC-14).

A broker sends records straight from the file, as fast as the connection takes them, so the end of a long answer may be
of a later epoch than its beginning (KAFKA-18723). A follower that knows of no later epoch must not append that end: it
would have records of an epoch above records that the leader of that epoch never had.
"""

from typing import NamedTuple

from hypothesis.strategies import integers

from conformance.core.bench import Bench
from conformance.core.checks import Claims, held_if, premise
from conformance.core.faulting import Faults
from conformance.core.topologies import QUICK_CLUSTER
from conformance.rigs.log.crashes import Crashing, on_brokers
from conformance.rigs.log.quiescence import at_rest, read_whole
from conformance.rigs.log.rotation import elect_preferred, put_first
from conformance.rigs.log.scenarios import log_scenario
from fixtures.faults.kinds.network import RateLimit
from fixtures.faults.kinds.zombies import CutOffFromControllers
from protocol.cluster import PartitionMetadata
from protocol.records import NewBatch, batch
from protocol.words import say

KBIT = 512
"""The link's rate in kbit/s: a hundredth of the leader's append rate."""
FIRST = b"." * 300_000
"""A batch that keeps the link busy for seconds while the others are written, which then share one answer."""
BATCHES = 64
LONG = 32
"""The least number of batches in an answer: more than the buffers hold and the link carries before the freeze."""
PAYLOAD = b"." * 16_000
"""The value of each record. Batches differ only in offset and leader epoch, neither of which the CRC covers, so that a
batch spliced from two epochs is valid."""
STALLED = 5.0
"""Seconds in which the buffers of a connection to a frozen broker fill up at that rate. Then nothing more is read from
the leader's file, which may be truncated for a moment."""
RECEIVE_TIMEOUT = 15.0
SEND_TIMEOUT = 25.0
"""Seconds to send the first batch. A follower that gets nothing for 30 s disconnects, and leaves the ISR."""
OFTEN = 0.1


class PendingAnswer(NamedTuple):
    """An answer that `follower` awaits: the batches from offset `start` to `end`, of epochs up to `epoch`."""

    leader: int
    follower: int
    successor: int
    epoch: int
    start: int
    end: int


def append_alike(partition: Crashing, leader: int, same: NewBatch, count: int) -> int:
    """Append `count` equal batches with acks=1; return the log end offset."""
    ends = [partition.append(same, acks=1, to=partition.bench.node(leader)).base_offset + 1 for _ in range(count)]
    return ends[-1]


def long_answer(partition: Crashing, state: PartitionMetadata, pick: int, same: NewBatch, count: int) -> PendingAnswer:
    """Write to the leader, and wait for the follower's next fetch, whose answer has the leader's whole log."""
    others = [id for id in state.replicas if id != state.leader]
    follower, epoch = others[pick], state.leader_epoch
    partition.append(batch(FIRST), acks=1, to=partition.bench.node(state.leader))
    end = append_alike(partition, state.leader, same, count)
    before = partition.await_log_end(follower)
    partition.bench.wait.becomes_true(
        lambda: partition.log_end(follower) != before, "the first answer taken", SEND_TIMEOUT
    )
    return PendingAnswer(state.leader, follower, others[1 - pick], epoch, partition.await_log_end(follower), end)


def stall_connection(bench: Bench, follower: str) -> None:
    """Freeze the follower, and wait until the connection to it accepts no more."""
    bench.processes.pause(follower, role="follower")
    began = bench.now().seconds
    bench.eventually(lambda: bench.now().seconds - began > STALLED, "full buffers", every=OFTEN)


def rewrite_log(partition: Crashing, answer: PendingAnswer, same: NewBatch, faults: Faults, slow: RateLimit) -> None:
    """Let the successor lead and append more batches than it lacked; wait until the former leader has copied them."""
    epoch = partition.state_by(answer.successor).leader_epoch
    put_first(partition, answer.successor, asked=answer.successor)
    elect_preferred(partition, answer.successor, epoch)
    faults.heal(slow)
    lacks = answer.end - partition.await_log_end(answer.successor)
    end = append_alike(partition, answer.successor, same, lacks + 1)
    partition.wait_until(lambda: partition.log_end(answer.leader) == end or None, f"{end} records at {answer.leader}")


@log_scenario(
    "KIP101-SC-14",
    "KIP101-TRUNC-05",
    rig=on_brokers("slow_trio", QUICK_CLUSTER, 3, min_insync_replicas="1"),
    cases=["answer-under-way"],
    pick=integers(0, 1),
    more=integers(0, 8),
)
def log_changes_under_an_answer(partition: Crashing, pick: int, more: int) -> Claims:
    """A follower that does not know the next epoch gets the rest of an answer after the leader's log has changed."""
    bench, faults = partition.bench, partition.bench.faults(partition.topic)
    state, same = partition.wait_until_whole(), batch(PAYLOAD, timestamp=bench.now().unix_ms)
    slow, cut = RateLimit(role="leader", peer="brokers", kbit=KBIT), CutOffFromControllers(role="follower", pick=pick)
    faults.inject(slow)
    answer = long_answer(partition, state, pick, same, BATCHES + more)
    follower = bench.name_of(answer.follower)
    faults.inject(cut)
    waits = partition.log_end(answer.follower) == answer.start > 0 and answer.end - answer.start >= LONG
    yield premise(waits, f"{follower} still waits for the answer from {answer.start} to {answer.end}")
    stall_connection(bench, follower)
    rewrite_log(partition, answer, same, faults, slow)
    bench.processes.resume(follower)
    bench.wait.becomes_true(
        lambda: partition.log_end(answer.follower) != answer.start, "the answer taken", RECEIVE_TIMEOUT
    )
    yield from check_epoch_boundary(partition, answer)
    faults.heal(cut)
    at_rest(partition)


def check_epoch_boundary(partition: Crashing, answer: PendingAnswer) -> Claims:
    """Check that the follower took the start of the answer, but no batch of a later epoch from the rewritten file."""
    node = partition.bench.node(answer.follower)
    read, knows = read_whole(partition, node, answer.epoch), partition.state_by(answer.follower).leader_epoch
    yield premise(knows == answer.epoch, f"{node.node} knows of epoch {knows}, and fetched at {answer.epoch}")
    taken = [one.leader_epoch for one in read.batches if one.base_offset >= answer.start]
    later = [epoch for epoch in taken if epoch > answer.epoch]
    detail = f"of the answer to a fetch at epoch {answer.epoch} from {answer.start} to {answer.end}: {say(taken)}"
    yield premise(bool(later) or 0 < len(taken) < answer.end - answer.start, f"the answer changed on the way: {detail}")
    yield held_if(not later, row="KIP101-TRUNC-05", case="answer-under-way", detail=f"{node.node} took {detail}")
