"""Replicas that are fenced, stale or of another broker incarnation: fetches that must have no effect (KIP-320, Replica
Handling).
"""

from typing import NamedTuple

from hypothesis.strategies import booleans, integers, sampled_from
from msgspec.structs import replace

from conformance.core.bench import Bench
from conformance.core.checks import Claims, held_if, premise, probe
from conformance.core.topologies import LAG
from conformance.rigs.log.epoch_requests import TOO_FEW
from conformance.rigs.log.follower_fetches import (
    DUO,
    OFTEN,
    PAIRS,
    PAIRS_WITH_A_SHORT_LAG,
    PATIENCE,
    FollowerFetch,
    FollowerRoles,
    OneFollower,
    SharedFollower,
    controlled_shutdown,
    frozen_broker,
)
from conformance.rigs.log.lagging_watermark import watermark_and_end
from fixtures.views.quorum import QuorumView
from protocol.cluster import PartitionMetadata
from protocol.codes import Error
from protocol.controller import AlteredPartition, IsrChange
from protocol.errors import KitError
from protocol.log import FetchedPartition, ProduceAnswer, ProducePartition
from protocol.messages import Topic
from protocol.records import batch
from protocol.words import say
from strategies.inputs import RECORDS

AT_ONCE_MS = 1_500
"""A timeout in milliseconds, far below replica.lag.time.max.ms and far above the time of one broker's append."""

SERVED = 5
"""The number of matching fetches of all partitions after which a leader has added the follower to the ISR."""


MANY_CHANGES = 1000


class Controller(QuorumView):
    """The active controller, looked up at each call; leaders send AlterPartition to it. `broker` is up for the whole example."""

    def __init__(self, bench: Bench, broker: str) -> None:
        super().__init__(bench, via=broker)
        self.bench = bench

    def broker_epochs(self) -> dict[int, int]:
        """Return the epoch of each broker's last registration, by broker id."""
        active = self.active()
        if active is None:
            raise KitError("no controller is active")
        epochs = self.bench.node(active.id, controller=True).broker_registrations(active.epoch).epochs
        if missing := [name for name in self.bench.brokers if self.bench.id_of(name) not in epochs]:
            raise KitError(f"__cluster_metadata holds no registration of {say(missing)}; it names {say(epochs)}")
        return epochs

    def send_unchanged_isr(self, topic: Topic, state: PartitionMetadata, broker_epoch: int) -> IsrChange:
        """Send a leader's AlterPartition that changes nothing, with all epochs as the controller has them.

        A leader learns the partition epoch from the metadata log. Here it is found by trial: the controller accepts no
        other.
        """
        change = IsrChange(
            topic=topic,
            partition=state.partition,
            broker_id=state.leader,
            broker_epoch=broker_epoch,
            leader_epoch=state.leader_epoch,
            partition_epoch=0,
            isr=state.isr,
        )
        controller = self.leader()
        for guess in range(MANY_CHANGES):
            answer = controller.alter_partition(replace(change, partition_epoch=guess))
            if answer.error is Error.NONE:
                return replace(change, partition_epoch=answer.partition_epoch)
            if answer.error is not Error.INVALID_UPDATE_VERSION:
                break
        raise KitError(f"the controller does not accept the ISR that {topic.name} has: {answer}, asked {say(change)}")


# --- KIP320-FETCH-10

WRITE_MS = 600
"""Milliseconds for which each case's write with acks=all waits for the frozen follower."""
HOPELESS = ("fenced", "unknown", "not-leader", "diverging")


def failing_fetch(duo: OneFollower, cast: FollowerRoles, case: str, end: int, distance: int) -> FetchedPartition:
    """Fetch at the log end with the follower's id in a way that must get an error or a diverging epoch."""
    if case == "diverging":
        return duo.fetch_as_follower(cast, end, last=cast.state.leader_epoch - distance)
    if case == "not-leader":
        return duo.fetch_as_follower(cast, end, at="outsider")
    return duo.fetch_as_follower(cast, end, epoch_ahead=-distance if case == "fenced" else distance)


