"""Readers stop at their bound (GEN-17): read_committed and its transactions; the high watermark is in `test_bad_histories`."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

from conformance.judging.judge import judge_all
from conformance.judging.log import read_bounds
from history.events import Answer, AnyEvent, Call, Example, History
from protocol.log import Fetch
from tests.support import filled

PRODUCER = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0, "transactional": True}


def batch(offset: int, *, marker: int | None = None, producer: int = 7) -> dict[str, Any]:
    """A batch of one record of a transaction, or the marker that ends it: 0 for an abort, 1 for a commit."""
    record = {
        "offset": offset,
        "value": b64encode(b"v%d" % offset).decode(),
        "control_type": marker,
        "coordinator_epoch": 0,
    }
    place = {"base_offset": offset, "last_offset": offset, "leader_epoch": 0, "crc": offset, "crc_valid": True}
    return place | {"control": marker is not None, "records": [record]} | PRODUCER | {"producer_id": producer}


def fetched(*answers: dict[str, Any]) -> list[tuple[str, str]]:
    """The cases and results, leader and follower aside, of fetches with these fields of the answer."""
    events: list[AnyEvent] = []
    for one in answers:
        request = {
            "topic": "t",
            "partition": 0,
            "fetch_offset": 0,
            "current_leader_epoch": 0,
            "last_fetched_epoch": -1,
            "replica_id": -1,
            "isolation_level": one.get("isolation", 1),
        }
        value = {"error_code": 0, "version": 12, "log_start_offset": 0, "diverging_epoch": None, "high_watermark": 9}
        events.append(Call(n=len(events), t=0, op="fetch", node="broker-1", request=filled.asked(Fetch, request)))
        answer = value | {"last_stable_offset": 9, "aborted_transactions": [], "batches": []} | one
        events.append(
            Answer(n=len(events), t=0, call=len(events) - 1, outcome="ok", value=filled.answered(Fetch, answer))
        )
    history = History(example=Example(example="e", check="c", column="4.3.1"), events=events)
    return [(o.case, o.result) for o in judge_all([read_bounds.consumers_stop_at_their_bound], history)]


ABORTED = [batch(0), batch(1, marker=0)]
LISTED = [{"producer_id": 7, "first_offset": 0}]


def test_nothing_above_the_last_stable_offset() -> None:
    assert fetched({"batches": [batch(0)], "last_stable_offset": 1}) == [("open-transaction", "held")]
    assert fetched({"batches": [batch(0)], "last_stable_offset": 0}) == [("open-transaction", "violated")]


def test_a_reader_of_uncommitted_records_has_no_such_bound() -> None:
    assert fetched({"batches": [batch(0)], "last_stable_offset": 0, "isolation": 0}) == []


def test_aborted_records_that_the_answer_lists() -> None:
    assert fetched({"batches": ABORTED, "aborted_transactions": LISTED}) == [("aborted-transaction", "held")]


def test_aborted_records_that_it_does_not_list() -> None:
    assert fetched({"batches": ABORTED}) == [("aborted-transaction", "violated")]
    late = [{"producer_id": 7, "first_offset": 5}]
    assert fetched({"batches": ABORTED, "aborted_transactions": late}) == [("aborted-transaction", "violated")]


def test_a_marker_that_was_not_read_leaves_open_how_the_transaction_ended() -> None:
    """Offset 1 may hold a commit marker; the abort at 3 would then end the next transaction."""
    assert fetched({"batches": [batch(0)]}, {"batches": [batch(2), batch(3, marker=0)]}) == [
        ("aborted-transaction", "violated")]  # fmt: skip
    assert fetched({"batches": [batch(0), batch(1)]}, {"batches": [batch(2, producer=8), batch(3, marker=0)]}) == [
        ("aborted-transaction", "violated")]  # fmt: skip


def test_a_transaction_that_was_committed_and_another_producers() -> None:
    assert fetched({"batches": [batch(0), batch(1, marker=1)]}) == []
    assert fetched({"batches": [batch(0, producer=8), *ABORTED[1:]]}) == []
