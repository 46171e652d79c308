"""Second copies, lost writes, order and retries: bad histories, honest neighbours, and what is legal."""

from __future__ import annotations

import msgspec
import pytest

from conformance.judging.excuses import (
    COMPACTED,
    ELECTED_UNCLEANLY_ON_REQUEST,
    PRODUCER_STATE_DELETED,
    PRODUCER_STATE_EXPIRED,
    PRODUCER_STATE_LOST,
)
from conformance.judging.judge import Judge
from conformance.judging.producers.records import (
    a_retried_batch_is_appended_once,
    acknowledged_batches_are_kept,
    batches_are_appended_once,
    sequences_rise_without_gaps,
)
from history.effects import Effects
from protocol.codes import Error
from protocol.records import Batch
from tests.support.judging import broken, excused, judged_by, labels
from tests.support.producers import ProducerHistory, marker, written

ONE = written(0, "a", "b")
AGAIN = written(2, "a", "b")
TWO = written(2, "c", sequence=2)


def stamped_at(epoch: int, one: Batch) -> Batch:
    return msgspec.structs.replace(one, leader_epoch=epoch, crc=one.crc + epoch)


def idempotent() -> ProducerHistory:
    return ProducerHistory().given(tid=None).writes("a", "b", at=0)


def held_cases(judge: object, history: ProducerHistory) -> set[str]:
    found = judged_by(judge, history)  # type: ignore[arg-type]
    assert [one.detail for one in found if one.result == "violated"] == []
    return {one.case for one in found}


def test_a_sequence_is_in_the_log_once() -> None:
    assert broken(batches_are_appended_once, idempotent().reads(ONE, AGAIN)) == ["idempotent"]
    assert labels(batches_are_appended_once, idempotent().reads(ONE, AGAIN)) == {"second-copy"}
    assert held_cases(batches_are_appended_once, idempotent().reads(ONE, TWO)) == {"idempotent"}


JUDGED_BY_LOGS = (
    (batches_are_appended_once, ["idempotent"]),
    (acknowledged_batches_are_kept, ["idempotent"]),
    (sequences_rise_without_gaps, ["epochs", "sequences"]),
)


@pytest.mark.parametrize(("judge", "cases"), JUDGED_BY_LOGS)
def test_a_log_that_may_be_compacted_is_left_out(judge: Judge, cases: list[str]) -> None:
    def read(**configs: str) -> ProducerHistory:
        history = ProducerHistory(**configs).given(tid=None).writes("a", "b", at=0).rests()
        return history.reads(written(2, "c", sequence=5))

    compacted = read(cleanup_policy="compact")
    assert (broken(judge, compacted), excused(judge, compacted)) == ([], [(case, COMPACTED) for case in cases])
    assert excused(judge, read()) == []


def test_a_sequence_again_at_another_epoch_is_another_one() -> None:
    assert held_cases(batches_are_appended_once, idempotent().reads(ONE, written(2, "a", "b", epoch=1))) == {
        "idempotent"
    }


def test_a_second_copy_is_legal_once_the_first_was_deleted() -> None:
    history = idempotent().trim(1, 2).reads(ONE, AGAIN)
    assert (broken(batches_are_appended_once, history), excused(batches_are_appended_once, history)) == (
        [],
        [("idempotent", PRODUCER_STATE_DELETED)],
    )
    assert broken(batches_are_appended_once, idempotent().trim(1, 0).reads(ONE, AGAIN)) == ["idempotent"]


def test_a_second_copy_is_legal_after_a_fault_that_loses_what_is_known_of_producers() -> None:
    lost = Effects(process="down", disk=("producer-snapshots",))
    history = idempotent().hit("remove-rebuilt-file", 1, effects=lost).reads(ONE, AGAIN)
    assert [why for _, why in excused(batches_are_appended_once, history)] == [PRODUCER_STATE_LOST]


def test_a_second_copy_is_legal_after_the_producer_expired() -> None:
    assert [why for _, why in excused(batches_are_appended_once, idempotent().expires().reads(ONE, AGAIN))] == [
        PRODUCER_STATE_EXPIRED
    ]
    assert broken(batches_are_appended_once, idempotent().reads(ONE, AGAIN)) == ["idempotent"]


def test_no_producer_expires_in_its_transaction() -> None:
    """With a marker between the copies it was idle for a while."""
    open_ = ProducerHistory().given().adds().writes("a", "b", at=0, tid="tid")
    first, again = written(0, "a", "b", in_transaction=True), written(2, "a", "b", in_transaction=True)
    assert broken(batches_are_appended_once, open_.expires().reads(first, again)) == ["legacy"]
    later = msgspec.structs.replace(again, base_offset=3, last_offset=4, records=written(3, "a", "b").records)
    ended = open_.ends(True).expires().reads(first, marker(2, True), later)
    assert [why for _, why in excused(batches_are_appended_once, ended)] == [PRODUCER_STATE_EXPIRED]


def test_an_expired_producer_may_go_on_with_any_sequence() -> None:
    gap = written(2, "d", sequence=5)
    assert [why for _, why in excused(sequences_rise_without_gaps, idempotent().expires().reads(ONE, gap))] == [
        PRODUCER_STATE_EXPIRED
    ]
    assert broken(sequences_rise_without_gaps, idempotent().reads(ONE, gap)) == ["sequences"]


