"""Requests about a partition and their answers, decoded to the facts of `conformance.judging.facts.log`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from conformance.judging.facts.exchange import (
    NONE,
    UNKNOWN_OUTCOME,
    Attributed,
    Decoding,
    decodes,
    partition_of,
    version_of,
)
from conformance.judging.facts.log import (
    CONSUMER,
    CONTROLLER_UNKNOWN,
    KAFKA_STORAGE_ERROR,
    NOT_ENOUGH_REPLICAS,
    Batch,
    BesideFailedDirectory,
    ControlMarker,
    DeleteRecordsResult,
    DescribedPartition,
    EpochEndOffset,
    ErrorResponse,
    FetchResult,
    ListedOffset,
    PartitionMetadata,
    PartitionState,
    ProduceResult,
    RegisteredPartition,
    RegisteredState,
    RegisteredStates,
    ReplicaOnDisk,
    TopicCreated,
    UncleanElectionResult,
)
from history.events import Answer, Call
from protocol.since import since

UNCLEAN_ELECTION = 1
ELECTION_REFUSED = 84
"""ELECTION_NOT_NEEDED, in place of any refusal: also where the answer does not name the partition, which was not asked for."""
SHOWS_EPOCH_FROM = since("MetadataResponse", "LeaderEpoch")
WHOLE_BYTES = 1024 * 1024
"""The bytes of one partition that a Fetch has to ask for at least, so that it shows all that the replica has."""
ABORT, COMMIT = 0, 1
"""The types of the control records that end a transaction."""


@decodes("create_topics", about=["topic"])
def _create_topics(call: Call, answer: Answer, at: Decoding) -> Iterator[Attributed]:
    for topic in call.request["topics"]:
        fact = TopicCreated(*at.exchange(call, answer), configs=topic["configs"])
        yield ("topic", topic["name"], fact)


@decodes("metadata", about=["partition"])
def _metadata(call: Call, answer: Answer, at: Decoding) -> list[Attributed]:
    if answer.outcome != "ok" or answer.value.get("version", SHOWS_EPOCH_FROM) < SHOWS_EPOCH_FROM:
        return []
    by = (*at.exchange(call, answer), len(at.timeline.faults))
    unfenced = tuple([broker["node_id"] for broker in answer.value["brokers"]])
    # LEADER_NOT_AVAILABLE comes with all else that is known.
    return [
        ("partition", f"{topic['name']}-{one['partition_index']}", _partition_metadata(by, one, unfenced, at.known))
        for topic in answer.value["topics"]
        for one in topic["partitions"]
    ]


def _partition_metadata(
    by: tuple[int, int, str, int, int], one: dict[str, Any], unfenced: tuple[int, ...], known: dict[Any, Any]
) -> PartitionMetadata:
    leader, epoch = one["leader_id"], one["leader_epoch"]
    key = (leader, epoch, tuple(one["isr_nodes"]), tuple(one["replica_nodes"]), unfenced)
    state = known.get(key)
    if state is None:
        state = known[key] = PartitionState(*key, tuple([id for id in key[3] if id not in unfenced]))
    return PartitionMetadata(*by, state, leader, epoch)


@decodes("describe_topic_partitions", about=["description"])
def _described_partition(call: Call, answer: Answer, at: Decoding) -> Iterator[Attributed]:
    for topic in answer.value["topics"] if answer.outcome == "ok" else ():
        for one in topic["partitions"]:
            replicas = (one["isr_nodes"], one["replica_nodes"], one["eligible_leader_replicas"] or ())
            fact = DescribedPartition(*at.exchange(call, answer), one["leader_id"], *map(tuple, replicas))
            yield ("description", f"{topic['name']}-{one['partition_index']}", fact)


@decodes("produce", about=["partition", "producer", "transactional-id"])
def _produce(call: Call, answer: Answer, at: Decoding) -> Iterator[Attributed]:
    yield from _produced(call, answer, at, call.request, answer.value)


@decodes("produce_many", "park_produce", about=["partition", "producer", "transactional-id"])
def _produce_many(call: Call, answer: Answer, at: Decoding) -> Iterator[Attributed]:
    """The outcome of a write that stays in flight, with acks=all, is unknown: its answer comes with another call."""
    for wanted in call.request["partitions"]:
        own = _answer_about(wanted, answer) or {"error_code": UNKNOWN_OUTCOME, "base_offset": -1}
        yield from _produced(call, answer, at, {"acks": -1} | call.request | wanted, own)


def _answer_about(wanted: dict[str, Any], answer: Answer) -> dict[str, Any] | None:
    """The part of a batch answer about a partition, which the answer names by topic or topic id."""
    topic, index = wanted["topic"], wanted["partition"]
    names = {topic["name"], topic["id"]} if isinstance(topic, dict) else {topic}
    parts = answer.value.get("partitions", ()) if answer.outcome == "ok" else ()
    return next((p for p in parts if p["partition"] == index and names & {p["topic"], p["topic_id"]} - {None}), None)


def _produced(call: Call, answer: Answer, at: Decoding, request: Any, value: Any) -> Iterator[Attributed]:
    """One partition of a Produce."""
    # Bytes in place of a batch, or none, have no values of ours.
    batch = request["records"] if isinstance(request["records"], dict) else {"records": ()}
    acknowledged = answer.outcome == "ok" and request["acks"] != 0
    error = value["error_code"] if acknowledged else UNKNOWN_OUTCOME
    fact = ProduceResult(
        *at.exchange(call, answer),
        acks=request["acks"],
        values=tuple([one["value"] for one in batch["records"]]),
        error=error,
        offset=value["base_offset"] if acknowledged else -1,
        failed=answer.outcome == "fail" or error == NOT_ENOUGH_REPLICAS,
        log_start=value.get("log_start_offset", -1) if acknowledged else -1,
        transactional_id=request.get("transactional_id"),
        opaque=request["records"] is not None and batch is not request["records"],
        version=version_of(call, answer),
        timed_out=answer.kind == "Unanswered",
        **_of_producer(batch),
    )
    yield ("partition", partition_of(request), fact)
    if fact.producer_id >= 0:
        yield ("producer", str(fact.producer_id), fact)
    if fact.transactional_id is not None:
        yield ("transactional-id", fact.transactional_id, fact)


def _of_producer(batch: dict[str, Any]) -> dict[str, Any]:
    """The producer's part of a batch, as it is sent and as it is read."""
    return {
        "producer_id": batch.get("producer_id", -1),
        "producer_epoch": batch.get("producer_epoch", -1),
        "base_sequence": batch.get("base_sequence", -1),
        "transactional": batch.get("transactional", False),
    }


