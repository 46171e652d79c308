"""Produce, Fetch, ListOffsets, OffsetForLeaderEpoch and DeleteRecords, as ReplicaManager and Partition answer them."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any

from fixtures.wire.records import read_batches
from history.readings import EpochEntry
from protocol.codes import Error
from protocol.log import READ_COMMITTED, READ_UNCOMMITTED
from tests.miniature.core.broker import Broker
from tests.miniature.core.controller import Key
from tests.miniature.core.log import UNDEFINED
from tests.miniature.core.producer_state import aborted
from tests.miniature.core.replica import CONSUMER, DEBUGGER, FUTURE, Replica, Served
from tests.miniature.core.sessions import sent

Plain = dict[str, Any]

ALL = -1
LATEST, EARLIEST, MAX_TIMESTAMP = -1, -2, -3
VERSION_WITHOUT_BUG = 9
"""The version of ListOffsets from which on the bug `old-version-misnames-wrong-broker` is gone."""
PATIENCE = 24
"""Rounds for which a request waits for followers before it is answered REQUEST_TIMED_OUT."""
TRANSACTIONS_BEGIN_FROM = 12
ABORTABLE_FROM = 11
"""The version of Produce from which on a write begins its transaction and adds its partition (KIP-890)."""
ANY_REPLICA_FROM = 11
"""The version of Fetch from which on consumers may read from followers (KIP-392)."""


def hosted(broker: Broker, key: Key) -> Replica | Error:
    """Return the replica, or the error of a broker that does not host it."""
    if key in broker.replicas and key in broker.views:
        return broker.replicas[key]
    return Error.NOT_LEADER_OR_FOLLOWER if key in broker.views else Error.UNKNOWN_TOPIC_OR_PARTITION


def refused(replica: Replica, cur: int, *, anyone: bool = False) -> Error:
    """Return the error for a wrong epoch, else for lacking leadership, unless any replica may answer."""
    epoch, bugs = replica.state.epoch, replica.bugs
    if cur > epoch and "newer-epoch-served" in bugs:
        cur = epoch
    if cur == epoch and "false-fence" in bugs and epoch > 0 and replica.round - replica.led_since < PATIENCE:
        return Error.FENCED_LEADER_EPOCH
    error = replica.refusal(cur)
    return Error.NONE if anyone and error is Error.NOT_LEADER_OR_FOLLOWER else error


def each(topics: list[Plain], name: str, answer: Callable[[str, Plain], Plain]) -> list[Plain]:
    """Return the answers for all partitions, grouped by topic in the field `name`."""
    return [
        {name: topic[name], "partitions": [answer(topic[name], p) for p in topic["partitions"]]} for topic in topics
    ]


# --- Produce


def produce(broker: Broker, asked: Plain) -> Plain:
    responses = []
    for topic in asked["topic_data"]:
        answers = [_produced(broker, (topic["name"], p["index"]), p, asked) for p in topic["partition_data"]]
        responses.append({"name": topic["name"], "partition_responses": answers})
    return {"responses": responses}


def _produced(broker: Broker, key: Key, asked: Plain, request: Plain) -> Plain:
    replica, acks = hosted(broker, key), request["acks"]
    error = replica if isinstance(replica, Error) else _unfit(replica, asked["records"], acks)
    if isinstance(replica, Error) or error is not Error.NONE:
        return _acknowledged(key, error)
    if (again := _appended_before(replica, asked["records"])) is not None:
        error = committed(replica, again + 1, replica.state.epoch) if acks == ALL else Error.NONE
        return _acknowledged(key, error, again if error is Error.NONE else -1, replica.log.start)
    if (error := _unwelcome(replica, asked["records"], request)) is not Error.NONE:
        return _acknowledged(key, error)
    start = end = replica.log.end
    for data in whole_batches(asked["records"]):
        end = replica.append(data).last + 1
        if "appended-twice" in replica.bugs and end % 3 == 0:
            end = replica.append(data).last + 1
    if acks == ALL:
        error = committed(replica, end, replica.state.epoch)
    base = start if error is Error.NONE else -1
    if "acknowledged-at-one-offset" in replica.bugs and base > 0 and end % 3 == 0:
        base -= 1
    return _acknowledged(key, error, base, replica.log.start)


def _appended_before(replica: Replica, data: bytes) -> int | None:
    """Return the offset of a producer's batch that is already in the log."""
    found = [replica.log.producers.appended(batch) for batch in read_batches(data)]
    return found[0] if found else None


