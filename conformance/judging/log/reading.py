"""Reads a history once, and hands what it tells to the stories of its partitions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from conformance.judging.facts.log import (
    CONSUMER,
    FUTURE_REPLICA,
    NONE,
    NOT_ENOUGH_REPLICAS,
    Commit,
    Committed,
    Delivered,
    End,
    Held,
    Listed,
    LogRead,
    OnDisk,
    Refusal,
    Seen,
    Step,
    Trim,
    Write,
)
from conformance.judging.log.story import PartitionStory
from conformance.judging.timeline import AT_REST, HEALED, RETURNS, Cluster
from history.events import Answer, AnyEvent, Call, Fault, History, Premise
from history.since import since

COMMITS_EPOCH_FROM = since("OffsetCommitRequest", "CommittedLeaderEpoch")
SHOWS_EPOCH_FROM = since("OffsetFetchResponse", "CommittedLeaderEpoch")
"""The versions of OffsetCommit and OffsetFetch from which the leader epoch is on the wire."""
UNCLEAN_ELECTION = 1


def stories(history: History) -> list[PartitionStory]:
    """The partitions that the history tells of, by name."""
    return list(_Reader(history).read().values())


class _Reader:
    """Reads a history once. Internal topics are partitions like others: what is known of them is told of them."""

    def __init__(self, history: History) -> None:
        self.cluster = Cluster(history)
        self.partitions: dict[str, PartitionStory] = {}
        self._configs: dict[str, dict[str, str]] = {}
        self._held: dict[tuple[int, int, int, int, bool], Held] = {}
        self._sessions: dict[str, int] = {}
        self._pieces: dict[tuple[str, str], list[LogRead]] = {}
        self._events = history.events
        self._ops: dict[str, Callable[[Call, Answer], None]] = {
            "create_topics": self._create_topics,
            "metadata": self._metadata,
            "produce": self._produce,
            "fetch": self._fetch,
            "list_offsets": self._list_offsets,
            "offset_for_leader_epoch": self._end_of_epoch,
            "delete_records": self._delete_records,
            "elect_leaders": self._elect_leaders,
            "offset_commit": self._offset_commit,
            "txn_offset_commit": self._txn_offset_commit,
            "offset_fetch": self._offset_fetch,
            "poll": self._poll,
            "assigned": self._assigned,
            "deliver": self._step,
            "rewind": self._step,
            "restart": self._step,
            "replicas": self._replicas,
        }

    def read(self) -> dict[str, PartitionStory]:
        calls: dict[int, Call] = {}
        for event in self._events:
            if isinstance(event, Call):
                calls[event.n] = event
                if event.op in RETURNS:
                    self.cluster.note_return(event)
            elif isinstance(event, Answer):
                call = calls.pop(event.call)
                if (op := self._ops.get(call.op)) is not None:
                    op(call, event)
            elif isinstance(event, Fault) and "quorum-state" in self.cluster.effects_of(event).disk:
                break
            else:
                self._surroundings(event)
        return dict(sorted(self.partitions.items()))

    def _surroundings(self, event: AnyEvent) -> None:
        if isinstance(event, Fault):
            self.cluster.note_fault(event)
        elif isinstance(event, Premise) and event.what == HEALED and event.met:
            self.cluster.healed = event.n
        elif isinstance(event, Premise) and event.what == AT_REST:
            self.cluster.rest, self.cluster.disagreed = (event.n, -1) if event.met else (-1, event.n)

    def _partition(self, topic: Any, index: int) -> PartitionStory:
        name = topic if isinstance(topic, str) else topic["name"]
        key = f"{name}-{index}"
        found = self.partitions.get(key)
        if found is None:
            found = self.partitions[key] = PartitionStory(key, self.cluster, self._configs.get(name, {}))
        return found

    # --- what was asked and answered

    def _create_topics(self, call: Call, _: Answer) -> None:
        for topic in call.request["topics"]:
            self._configs[topic["name"]] = topic["configs"]

    def _metadata(self, call: Call, answer: Answer) -> None:
        if answer.outcome != "ok":
            return
        unfenced = tuple(broker["node_id"] for broker in answer.value["brokers"])
        for topic in answer.value["topics"]:
            for p in topic["partitions"]:
                # LEADER_NOT_AVAILABLE comes with all else that is known.
                seen = Seen(
                    call.n,
                    answer.n,
                    call.node,
                    p["leader_id"],
                    p["leader_epoch"],
                    tuple(p["isr_nodes"]),
                    tuple(p["replica_nodes"]),
                    unfenced,
                )
                self._partition(topic["name"], p["partition_index"]).seen.append(seen)

    def _produce(self, call: Call, answer: Answer) -> None:
        request, value = call.request, answer.value
        records = request["records"]
        # Bytes in place of a batch, or none, have no values of ours.
        values = tuple(one["value"] for one in records["records"]) if isinstance(records, dict) else ()
        told = answer.outcome == "ok" and request["acks"] != 0
        error = value["error_code"] if told else -1
        write = Write(
            asked=call.n,
            event=answer.n,
            node=call.node,
            acks=request["acks"],
            values=values,
            error=error,
            offset=value["base_offset"] if told else -1,
            failed=answer.outcome == "fail" or error == NOT_ENOUGH_REPLICAS,
        )
        self._partition(request["topic"], request["partition"]).writes.append(write)

    def _granted(self, call: Call, answer: Answer, position: str) -> PartitionStory | None:
        """The partition of an answer without an error; a refusal, with the position that was asked for, is noted here."""
        if answer.outcome != "ok":
            return None
        partition = self._partition(call.request["topic"], call.request["partition"])
        if answer.value["error_code"] == NONE:
            return partition
        partition.refusals.append(_refusal(call, answer, call.request[position]))
        return None

    def _fetch(self, call: Call, answer: Answer) -> None:
        request, value = call.request, answer.value
        if (partition := self._granted(call, answer, "fetch_offset")) is None:
            return
        diverging = value["diverging_epoch"]
        read = LogRead(
            asked=call.n,
            event=answer.n,
            node=call.node,
            cur=request["current_leader_epoch"],
            last=request["last_fetched_epoch"],
            replica_id=request["replica_id"],
            fetch_offset=request["fetch_offset"],
            version=value["version"],
            high_watermark=value["high_watermark"],
            last_stable_offset=value["last_stable_offset"],
            log_start=value["log_start_offset"],
            diverging=(diverging["epoch"], diverging["end_offset"]) if diverging is not None else None,
            batches=tuple(
                self._batch(partition.name, batch)
                for batch in value["batches"]
                if batch["last_offset"] >= request["fetch_offset"]
            ),
        )
        if read.replica_id == FUTURE_REPLICA:
            self._piece_together(partition, read)
        else:
            partition.reads.append(read)

    def _piece_together(self, partition: PartitionStory, read: LogRead) -> None:
        """A Fetch shows the rest of one segment: a log is whole once a fetch from the end of the last one shows nothing.

        The whole read then stands in place of its pieces, with the offsets that the last of them was answered.
        """
        key = (partition.name, read.node)
        pieces = self._pieces.pop(key, [])
        if pieces and not (pieces[0].cur == read.cur and read.fetch_offset == pieces[-1].batches[-1].last + 1):
            pieces = []
        partition.reads.append(read)
        if read.diverging is not None or not (pieces or read.fetch_offset <= read.log_start):
            return
        if read.batches:
            self._pieces[key] = [*pieces, read]
            return
        begin = pieces[0] if pieces else read
        batches = tuple(batch for piece in pieces for batch in piece.batches)
        for piece in (read, *reversed(pieces)):
            _remove_last(partition.reads, piece)
        partition.reads.append(
            msgspec.structs.replace(
                read, asked=begin.asked, fetch_offset=begin.fetch_offset, batches=batches, whole=True
            )
        )

    def _batch(self, partition: str, batch: dict[str, Any]) -> Held:
        """The same batch is read many times over; one object stands for all of these."""
        key = (batch["base_offset"], batch["last_offset"], batch["leader_epoch"], batch["crc"], batch["crc_valid"])
        found = self._held.get(key)
        if found is None:
            records = () if batch["control"] else tuple((one["offset"], one["value"]) for one in batch["records"])
            found = self._held[key] = Held(*key, batch["control"], records)
        return found

    def _list_offsets(self, call: Call, answer: Answer) -> None:
        request, value = call.request, answer.value
        if (partition := self._granted(call, answer, "timestamp")) is None:
            return
        partition.listed.append(
            Listed(
                asked=call.n,
                event=answer.n,
                node=call.node,
                cur=request["current_leader_epoch"],
                timestamp=request["timestamp"],
                replica_id=request["replica_id"],
                isolation_level=request["isolation_level"],
                offset=value["offset"],
                epoch=value["leader_epoch"],
            )
        )

    def _end_of_epoch(self, call: Call, answer: Answer) -> None:
        request, value = call.request, answer.value
        if (partition := self._granted(call, answer, "leader_epoch")) is None:
            return
        partition.ends.append(
            End(
                asked=call.n,
                event=answer.n,
                node=call.node,
                cur=request["current_leader_epoch"],
                asked_epoch=request["leader_epoch"],
                epoch=value["leader_epoch"],
                end=value["end_offset"],
            )
        )

    def _delete_records(self, call: Call, answer: Answer) -> None:
        told = answer.outcome == "ok"
        error = answer.value["error_code"] if told else -1
        trim = Trim(
            asked=call.n,
            event=answer.n,
            node=call.node,
            offset=call.request["offset"],
            error=error,
            low_watermark=answer.value["low_watermark"] if error == NONE else -1,
        )
        self._partition(call.request["topic"], call.request["partition"]).trims.append(trim)

    def _elect_leaders(self, call: Call, answer: Answer) -> None:
        if call.request["election_type"] == UNCLEAN_ELECTION and answer.outcome != "fail":
            for topic, index in call.request["partitions"] or ():
                self._partition(topic, index).elections.append(call.n)

    def _offset_commit(self, call: Call, answer: Answer) -> None:
        told = answer.value.get("version", COMMITS_EPOCH_FROM) if answer.outcome == "ok" else COMMITS_EPOCH_FROM
        for wanted in call.request["offsets"]:
            epoch = wanted["leader_epoch"] if told >= COMMITS_EPOCH_FROM else -1
            self._commit(call, answer, wanted, epoch, _error_of(answer, wanted["topic"], wanted["partition"]))

    def _txn_offset_commit(self, call: Call, answer: Answer) -> None:
        """It shows when the transaction is committed: whether and when that was is not looked up."""
        for wanted in call.request["offsets"]:
            self._commit(call, answer, wanted, wanted["leader_epoch"], -1)

    def _commit(self, call: Call, answer: Answer, wanted: dict[str, Any], epoch: int, error: int) -> None:
        commit = Commit(
            asked=call.n,
            event=answer.n,
            node=call.node,
            group=call.request.get("group") or call.request["group_id"],
            offset=wanted["offset"],
            epoch=epoch,
            error=error,
        )
        self._partition(wanted["topic"], wanted["partition"]).commits.append(commit)

    def _offset_fetch(self, call: Call, answer: Answer) -> None:
        if answer.outcome != "ok" or answer.value["error_code"] != NONE:
            return
        if answer.value.get("version", SHOWS_EPOCH_FROM) < SHOWS_EPOCH_FROM:
            return
        names = {_id_of(topic): topic for topic, _ in call.request["partitions"] or ()}
        for p in answer.value["partitions"]:
            topic = p["topic"] if p["topic"] is not None else names.get(p["topic_id"])
            if p["error_code"] == NONE and topic is not None:
                committed = Committed(
                    asked=call.n,
                    event=answer.n,
                    node=call.node,
                    group=call.request["group"],
                    offset=p["committed_offset"],
                    epoch=p["committed_leader_epoch"],
                    stable=call.request["require_stable"],
                )
                self._partition(topic, p["partition"]).committed.append(committed)

    # --- consumers

    def _assigned(self, call: Call, _: Answer) -> None:
        """A consumer begins anew: it was assigned, or rebalanced."""
        self._sessions[call.node] = self._sessions.get(call.node, 0) + 1

    def _poll(self, call: Call, answer: Answer) -> None:
        if answer.outcome != "ok":
            return
        session = self._sessions.get(call.node, 0)
        for one in answer.value["records"]:
            delivered = Delivered(answer.n, call.node, session, one["offset"], one["leader_epoch"], one["value"])
            self._partition(one["topic"], one["partition"]).delivered.append(delivered)

    def _step(self, call: Call, answer: Answer) -> None:
        if answer.outcome != "ok" or "topic" not in call.request:
            return
        request, told = call.request, call.request.get("told")
        step = Step(
            event=answer.n,
            reader=call.node,
            op=call.op,
            to=answer.value["offset"],
            told=(told["epoch"], told["end_offset"]) if told is not None else None,
            records=tuple((one["offset"], one["epoch"], one["value"]) for one in request.get("records", ())),
        )
        self._partition(request["topic"], request["partition"]).steps.append(step)

    # --- disks

    def _replicas(self, _: Call, answer: Answer) -> None:
        if answer.outcome != "ok":
            return
        for one in answer.value["replicas"]:
            topic, _dash, index = one["partition"].rpartition("-")
            epochs = one["epochs"]
            held = OnDisk(
                event=answer.n,
                node=one["node"],
                log_start=one["log_start"],
                log_end=one["log_end"],
                epochs=None if epochs is None else tuple((e["epoch"], e["start_offset"]) for e in epochs),
                batches=tuple(
                    (b["base_offset"], b["last_offset"], b["leader_epoch"], b["digest"]) for b in one["batches"]
                ),
                torn=one["torn"],
            )
            self._partition(topic, int(index)).disk.append(held)


def _remove_last(reads: list[LogRead], one: LogRead) -> None:
    del reads[next(place for place in range(len(reads) - 1, -1, -1) if reads[place] is one)]


def _refusal(call: Call, answer: Answer, position: int) -> Refusal:
    hint = answer.value.get("current_leader")
    return Refusal(
        asked=call.n,
        event=answer.n,
        node=call.node,
        op=call.op,
        cur=call.request["current_leader_epoch"],
        last=call.request.get("last_fetched_epoch", -1),
        replica_id=call.request.get("replica_id") or CONSUMER,
        position=position,
        error=answer.value["error_code"],
        hint=(hint["leader_epoch"], hint["leader_id"]) if hint is not None and hint["leader_id"] >= 0 else None,
    )


def _error_of(answer: Answer, topic: Any, index: int) -> int:
    """The error of one partition of an OffsetCommit; -1 where nobody knows, -2 where it never left."""
    if answer.outcome != "ok":
        return -2 if answer.outcome == "fail" else -1
    name = topic if isinstance(topic, str) else topic["name"]
    for p in answer.value["partitions"]:
        if p["partition"] == index and p["topic"] in (name, None):
            return int(p["error_code"])
    return -1


def _id_of(topic: Any) -> Any:
    return None if isinstance(topic, str) else topic["id"]
