"""Histories of producers on one partition, told event by event."""

from __future__ import annotations

import zlib
from typing import Self

import msgspec

from fixtures.wire import Error
from fixtures.wire.groups import NewOffset
from fixtures.wire.log import ProducedPartition
from fixtures.wire.records import Batch, ControlType, Record, batch
from fixtures.wire.transactions import (
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
from history.events import Answer
from tests.support.histories import TOPIC, LogHistory, Producer, stamped

ID = 7
"""The producer id of histories with one producer."""
TID = "tid"
LEGACY, TV2 = 4, 5
"""Versions of EndTxn."""


def written(
    offset: int, *values: str, epoch: int = 0, sequence: int = 0, id: int = ID, in_transaction: bool = False
) -> Batch:
    """A producer's batch, as the leader of epoch 0 has it."""
    return msgspec.structs.replace(
        stamped(0, offset, *values, producer=Producer(id, epoch, sequence)), transactional=in_transaction
    )


def marker(offset: int, committed: bool, *, epoch: int = 0, id: int = ID) -> Batch:
    """The end of a transaction in the log."""
    type = ControlType.COMMIT if committed else ControlType.ABORT
    record = Record(offset, 1, None, None, control_type=type, coordinator_epoch=0)
    made = stamped(0, offset, "marker", control=True, producer=Producer(id, epoch, -1))
    crc = zlib.crc32(repr((offset, committed, epoch, id)).encode())
    return msgspec.structs.replace(made, records=(record,), transactional=True, crc=crc)


class ProducerHistory(LogHistory):
    """The same for a partition that broker 1 leads at epoch 0, and a coordinator on broker 2."""

    def __init__(self) -> None:
        super().__init__()
        self.created().settled(1, 0)

    def given(self, id: int = ID, epoch: int = 0, *, tid: str | None = TID, sent: tuple[int, int] = (-1, -1)) -> Self:
        """InitProducerId, with the id and epoch that were sent."""
        call = self._asked(2, "init_producer_id", tid, producer_id=sent[0], producer_epoch=sent[1])
        answer = InitProducerIdAnswer(
            version=5, throttle_time_ms=0, error=Error.NONE, producer_id=id, producer_epoch=epoch
        )
        return self._answered(call, answer)

    def refuses_id(self, error: Error) -> Self:
        """InitProducerId of a new instance is refused."""
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
        """Produce with acks=all; `lost` is the kind of error by which its outcome is unknown."""
        made = batch(*(one.encode() for one in values), timestamp=1, **Producer(id, epoch, sequence).fields)
        made = msgspec.structs.replace(made, transactional=tid is not None)
        call = self._asked(1, "produce", TOPIC, 0, made, transactional_id=tid)
        if lost:
            self.events.append(Answer(**self._now(), call=call, outcome="info", error="nothing came", kind=lost))
            return self
        answer = ProducedPartition(version=version, topic=TOPIC.name, partition=0, error=error, base_offset=at)
        return self._answered(call, answer)

    def adds(self, *, epoch: int = 0, error: Error = Error.NONE) -> Self:
        """AddPartitionsToTxn."""
        call = self._asked(2, "add_partitions_to_txn", TID, ID, epoch, [(TOPIC.name, 0)])
        added = TxnPartition(version=3, topic=TOPIC.name, partition=0, error=error, transactional_id=TID)
        return self._answered(call, AddPartitionsToTxnAnswer(version=3, throttle_time_ms=0, partitions=(added,)))

    def commits(self, offset: int, *, epoch: int = 0, group: str = "g") -> Self:
        """TxnOffsetCommit."""
        call = self._asked(3, "txn_offset_commit", TID, group, ID, epoch, [NewOffset(TOPIC, 0, offset)])
        one = TxnOffsetResult(version=4, topic=TOPIC.name, partition=0, error=Error.NONE)
        return self._answered(call, TxnOffsetCommitAnswer(version=4, throttle_time_ms=0, partitions=(one,)))

    def ends(
        self,
        committed: bool,
        *,
        epoch: int = 0,
        error: Error = Error.NONE,
        version: int = LEGACY,
        then: tuple[int, int] = (-1, -1),
    ) -> Self:
        """EndTxn, with the id and epoch that it answered for the next transaction."""
        call = self._asked(2, "end_txn", TID, ID, epoch, committed=committed)
        answer = EndTxnAnswer(
            version=version, throttle_time_ms=0, error=error, producer_id=then[0], producer_epoch=then[1]
        )
        return self._answered(call, answer)

    def reads(self, *batches: Batch, broker: int = 1, lso: int | None = None, start: int = 0) -> Self:
        """All that the leader holds; the high watermark is its log end."""
        end = batches[-1].last_offset + 1 if batches else start
        return self.whole(broker, *batches, epoch=0, hw=end, lso=end if lso is None else lso, start=start)

    def rests(self) -> Self:
        return self.all_healed().at_rest()

    def describes(self, state: str, epoch: int = 0) -> Self:
        """DescribeTransactions."""
        call = self._asked(2, "describe_transaction", TID)
        answer = DescribedTransaction(
            version=0,
            throttle_time_ms=0,
            error=Error.NONE,
            transactional_id=TID,
            state=state,
            timeout_ms=60_000,
            start_time_ms=-1,
            producer_id=ID,
            producer_epoch=epoch,
        )
        return self._answered(call, answer)

    def knows(self, broker: int, *known: tuple[int, int, int, int]) -> Self:
        """DescribeProducers: id, epoch, last sequence and first offset of the open transaction."""
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