class Watermarks(NamedTuple):
    """The leader as a consumer saw it before and after a fetch that must fail at `end`, and after a matching fetch.

    `write` is the answer to a write with acks=all that ends at the fetch offset; `age` is that write's age in seconds.
    """

    end: int
    before: FetchedPartition
    answer: FetchedPartition
    after: FetchedPartition
    isr: set[int]
    write: ProduceAnswer
    age: float
    lifted: FetchedPartition

    @property
    def are_unmoved(self) -> bool:
        """True if the high watermark stayed and the write with acks=all was not acknowledged."""
        unacknowledged = [one.error for one in self.write.partitions] == [Error.REQUEST_TIMED_OUT]
        return self.after.high_watermark == self.before.high_watermark and unacknowledged


def watermarks_after(duo: OneFollower, cast: FollowerRoles, case: str, distance: int, records: int) -> Watermarks:
    """Send a fetch that must fail past records that the frozen follower lacks, then a matching one."""
    start = duo.append_records(cast, records)
    client = duo.bench.node(cast.leader.node, purpose="parked")
    sent = duo.bench.now().seconds
    waiting = client.park_produce([ProducePartition(duo.topic, 0, batch(b"for both"))], timeout_ms=WRITE_MS)
    duo.bench.eventually(
        lambda: watermark_and_end(duo, cast.leader)[1] > start, "a write with acks=all appended", every=OFTEN
    )
    end = start + 1
    before = duo.look(cast, end)
    answer = failing_fetch(duo, cast, case, end, distance)
    age = duo.bench.now().seconds - sent
    after, isr = duo.look(cast, end), duo.isr(cast)
    write = client.parked_produce(waiting, within=PATIENCE)
    duo.fetch_as_follower(cast, end)
    return Watermarks(end, before, answer, after, isr, write, age, duo.look(cast, end))


@probe("KIP320-FETCH-10", rig=DUO, distance=integers(1, 3), records=RECORDS)
def refused_fetch_is_no_progress(duo: OneFollower, distance: int, records: int) -> Claims:
    """A follower's fetch that gets an error or a diverging epoch moves no high watermark or ISR and acknowledges no write."""
    for case in HOPELESS:
        cast = duo.choose_roles()
        with frozen_broker(duo.bench, duo.bench.name_of(cast.follower)) as began:
            moved = watermarks_after(duo, cast, case, distance, records)
            took = duo.bench.now().seconds - began
        duo.wait_until_whole()
        yield premise(took < PATIENCE, f"the follower frozen for {took} s, too short a time to be fenced")
        yield premise(moved.age < WRITE_MS / 1000, f"the write was {moved.age} s old when the fetch was answered")
        yield premise(moved.before.high_watermark < moved.end, "a high watermark that waits for the follower")
        yield premise(moved.lifted.high_watermark == moved.end, "a matching fetch raises the high watermark")
        stayed = moved.are_unmoved and moved.isr == set(cast.state.isr)
        yield held_if(stayed, moved.before, moved.answer, moved.after, moved.write, case=case)


# --- KIP320-FETCH-13


class UnassignedFetches(NamedTuple):
    """Fetches at the log end with the id of a broker without a replica (`answers`), and the leader as a consumer saw it
    before and after. `matching` is the follower's own fetch after one more write, `lifted` the leader after that."""

    ends: tuple[int, int]
    before: FetchedPartition
    answers: list[FetchedPartition]
    after: FetchedPartition
    isr: set[int]
    matching: FetchedPartition
    lifted: FetchedPartition

    @property
    def waits_for_follower(self) -> bool:
        """True if the high watermark waited for the follower, and the follower's own fetch was served."""
        return self.before.high_watermark < self.ends[0] and self.matching.error is Error.NONE

    @property
    def depends_on_follower_alone(self) -> bool:
        """True if the high watermark stayed, and then depended on the follower alone."""
        stayed = self.after.high_watermark == self.before.high_watermark
        return stayed and self.lifted.high_watermark == self.ends[1]


