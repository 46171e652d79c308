"""Histories of one partition on three brokers, built event by event in the wire client's types."""

import zlib
from typing import Any, NamedTuple, Self
from uuid import UUID

import msgspec

from conformance.core.waiting import Settled
from fixtures.consumers import CommittedPartition, ConsumerCommit, PartitionPosition
from fixtures.faults.catalogue import FAULTS
from fixtures.faults.kinds.unclean import UncleanElection, UncleanElectionByConfig
from history.effects import Effects
from history.events import Answer, AnyEvent, Call, Example, Fault, History, Note, Phase, Premise
from history.readings import (
    Assigned,
    DeliveredRecord,
    EpochEntry,
    HeldBatch,
    HeldReplica,
    HeldReplicas,
    PartitionRegistration,
    Polled,
    Position,
    ReadRecord,
    RegistrationHistories,
    RegistrationHistory,
)
from protocol.cluster import (
    LogDir,
    LogDirReplica,
    LogDirsAnswer,
    MetadataAnswer,
    Node,
    PartitionMetadata,
    TopicMetadata,
    TopicPartitionsAnswer,
)
from protocol.codes import Error
from protocol.configs import AlterConfigsAnswer, Config, ConfigsAnswer, ResourceType
from protocol.groups import CommitResult, CommittedOffset, NewOffset, OffsetCommitAnswer, OffsetFetchAnswer
from protocol.log import (
    CONSUMER,
    EARLIEST,
    LATEST,
    DeletedRecords,
    EpochAndOffset,
    EpochEnd,
    FetchedPartition,
    LeaderAndEpoch,
    ListedOffset,
    ProducedPartition,
)
from protocol.messages import Topic
from protocol.operations import OPERATIONS
from protocol.records import Batch, Codec, Record, batch
from protocol.topics import (
    CreatedTopic,
    CreateTopicsAnswer,
    ElectionType,
    NewTopic,
    PartitionResult,
    PartitionResults,
    Reassignment,
    TopicResult,
    TopicResults,
)

TOPIC = Topic("topic")
BROKERS = (1, 2, 3)
WHOLE = -3


class Producer(NamedTuple):
    """The identity of a batch of an idempotent producer."""

    id: int
    epoch: int
    base_sequence: int

    @property
    def fields(self) -> dict[str, int]:
        return {"producer_id": self.id, "producer_epoch": self.epoch, "base_sequence": self.base_sequence}


NO_PRODUCER = Producer(-1, -1, -1)


def stamped(epoch: int, offset: int, *values: str, control: bool = False, producer: Producer = NO_PRODUCER) -> Batch:
    """Return a batch in a broker's log: its leader epoch, its first offset, its values."""
    by = () if producer == NO_PRODUCER else (producer,)
    return Batch(
        base_offset=offset,
        last_offset=offset + len(values) - 1,
        leader_epoch=epoch,
        crc=zlib.crc32(repr((values, control, *by)).encode()),
        crc_valid=True,
        attributes=0,
        codec=Codec.NONE,
        control=control,
        base_timestamp=1,
        max_timestamp=1,
        size=70,
        records=tuple(Record(offset + n, 1, None, value.encode()) for n, value in enumerate(values)),
        producer_id=producer.id,
        producer_epoch=producer.epoch,
        base_sequence=producer.base_sequence,
    )


