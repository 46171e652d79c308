"""The release's own Java consumers in a group that loses its coordinator (KIP-848)."""

from hypothesis.strategies import integers, sampled_from

from conformance.core.checks import Claims, held_if, premise, probe
from conformance.rigs.groups.java_consumers import JavaConsumers, java_consumers
from conformance.rigs.groups.three_brokers import ROUTED_GROUP, RoutedGroup
from conformance.rigs.log.partition import Partition, PartitionData
from conformance.rigs.producers.three_brokers import How
from protocol.groups import OffsetFetchAnswer
from protocol.records import batch


def write_records(group: RoutedGroup, count: int) -> None:
    """Append this many records to each partition of the group's topic."""
    for index in range(group.partitions):
        Partition(group.bench, PartitionData(group.topic, index)).append(batch(*[b"read"] * count))


def observe_sharing(consumers: JavaConsumers) -> Claims:
    """Observe that the consumers come to share all partitions."""
    met = consumers.share()
    yield consumers.are_running
    shown = consumers.group.describe()
    yield held_if(met, shown, row="KIP1251-BASE-09", case="java", detail=f"they have {consumers}")


def observe_offsets(consumers: JavaConsumers, end: int) -> Claims:
    """Observe that the group has the offsets of which the consumers were told that they are committed.

    Later ones up to the log end may be commits that are not answered yet.
    """
    for partition, offset in sorted(consumers.commits().items()):
        answer = consumers.group.stable_offset(partition)
        detail = f"a consumer was told that {offset} is committed for partition {partition}"
        yield held_if(is_within(answer, offset, end), answer, case="java", detail=detail)


def is_within(answer: OffsetFetchAnswer, first: int, last: int) -> bool:
    """True if an offset from `first` to `last` is committed for the one partition of the answer."""
    return any(answer.shows(offset) for offset in range(first, last + 1))


def observe_reading(consumers: JavaConsumers, end: int) -> Claims:
    """Let the consumers read up to this offset and commit it; whether they do or not, observe the group's offsets."""
    met = consumers.has_committed(end)
    yield from observe_offsets(consumers, end)
    yield premise(met, f"all records were read, and offset {end} was committed by {consumers}")


@probe(
    "KIP1251-INV-11",
    "KIP1251-BASE-09",
    rig=ROUTED_GROUP,
    cases=["java"],
    examples=1,
    smoke=False,
    how=sampled_from(["move", "kill", "freeze"]),
    again=sampled_from(["move", "kill"]),
    count=integers(1, 5),
)
def java_consumers_lose_their_coordinator(group: RoutedGroup, how: How, again: How, count: int) -> Claims:
    """Java consumers share the partitions and read on at the next coordinator, which has the offsets that they committed."""
    log = group.log
    start = group.node.list_offsets(log.topic.name, log.index).offset
    with java_consumers(group) as consumers:
        write_records(group, count)
        yield consumers.start().could_run
        yield from observe_sharing(consumers)
        consumers.start()
        yield from observe_sharing(consumers)
        yield from observe_reading(consumers, count)
        for turn, lost in enumerate((how, again), 2):
            group.move_coordinator(lost)
            yield from observe_offsets(consumers, (turn - 1) * count)
            write_records(group, count)
            yield from observe_reading(consumers, turn * count)
        consumers.leave()
        yield from observe_sharing(consumers)
    consumers.tell_ownerships()
    group.bench.group_records(group.node.node, log.index, start)