def test_a_retry_of_an_expired_producer_may_be_appended_again() -> None:
    lost = ProducerHistory().given(tid=None).writes("a", lost="Unanswered")
    once, twice = written(0, "a"), written(1, "a")
    again = lost.expires().writes("a", at=1).reads(once, twice)
    assert [why for _, why in excused(a_retried_batch_is_appended_once, again)] == [PRODUCER_STATE_EXPIRED]
    in_transaction = ProducerHistory().given().adds().writes("a", tid="tid", lost="Unanswered")
    assert broken(
        a_retried_batch_is_appended_once, in_transaction.expires().writes("a", at=1, tid="tid").reads(once, twice)
    )


def test_what_was_acknowledged_is_there_at_rest() -> None:
    history = idempotent().rests().reads(written(0, "a", "x"))
    assert labels(acknowledged_batches_are_kept, history) == {"lost-write"}
    assert held_cases(acknowledged_batches_are_kept, idempotent().rests().reads(ONE)) == {"idempotent"}
    assert held_cases(acknowledged_batches_are_kept, idempotent().trim(1, 2).rests().reads(start=2)) == set()


def test_what_was_deleted_need_not_come_back_with_a_lower_log_start() -> None:
    fallen = idempotent().trim(1, 2).rests().whole(1, epoch=0, hw=2, start=0)
    assert held_cases(acknowledged_batches_are_kept, fallen) == set()
    kept = idempotent().writes("c", at=2, sequence=2).trim(1, 2).rests().whole(1, epoch=0, hw=3, start=0)
    assert broken(acknowledged_batches_are_kept, kept) == ["idempotent"]


def test_what_is_lost_by_an_unclean_election_is_excused() -> None:
    history = idempotent().elect_uncleanly(1).settled(2, 1).rests().whole(2, epoch=1, hw=0)
    assert broken(acknowledged_batches_are_kept, history) == []
    assert excused(acknowledged_batches_are_kept, history) == [("idempotent", ELECTED_UNCLEANLY_ON_REQUEST)]
    assert broken(acknowledged_batches_are_kept, idempotent().settled(2, 1).rests().whole(2, epoch=1, hw=0)) == [
        "idempotent"
    ]


@pytest.mark.parametrize(
    ("second", "case", "label"),
    [
        (written(2, "c", sequence=3), "sequences", "sequence-hole"),
        (written(2, "c", sequence=1), "sequences", "sequence-hole"),
    ],
)
def test_sequences_rise_without_a_hole(second: object, case: str, label: str) -> None:
    history = idempotent().reads(ONE, second)  # type: ignore[arg-type]
    assert (broken(sequences_rise_without_gaps, history), labels(sequences_rise_without_gaps, history)) == (
        [case],
        {label},
    )
    assert held_cases(sequences_rise_without_gaps, idempotent().reads(ONE, TWO)) == {"sequences", "epochs"}


def test_epochs_never_fall() -> None:
    fallen = idempotent().reads(written(0, "a", epoch=1), written(1, "b", epoch=0))
    assert (broken(sequences_rise_without_gaps, fallen), labels(sequences_rise_without_gaps, fallen)) == (
        ["epochs"],
        {"epoch-regression"},
    )


@pytest.mark.parametrize(("lost", "case"), [("Unanswered", "time-out"), ("ConnectionClosed", "disconnect")])
def test_a_retry_of_an_unknown_outcome_ends_in_one_copy(lost: str, case: str) -> None:
    tried = ProducerHistory().given(tid=None).writes("a", "b", lost=lost)
    assert broken(a_retried_batch_is_appended_once, tried.writes("a", "b", at=2).reads(ONE, AGAIN)) == [case]
    honest = ProducerHistory().given(tid=None).writes("a", "b", lost=lost).writes("a", "b", at=0).reads(ONE)
    assert held_cases(a_retried_batch_is_appended_once, honest) == {case}


def test_a_log_that_was_not_read_after_the_retry_shows_no_single_copy() -> None:
    tried = ProducerHistory().given(tid=None).writes("a", "b", lost="Unanswered").reads(ONE).writes("a", "b", at=0)
    assert held_cases(a_retried_batch_is_appended_once, tried) == set()


def test_an_unclean_election_excuses_no_second_copy_of_a_later_epoch() -> None:
    history = ProducerHistory().elect_uncleanly(2).settled(2, 1).given(tid=None)
    later = [stamped_at(1, ONE), stamped_at(1, AGAIN)]
    assert broken(batches_are_appended_once, history.whole(2, *later, epoch=1, hw=4)) == ["idempotent"]
    across = ProducerHistory().given(tid=None).elect_uncleanly(2).settled(2, 1)
    found = across.whole(2, ONE, stamped_at(1, AGAIN), epoch=1, hw=4)
    assert excused(batches_are_appended_once, found) == [("idempotent", ELECTED_UNCLEANLY_ON_REQUEST)]


def test_a_retry_that_is_acknowledged_at_two_offsets_is_broken() -> None:
    tried = idempotent().writes("a", "b", error=Error.REQUEST_TIMED_OUT).writes("a", "b", at=4)
    assert broken(a_retried_batch_is_appended_once, tried) == ["time-out"]


def test_a_batch_that_was_never_repeated_says_nothing() -> None:
    assert held_cases(a_retried_batch_is_appended_once, idempotent().reads(ONE)) == set()