def _unwelcome(replica: Replica, data: bytes, request: Plain) -> Error:
    """Return the error of a producer's batch that must not be appended: for its epoch, sequence or transaction."""
    name, adds = request["transactional_id"], request["version"] >= TRANSACTIONS_BEGIN_FROM
    abortable = request["version"] >= ABORTABLE_FROM
    for batch in read_batches(data):
        if batch.transactional:
            whose, key = (name or "", batch.producer_id, batch.producer_epoch), replica.state.key
            error = replica.broker.cluster.transactions.verify(*whose, key, adds=adds, abortable=abortable)
            if error is not Error.NONE and "fenced-epoch-appended" not in replica.bugs:
                return error
        if (error := replica.log.producers.refusal(batch)) is not Error.NONE:
            return error
    return Error.NONE


def _acknowledged(key: Key, error: Error, base: int = -1, start: int = -1) -> Plain:
    fields = {"base_offset": base, "log_append_time_ms": -1, "log_start_offset": start}
    return {"index": key[1], "error_code": error, **fields, "record_errors": [], "error_message": None}


def whole_batches(data: bytes) -> Iterator[bytes]:
    at = 0
    for read in read_batches(data):
        yield bytes(data[at : at + read.size])
        at += read.size


def _unfit(replica: Replica, data: bytes, acks: int) -> Error:
    """Return the error with which a leader must refuse to append (KIP101-INV-17)."""
    if not replica.leads:
        return Error.NOT_LEADER_OR_FOLLOWER
    broker, key = replica.broker, replica.state.key
    if "compact" in broker.config(key[0], "cleanup.policy") and any(
        record.key is None for read in read_batches(data) for record in read.records
    ):
        return Error.INVALID_RECORD
    if len(data) > int(broker.config(key[0], "max.message.bytes")) and "limit-not-in-force" not in replica.bugs:
        return Error.MESSAGE_TOO_LARGE
    few = len(replica.state.isr) < broker.min_isr(key) and "success-below-min-isr" not in replica.bugs
    return Error.NOT_ENOUGH_REPLICAS if acks == ALL and few else Error.NONE


def committed(replica: Replica, end: int, epoch: int) -> Error:
    """Wait until the high watermark reaches `end`, while this broker leads in that epoch."""
    cluster, broker = replica.broker.cluster, replica.broker
    replica.advance()
    for _ in range(PATIENCE):
        if "acks-all-by-leader-alone" in replica.bugs:
            return Error.NONE
        if broker.status != "running" or not replica.leads or replica.state.epoch != epoch:
            return Error.NOT_LEADER_OR_FOLLOWER
        if replica.log.watermark >= end:
            few = len(replica.state.isr) < broker.min_isr(replica.state.key)
            few = few and "success-below-min-isr" not in replica.bugs
            return Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND if few else Error.NONE
        cluster.tick()
    return Error.REQUEST_TIMED_OUT


# --- Fetch


def fetch(broker: Broker, asked: Plain) -> Plain:
    """Return the answer to Fetch. In a session all its partitions are checked; an incremental answer has those with
    news."""
    replica_id = asked.get("replica_state", {}).get("replica_id", asked.get("replica_id", CONSUMER))
    if broker.sessions.lacks(asked):
        return {"error_code": Error.FETCH_SESSION_ID_NOT_FOUND, "session_id": 0, "responses": []}
    session = broker.sessions.of(asked)
    responses = []
    isolation = {"isolation_level": asked.get("isolation_level", READ_UNCOMMITTED)}
    for key, wanted in (session.asked if session is not None else sent(asked)).items():
        topic, id, _ = key
        answer = _fetched(broker, _name(broker, topic, id), wanted | isolation, replica_id, asked["version"])
        if session is None or session.is_new(key, answer):
            responses.append({"topic": topic, "topic_id": id, "partitions": [answer]})
    if session is not None and not asked["topics"] and "diverging-left-out-of-session" in broker.cluster.bugs:
        responses = [one for one in responses if "diverging_epoch" not in one["partitions"][0]]
    return {"error_code": 0, "session_id": session.id if session is not None else 0, "responses": responses}