class LogHistory:
    """A history whose methods add an event, or a call and its answer; brokers, epochs and offsets are numbers."""

    def __init__(self) -> None:
        members = [{"name": f"broker-{id}", "id": id, "role": "broker"} for id in BROKERS]
        self.example = Example(example="e-1", check="log", column="4.3.1", members=members)
        self.events: list[AnyEvent] = []
        self.id: UUID | None = None
        """The id of the topic that was created last."""
        self._waited = 0.0

    @property
    def history(self) -> History:
        return History(example=self.example, events=self.events)

    def column(self, label: str) -> Self:
        self.example = msgspec.structs.replace(self.example, column=label)
        return self

    def started_with(self, **settings: str) -> Self:
        """Set the cluster's settings, written with underscores for dots."""
        named = {name.replace("_", "."): value for name, value in settings.items()}
        self.example = msgspec.structs.replace(self.example, settings=named)
        return self

    def _now(self) -> dict[str, Any]:
        return {"n": len(self.events), "t": len(self.events) / 100 + self._waited}

    def _asked(self, broker: int, op: str, *args: Any, **kwargs: Any) -> int:
        """Add the call, with the request that the client's method of that name would record."""
        request = _plain(OPERATIONS[op](*args, **kwargs))
        self.events.append(Call(**self._now(), op=op, node=f"broker-{broker}", request=request))
        return len(self.events) - 1

    def _answered(self, call: int, value: msgspec.Struct) -> Self:
        self.events.append(Answer(**self._now(), call=call, outcome="ok", value=_plain(value)))
        return self

    def _lost(self, call: int) -> Self:
        lost = Answer(**self._now(), call=call, outcome="info", error="no answer in 10 s", kind="Unanswered")
        self.events.append(lost)
        return self

    # --- what brokers say

    def metadata(
        self,
        broker: int,
        leader: int,
        epoch: int,
        error: Error = Error.NONE,
        unfenced: tuple[int, ...] = BROKERS,
        isr: tuple[int, ...] = BROKERS,
        replicas: tuple[int, ...] = BROKERS,
        id: UUID | None = None,
        count: int = 1,
    ) -> Self:
        """Add Metadata of `broker`: `count` partitions, the live brokers, and an id of the topic, by default the latest."""
        partitions = tuple(
            PartitionMetadata(error=error, partition=n, leader=leader, leader_epoch=epoch, replicas=replicas, isr=isr)
            for n in range(count)
        )
        topic = TopicMetadata(error=Error.NONE, name=TOPIC.name, topic_id=id or self.id, partitions=partitions)
        call = self._asked(broker, "metadata", [TOPIC.name])
        return self._answered(call, MetadataAnswer(version=12, brokers=_alive(unfenced), topics=(topic,)))

    def settled(self, leader: int, epoch: int, **how: Any) -> Self:
        """Add Metadata of all brokers, which name the same leader."""
        for broker in BROKERS:
            self.metadata(broker, leader, epoch, **how)
        return self

    def described(
        self,
        broker: int,
        leader: int,
        epoch: int,
        *,
        isr: tuple[int, ...] = (),
        eligible: tuple[int, ...] = (),
        last_known: tuple[int, ...] = (),
    ) -> Self:
        """Add DescribeTopicPartitions, with the eligible and last known leaders (KIP-966)."""
        partition = PartitionMetadata(
            error=Error.NONE if leader >= 0 else Error.LEADER_NOT_AVAILABLE,
            partition=0,
            leader=leader,
            leader_epoch=epoch,
            replicas=BROKERS,
            isr=isr,
            eligible_leader_replicas=eligible,
            last_known_elr=last_known,
        )
        topic = TopicMetadata(error=Error.NONE, name=TOPIC.name, partitions=(partition,))
        call = self._asked(broker, "describe_topic_partitions", [TOPIC.name])
        return self._answered(call, TopicPartitionsAnswer(version=0, topics=(topic,)))

    def word(self, leader: int, epoch: int, **how: Any) -> Self:
        """Add the partition's state in a controller's metadata log."""
        request = {"topic": TOPIC.name, "partition": 0}
        self.events.append(Call(**self._now(), op="word", node="controller-100", request=request))
        return self._answered(len(self.events) - 1, PartitionRegistration(leader, epoch=epoch, **how))

    def registrations(self, *words: PartitionRegistration) -> Self:
        """Add all registrations of the partition in the metadata log."""
        self.events.append(
            Call(**self._now(), op="registrations", node="cluster", request={"partitions": [[TOPIC.name, 0]]})
        )
        found = RegistrationHistories((RegistrationHistory(TOPIC.name, 0, words),))
        return self._answered(len(self.events) - 1, found)

    def produce(
        self,
        broker: int,
        *values: str,
        at: int = -1,
        acks: int = -1,
        error: Error = Error.NONE,
        lost: bool = False,
        producer: Producer = NO_PRODUCER,
        id: UUID | None = None,
    ) -> Self:
        """Add a Produce of one batch, acknowledged at an offset, or `lost` if its outcome is unknown; `id` is the topic's."""
        records = batch(*(value.encode() for value in values), timestamp=1, **producer.fields)
        call = self._asked(broker, "produce", Topic(TOPIC.name, id), 0, records, acks=acks)
        if lost:
            return self._lost(call)
        version = 13 if id is not None else 9
        return self._answered(
            call, ProducedPartition(version=version, topic=TOPIC.name, partition=0, error=error, base_offset=at)
        )

    def fetch(
        self,
        broker: int,
        *batches: Batch,
        epoch: int,
        hw: int,
        start: int = 0,
        offset: int | None = None,
        replica: int = CONSUMER,
        lso: int | None = None,
        last: int = -1,
        diverging: tuple[int, int] | None = None,
        version: int = 12,
        id: UUID | None = None,
    ) -> Self:
        """Add a Fetch in `epoch` from `offset` (by default the log start), and the batches that it returned."""
        asked = start if offset is None else offset
        named = {"current_leader_epoch": epoch, "last_fetched_epoch": last, "replica_id": replica}
        call = self._asked(broker, "fetch", Topic(TOPIC.name, id), 0, asked, **named)
        return self._answered(
            call,
            FetchedPartition(
                version=version,
                topic=TOPIC.name,
                partition=0,
                high_watermark=hw,
                last_stable_offset=hw if lso is None else lso,
                log_start_offset=start,
                diverging_epoch=None if diverging is None else EpochAndOffset(*diverging),
                batches=batches,
            ),
        )

    def whole(self, broker: int, *batches: Batch, epoch: int, hw: int, start: int = 0, **how: Any) -> Self:
        """Add fetches of the replica's whole log, including its uncommitted suffix; the last one returns no batch."""
        self.fetch(broker, *batches, epoch=epoch, hw=hw, start=start, replica=WHOLE, **how)
        if not batches:
            return self
        end = batches[-1].last_offset + 1
        return self.fetch(broker, epoch=epoch, hw=hw, start=start, offset=end, replica=WHOLE, **how)

    def refused(
        self,
        broker: int,
        epoch: int,
        error: Error,
        hint: tuple[int, int] | None = None,
        offset: int = 0,
        last: int = -1,
        id: UUID | None = None,
    ) -> Self:
        """Add a Fetch that was answered with an error; `hint` is the leader and epoch that the answer named instead."""
        named = {"current_leader_epoch": epoch, "last_fetched_epoch": last}
        call = self._asked(broker, "fetch", Topic(TOPIC.name, id), 0, offset, **named)
        leader = LeaderAndEpoch(leader_id=hint[0], leader_epoch=hint[1]) if hint else None
        return self._answered(
            call, FetchedPartition(version=16, topic=TOPIC.name, partition=0, error=error, current_leader=leader)
        )

    def fetch_lost(self, broker: int, epoch: int) -> Self:
        return self._lost(self._asked(broker, "fetch", TOPIC, 0, 0, current_leader_epoch=epoch))

    def earliest(self, broker: int, offset: int, epoch: int = -1) -> Self:
        return self._listed(broker, EARLIEST, offset, epoch=epoch)

    def latest(self, broker: int, offset: int, error: Error = Error.NONE, epoch: int = -1) -> Self:
        return self._listed(broker, LATEST, offset, error, epoch)

    def _listed(self, broker: int, timestamp: int, offset: int, error: Error = Error.NONE, epoch: int = -1) -> Self:
        call = self._asked(broker, "list_offsets", TOPIC.name, 0, timestamp, current_leader_epoch=epoch)
        return self._answered(
            call, ListedOffset(version=7, topic=TOPIC.name, partition=0, offset=offset, leader_epoch=epoch, error=error)
        )

    def epoch_end(
        self, broker: int, asked: int, answer: tuple[int, int], current: int, error: Error = Error.NONE
    ) -> Self:
        """Add OffsetForLeaderEpoch: the requested epoch, and the answer's (epoch, end offset)."""
        call = self._asked(broker, "offset_for_leader_epoch", TOPIC.name, 0, asked, current_leader_epoch=current)
        end = EpochEnd(
            version=4, topic=TOPIC.name, partition=0, error=error, leader_epoch=answer[0], end_offset=answer[1]
        )
        return self._answered(call, end)

    def trim(self, broker: int, offset: int, low: int | None = None, error: Error = Error.NONE) -> Self:
        """Add DeleteRecords; `low` is the low watermark in the answer, by default the offset itself."""
        call = self._asked(broker, "delete_records", TOPIC.name, 0, offset)
        low = (offset if error is Error.NONE else -1) if low is None else low
        return self._answered(
            call, DeletedRecords(version=2, topic=TOPIC.name, partition=0, low_watermark=low, error=error)
        )

    def created(self, **configs: str) -> Self:
        """Add CreateTopics with these settings, written with underscores for dots."""
        return self.created_as(None, configs)

    def created_as(
        self,
        id: UUID | None,
        configs: dict[str, str] | None = None,
        *,
        error: Error = Error.NONE,
        validate_only: bool = False,
    ) -> Self:
        """Add CreateTopics, answered with a topic id or an error."""
        settings = {name.replace("_", "."): value for name, value in (configs or {}).items()}
        wanted = [NewTopic(TOPIC.name, (BROKERS,), configs=settings)]
        call = self._asked(1, "create_topics", wanted, validate_only=validate_only)
        self.id = id if error is Error.NONE and not validate_only else self.id
        made = CreatedTopic(name=TOPIC.name, error=error, topic_id=id)
        return self._answered(call, CreateTopicsAnswer(version=7, topics=(made,)))

    def deleted(self, *, id: UUID | None = None, error: Error = Error.NONE, lost: bool = False) -> Self:
        """Add DeleteTopics, by id if there is one."""
        call = self._asked(1, "delete_topics", [TOPIC.name if id is None else Topic(TOPIC.name, id)])
        if lost:
            return self._lost(call)
        result = TopicResult(name=TOPIC.name, topic_id=id, error=error)
        return self._answered(call, TopicResults(version=6, topics=(result,)))

    def reassigned(self, *replicas: int, error: Error = Error.NONE, lost: bool = False) -> Self:
        """Add AlterPartitionReassignments to these replicas, or a cancellation if there are none."""
        call = self._asked(1, "alter_partition_reassignments", [Reassignment(TOPIC.name, 0, replicas or None)])
        if lost:
            return self._lost(call)
        result = PartitionResult(version=0, topic=TOPIC.name, partition=0, error=error)
        return self._answered(call, PartitionResults(version=0, partitions=(result,)))

    def altered(
        self, key: str, value: str | None, *, of: str = TOPIC.name, error: Error = Error.NONE, lost: bool = False
    ) -> Self:
        """Add IncrementalAlterConfigs of a topic, or of the cluster default (`of` empty)."""
        kind = ResourceType.TOPIC if of else ResourceType.BROKER
        call = self._asked(1, "incremental_alter_configs", kind, of, {key: value})
        if lost:
            return self._lost(call)
        return self._answered(call, AlterConfigsAnswer(version=1, resource_type=kind, resource_name=of, error=error))

    def configured(self, key: str, value: str, source: int, *, of: str = TOPIC.name) -> Self:
        """Add DescribeConfigs of a topic; `source` is the ConfigSource, 1 for the topic's own."""
        call = self._asked(1, "describe_configs", ResourceType.TOPIC, of, [key])
        one = Config(name=key, value=value, config_source=source)
        answer = ConfigsAnswer(
            version=4, resource_type=ResourceType.TOPIC, resource_name=of, error=Error.NONE, configs=(one,)
        )
        return self._answered(call, answer)

    # --- groups

    def commit(
        self, broker: int, offset: int, epoch: int, error: Error = Error.NONE, lost: bool = False, group: str = "g"
    ) -> Self:
        """Add OffsetCommit of this partition."""
        call = self._asked(broker, "offset_commit", group, [NewOffset(TOPIC, 0, offset, epoch)])
        if lost:
            return self._lost(call)
        result = CommitResult(version=8, topic=TOPIC.name, partition=0, error=error)
        return self._answered(call, OffsetCommitAnswer(version=8, partitions=(result,)))

    def in_transaction(self, broker: int, offset: int, epoch: int, group: str = "g") -> Self:
        """Add TxnOffsetCommit of this partition."""
        call = self._asked(broker, "txn_offset_commit", "id", group, 0, 0, [NewOffset(TOPIC, 0, offset, epoch)])
        return self._lost(call)

    def client_commit(self, consumer: str, offset: int, epoch: int, group: str = "g") -> Self:
        """Add a commit by a consumer of kafka-python."""
        one = PartitionPosition(TOPIC.name, 0, offset, epoch)
        request = {"group": group, "offsets": [_plain(one)]}
        self.events.append(Call(**self._now(), op="offset_commit", node=consumer, request=request))
        return self._answered(len(self.events) - 1, ConsumerCommit((CommittedPartition(TOPIC.name, 0),)))

    def committed(self, broker: int, offset: int, epoch: int, group: str = "g", stable: bool = True) -> Self:
        """Add OffsetFetch of this partition."""
        call = self._asked(broker, "offset_fetch", group, [(TOPIC, 0)], require_stable=stable)
        found = CommittedOffset(version=8, topic=TOPIC.name, partition=0, offset=offset, leader_epoch=epoch)
        return self._answered(call, OffsetFetchAnswer(version=8, partitions=(found,)))

    # --- consumers

    def delivered(self, consumer: str, offset: int, epoch: int, value: str) -> Self:
        """Add the delivery of one record by a consumer of kafka-python."""
        self.events.append(Call(**self._now(), op="poll", node=consumer, request={"within_ms": 500}))
        one = DeliveredRecord(TOPIC.name, 0, offset, epoch, value.encode())
        return self._answered(len(self.events) - 1, Polled((one,)))

    def assigned(self, consumer: str, group: str | None = None) -> Self:
        """Assign the partition to the consumer from now on."""
        self.events.append(Call(**self._now(), op="assigned", node=consumer, request={"group": group}))
        return self._answered(len(self.events) - 1, Assigned(((TOPIC.name, 0),)))

    def step(self, op: str, to: tuple[int, int], *records: tuple[int, int, str], **done: Any) -> Self:
        """Add a step of the kit's own reader: it delivers (offset, epoch, value), rewinds to a diverging (epoch, end),
        or restarts."""
        fields = {name: EpochAndOffset(*value) for name, value in done.items()}
        before = {"before": Position(0), "log_start": 0}
        delivered = [ReadRecord(offset, epoch, None, value.encode()) for offset, epoch, value in records]
        request = _plain({"topic": TOPIC.name, "partition": 0, "records": delivered, **before, **fields})
        self.events.append(Call(**self._now(), op=op, node="reader", request=request))
        answer = Answer(**self._now(), call=len(self.events) - 1, outcome="ok", value={"offset": to[0], "epoch": to[1]})
        self.events.append(answer)
        return self

    # --- disks

    def beside_failed(self, broker: int, *, failed: bool = True, here: bool = False) -> Self:
        """Add DescribeLogDirs with a failed directory; the replica is in another one or, with `here`, in the failed
        one."""
        error = Error.KAFKA_STORAGE_ERROR if failed else Error.NONE
        mine = LogDirReplica(topic=TOPIC.name, partition=0, partition_size=1, offset_lag=0, is_future_key=False)
        first = LogDir(error=Error.NONE, log_dir="/first", replicas=() if here else (mine,))
        second = LogDir(error=error, log_dir="/second", replicas=(mine,) if here else ())
        return self._answered(
            self._asked(broker, "describe_log_dirs"), LogDirsAnswer(version=4, log_dirs=(first, second))
        )

    def on_disk(self, *replicas: HeldReplica) -> Self:
        request = {"partitions": [f"{TOPIC.name}-0"], "on": [[]]}
        self.events.append(Call(**self._now(), op="replicas", node="cluster", request=request))
        return self._answered(len(self.events) - 1, HeldReplicas(replicas))

    # --- what happens to them

    def _fault(self, fault: str, phase: Phase, *brokers: int, effects: Effects | None = None, **detail: Any) -> Self:
        role, node = "leader of the partition", ",".join(f"broker-{broker}" for broker in brokers)
        own = (effects or effects_of(fault)) if phase == "inject" else None
        event = Fault(**self._now(), fault=fault, phase=phase, role=role, node=node, detail=detail, effects=own)
        self.events.append(event)
        return self

    def hit(self, fault: str, *brokers: int, effects: Effects | None = None, **detail: Any) -> Self:
        """Add a fault that begins now, by default with the effects of its tag; `detail` has the parameters of its
        injection."""
        return self._fault(fault, "inject", *brokers, effects=effects, **detail)._fault(fault, "witness", *brokers)

    def cut(self, *brokers: int, end: int, scheduled: bool = False, partition: str = TOPIC.name + "-0") -> Self:
        """Cut the end of a partition's log; the witness shows the remaining log end. The fault is that of one node if
        `scheduled`."""
        self._fault("cut-tail-above", "inject", *brokers, partition=partition)
        ends: dict[str, Any] = {"log end": [end + 1, end]}
        seen = (
            ends | {"partition": partition} if scheduled else {"disk": {f"broker-{broker}": ends for broker in brokers}}
        )
        return self._fault("cut-tail-above", "witness", *brokers, **seen)

    def followed(self, fault: str, *brokers: int, met: bool = True) -> Self:
        """Add the consequence of an active fault: the cluster's reaction."""
        return self._fault(fault, "consequence", *brokers, met=met)

    def heal(self, fault: str, *brokers: int) -> Self:
        """Begin to heal the fault, and heal it."""
        return self.healing(fault).healed(fault, *brokers)

    def healing(self, fault: str) -> Self:
        """Begin to heal the fault."""
        self.events.append(Call(**self._now(), op="heal", node="cluster", request={"fault": fault}))
        return self

    def healed(self, fault: str, *brokers: int) -> Self:
        return self._fault(fault, "heal", *brokers)

    def kill(self, broker: int) -> Self:
        return self._fault("kill", "inject", broker)._fault("kill", "witness", broker)

    def start(self, broker: int) -> Self:
        return self._fault("kill", "heal", broker)

    def elect_uncleanly(self, broker: int, error: Error = Error.NONE, lost: bool = False) -> Self:
        """Add an unclean ElectLeaders through this broker; Metadata has the elected leader."""
        call = self._asked(broker, "elect_leaders", [(TOPIC.name, 0)], ElectionType.UNCLEAN)
        if lost:
            return self._lost(call)
        result = PartitionResult(version=2, topic=TOPIC.name, partition=0, error=error)
        return self._answered(call, PartitionResults(version=2, partitions=(result,)))

    def restart(self, broker: int) -> Self:
        return self.kill(broker).start(broker)

    def move(self, old: int, new: int) -> Self:
        return self._fault("move-leader", "inject", old)._fault("move-leader", "witness", new)

    def all_healed(self) -> Self:
        """Add the premise that all faults are healed and writes have ended: the replicas should converge."""
        return self._premise("all faults are healed and nobody writes any more", True)

    def at_rest(self, met: bool = True) -> Self:
        return self._premise("at rest", met)

    def later(self, seconds: float) -> Self:
        """Let time pass in which nothing happens but a note each second."""
        while seconds > 0:
            self._waited += min(seconds, 1.0)
            seconds -= 1.0
            self.events.append(Note(**self._now(), text="the kit looks on"))
        return self

    def in_vain(self, late: float, within: float = 33.0) -> Self:
        """Add a wait of the kit in vain; the kit woke `late` seconds late during it."""
        self.events.append(Call(**self._now(), op="settles", node="kit", request={"what": "a wait"}))
        return self._answered(len(self.events) - 1, unmet(late, within))

    def asleep(self, seconds: float) -> Self:
        """Let the host sleep for a while, in which nothing is recorded."""
        self._waited += seconds
        return self

    def _premise(self, what: str, met: bool) -> Self:
        self.events.append(Premise(**self._now(), what=what, met=met))
        return self


