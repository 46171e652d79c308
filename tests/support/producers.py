"""Histories of producers on one partition, built event by event."""

from __future__ import annotations

import zlib
from typing import Self

import msgspec

from conformance.judging.log.story import PartitionStory
from conformance.judging.producers.story import TransactionStory
from conformance.judging.reading import Reading
from conformance.judging.together import Together
from history.effects import Effects
from history.events import Answer
from protocol.codes import Error
from protocol.groups import NewOffset
from protocol.log import ProducedPartition
from protocol.records import Batch, ControlType, Record, batch
from protocol.transactions import (
    AddOffsetsToTxnAnswer,
    AddPartitionsToTxnAnswer,
    DescribedTransaction,
    EndTxnAnswer,
    InitProducerIdAnswer,
    ProducersOfPartition,
    ProducerState,
    TxnOffsetCommitAnswer,
    TxnOffsetResult,
    TxnPartition,
)
from tests.support.histories import TOPIC, LogHistory, Producer, stamped

ID = 7
"""The producer id of histories with one producer."""
TID = "tid"
LEGACY, TV2 = 4, 5
"""The versions of EndTxn of the two transaction protocols."""


def written(
    offset: int, *values: str, epoch: int = 0, sequence: int = 0, id: int = ID, in_transaction: bool = False
) -> Batch:
    """Return a producer's batch in the log of the leader of epoch 0."""
    return msgspec.structs.replace(
        stamped(0, offset, *values, producer=Producer(id, epoch, sequence)), transactional=in_transaction
    )


def marker(offset: int, committed: bool, *, epoch: int = 0, id: int = ID) -> Batch:
    """Return the control batch that ends a transaction."""
    type = ControlType.COMMIT if committed else ControlType.ABORT
    record = Record(offset, 1, None, None, control_type=type, coordinator_epoch=0)
    made = stamped(0, offset, "marker", control=True, producer=Producer(id, epoch, -1))
    crc = zlib.crc32(repr((offset, committed, epoch, id)).encode())
    return msgspec.structs.replace(made, records=(record,), transactional=True, crc=crc)


def stories(history: ProducerHistory) -> Together:
    """Return the stories of the history's transactional ids and partitions."""
    types = (TransactionStory, PartitionStory)
    reading = Reading(history.example, types)
    reading.feed(history.events)
    return Together(reading.timeline, {one: reading.stories(one) for one in types})


