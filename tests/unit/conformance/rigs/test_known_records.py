"""Records that a read_committed consumer is given, against those that it has to be given: honest answers and broken ones."""

from __future__ import annotations

from typing import Any, cast

import pytest

from conformance.core.checks import ObservationClaim
from conformance.rigs.producers.combined_node import StageProducer
from conformance.rigs.producers.outcomes import KnownRecords, StableOffsets, delivered_records
from protocol.codes import Error
from protocol.log import AbortedTransaction, FetchedPartition
from protocol.records import Batch, Codec, ControlType, Record

PLAIN = -1
NO_LOG: Any = None


def data(offset: int, *values: bytes, producer: int = PLAIN) -> Batch:
    return batch(offset, producer, *(Record(offset + n, 0, None, value) for n, value in enumerate(values)))


def marker(offset: int, producer: int, type: ControlType) -> Batch:
    return batch(offset, producer, Record(offset, 0, None, None, control_type=type), control=True)


def batch(offset: int, producer: int, *records: Record, control: bool = False) -> Batch:
    return Batch(
        base_offset=offset,
        last_offset=offset + len(records) - 1,
        leader_epoch=0,
        crc=0,
        crc_valid=True,
        attributes=0,
        codec=Codec.NONE,
        transactional=producer != PLAIN,
        control=control,
        base_timestamp=0,
        max_timestamp=0,
        producer_id=producer,
        size=0,
        records=records,
    )


LOG = (
    data(0, b"a", producer=1),
    data(1, b"b", b"c", producer=2),
    data(3, b"plain"),
    marker(4, 1, ControlType.ABORT),
    marker(5, 2, ControlType.COMMIT),
    data(6, b"d", producer=1),
    marker(7, 1, ControlType.COMMIT),
)
"""1 is aborted and then commits, 2 commits."""
ABORTED = (AbortedTransaction(1, 0),)


def read(*batches: Batch, aborted: tuple[AbortedTransaction, ...] = ABORTED, **fields: Any) -> FetchedPartition:
    answer: dict[str, Any] = {
        "version": 12,
        "topic": "t",
        "partition": 0,
        "error": Error.NONE,
        "last_stable_offset": 8,
    } | fields
    return FetchedPartition(batches=batches, aborted_transactions=aborted, **answer)


def known() -> KnownRecords:
    records = KnownRecords(NO_LOG)
    records.visible = {1: b"b", 2: b"c", 3: b"plain", 6: b"d"}
    return records


def test_aborted_records_are_skipped_up_to_their_marker() -> None:
    assert delivered_records(read(*LOG), 0) == known().visible


@pytest.mark.parametrize("offset", range(8))
def test_an_honest_answer_shows_what_is_visible_from_any_offset(offset: int) -> None:
    """A broker lists the aborted transactions that reach into the answer."""
    later = [one for one in LOG if one.last_offset >= offset]
    assert known().matches(read(*later, aborted=ABORTED if offset <= 4 else ()), offset)


@pytest.mark.parametrize(
    "broken",
    [
        read(*LOG, aborted=()),
        read(*LOG, aborted=(*ABORTED, AbortedTransaction(2, 1))),
        read(*LOG[:3], marker(4, 1, ControlType.COMMIT), *LOG[4:]),
        read(*LOG[:1], *LOG[2:]),
        read(data(0, b"a", producer=1), data(1, b"b", b"x", producer=2), *LOG[2:]),
        read(error=Error.NOT_LEADER_OR_FOLLOWER),
    ],
    ids=["not-listed", "committed-listed", "marker-of-a-commit", "batch-missing", "other-value", "refused"],
)
def test_a_broken_answer_does_not(broken: FetchedPartition) -> None:
    assert not known().matches(broken, 0)


class AnsweringLog:
    """A log of ten records, whose last stable offsets are given: by Fetch, and by ListOffsets."""

    def __init__(self, fetched: int, listed: int, start: int = 0) -> None:
        self._listed = listed
        self._read = read(high_watermark=10, log_start_offset=start, last_stable_offset=fetched)

    def end(self) -> int:
        return 10

    def stable_end(self) -> int:
        return self._listed

    def leader(self) -> AnsweringLog:
        return self

    def fetch_from(self, offset: int, **_fields: int) -> int:
        return offset

    def fetch(self, *_asked: object, version: int | None = None) -> FetchedPartition:
        return self._read


class OpeningProducer:
    """A transactional producer, whose next batch begins at this offset."""

    transactional_id = "tid"

    def __init__(self, offset: int) -> None:
        self._first = data(offset, b"open", producer=1)

    def batch(self, *_asked: object) -> Batch:
        return self._first

    def enter(self, *_asked: object) -> Batch:
        return self._first


def observed(log: Any, *, open_at: int | None, seen: int = 0) -> dict[str, str]:
    """Return the results by case of a look at the last stable offset, after one at which it was `seen`."""
    before: Any = AnsweringLog(seen, seen)
    records = KnownRecords(before)
    stable = StableOffsets(records)
    list(stable.look())
    records.log = log
    if open_at is not None:
        records.write(cast(StageProducer, OpeningProducer(open_at)), 1)
    claims = [claim for claim in stable.look() if isinstance(claim, ObservationClaim)]
    return {claim.observation.case: claim.observation.result for claim in claims}


@pytest.mark.parametrize(
    ("log", "open_at", "seen", "broken"),
    [
        (AnsweringLog(4, 4), 4, 2, set()),
        (AnsweringLog(10, 10), None, 4, set()),
        (AnsweringLog(8, 8, start=6), 4, 4, set()),
        (AnsweringLog(5, 5), 4, 4, {"bounds"}),
        (AnsweringLog(2, 2, start=3), 4, 2, {"bounds"}),
        (AnsweringLog(3, 3), 4, 4, {"monotone"}),
        (AnsweringLog(4, 3), 4, 4, {"agreement"}),
        (AnsweringLog(9, 9), None, 4, {"at-rest"}),
    ],
)
def test_a_last_stable_offset_is_bounded_and_monotone(
    log: AnsweringLog, open_at: int | None, seen: int, broken: set[str]
) -> None:
    results = observed(log, open_at=open_at, seen=seen)
    assert {case for case, result in results.items() if result == "violated"} == broken
    assert ("at-rest" in results) is (open_at is None)