def _name(broker: Broker, topic: str | None, id: uuid.UUID) -> str | None:
    known = broker.topic_of(id)
    return topic or (known.name if known is not None else None)


def _fetched(broker: Broker, name: str | None, asked: Plain, replica_id: int, version: int) -> Plain:
    if name is None:
        return _unserved(asked, Error.UNKNOWN_TOPIC_ID)
    replica = hosted(broker, (name, asked["partition"]))
    if isinstance(replica, Error):
        return _unserved(asked, replica)
    cur = asked.get("current_leader_epoch", -1)
    if 0 <= cur < replica.state.epoch and "fence-leak" in replica.bugs:
        cur = -1
    anyone = replica_id == FUTURE or (replica_id < 0 and version >= ANY_REPLICA_FROM)
    error = refused(replica, cur, anyone=anyone)
    if replica_id in replica.state.replicas and "failed-fetch-counts" in replica.bugs and replica.leads:
        replica.fetched_by(replica_id, asked["fetch_offset"], -1)
    if error is Error.NONE and replica_id >= 0 and replica_id not in replica.state.replicas:
        if "stranger-in-progress-table" in replica.bugs:
            replica.fetched_by(replica_id, asked["fetch_offset"], -1)
        error = Error.UNKNOWN_LEADER_EPOCH if cur >= 0 else Error.NOT_LEADER_OR_FOLLOWER
    if error is not Error.NONE:
        return _unserved(asked, error, replica)
    return _served(replica, asked, replica_id)


def _unserved(asked: Plain, error: Error, replica: Replica | None = None) -> Plain:
    fields: Plain = {"high_watermark": -1, "last_stable_offset": -1, "log_start_offset": -1, "records": b""}
    if replica is not None and error in (Error.FENCED_LEADER_EPOCH, Error.NOT_LEADER_OR_FOLLOWER):
        fields["current_leader"] = {"leader_id": replica.state.leader, "leader_epoch": replica.state.epoch}
    return {"partition_index": asked["partition"], "error_code": error, "aborted_transactions": None, **fields}


def _served(replica: Replica, asked: Plain, replica_id: int) -> Plain:
    log, offset = replica.log, asked["fetch_offset"]
    # The answer shows the log as it was before the fetch counts as progress.
    marks = _marks(replica)
    served = _looked_up(replica, asked, replica_id in (CONSUMER, DEBUGGER))
    if served.error is not Error.NONE:
        return _unserved(asked, served.error)
    if served.diverging is None and replica_id >= 0:
        replica.fetched_by(replica_id, offset, asked.get("log_start_offset", -1))
    fields: Plain = {"records": b"".join(stored.data for stored in served.batches), "aborted_transactions": None}
    if asked["isolation_level"] == READ_COMMITTED:
        ended = aborted((stored.read for stored in log.batches), offset)
        fields["aborted_transactions"] = [{"producer_id": id, "first_offset": first} for id, first in ended]
    if served.diverging is not None:
        beyond = 2 + log.end - served.diverging.start_offset if "unsound-divergence" in replica.bugs else 0
        end = served.diverging.start_offset + beyond
        fields["diverging_epoch"] = {"epoch": served.diverging.epoch, "end_offset": end}
    return {"partition_index": asked["partition"], "error_code": 0, **marks, **fields}