def fetch_as_unassigned(duo: OneFollower, cast: FollowerRoles, stranger: int, records: int) -> UnassignedFetches:
    end = duo.append_records(cast, records)
    before = duo.look(cast, end)
    answers = [duo.fetch_as_follower(cast._replace(follower=stranger), end) for _ in range(SERVED)]
    after, isr = duo.look(cast, end), duo.isr(cast)
    later = duo.append_records(cast, 1)
    matching = duo.fetch_as_follower(cast, later)
    return UnassignedFetches((end, later), before, answers, after, isr, matching, duo.look(cast, later))


@probe(
    "KIP320-FETCH-13",
    rig=DUO,
    cases=["no-progress"],
    real=booleans(),
    id=integers(1000, 2**31 - 1),
    records=RECORDS,
)
def unassigned_replica_is_no_progress(duo: OneFollower, real: bool, id: int, records: int) -> Claims:
    """Fetches with the id of a broker that is no replica move neither high watermark nor ISR, and delay no later write."""
    cast = duo.choose_roles()
    stranger = duo.bench.id_of(cast.outsider.node) if real else id
    with frozen_broker(duo.bench, duo.bench.name_of(cast.follower)) as began:
        seen = fetch_as_unassigned(duo, cast, stranger, records)
        took = duo.bench.now().seconds - began
    duo.wait_until_whole()
    yield premise(took < PATIENCE, f"the follower frozen for {took} s, too short a time to be fenced")
    yield premise(
        seen.waits_for_follower, f"a high watermark that waits for the follower: {seen.before}, {seen.matching}"
    )
    stayed = seen.depends_on_follower_alone and seen.isr == set(cast.state.isr)
    yield held_if(stayed, *seen.answers, seen.after, seen.lifted)


# --- KIP320-REPL-02, -03 and the fenced member of -04


def stayed_out(pairs: SharedFollower, tries: list[FollowerFetch], case: str) -> Claims:
    """Check that no fetch adds the follower to an ISR. At a new epoch some may be refused, but most are served."""
    served = [all(one.error is Error.NONE for one in try_.fetched.partitions) for try_ in tries]
    yield premise(sum(served) >= SERVED, f"{sum(served)} of {len(tries)} fetches answered 0 throughout")
    for number, topic in enumerate(pairs.topics):
        entered = [try_.seen for try_ in tries if pairs.follower_id in pairs.states(try_.seen)[number].isr]
        shown = entered[:1] or [tries[-1].seen]
        detail = f"after {len(tries)} fetches, {topic.name} has {pairs.states(shown[0])[number]}"
        yield held_if(not entered, tries[-1].fetched, *shown, case=case, detail=detail)


def does_not_count_or_delay(pairs: SharedFollower, end: int) -> Claims:
    """Check that acks=all neither counts the fenced follower, which has just fetched at the log end, nor waits for it."""
    tempted = pairs.fetch_as_follower(end)
    free = pairs.produce(pairs.data.free, b"needs one", timeout_ms=AT_ONCE_MS)
    strict = pairs.produce(pairs.data.strict, b"needs two", timeout_ms=AT_ONCE_MS)
    yield premise(all(one.error is Error.NONE for one in tempted.fetched.partitions), "a fetch answered 0")
    for written in free.partitions:
        yield held_if(
            written.error is Error.NONE,
            free,
            row="KIP320-REPL-03",
            case="not-blocking",
            detail=f"to one of them: {written}",
        )
    for written in strict.partitions:
        yield held_if(
            written.error in TOO_FEW,
            strict,
            row="KIP320-REPL-03",
            case="not-counted",
            detail=f"to one of them: {written}",
        )


def ineligible_is_refused(pairs: SharedFollower, controller: Controller) -> Claims:
    """Check that an ISR with the fenced follower, proposed as by the leader (AlterPartition), is refused."""
    epochs = controller.broker_epochs()
    for topic, state in zip(pairs.data.free, pairs.states(), strict=False):
        right = controller.send_unchanged_isr(topic, state, epochs[state.leader])
        answer = controller.leader().alter_partition(replace(right, isr=(state.leader, pairs.follower_id)))
        after = controller.leader().alter_partition(right)
        held = answer.error is Error.INELIGIBLE_REPLICA and is_unchanged(right, after)
        yield held_if(held, answer, after, row="KIP320-REPL-04", case="ineligible")


