"""A follower outside the ISR joins it only after it has reached the start of the current epoch (KAFKA-7128)."""

from typing import NamedTuple

from hypothesis.strategies import integers

from conformance.core.bench import Bench
from conformance.core.checks import Claims, PremiseClaim, held_if, premise, probe
from conformance.core.waiting import Settled
from conformance.rigs.log.epoch_histories import JOINED
from conformance.rigs.log.follower_fetches import PATIENCE, frozen_broker
from conformance.rigs.log.lagging_watermark import watermark_and_end
from conformance.rigs.log.partition import Partition, fresh_partition
from fixtures.wire import NodeClient
from protocol.cluster import PartitionMetadata
from protocol.codes import Error
from protocol.log import DEBUGGER, LATEST, FetchedPartition, FetchOptions
from protocol.words import say

ENOUGH = 1.0
"""The least number of seconds that leader and controller need for a fair chance to add a replica to the ISR."""
TRIES = 5
"""The number of matching fetches after which a leader has added the follower to the ISR."""


class Entrant(NamedTuple):
    """A live broker with a replica outside the ISR; it is frozen, and so sends no fetches itself."""

    leader: NodeClient
    id: int
    epoch: int


def fetch_as_entrant(partition: Partition, entrant: Entrant, offset: int) -> FetchedPartition:
    """Fetch with the entrant's replica id until the leader knows that id."""

    def answer_if_known() -> FetchedPartition | None:
        answer = entrant.leader.fetch(
            partition.fetch_from(offset, current_leader_epoch=entrant.epoch), FetchOptions(replica_id=entrant.id)
        )
        return None if answer.error is Error.UNKNOWN_LEADER_EPOCH else answer

    return partition.bench.eventually(answer_if_known, f"{entrant.id} known to the leader of {partition.name}")


def is_in(partition: Partition, entrant: Entrant) -> bool:
    state = partition.state_known_to(entrant.leader.node)
    return state is not None and entrant.id in state.isr


class EntryAttempt(NamedTuple):
    offset: int
    last: FetchedPartition
    served: int
    inside: bool


def try_entry(partition: Partition, entrant: Entrant, offset: int) -> EntryAttempt:
    """Fetch as the entrant `TRIES` times, and note whether it was in the ISR after any of these fetches."""
    inside, answers = False, []
    for _ in range(TRIES):
        answers.append(fetch_as_entrant(partition, entrant, offset))
        inside = inside or is_in(partition, entrant)
    return EntryAttempt(offset, answers[-1], sum(answer.error is Error.NONE for answer in answers), inside)


def led_without(partition: Partition, state: PartitionMetadata, successor: int) -> int:
    """Remove the leader's replica, so that the successor leads; return the new epoch."""
    others = [id for id in state.replicas if id != state.leader]
    partition.assign(*others, by=partition.bench.node(successor))
    led = partition.bench.eventually(
        lambda: partition.acting_state(successor, above=state.leader_epoch, leading=True),
        f"{successor} leading {partition.name}",
    )
    return led.leader_epoch


@probe("KIP320-REPL-06", rig=fresh_partition(0), smoke=False, records=integers(2, 5), below=integers(0, 3))
def isr_is_entered_at_the_epoch_start(partition: Partition, records: int, below: int) -> Claims:
    """A follower that has the high watermark but not the uncommitted suffix of a new leader stays out of the ISR."""
    bench, state = partition.bench, partition.wait_until_whole()
    leader = bench.node(state.leader)
    successor, still = (id for id in state.replicas if id != state.leader)
    heir = bench.node(successor)
    with frozen_broker(bench, bench.name_of(still)) as began:
        start = partition.write(*[b"not committed"] * records, acks=1, to=leader).base_offset + records
        bench.eventually(
            lambda: heir.list_offsets(partition.name, 0, LATEST, replica_id=DEBUGGER).offset == start,
            f"{successor} at the log end {start}",
        )
        epoch = led_without(partition, state, successor)
        with frozen_broker(bench, bench.name_of(state.leader)):
            partition.assign(successor, still, state.leader, by=bench.node(successor))
            entrant = Entrant(heir, state.leader, epoch)
            first = watermark_and_end(partition, heir)
            out = [try_entry(partition, entrant, offset) for offset in (first[0], start - 1 - below % records)]
            last = watermark_and_end(partition, heir)
            joined = bench.wait.becomes_true(
                lambda: joins(partition, entrant, start), f"{state.leader} in the ISR", time_left(bench, began)
            )
        took = bench.now().seconds - began
    partition.wait_until_whole()
    yield premise(took < PATIENCE, f"two brokers frozen for {took:.1f} s, too short a time to be fenced")
    yield premise(first == last and first[0] < start, f"high watermark and log end {say(first)}, then {say(last)}")
    for try_ in out:
        yield premise(try_.served == TRIES, f"{try_.served} of {TRIES} fetches at {try_.offset} answered 0")
        detail = f"epoch {epoch} began at {start}, fetches at {try_.offset}, in the ISR: {say(try_.inside)}"
        yield held_if(not try_.inside, try_.last, case="below", detail=detail)
    yield enough_time(joined)
    yield held_if(joined, case="reached", detail=f"in the ISR by fetches at {start}: {joined}")