class ProducerHistory(LogHistory):
    """A history of producers, on a partition that broker 1 leads in epoch 0, with a coordinator on broker 2."""

    def __init__(self, **configs: str) -> None:
        """Create the topic; `configs` are its settings, written with underscores for dots."""
        super().__init__()
        self.created(**configs).settled(1, 0)

    def given(
        self,
        id: int = ID,
        epoch: int = 0,
        *,
        tid: str | None = TID,
        sent: tuple[int, int] = (-1, -1),
        error: Error = Error.NONE,
        version: int = 5,
        by: int = 2,
        lost: bool = False,
    ) -> Self:
        """Add InitProducerId with the id and epoch that were sent; an answer with an error has none."""
        call = self._asked(by, "init_producer_id", tid, producer_id=sent[0], producer_epoch=sent[1])
        if lost:
            return self._lost(call)
        id, epoch = (id, epoch) if error is Error.NONE else (-1, -1)
        answer = InitProducerIdAnswer(
            version=version, throttle_time_ms=0, error=error, producer_id=id, producer_epoch=epoch
        )
        return self._answered(call, answer)

    def raises_epoch(self, first: int, last: int, *, given: int | None = None, lost: bool = False) -> Self:
        """Add InitProducerId once for each epoch from `first` on; `given` is the epoch of the last answer."""
        call = self._asked(2, "bump_epochs", TID, ID, first, last - first)
        if lost:
            return self._lost(call)
        epoch = last if given is None else given
        answer = InitProducerIdAnswer(
            version=5, throttle_time_ms=0, error=Error.NONE, producer_id=ID, producer_epoch=epoch
        )
        return self._answered(call, answer)

    def refuses_id(self, error: Error) -> Self:
        """Add a refused InitProducerId of a new instance."""
        call = self._asked(2, "init_producer_id", TID, producer_id=-1, producer_epoch=-1)
        answer = InitProducerIdAnswer(version=5, throttle_time_ms=0, error=error, producer_id=-1, producer_epoch=-1)
        return self._answered(call, answer)

    def writes(
        self,
        *values: str,
        at: int = -1,
        epoch: int = 0,
        sequence: int = 0,
        id: int = ID,
        tid: str | None = None,
        error: Error = Error.NONE,
        lost: str = "",
        version: int = 11,
    ) -> Self:
        """Add Produce with acks=all; `lost` is the kind of error that leaves its outcome unknown."""
        made = batch(*(one.encode() for one in values), timestamp=1, **Producer(id, epoch, sequence).fields)
        made = msgspec.structs.replace(made, transactional=tid is not None)
        call = self._asked(1, "produce", TOPIC, 0, made, transactional_id=tid)
        if lost:
            self.events.append(Answer(**self._now(), call=call, outcome="info", error="nothing came", kind=lost))
            return self
        answer = ProducedPartition(version=version, topic=TOPIC.name, partition=0, error=error, base_offset=at)
        return self._answered(call, answer)

    def adds(
        self, *, epoch: int = 0, error: Error = Error.NONE, id: int = ID, version: int = 3, lost: bool = False
    ) -> Self:
        """Add AddPartitionsToTxn."""
        call = self._asked(2, "add_partitions_to_txn", TID, id, epoch, [(TOPIC.name, 0)])
        if lost:
            return self._lost(call)
        added = TxnPartition(version=version, topic=TOPIC.name, partition=0, error=error, transactional_id=TID)
        answer = AddPartitionsToTxnAnswer(version=version, throttle_time_ms=0, partitions=(added,))
        return self._answered(call, answer)

    def adds_offsets(self, *, epoch: int = 0, error: Error = Error.NONE, id: int = ID, group: str = "g") -> Self:
        """Add AddOffsetsToTxn."""
        call = self._asked(2, "add_offsets_to_txn", TID, id, epoch, group)
        return self._answered(call, AddOffsetsToTxnAnswer(version=4, throttle_time_ms=0, error=error))

    def commits(
        self,
        offset: int,
        *,
        epoch: int = 0,
        group: str = "g",
        member: tuple[str, int] = ("", -1),
        instance: str | None = None,
        error: Error = Error.NONE,
        version: int = 4,
    ) -> Self:
        """Add TxnOffsetCommit of a `member` of the group with its epoch or generation."""
        named = {"member_id": member[0], "generation_id_or_member_epoch": member[1], "group_instance_id": instance}
        call = self._asked(3, "txn_offset_commit", TID, group, ID, epoch, [NewOffset(TOPIC, 0, offset)], **named)
        one = TxnOffsetResult(version=version, topic=TOPIC.name, partition=0, error=error)
        return self._answered(call, TxnOffsetCommitAnswer(version=version, throttle_time_ms=0, partitions=(one,)))

    def ends(
        self,
        committed: bool,
        *,
        epoch: int = 0,
        error: Error = Error.NONE,
        version: int = LEGACY,
        then: tuple[int, int] = (-1, -1),
        id: int = ID,
        lost: bool = False,
    ) -> Self:
        """Add EndTxn; the answer has the id and epoch of the next transaction."""
        call = self._asked(2, "end_txn", TID, id, epoch, committed=committed, version=version)
        if lost:
            return self._lost(call)
        answer = EndTxnAnswer(
            version=version, throttle_time_ms=0, error=error, producer_id=then[0], producer_epoch=then[1]
        )
        return self._answered(call, answer)

    def expires(self) -> Self:
        """Let so much time pass that brokers forget producers without an open transaction."""
        effects = Effects(forgets_producers=True, every_partition=True)
        return self.hit("forget-producers", 1, 2, 3, effects=effects).heal("forget-producers", 1, 2, 3)

    def reads(self, *batches: Batch, broker: int = 1, lso: int | None = None, start: int = 0) -> Self:
        """Add a Fetch of the leader's whole log; the high watermark is its log end."""
        end = batches[-1].last_offset + 1 if batches else start
        return self.whole(broker, *batches, epoch=0, hw=end, lso=end if lso is None else lso, start=start)

    def rests(self) -> Self:
        return self.all_healed().at_rest()

    def describes(self, state: str, epoch: int = 0, *, id: int = ID) -> Self:
        """Add DescribeTransactions."""
        call = self._asked(2, "describe_transaction", TID)
        answer = DescribedTransaction(
            version=0,
            throttle_time_ms=0,
            error=Error.NONE,
            transactional_id=TID,
            state=state,
            timeout_ms=60_000,
            start_time_ms=-1,
            producer_id=id,
            producer_epoch=epoch,
        )
        return self._answered(call, answer)

    def knows(self, broker: int, *known: tuple[int, int, int, int]) -> Self:
        """Add DescribeProducers: id, epoch, last sequence and the first offset of the open transaction."""
        states = tuple(
            ProducerState(
                producer_id=id,
                producer_epoch=epoch,
                last_sequence=last,
                last_timestamp=1,
                coordinator_epoch=0,
                current_txn_start_offset=start,
            )
            for id, epoch, last, start in known
        )
        call = self._asked(broker, "describe_producers", TOPIC.name, 0)
        answer = ProducersOfPartition(
            version=0, topic=TOPIC.name, partition=0, error=Error.NONE, error_message=None, active_producers=states
        )
        return self._answered(call, answer)