@decodes("fetch", about=["partition"])
def _fetch(call: Call, answer: Answer, at: Decoding) -> Iterator[Attributed]:
    if _is_granted(answer):
        yield _fetched(call, answer, at, call.request, answer.value)
    else:
        yield from _error_response(call, answer, "fetch_offset", at)


@decodes("fetch_many", about=["partition"])
def _fetch_many(call: Call, answer: Answer, at: Decoding) -> Iterator[Attributed]:
    """The partitions of this request; others that a fetch session returns were requested earlier. Errors are left out, and
    what asked for a few bytes only."""
    for wanted in call.request["partitions"]:
        own = _answer_about(wanted, answer) if wanted.get("partition_max_bytes", WHOLE_BYTES) >= WHOLE_BYTES else None
        if own is not None and own["error_code"] == NONE:
            yield _fetched(call, answer, at, call.request["options"] | wanted, own)


def _fetched(call: Call, answer: Answer, at: Decoding, request: Any, value: Any) -> Attributed:
    """One partition of a Fetch."""
    diverging, offset = value["diverging_epoch"], request["fetch_offset"]
    fact = FetchResult(
        *at.exchange(call, answer),
        cur=request["current_leader_epoch"],
        last=request["last_fetched_epoch"],
        replica_id=request["replica_id"],
        fetch_offset=offset,
        isolation_level=request.get("isolation_level", 0),
        version=value["version"],
        high_watermark=value["high_watermark"],
        last_stable_offset=value["last_stable_offset"],
        log_start=value["log_start_offset"],
        diverging=(diverging["epoch"], diverging["end_offset"]) if diverging is not None else None,
        batches=tuple([_batch(one, at) for one in value["batches"] if one["last_offset"] >= offset]),
        aborted_transactions=tuple(
            [(one["producer_id"], one["first_offset"]) for one in value.get("aborted_transactions") or ()]
        ),
    )
    return ("partition", partition_of(request), fact)