def _looked_up(replica: Replica, asked: Plain, consumer: bool) -> Served:
    log, offset, last = replica.log, asked["fetch_offset"], asked.get("last_fetched_epoch", -1)
    beyond = "reads-past-watermark" in replica.bugs or (
        "uncommitted-at-followers" in replica.bugs and not replica.leads
    )
    upto = log.watermark if consumer and not beyond else log.end
    if asked["isolation_level"] == READ_COMMITTED:
        upto = min(upto, replica.stable)
    if "silent-truncation" in replica.bugs:
        last = -1
    if "deleted-record-returned" in replica.bugs and offset < log.start:
        return Served(batches=tuple(log.read(offset, upto)))
    if "older-epoch-skipped" in replica.bugs and last >= 0:
        offset = max(offset, log.epochs.entries[-1].start_offset)
    flagged = 0 <= last < log.epochs.latest and "genuine-pair-flagged" in replica.bugs
    return replica.serve(offset + flagged, last, upto, asked.get("partition_max_bytes", 1 << 20))


def _marks(replica: Replica) -> Plain:
    log = replica.log
    beyond = "latest-beyond-end" in replica.bugs and log.watermark == log.end
    mark = log.watermark + beyond
    stable = log.end if "stable-beyond-watermark" in replica.bugs else min(mark, replica.stable)
    if "stable-behind-log-start" in replica.bugs and log.start:
        stable = log.start - 1
    return {"high_watermark": mark, "last_stable_offset": stable, "log_start_offset": log.start}


# --- ListOffsets


def list_offsets(broker: Broker, asked: Plain) -> Plain:
    def listed(topic: str, partition: Plain) -> Plain:
        replica = hosted(broker, (topic, partition["partition_index"]))
        error = replica if isinstance(replica, Error) else _unlisted(replica, partition, asked["replica_id"])
        if error is not Error.NONE or isinstance(replica, Error):
            return _listed(partition, error)
        return _listed(partition, Error.NONE, *_looked_for(replica, partition["timestamp"], asked["replica_id"]))

    topics = each(asked["topics"], "name", listed)
    if "first-offset-for-all" in broker.cluster.bugs:
        _repeat_first([one for topic in topics for one in topic["partitions"] if one["error_code"] == Error.NONE])
    if "old-version-misnames-wrong-broker" in broker.cluster.bugs and asked["version"] < VERSION_WITHOUT_BUG:
        _misname([one for topic in topics for one in topic["partitions"]])
    return {"topics": topics}


def _repeat_first(granted: list[Plain]) -> None:
    for one in granted:
        one["offset"] = granted[0]["offset"]


def _misname(partitions: list[Plain]) -> None:
    for one in partitions:
        if one["error_code"] == Error.NOT_LEADER_OR_FOLLOWER:
            one["error_code"] = Error.UNKNOWN_TOPIC_OR_PARTITION


def _listed(asked: Plain, error: Error, timestamp: int = -1, offset: int = -1, epoch: int = -1) -> Plain:
    fields = {"timestamp": timestamp, "offset": offset, "leader_epoch": epoch, "old_style_offsets": []}
    return {"partition_index": asked["partition_index"], "error_code": error, **fields}


def _unlisted(replica: Replica, asked: Plain, replica_id: int) -> Error:
    error = refused(replica, asked.get("current_leader_epoch", -1), anyone=replica_id == DEBUGGER)
    behind = replica.log.watermark < replica.epoch_start and replica.leads
    if error is Error.NONE and replica_id == CONSUMER and asked["timestamp"] == LATEST and behind:
        return Error.OFFSET_NOT_AVAILABLE
    return error


def _looked_for(replica: Replica, timestamp: int, replica_id: int) -> tuple[int, int, int]:
    """Return timestamp, offset and epoch."""
    log = replica.log
    if timestamp == LATEST:
        whole = replica_id == DEBUGGER or "latest-by-log-end" in replica.bugs
        end = log.end if whole else int(_marks(replica)["high_watermark"])
        if "own-end-by-watermark" in replica.bugs and not replica.leads:
            end = log.watermark
        if "own-end-by-leader" in replica.bugs and not replica.leads:
            end = replica.broker.cluster.brokers[replica.state.leader].replicas[replica.state.key].log.end
        return -1, end, replica.state.epoch
    if timestamp == EARLIEST:
        unknown = "empty-log-without-epoch" in replica.bugs and log.start == log.end
        return -1, log.start, -1 if unknown else log.epochs.at(log.start)
    found = log.since(log.latest_time() if timestamp == MAX_TIMESTAMP else timestamp)
    limit = log.end if replica_id == DEBUGGER else log.watermark
    return found if found is not None and found[1] < limit else (-1, -1, -1)