@probe("KIP320-REPL-02", "KIP320-REPL-03", "KIP320-REPL-04", rig=PAIRS, examples=1, records=RECORDS)
def fenced_replica_stays_out(pairs: SharedFollower, records: int) -> Claims:
    """A broker in shutdown or fenced stays out of every ISR, does not count for acks=all and does not delay it."""
    bench = pairs.bench
    filled = pairs.produce(pairs.topics, *[b"in sync"] * records)
    yield premise(all(one.error is Error.NONE for one in filled.partitions), "writes while the follower counts")
    with controlled_shutdown(bench, pairs.follower) as await_end:
        # A broker without heartbeats holds up every controlled shutdown through its position in the metadata log.
        with frozen_broker(bench, pairs.data.bystander):
            pairs.states_with_isr(1)
            shutting_down = pairs.fetch_for_a_while(records)
        await_end()
        bench.eventually(lambda: not pairs.is_listed(pairs.look()), f"{pairs.follower} fenced")
        fenced = pairs.fetch_for_a_while(records)
        claims = [
            *does_not_count_or_delay(pairs, records),
            *ineligible_is_refused(pairs, Controller(bench, pairs.data.leader)),
        ]
    pairs.states_with_isr(2)
    yield premise(
        all(pairs.is_listed(one.seen) for one in shutting_down), "a broker in controlled shutdown, not fenced"
    )
    yield from stayed_out(pairs, shutting_down, "shutting-down")
    yield from stayed_out(pairs, fenced, "fenced")
    yield from claims


# --- KIP320-REPL-04

CAUSES = {
    "older-leader-epoch": Error.FENCED_LEADER_EPOCH,
    "newer-epoch": Error.NOT_CONTROLLER,
    "older-partition-epoch": Error.INVALID_UPDATE_VERSION,
    "not-leader": Error.INVALID_REQUEST,
    "stale-broker-epoch": Error.STALE_BROKER_EPOCH,
}


def is_unchanged(right: IsrChange, after: AlteredPartition) -> bool:
    """True if the partition is as it was before this request, which would have been valid."""
    epochs = (after.leader_epoch, after.partition_epoch) == (right.leader_epoch, right.partition_epoch)
    return (
        after.error is Error.NONE and epochs and after.leader_id == right.broker_id and set(after.isr) == set(right.isr)
    )


@probe("KIP320-REPL-04", rig=DUO, distance=integers(1, 3), newer=sampled_from(["leader_epoch", "partition_epoch"]))
def stale_isr_change_is_refused(duo: OneFollower, distance: int, newer: str) -> Claims:
    """An ISR shrink with stale or unknown epochs, or sent by a follower, is refused and changes nothing."""
    cast = duo.choose_roles()
    controller = Controller(duo.bench, duo.bench.name_of(cast.state.leader))
    epochs = controller.broker_epochs()
    right = controller.send_unchanged_isr(duo.topic, cast.state, epochs[cast.state.leader])
    shrink = replace(right, isr=(cast.state.leader,))
    wrong = {
        "older-leader-epoch": replace(shrink, leader_epoch=right.leader_epoch - distance),
        "newer-epoch": replace(shrink, **{newer: getattr(right, newer) + distance}),
        "older-partition-epoch": replace(shrink, partition_epoch=right.partition_epoch - distance),
        "not-leader": replace(
            shrink, broker_id=cast.follower, broker_epoch=epochs[cast.follower], isr=(cast.follower,)
        ),
        "stale-broker-epoch": replace(shrink, broker_epoch=right.broker_epoch - distance),
    }
    for case, change in wrong.items():
        answer = controller.leader().alter_partition(change)
        after = controller.leader().alter_partition(right)
        yield held_if(answer.error is CAUSES[case] and is_unchanged(right, after), answer, after, case=case)


