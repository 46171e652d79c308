"""Requests about a partition and their answers, decoded to the facts of `conformance.judging.facts.log`."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

from conformance.judging.facts.exchange import (
    NEVER_SENT,
    NONE,
    UNKNOWN_OUTCOME,
    Attributed,
    Decoding,
    LostAnswer,
    decodes,
    partition_of,
)
from conformance.judging.facts.log import (
    CONSUMER,
    CONTROLLER_UNKNOWN,
    ControlMarker,
    DeleteRecordsResult,
    EpochEndOffset,
    ErrorResponse,
    FetchResult,
    OffsetLookup,
    PartitionAtBroker,
    PartitionState,
    ProduceResult,
    RegisteredPartition,
    RegisteredStates,
    ReplicaBatch,
    ReplicaInHealthyDirectory,
    ReplicaOnDisk,
    UncleanElectionResult,
)
from conformance.judging.facts.reassignments import error_about
from history import readings
from protocol import cluster, log, records
from protocol.cluster import (
    DescribeLogDirs,
    DescribeTopicPartitions,
    LogDirsAnswer,
    MetadataAnswer,
    TopicPartitionsAnswer,
)
from protocol.codes import Error
from protocol.messages import PartitionAnswer, PendingRequest, Topic
from protocol.records import ControlType, NewBatch
from protocol.since import since
from protocol.topics import ElectionType, ElectLeaders, PartitionResults

Part = TypeVar("Part", log.ProducedPartition, log.FetchedPartition)

SHOWS_EPOCH_FROM = since("MetadataResponse", "LeaderEpoch")
WHOLE_BYTES = 1024 * 1024
"""The minimum partition_max_bytes with which a Fetch counts as a read of the whole log."""


@decodes(cluster.Metadata, about=["partition"])
def _metadata(request: cluster.Metadata, answer: MetadataAnswer, at: Decoding) -> list[Attributed]:
    if answer.version < SHOWS_EPOCH_FROM:
        return []
    by = (*at.exchange(), len(at.timeline.faults))
    unfenced = tuple([broker.node_id for broker in answer.brokers])
    # A partition with LEADER_NOT_AVAILABLE still has all other fields.
    return [
        ("partition", f"{topic.name}-{one.partition}", _partition_metadata(by, one, unfenced, at))
        for topic in answer.topics
        for one in topic.partitions
    ]


def _partition_metadata(
    by: tuple[int, int, str, int, int], one: cluster.PartitionMetadata, unfenced: tuple[int, ...], at: Decoding
) -> PartitionAtBroker:
    key = (one.leader, one.leader_epoch, one.isr, one.replicas, unfenced)
    state = at.known.get(key)
    if state is None:
        state = at.known[key] = PartitionState(*key, tuple([id for id in one.replicas if id not in unfenced]))
    return PartitionAtBroker(*by, state, one.leader, one.leader_epoch)


@decodes(log.Produce, about=["partition", "transactional-id"], lost=True)
def _produce(request: log.Produce, answer: log.ProducedPartition | LostAnswer, at: Decoding) -> Iterator[Attributed]:
    yield from _produce_result(request, request, answer if request.acks != 0 else None, answer, at)


@decodes(log.ProduceMany, about=["partition", "transactional-id"], lost=True)
def _produce_many(
    request: log.ProduceMany, answer: log.ProduceAnswer | LostAnswer, at: Decoding
) -> Iterator[Attributed]:
    for wanted in request.partitions:
        own = _part_about(wanted, answer.partitions) if request.acks != 0 else None
        yield from _produce_result(request, wanted, own, answer, at)


@decodes(log.ParkProduce, about=["partition", "transactional-id"], lost=True)
def _park_produce(request: log.ParkProduce, answer: PendingRequest | LostAnswer, at: Decoding) -> Iterator[Attributed]:
    """Yield writes that stay in flight, with acks=all. Their outcome is unknown here: the answer belongs to another call."""
    for wanted in request.partitions:
        yield from _produce_result(request, wanted, None, answer, at)


def _part_about(wanted: log.ProducePartition | log.FetchPartition, parts: Iterable[Part]) -> Part | None:
    """Return the part of an answer about a partition, which the answer names by topic or topic id."""
    topic = Topic.of(wanted.topic)
    return next(
        (
            part
            for part in parts
            if part.partition == wanted.partition
            and (part.topic == topic.name or (part.topic_id == topic.id and topic.id is not None))
        ),
        None,
    )


def _produce_result(
    request: log.Produce | log.ProduceMany | log.ParkProduce,
    wanted: log.Produce | log.ProducePartition,
    own: log.ProducedPartition | LostAnswer | None,
    answer: log.ProducedPartition | log.ProduceAnswer | PendingRequest | LostAnswer,
    at: Decoding,
) -> Iterator[Attributed]:
    """Yield the result for one partition of a Produce. Its outcome is unknown if the answer lacks the partition (`own`)."""
    # Bytes in place of a batch have no known values.
    batch = wanted.records if isinstance(wanted.records, NewBatch) else NewBatch(())
    result = own if isinstance(own, log.ProducedPartition) else None
    error = result.error if result is not None else UNKNOWN_OUTCOME
    fact = ProduceResult(
        *at.exchange(),
        acks=-1 if isinstance(request, log.ParkProduce) else request.acks,
        values=tuple([one.value for one in batch.records]),
        error=error,
        offset=result.base_offset if result is not None else -1,
        failed=(isinstance(answer, LostAnswer) and answer.error == NEVER_SENT) or error == Error.NOT_ENOUGH_REPLICAS,
        log_start=result.log_start_offset if result is not None else -1,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        base_sequence=batch.base_sequence,
        transactional=batch.transactional,
        transactional_id=request.transactional_id,
        opaque=isinstance(wanted.records, bytes),
        version=answer.version,
        timed_out=at.answer.kind == "Unanswered",
    )
    yield ("partition", partition_of(wanted), fact)
    if fact.transactional_id is not None:
        yield ("transactional-id", fact.transactional_id, fact)


@decodes(readings.StartCopying, about=["partition"])
def _copies(request: readings.StartCopying, answer: readings.CopyStep, at: Decoding) -> Iterator[Attributed]:
    """Yield a write of unknown records, since the client appends what it reads."""
    fact = ProduceResult(
        *at.exchange(),
        acks=-1,
        values=(),
        error=UNKNOWN_OUTCOME,
        offset=-1,
        failed=False,
        transactional=True,
        opaque=True,
    )
    yield ("partition", f"{request.target}-0", fact)


@decodes(log.Fetch, about=["partition"])
def _fetch(request: log.Fetch, answer: log.FetchedPartition, at: Decoding) -> Iterator[Attributed]:
    if answer.error == NONE:
        yield _fetch_result(request, request, answer, at)
    else:
        yield _error_response(
            request, request.last_fetched_epoch, request.fetch_offset, answer, answer.current_leader, at
        )


@decodes(log.FetchMany, about=["partition"])
def _fetch_many(request: log.FetchMany, answer: log.FetchAnswer, at: Decoding) -> Iterator[Attributed]:
    """Yield the results of the requested partitions, not of others that a fetch session returns. Errors are left out, and so are
    partitions of which only a few bytes were requested."""
    for wanted in request.partitions:
        own = _part_about(wanted, answer.partitions) if wanted.partition_max_bytes >= WHOLE_BYTES else None
        if own is not None and own.error == NONE:
            yield _fetch_result(wanted, request.options, own, at)


def _fetch_result(
    wanted: log.FetchPartition, options: log.Fetch | log.FetchOptions, answer: log.FetchedPartition, at: Decoding
) -> Attributed:
    """Return the result for one partition of a Fetch."""
    diverging, offset = answer.diverging_epoch, wanted.fetch_offset
    fact = FetchResult(
        *at.exchange(),
        cur=wanted.current_leader_epoch,
        last=wanted.last_fetched_epoch,
        replica_id=options.replica_id,
        fetch_offset=offset,
        isolation_level=options.isolation_level,
        version=answer.version,
        high_watermark=answer.high_watermark,
        last_stable_offset=answer.last_stable_offset,
        log_start=answer.log_start_offset,
        diverging=(diverging.epoch, diverging.end_offset) if diverging is not None else None,
        batches=tuple([_batch(one, at) for one in answer.batches if one.last_offset >= offset]),
        aborted_transactions=tuple([(one.producer_id, one.first_offset) for one in answer.aborted_transactions or ()]),
    )
    return ("partition", partition_of(wanted), fact)


def _batch(one: records.Batch, at: Decoding) -> ReplicaBatch:
    key = (one.base_offset, one.last_offset, one.leader_epoch, one.crc, one.crc_valid)
    found: ReplicaBatch | None = at.known.get(key)
    if found is None:
        found = at.known[key] = ReplicaBatch(
            *key,
            one.control,
            () if one.control else tuple([(record.offset, record.value) for record in one.records]),
            one.producer_id,
            one.producer_epoch,
            one.base_sequence,
            one.transactional,
            _marker(one) if one.control else None,
            0 if one.control else one.codec,
        )
    return found


def _marker(one: records.Batch) -> ControlMarker | None:
    """Return the transaction marker in a control batch; None for other control records, such as a LeaderChangeMessage."""
    for record in one.records:
        if record.control_type in (ControlType.ABORT, ControlType.COMMIT):
            return ControlMarker(record.offset, record.control_type == ControlType.COMMIT, record.coordinator_epoch)
    return None


@decodes(log.ListOffsets, about=["partition"])
def _list_offsets(request: log.ListOffsets, answer: log.ListedOffset, at: Decoding) -> Iterator[Attributed]:
    if answer.error != NONE:
        yield _error_response(request, -1, request.timestamp, answer, None, at)
        return
    fact = OffsetLookup(
        *at.exchange(),
        cur=request.current_leader_epoch,
        timestamp=request.timestamp,
        replica_id=request.replica_id,
        isolation_level=request.isolation_level,
        offset=answer.offset,
        epoch=answer.leader_epoch,
    )
    yield ("partition", partition_of(request), fact)


@decodes(log.OffsetForLeaderEpoch, about=["partition"])
def _offset_for_leader_epoch(
    request: log.OffsetForLeaderEpoch, answer: log.EpochEnd, at: Decoding
) -> Iterator[Attributed]:
    if answer.error != NONE:
        yield _error_response(request, -1, request.leader_epoch, answer, None, at)
        return
    fact = EpochEndOffset(
        *at.exchange(),
        cur=request.current_leader_epoch,
        asked_epoch=request.leader_epoch,
        epoch=answer.leader_epoch,
        end=answer.end_offset,
    )
    yield ("partition", partition_of(request), fact)


def _error_response(
    request: log.Fetch | log.ListOffsets | log.OffsetForLeaderEpoch,
    last: int,
    position: int,
    answer: PartitionAnswer,
    hint: log.LeaderAndEpoch | None,
    at: Decoding,
) -> Attributed:
    fact = ErrorResponse(
        *at.exchange(),
        op=request.op,
        cur=request.current_leader_epoch,
        last=last,
        replica_id=request.replica_id or CONSUMER,
        position=position,
        error=answer.error,
        hint=(hint.leader_epoch, hint.leader_id) if hint is not None and hint.leader_id >= 0 else None,
    )
    return ("partition", partition_of(request), fact)


@decodes(DescribeLogDirs, about=["partition"])
def _describe_log_dirs(request: DescribeLogDirs, answer: LogDirsAnswer, at: Decoding) -> Iterator[Attributed]:
    if any(one.error == Error.KAFKA_STORAGE_ERROR for one in answer.log_dirs):
        for replica in (one for found in answer.log_dirs if found.error == NONE for one in found.replicas):
            yield ("partition", partition_of(replica), ReplicaInHealthyDirectory(*at.exchange()))


@decodes(log.DeleteRecords, about=["partition"], lost=True)
def _delete_records(
    request: log.DeleteRecords, answer: log.DeletedRecords | LostAnswer, at: Decoding
) -> Iterator[Attributed]:
    """Yield the result of DeleteRecords. A request that was never sent counts as one of unknown outcome."""
    result = answer if isinstance(answer, log.DeletedRecords) else None
    error = result.error if result is not None else UNKNOWN_OUTCOME
    low_watermark = result.low_watermark if result is not None and error == NONE else -1
    fact = DeleteRecordsResult(*at.exchange(), request.offset, error, low_watermark)
    yield ("partition", partition_of(request), fact)


@decodes(ElectLeaders, about=["partition"], lost=True)
def _elect_leaders(request: ElectLeaders, answer: PartitionResults | LostAnswer, at: Decoding) -> Iterator[Attributed]:
    """Yield the unclean elections that took place or may have. If the answer lacks a partition, its election was refused."""
    if request.election_type != ElectionType.UNCLEAN:
        return
    for topic, index in request.partitions or ():
        error = error_about(answer, topic, index, Error.ELECTION_NOT_NEEDED)
        if error == NONE or error in CONTROLLER_UNKNOWN:
            yield ("partition", f"{topic}-{index}", UncleanElectionResult(*at.exchange(), granted=error == NONE))


@decodes(DescribeTopicPartitions, about=["partition"])
def _describe_topic_partitions(
    request: DescribeTopicPartitions, answer: TopicPartitionsAnswer, at: Decoding
) -> Iterator[Attributed]:
    for topic in answer.topics:
        for one in topic.partitions:
            fact = RegisteredPartition(
                *at.exchange(),
                leader=one.leader,
                epoch=one.leader_epoch,
                isr=one.isr,
                eligible=one.eligible_leader_replicas,
                last_known=one.last_known_elr or (),
            )
            yield ("partition", f"{topic.name}-{one.partition}", fact)


@decodes(readings.ReadRegistration, about=["partition"])
def _registered_partition(
    request: readings.ReadRegistration, answer: readings.PartitionRegistration, at: Decoding
) -> Iterator[Attributed]:
    if answer.epoch >= 0:
        fact = RegisteredPartition(
            *at.exchange(),
            leader=answer.leader,
            epoch=answer.epoch,
            isr=answer.isr,
            eligible=answer.eligible,
            last_known=answer.last_known,
            recovering=answer.recovering,
        )
        yield ("partition", partition_of(request), fact)


@decodes(readings.ReadRegistrations, about=["partition"])
def _registrations(
    request: readings.ReadRegistrations, answer: readings.RegistrationHistories, at: Decoding
) -> Iterator[Attributed]:
    for one in answer.partitions:
        yield ("partition", f"{one.topic}-{one.index}", RegisteredStates(*at.exchange(), one.registrations))


@decodes(readings.ReadDisks, about=["partition"])
def _replicas(request: readings.ReadDisks, answer: readings.HeldReplicas, at: Decoding) -> Iterator[Attributed]:
    for one in answer.replicas:
        fact = ReplicaOnDisk(
            event=at.answer.n,
            node=one.node,
            log_start=one.log_start,
            log_end=one.log_end,
            epochs=None if one.epochs is None else tuple([(e.epoch, e.start_offset) for e in one.epochs]),
            batches=tuple([(b.base_offset, b.last_offset, b.leader_epoch, b.digest) for b in one.batches]),
            torn=one.torn,
        )
        yield ("partition", one.partition, fact)