# --- OffsetForLeaderEpoch


def epoch_ends(broker: Broker, asked: Plain) -> Plain:
    keys = ((topic["topic"], one["partition"]) for topic in asked["topics"] for one in topic["partitions"])
    first = next((broker.replicas[key] for key in keys if key in broker.replicas), None)

    def ended(topic: str, partition: Plain) -> Plain:
        replica = hosted(broker, (topic, partition["partition"]))
        cur = partition.get("current_leader_epoch", -1)
        error = replica if isinstance(replica, Error) else refused(replica, cur)
        end = UNDEFINED
        if not isinstance(replica, Error) and error is Error.NONE:
            end = _end_of(
                first if first and "first-end-for-all" in replica.bugs else replica, partition["leader_epoch"]
            )
        fields = {"error_code": error, "leader_epoch": end.epoch, "end_offset": end.start_offset}
        return {"partition": partition["partition"], **fields}

    return {"topics": each(asked["topics"], "topic", ended)}


def _end_of(replica: Replica, epoch: int) -> EpochEntry:
    """Return the epoch's end; the newest one ends at the log end, even above the high watermark."""
    log, bugs = replica.log, replica.bugs
    end = log.epochs.end_of(epoch, log.end)
    older = 0 <= epoch < log.epochs.latest
    if "epoch-end-by-watermark" in bugs and epoch == log.epochs.latest:
        return EpochEntry(epoch, log.watermark)
    if "epoch-end-echoed" in bugs and end.epoch != epoch and epoch >= 0:
        return EpochEntry(epoch, log.end)
    if "epoch-ends-fall" in bugs and older:
        return EpochEntry(end.epoch, log.end + 1)
    if "genuine-pair-flagged" in bugs and older and end.start_offset > 0:
        return EpochEntry(end.epoch, end.start_offset - 1)
    return end


# --- DeleteRecords


def delete_records(broker: Broker, asked: Plain) -> Plain:
    def deleted(topic: str, partition: Plain) -> Plain:
        replica = hosted(broker, (topic, partition["partition_index"]))
        error = replica if isinstance(replica, Error) else _undeletable(replica, partition["offset"])
        mark = -1
        if not isinstance(replica, Error) and error is Error.NONE:
            error, mark = _trimmed(replica, partition["offset"])
        return {"partition_index": partition["partition_index"], "low_watermark": mark, "error_code": error}

    return {"topics": each(asked["topics"], "name", deleted)}


def _undeletable(replica: Replica, offset: int) -> Error:
    if not replica.leads:
        return Error.NOT_LEADER_OR_FOLLOWER
    if replica.broker.config(replica.state.key[0], "cleanup.policy") == "compact":
        return Error.POLICY_VIOLATION
    return Error.NONE if -1 <= offset <= replica.log.watermark else Error.OFFSET_OUT_OF_RANGE


def _trimmed(replica: Replica, offset: int) -> tuple[Error, int]:
    """Wait until all live replicas have the new log start; a timeout undoes nothing."""
    cluster, log = replica.broker.cluster, replica.log
    to = log.watermark if offset == -1 else offset
    if "trimmed-too-far" in replica.bugs:
        to = min(to + 1, log.watermark)
    log.trim(to)
    for _ in range(PATIENCE):
        low = min([log.start, *_followers_starts(replica)])
        if low >= to or not replica.leads:
            return (Error.NONE, low) if replica.leads else (Error.NOT_LEADER_OR_FOLLOWER, -1)
        cluster.tick()
    return Error.REQUEST_TIMED_OUT, -1


def _followers_starts(replica: Replica) -> list[int]:
    fenced = replica.broker.fenced_ids
    return [known.start for id, known in replica.followers.items() if id not in fenced]


__all__ = ["delete_records", "epoch_ends", "fetch", "list_offsets", "produce"]
