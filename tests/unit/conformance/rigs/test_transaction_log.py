"""Records of a transaction coordinator, made up here: the newest of an id counts, and has all that a description has."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from conformance.rigs.producers.transaction_log import LoggedPartitions, LoggedTransaction, TransactionLog
from fixtures.disk.transactions import STATES
from protocol.codes import Error
from protocol.records import Record
from protocol.transactions import DescribedTransaction

ONGOING = LoggedTransaction(7, 2, 60_000, STATES.index("Ongoing"), 1_000, (LoggedPartitions("t", (0, 2)),))
SHOWN = DescribedTransaction(
    version=0,
    throttle_time_ms=0,
    error=Error.NONE,
    transactional_id="tid",
    state="Ongoing",
    timeout_ms=60_000,
    start_time_ms=1_000,
    producer_id=7,
    producer_epoch=2,
    partitions=(("t", 2), ("t", 0)),
)


def test_a_record_is_described_whatever_the_order_of_its_partitions() -> None:
    assert ONGOING.is_described_by(SHOWN)
    assert not ONGOING.is_described_by(msgspec.structs.replace(SHOWN, partitions=(("t", 2),)))


@pytest.mark.parametrize(
    "other",
    [
        {"state": "CompleteCommit"},
        {"producer_id": 8},
        {"producer_epoch": 3},
        {"timeout_ms": 1},
        {"start_time_ms": 1_001},
        {"partitions": ()},
    ],
)
def test_another_value_in_any_field_is_none_of_the_record(other: dict[str, Any]) -> None:
    assert not ONGOING.is_described_by(msgspec.structs.replace(SHOWN, **other))


def test_the_start_counts_where_there_is_a_transaction() -> None:
    empty = LoggedTransaction(7, 2, 60_000, STATES.index("Empty"), -1)
    shown = msgspec.structs.replace(SHOWN, state="Empty", partitions=())
    assert empty.is_described_by(shown)
    assert not empty.is_described_by(msgspec.structs.replace(shown, producer_epoch=1))


def decode(artifacts: Sequence[str], name: str, body: bytes, into: type[msgspec.Struct], version: int) -> Any:
    assert (name, version) == ("TransactionLogValue", 1)
    return msgspec.json.decode(body, type=into)


def record(of: str, value: LoggedTransaction | None) -> Record:
    key = struct.pack(">hh", 0, len(of)) + of.encode()
    written = None if value is None else struct.pack(">h", 1) + msgspec.json.encode(value)
    return Record(offset=0, timestamp=0, key=key, value=written)


class Read(TransactionLog):
    def __init__(self, *found: Record) -> None:
        self._bench: Any = SimpleNamespace(decode=decode)
        self._id = "tid"
        self._found = found

    def _records(self) -> Iterator[Record]:
        yield from self._found


def test_the_newest_record_of_the_id_counts() -> None:
    later = msgspec.structs.replace(ONGOING, producer_epoch=3)
    other = msgspec.structs.replace(ONGOING, producer_id=9)
    assert Read(record("tid", ONGOING), record("tid", later), record("other", other)).newest() == later


def test_an_id_that_was_removed_has_none() -> None:
    assert Read(record("tid", ONGOING), record("tid", None)).newest() is None
    assert Read(record("other", ONGOING)).newest() is None
