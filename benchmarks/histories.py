"""Generated histories like those of the log machine: a correct cluster with reads, writes and elections.

Requests and answers have the wire client's own types, so that they look like recorded ones. About two thirds of the
events are Metadata, as in real histories, where checks wait for leaders.
"""

import random
import zlib
from collections.abc import Callable
from typing import Any

import msgspec

from history.events import Answer, AnyEvent, Call, Example, Fault, History, Phase, Premise
from protocol import log
from protocol.cluster import MetadataAnswer, Node, PartitionMetadata, TopicMetadata
from protocol.codes import Error
from protocol.messages import Topic
from protocol.operations import OPERATIONS
from protocol.records import Batch, Codec, Record, batch

BROKERS = (1, 2, 3)
PARTITIONS = 4
WHOLE = -3
REST = ("all faults are healed and nobody writes any more", "at rest")
"""The premises at the end of an example, by the names that judges know."""
KEPT = 400
"""Twice the number of batches that DeleteRecords leaves in a log."""


class WrittenPartition:
    """A log whose replicas are always equal."""

    def __init__(self, topic: Topic, index: int) -> None:
        self.topic = topic
        self.index = index
        self.leader = BROKERS[index % len(BROKERS)]
        self.epoch = 0
        self.start = 0
        self.batches: list[Batch] = []
        self.epochs = [(0, 0)]

    @property
    def end(self) -> int:
        return self.batches[-1].last_offset + 1 if self.batches else self.start

    def append(self, values: list[bytes]) -> int:
        base = self.end
        records = tuple(Record(base + n, 1, None, value) for n, value in enumerate(values))
        made = Batch(
            base_offset=base,
            last_offset=base + len(values) - 1,
            leader_epoch=self.epoch,
            crc=zlib.crc32(b"".join(values)),
            crc_valid=True,
            attributes=0,
            codec=Codec.NONE,
            base_timestamp=1,
            max_timestamp=1,
            size=70,
            records=records,
        )
        self.batches.append(made)
        return base

    def elect(self) -> None:
        self.leader = BROKERS[BROKERS.index(self.leader) - 1]
        self.epoch += 1
        # An epoch without a record leaves no entry.
        self.epochs = [*(entry for entry in self.epochs if entry[1] < self.end), (self.epoch, self.end)]

    def end_of(self, epoch: int) -> tuple[int, int]:
        """Return what OffsetForLeaderEpoch answers: the largest epoch at or below `epoch` (itself if there is none),
        and the start offset of the next epoch, or the log end offset.
        """
        known = max((number for number, _ in self.epochs if number <= epoch), default=epoch)
        later = [start for number, start in self.epochs if number > epoch]
        return known, later[0] if later else self.end

    def trim(self) -> None:
        self.batches = self.batches[-KEPT // 2 :]
        self.start = self.batches[0].base_offset if self.batches else self.start
        first = max((number for number, start in self.epochs if start <= self.start), default=0)
        self.epochs = [(number, max(start, self.start)) for number, start in self.epochs if number >= first]


class WrittenEvents:
    """The events of a history, in order of time."""

    def __init__(self, name: str) -> None:
        members = [{"name": f"broker-{id}", "id": id, "role": "broker"} for id in BROKERS]
        self.example = Example(example=name, check="benchmark", column="synthetic", members=members)
        self.events: list[AnyEvent] = []

    @property
    def _base(self) -> dict[str, Any]:
        return {"n": len(self.events), "t": len(self.events) / 100}

    def record(self, broker: int, op: str, answer: msgspec.Struct, *args: Any, **kwargs: Any) -> None:
        """Record a request, made by the client's method of that name, and its answer."""
        call = len(self.events)
        request = _plain_value(OPERATIONS[op](*args, **kwargs))
        self.events.append(Call(**self._base, op=op, node=f"broker-{broker}", request=request))
        self.events.append(Answer(**self._base, call=call, outcome="ok", value=_plain_value(answer)))

    def fault(self, phase: Phase, node: int, partition: str) -> None:
        detail = {"partition": partition}
        self.events.append(
            Fault(**self._base, fault="move-leader", phase=phase, role="leader", node=f"broker-{node}", detail=detail)
        )

    def premise(self, what: str) -> None:
        self.events.append(Premise(**self._base, what=what, met=True))


def history(name: str, events: int, seed: int) -> History:
    """Generate one example with about that many events."""
    return _Example(name, random.Random(seed)).write(events)


class _Example:
    def __init__(self, name: str, drawn: random.Random) -> None:
        self._written = WrittenEvents(name)
        self._drawn = drawn
        self._values = 0
        self._partitions = [WrittenPartition(Topic(f"topic-{name}"), index) for index in range(PARTITIONS)]

    def write(self, events: int) -> History:
        steps: list[tuple[Callable[[WrittenPartition], None], int]] = [
            (self._metadata, 30), (self._produce, 14), (self._fetch, 14), (self._read_whole_logs, 3), (self._ends, 12),
            (self._list_offsets, 8), (self._fetch_at_next_epoch, 6), (self._elect, 1), (self._trim, 1),
        ]  # fmt: skip
        kinds, weights = zip(*steps, strict=True)
        while len(self._written.events) < events:
            [step] = self._drawn.choices(kinds, weights)
            step(self._drawn.choice(self._partitions))
        self._end_at_rest()
        return History(example=self._written.example, events=self._written.events)

    def _end_at_rest(self) -> None:
        for premise in REST:
            self._written.premise(premise)
        for partition in self._partitions:
            self._metadata(partition)
            self._read_whole_logs(partition)
            for epoch, _ in partition.epochs:
                self._end(partition, epoch)

    # --- steps

    def _metadata(self, partition: WrittenPartition) -> None:
        """Record Metadata of every broker, like a client that waits until all name one leader."""
        state = PartitionMetadata(
            error=Error.NONE,
            partition=partition.index,
            leader=partition.leader,
            leader_epoch=partition.epoch,
            replicas=BROKERS,
            isr=BROKERS,
        )
        topic = TopicMetadata(error=Error.NONE, name=partition.topic.name, partitions=(state,))
        nodes = tuple(Node(node_id=id, host="127.0.0.1", port=9092) for id in BROKERS)
        answer = MetadataAnswer(version=12, brokers=nodes, topics=(topic,))
        for broker in BROKERS:
            self._written.record(broker, "metadata", answer, [partition.topic.name])

    def _produce(self, partition: WrittenPartition) -> None:
        values = [f"value {self._values + n}".encode() for n in range(self._drawn.randint(1, 4))]
        self._values += len(values)
        base = partition.append(values)
        answer = log.ProducedPartition(version=9, **_place_of_partition(partition), base_offset=base)
        records, acks = batch(*values, timestamp=1), self._drawn.choice((-1, -1, 1))
        self._written.record(partition.leader, "produce", answer, partition.topic, partition.index, records, acks=acks)

    def _fetch(self, partition: WrittenPartition) -> None:
        """Fetch close to the log end, like a consumer that keeps up."""
        behind = partition.batches[-self._drawn.randint(1, 8) :]
        offset = behind[0].base_offset if behind else partition.start
        self._record_fetch(partition, partition.leader, offset, tuple(behind), log.CONSUMER)

    def _read_whole_logs(self, partition: WrittenPartition) -> None:
        """Read the whole log of each replica: a Fetch of its records, and one at its end that returns none."""
        for broker in BROKERS:
            for offset in dict.fromkeys((partition.start, partition.end)):
                left = tuple(batch for batch in partition.batches if batch.base_offset >= offset)
                self._record_fetch(partition, broker, offset, left, WHOLE)

    def _record_fetch(
        self, partition: WrittenPartition, broker: int, offset: int, found: tuple[Batch, ...], replica: int
    ) -> None:
        answer = log.FetchedPartition(
            version=12,
            **_place_of_partition(partition),
            high_watermark=partition.end,
            last_stable_offset=partition.end,
            log_start_offset=partition.start,
            batches=found,
        )
        self._written.record(
            broker, "fetch", answer, partition.topic, partition.index, offset,
            current_leader_epoch=partition.epoch, replica_id=replica,
        )  # fmt: skip

    def _ends(self, partition: WrittenPartition) -> None:
        self._end(partition, self._drawn.randint(max(0, partition.epoch - 3), partition.epoch))

    def _end(self, partition: WrittenPartition, epoch: int) -> None:
        known, end = partition.end_of(epoch)
        answer = log.EpochEnd(version=4, **_place_of_partition(partition), leader_epoch=known, end_offset=end)
        self._written.record(
            partition.leader, "offset_for_leader_epoch", answer, partition.topic.name, partition.index, epoch,
            current_leader_epoch=partition.epoch,
        )  # fmt: skip

    def _list_offsets(self, partition: WrittenPartition) -> None:
        for timestamp, offset in ((log.EARLIEST, partition.start), (log.LATEST, partition.end)):
            answer = log.ListedOffset(
                version=7, **_place_of_partition(partition), offset=offset, leader_epoch=partition.epoch
            )
            self._written.record(
                partition.leader, "list_offsets", answer, partition.topic.name, partition.index, timestamp,
                current_leader_epoch=partition.epoch,
            )  # fmt: skip

    def _fetch_at_next_epoch(self, partition: WrittenPartition) -> None:
        """Fetch with the next leader epoch, which no broker knows yet."""
        answer = log.FetchedPartition(version=12, **_place_of_partition(partition, Error.UNKNOWN_LEADER_EPOCH))
        self._written.record(
            partition.leader, "fetch", answer, partition.topic, partition.index, partition.end,
            current_leader_epoch=partition.epoch + 1,
        )  # fmt: skip

    def _elect(self, partition: WrittenPartition) -> None:
        name = f"{partition.topic.name}-{partition.index}"
        self._written.fault("inject", partition.leader, name)
        partition.elect()
        self._metadata(partition)
        self._written.fault("witness", partition.leader, name)

    def _trim(self, partition: WrittenPartition) -> None:
        partition.trim()
        answer = log.DeletedRecords(version=2, **_place_of_partition(partition), low_watermark=partition.start)
        self._written.record(
            partition.leader, "delete_records", answer, partition.topic.name, partition.index, partition.start
        )


def _place_of_partition(partition: WrittenPartition, error: Error = Error.NONE) -> dict[str, Any]:
    return {"topic": partition.topic.name, "partition": partition.index, "error": error}


def _plain_value(value: Any) -> Any:
    """Return the value in the form of a stored history."""
    return msgspec.json.decode(msgspec.json.encode(msgspec.to_builtins(value)))