def unmet(late: float, within: float) -> Settled:
    """Return the end of a wait in vain, by a kit that woke `late` seconds late during it."""
    return msgspec.convert({"tries": 3, "met": False, "within": within, "late": late}, Settled)


def held_on_disk(
    broker: int, *batches: Batch, epochs: tuple[tuple[int, int], ...] | None, start: int = 0
) -> HeldReplica:
    """Return a replica on disk; `epochs` None means that leader-epoch-checkpoint is missing."""
    stored = tuple(
        HeldBatch(
            base_offset=one.base_offset,
            last_offset=one.last_offset,
            leader_epoch=one.leader_epoch,
            crc=one.crc,
            crc_valid=True,
            size=one.size,
            digest=f"{one.base_offset}/{one.leader_epoch}/{one.crc:08x}",
        )
        for one in batches
    )
    return HeldReplica(
        node=f"broker-{broker}",
        partition=f"{TOPIC.name}-0",
        log_start=start,
        log_end=batches[-1].last_offset + 1 if batches else start,
        epochs=None if epochs is None else tuple(EpochEntry(*entry) for entry in epochs),
        batches=stored,
    )


def effects_of(fault: str) -> Effects:
    """Return the effects of the fault of that name around a partition; none if no fault has this name."""
    kind = next((kind for kind in FAULTS if kind.__struct_config__.tag == fault), None)
    if kind is None:
        return Effects()
    if issubclass(kind, UncleanElection | UncleanElectionByConfig):
        return kind(own_topic=False).effects
    return kind().effects


def _alive(ids: tuple[int, ...]) -> tuple[Node, ...]:
    return tuple(Node(node_id=id, host="localhost", port=9092) for id in ids)


def _plain(value: Any) -> Any:
    """Return the value in the form of a stored history."""
    return msgspec.json.decode(msgspec.json.encode(msgspec.to_builtins(value)))