def _batch(one: dict[str, Any], at: Decoding) -> Batch:
    key = (one["base_offset"], one["last_offset"], one["leader_epoch"], one["crc"], one["crc_valid"])
    found: Batch | None = at.known.get(key)
    if found is None:
        found = at.known[key] = _new_batch(key, one)
    return found


def _new_batch(key: tuple[int, int, int, int, bool], one: dict[str, Any]) -> Batch:
    if one["control"]:
        return Batch(*key, True, (), **_of_producer(one), marker=_marker(one))
    records = tuple([(record["offset"], record["value"]) for record in one["records"]])
    return Batch(*key, False, records, **_of_producer(one), codec=one.get("codec", 0))


def _marker(one: dict[str, Any]) -> ControlMarker | None:
    """The end of a transaction that a control batch holds; None for others, such as a new leader of the quorum."""
    for record in one["records"]:
        if record.get("control_type") in (ABORT, COMMIT):
            return ControlMarker(record["offset"], record["control_type"] == COMMIT, record["coordinator_epoch"])
    return None


@decodes("list_offsets", about=["partition"])
def _list_offsets(call: Call, answer: Answer, at: Decoding) -> Iterator[Attributed]:
    request, value = call.request, answer.value
    if not _is_granted(answer):
        yield from _error_response(call, answer, "timestamp", at)
        return
    fact = ListedOffset(
        *at.exchange(call, answer),
        cur=request["current_leader_epoch"],
        timestamp=request["timestamp"],
        replica_id=request["replica_id"],
        isolation_level=request["isolation_level"],
        offset=value["offset"],
        epoch=value["leader_epoch"],
    )
    yield ("partition", partition_of(request), fact)


@decodes("offset_for_leader_epoch", about=["partition"])
def _offset_for_leader_epoch(call: Call, answer: Answer, at: Decoding) -> Iterator[Attributed]:
    request, value = call.request, answer.value
    if not _is_granted(answer):
        yield from _error_response(call, answer, "leader_epoch", at)
        return
    fact = EpochEndOffset(
        *at.exchange(call, answer),
        cur=request["current_leader_epoch"],
        asked_epoch=request["leader_epoch"],
        epoch=value["leader_epoch"],
        end=value["end_offset"],
    )
    yield ("partition", partition_of(request), fact)


def _is_granted(answer: Answer) -> bool:
    return answer.outcome == "ok" and answer.value["error_code"] == NONE


def _error_response(call: Call, answer: Answer, position: str, at: Decoding) -> Iterator[Attributed]:
    if answer.outcome != "ok":
        return
    request, hint = call.request, answer.value.get("current_leader")
    fact = ErrorResponse(
        *at.exchange(call, answer),
        op=call.op,
        cur=request["current_leader_epoch"],
        last=request.get("last_fetched_epoch", -1),
        replica_id=request.get("replica_id") or CONSUMER,
        position=request[position],
        error=answer.value["error_code"],
        hint=(hint["leader_epoch"], hint["leader_id"]) if hint is not None and hint["leader_id"] >= 0 else None,
    )
    yield ("partition", partition_of(request), fact)


@decodes("describe_log_dirs", about=["partition"])
def _describe_log_dirs(call: Call, answer: Answer, at: Decoding) -> Iterator[Attributed]:
    described = answer.value["log_dirs"] if answer.outcome == "ok" else ()
    if any(one["error_code"] == KAFKA_STORAGE_ERROR for one in described):
        for replica in (one for found in described if found["error_code"] == NONE for one in found["replicas"]):
            yield ("partition", partition_of(replica), BesideFailedDirectory(*at.exchange(call, answer)))