@probe(
    "KIP320-REPL-02",
    rig=PAIRS_WITH_A_SHORT_LAG,
    cases=["longer-than-lag"],
    examples=1,
    smoke=False,
    records=RECORDS,
)
def fenced_replica_stays_out_for_longer_than_the_lag(pairs: SharedFollower, records: int) -> Claims:
    """Matching fetches with a killed broker's id, for longer than replica.lag.time.max.ms, do not bring it into the ISR."""
    bench = pairs.bench
    filled = pairs.produce(pairs.topics, *[b"in sync"] * records)
    yield premise(all(one.error is Error.NONE for one in filled.partitions), "writes while the follower counts")
    with bench.processes.down(pairs.follower):
        pairs.states_with_isr(1)
        bench.eventually(lambda: not pairs.is_listed(pairs.look()), f"{pairs.follower} fenced")
        tries = pairs.fetch_for_a_while(records, 2 * LAG)
    pairs.states_with_isr(2)
    yield from stayed_out(pairs, tries, "longer-than-lag")


# --- KIP320-REPL-05


class Incarnations(NamedTuple):
    """Fetches with the id of an in-sync follower that lacks records: with an older broker epoch, with none, and with a
    newer one."""

    end: int
    before: FetchedPartition
    older: FetchedPartition
    after: FetchedPartition
    sentinel: FetchedPartition
    lifted: FetchedPartition
    newer: FetchedPartition

    @property
    def older_is_refused(self) -> bool:
        """True if the older incarnation's fetch is refused and makes no progress."""
        stayed = self.after.high_watermark == self.before.high_watermark
        return self.older.error is Error.NOT_LEADER_OR_FOLLOWER and stayed


def fetch_as_incarnations(duo: OneFollower, cast: FollowerRoles, registered: int, distance: int) -> Incarnations:
    end = duo.append_records(cast, 1)
    before = duo.look(cast, end)
    older = duo.fetch_as_follower(cast, end, broker_epoch=registered - distance)
    after = duo.look(cast, end)
    sentinel = duo.fetch_as_follower(cast, end)
    lifted = duo.look(cast, end)
    newer = duo.fetch_as_follower(cast, end, broker_epoch=registered + distance)
    return Incarnations(end, before, older, after, sentinel, lifted, newer)


def expel(duo: OneFollower, cast: FollowerRoles, controller: Controller, epochs: dict[int, int]) -> FollowerRoles:
    """Remove the follower from the ISR, as its leader may; it can rejoin at once. The shrink may bump the epoch."""
    right = controller.send_unchanged_isr(duo.topic, cast.state, epochs[cast.state.leader])
    controller.leader().alter_partition(replace(right, isr=(cast.state.leader,)))
    duo.bench.eventually(lambda: duo.isr(cast) == {cast.state.leader}, "an ISR without the follower")
    return cast._replace(state=duo.state_by(cast.state.leader))


@probe("KIP320-REPL-05", rig=DUO, distance=integers(1, 3))
def other_incarnation_is_refused(duo: OneFollower, distance: int) -> Claims:
    """A follower's fetch with an older broker epoch is no progress and no way into the ISR; -1 skips that check."""
    cast = duo.choose_roles()
    controller = Controller(duo.bench, duo.bench.name_of(cast.state.leader))
    epochs = controller.broker_epochs()
    registered = epochs[cast.follower]
    with frozen_broker(duo.bench, duo.bench.name_of(cast.follower)) as began:
        seen = fetch_as_incarnations(duo, cast, registered, distance)
        took = duo.bench.now().seconds - began
        expelled = expel(duo, cast, controller, epochs)
        by_older = duo.try_to_join_isr(expelled, seen.end, registered - distance, within=0.3)
        by_sentinel = duo.try_to_join_isr(expelled, seen.end, -1, within=PATIENCE)
    duo.wait_until_whole()
    yield premise(took < PATIENCE, f"the follower frozen for {took} s, too short a time to be fenced")
    yield premise(seen.before.high_watermark < seen.end, "a high watermark that waits for the follower")
    yield premise(by_sentinel.inside, "a fetch without a broker epoch that leads into the ISR")
    held = seen.older_is_refused and not by_older.inside
    yield held_if(held, seen.older, seen.after, by_older.last, case="older")
    lifted = seen.sentinel.error is Error.NONE and seen.lifted.high_watermark == seen.end
    yield held_if(lifted, seen.sentinel, seen.lifted, case="sentinel")
    yield held_if(seen.newer.error is Error.NONE, seen.newer, case="newer")
