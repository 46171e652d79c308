"""Fetches in purgatory: events that complete them before MaxWaitMs (KIP-320 as released, delayed fetch)."""

from typing import NamedTuple

from hypothesis.strategies import booleans

from conformance.core.bench import Bench
from conformance.core.checks import Claims, PremiseClaim, held_if, premise, probe
from conformance.core.waiting import Settled
from conformance.judging.facts.log import FUTURE_REPLICA
from conformance.rigs.log.epoch_requests import DIVERGES_FROM, FENCED_FROM, FOLLOWERS_SERVE_FROM, diverges_at
from conformance.rigs.log.follower_fetches import reassign_replicas
from conformance.rigs.log.partition import Partition, fresh_partition
from conformance.rigs.log.replica_log import replica_log
from conformance.rigs.log.suffixes import suffix_to_truncate
from conformance.rigs.versions import BACK, choose_version
from fixtures.wire import NodeClient
from protocol.codes import Error
from protocol.log import CONSUMER, FetchedPartition, FetchOptions, FetchPartition
from protocol.messages import PendingRequest
from strategies.inputs import RECORDS

MAX_WAIT = 12.0
"""The fetch's MaxWaitMs, in seconds; no data comes in that time."""
SOON = MAX_WAIT / 3
"""The age in seconds before which the completing event happens, so that a prompt answer cannot be the expiry."""
PROMPT = MAX_WAIT / 2
"""Seconds within which the answer follows that event: one is usual on an idle machine, and expiry comes at least two
later."""


class DelayedFetch(NamedTuple):
    """An unanswered fetch; `since` is the time in seconds at which it was sent."""

    bench: Bench
    client: NodeClient
    parked: PendingRequest
    since: float

    def age(self) -> float:
        """Return the seconds since it was sent."""
        return self.bench.now().seconds - self.since

    def answer_after(self, at: float) -> tuple[FetchedPartition, Settled]:
        """Return the answer, and whether it came promptly after the completing event, which happened at age `at`."""
        answer = self.client.parked_fetch(self.parked, within=MAX_WAIT + 10.0)
        took = self.age() - at
        return answer.partitions[0], self.bench.wait.end_of_wait(took < PROMPT, PROMPT, took)

    def outcome(self, answer: FetchedPartition, after: str, prompt: Settled) -> str:
        """Return who answered what, after which event, and whether promptly."""
        return f"{self.client.node} answered the delayed fetch, after {after}, with {answer}; promptly: {prompt}"


def still_early(age: float) -> PremiseClaim:
    """Return the premise that the fetch was far from expiry when the completing event occurred."""
    return premise(age < SOON, f"{SOON:g} s were not over when the fetch was to be released: {age:.2f} s")


def send_delayed(
    partition: Partition, node: NodeClient, wanted: FetchPartition, version: int, id: int = CONSUMER
) -> DelayedFetch:
    """Send a fetch for which there is no data yet."""
    client = partition.bench.node(node.node, purpose="parked")
    options = FetchOptions(replica_id=id, max_wait_ms=int(MAX_WAIT * 1000), min_bytes=1)
    since = partition.bench.now().seconds
    return DelayedFetch(partition.bench, client, client.park_fetch([wanted], options, version=version), since)


@probe("KIP320-FETCH-12", rig=fresh_partition(), cases=["superseded"], at_leader=booleans(), back=BACK)
def fetch_of_an_old_epoch_is_completed(partition: Partition, at_leader: bool, back: int) -> Claims:
    """A delayed fetch with the current epoch is fenced as soon as another broker leads."""
    waiting = delayed_at_log_end(partition, at_leader, back)
    # A follower that becomes the leader itself completes nothing in any release, and the row does not require it.
    asked = partition.bench.id_of(waiting.client.node)
    state = partition.await_agreement()
    partition.move_leader(to=next(id for id in state.replicas if id not in (state.leader, asked)))
    completed = waiting.age()
    yield still_early(completed)
    answer, prompt = waiting.answer_after(completed)
    held = prompt.require_also(answer.error is Error.FENCED_LEADER_EPOCH and not answer.batches)
    yield held_if(held, answer, detail=waiting.outcome(answer, "another broker led", prompt))


@probe("KIP320-FETCH-12", rig=fresh_partition(), cases=["removed"], at_leader=booleans(), back=BACK)
def fetch_at_a_removed_replica_is_completed(partition: Partition, at_leader: bool, back: int) -> Claims:
    """A delayed fetch at a broker whose replica is removed is answered that the partition is not there."""
    waiting = delayed_at_log_end(partition, at_leader, back)
    asked = partition.bench.id_of(waiting.client.node)
    reassign_replicas(partition, tuple(id for id in partition.await_agreement().replicas if id != asked))
    completed = waiting.age()
    yield still_early(completed)
    answer, prompt = waiting.answer_after(completed)
    held = prompt.require_also(answer.error is Error.NOT_LEADER_OR_FOLLOWER and not answer.batches)
    yield held_if(held, answer, detail=waiting.outcome(answer, "its replica was removed", prompt))


def delayed_at_log_end(partition: Partition, at_leader: bool, back: int) -> DelayedFetch:
    """Send a consumer's fetch at the log end, with the current epoch, to the leader or to a follower."""
    state = partition.await_agreement()
    follower = next(id for id in state.replicas if id != state.leader)
    node = partition.bench.node(state.leader if at_leader else follower)
    low = FENCED_FROM if at_leader else FOLLOWERS_SERVE_FROM
    wanted = FetchPartition(
        topic=partition.topic,
        partition=0,
        fetch_offset=replica_log(partition, node).end,
        current_leader_epoch=state.leader_epoch,
    )
    return send_delayed(partition, node, wanted, choose_version(partition.bench, "Fetch", back, low=low))


# --- truncated


@probe("KIP320-FETCH-12", rig=fresh_partition(), cases=["diverged"], records=RECORDS, back=BACK)
def fetch_past_a_truncation_is_completed(partition: Partition, records: int, back: int) -> Claims:
    """A delayed fetch past records that a new leader lacks is answered with the end of its epoch."""
    version = choose_version(partition.bench, "Fetch", back, low=DIVERGES_FROM)
    with suffix_to_truncate(partition, records) as suffix:
        waiting = send_delayed(
            partition, suffix.node, fetch_partition_at(partition, suffix.end, suffix.epoch), version, FUTURE_REPLICA
        )
    yield suffix.is_replaced(partition)
    completed = waiting.age()
    yield still_early(completed)
    answer, prompt = waiting.answer_after(completed)
    held = prompt.require_also(diverges_at(answer, suffix.epoch, suffix.start))
    yield held_if(held, answer, detail=waiting.outcome(answer, "its records were replaced", prompt))


def fetch_partition_at(partition: Partition, offset: int, last: int) -> FetchPartition:
    return FetchPartition(topic=partition.topic, partition=0, fetch_offset=offset, last_fetched_epoch=last)