@decodes("delete_records", about=["partition"])
def _delete_records(call: Call, answer: Answer, at: Decoding) -> Iterator[Attributed]:
    error = answer.value["error_code"] if answer.outcome == "ok" else UNKNOWN_OUTCOME
    fact = DeleteRecordsResult(
        *at.exchange(call, answer),
        offset=call.request["offset"],
        error=error,
        low_watermark=answer.value["low_watermark"] if error == NONE else -1,
    )
    yield ("partition", partition_of(call.request), fact)


@decodes("elect_leaders", about=["partition"])
def _elect_leaders(call: Call, answer: Answer, at: Decoding) -> Iterator[Attributed]:
    if call.request["election_type"] != UNCLEAN_ELECTION:
        return
    for topic, index in call.request["partitions"] or ():
        error = _election_error(answer, topic, index)
        if error == NONE or error in CONTROLLER_UNKNOWN:
            fact = UncleanElectionResult(*at.exchange(call, answer), granted=error == NONE)
            yield ("partition", f"{topic}-{index}", fact)


def _election_error(answer: Answer, topic: str, index: int) -> int:
    if answer.outcome != "ok":
        return ELECTION_REFUSED if answer.outcome == "fail" else UNKNOWN_OUTCOME
    if answer.value["error_code"] != NONE:
        return int(answer.value["error_code"])
    own = (one for one in answer.value["partitions"] if (one["topic"], one["partition"]) == (topic, index))
    return next((int(one["error_code"]) for one in own), ELECTION_REFUSED)


@decodes("describe_topic_partitions", about=["partition"])
def _describe_topic_partitions(call: Call, answer: Answer, at: Decoding) -> Iterator[Attributed]:
    for topic in answer.value["topics"] if answer.outcome == "ok" else ():
        for one in topic["partitions"]:
            eligible = one["eligible_leader_replicas"]
            fact = RegisteredPartition(
                *at.exchange(call, answer),
                leader=one["leader_id"],
                epoch=one["leader_epoch"],
                isr=tuple(one["isr_nodes"]),
                eligible=None if eligible is None else tuple(eligible),
                last_known=tuple(one["last_known_elr"] or ()),
            )
            yield ("partition", f"{topic['name']}-{one['partition_index']}", fact)


@decodes("word", about=["partition"])
def _word(call: Call, answer: Answer, at: Decoding) -> Iterator[Attributed]:
    value = answer.value
    if answer.outcome == "ok" and value["epoch"] >= 0:
        fact = RegisteredPartition(
            *at.exchange(call, answer),
            leader=value["leader"],
            epoch=value["epoch"],
            isr=tuple(value["isr"]),
            eligible=tuple(value["eligible"]),
            last_known=tuple(value["last_known"]),
            recovering=value["recovering"],
        )
        yield ("partition", partition_of(call.request), fact)


@decodes("registrations", about=["partition"])
def _registrations(call: Call, answer: Answer, at: Decoding) -> Iterator[Attributed]:
    for one in answer.value["partitions"] if answer.outcome == "ok" else ():
        states = tuple(
            RegisteredState(
                leader=word["leader"],
                epoch=word["epoch"],
                isr=tuple(word["isr"]),
                eligible=tuple(word["eligible"]),
                last_known=tuple(word["last_known"]),
                replicas=tuple(word["replicas"]),
                unfenced=tuple(word["unfenced"]),
            )
            for word in one["registrations"]
        )
        yield ("partition", f"{one['topic']}-{one['index']}", RegisteredStates(*at.exchange(call, answer), states))


@decodes("replicas", about=["partition"])
def _replicas(call: Call, answer: Answer, at: Decoding) -> Iterator[Attributed]:
    for one in answer.value["replicas"] if answer.outcome == "ok" else ():
        epochs = one["epochs"]
        fact = ReplicaOnDisk(
            event=answer.n,
            node=one["node"],
            log_start=one["log_start"],
            log_end=one["log_end"],
            epochs=None if epochs is None else tuple([(e["epoch"], e["start_offset"]) for e in epochs]),
            batches=tuple(
                [(b["base_offset"], b["last_offset"], b["leader_epoch"], b["digest"]) for b in one["batches"]]
            ),
            torn=one["torn"],
        )
        yield ("partition", one["partition"], fact)