def time_left(bench: Bench, began: float) -> float:
    """Return the seconds until a broker frozen since `began` may be fenced, at least 0.3."""
    return max(0.3, PATIENCE - 0.2 - (bench.now().seconds - began))


def enough_time(joined: Settled) -> PremiseClaim:
    """Return the premise that a replica that did not join the ISR had the time for it."""
    left = f"a replica joined, or had {ENOUGH:g} s or more to: it had {joined.within:.1f} s"
    return premise(joined.outcome is not False or joined.within >= ENOUGH, left)


def joins(partition: Partition, entrant: Entrant, offset: int) -> bool:
    fetch_as_entrant(partition, entrant, offset)
    return is_in(partition, entrant)


# --- KIP320-FETCH-10


def fetch_in_vain(partition: Partition, entrant: Entrant, follower: NodeClient, offset: int) -> list[FetchedPartition]:
    """Fetch with the entrant's id at the log end: with an older and a newer epoch, at a follower, and from an ended epoch."""

    def ask(node: NodeClient, ahead: int = 0, last: int = -1) -> FetchedPartition:
        return node.fetch(
            partition.fetch_from(offset, current_leader_epoch=entrant.epoch + ahead, last_fetched_epoch=last),
            FetchOptions(replica_id=entrant.id),
        )

    leader = entrant.leader
    return [ask(leader, -1), ask(leader, 1), ask(follower), ask(leader, last=entrant.epoch - 1)]


def is_failed(answer: FetchedPartition) -> bool:
    return answer.error is not Error.NONE or answer.diverging_epoch is not None


@probe("KIP320-FETCH-10", rig=JOINED, cases=["out-of-sync"], records=integers(1, 6))
def failing_fetches_lead_into_no_isr(partition: Partition, records: int) -> Claims:
    """Fetches at the log end that get an error or a diverging epoch do not bring a replica into the ISR; a served one does."""
    bench, state = partition.bench, partition.wait_until_whole()
    [outsider] = {bench.id_of(name) for name in bench.brokers} - set(state.replicas)
    leader = bench.node(state.leader)
    follower = bench.node(next(id for id in state.replicas if id != state.leader))
    end = partition.write(*[b"on both"] * records, to=leader).base_offset + records
    with frozen_broker(bench, bench.name_of(outsider)) as began:
        partition.assign(*state.replicas, outsider, by=bench.node(state.leader))
        entrant = Entrant(leader, outsider, state.leader_epoch)
        fetch_as_entrant(partition, entrant, 0)
        answers = [one for _ in range(TRIES) for one in fetch_in_vain(partition, entrant, follower, end)]
        inside = is_in(partition, entrant)
        joined = bench.wait.becomes_true(
            lambda: joins(partition, entrant, end), f"{outsider} in the ISR", time_left(bench, began)
        )
        took = bench.now().seconds - began
    partition.wait_until_whole()
    yield premise(took < PATIENCE, f"a broker frozen for {took:.1f} s, too short a time to be fenced")
    yield premise(all(map(is_failed, answers)), f"fetches that all failed: {say(answers[:4])}")
    yield enough_time(joined)
    yield premise(joined, f"a served fetch at {end} leads into the ISR", promised=("KIP320-REPL-06", "reached"))
    yield held_if(
        not inside, *answers[:4], detail=f"after {len(answers)} such fetches it was in the ISR: {say(inside)}"
    )
