"""Refusals of a current producer, and all by which a refusal may be right."""

from __future__ import annotations

import pytest

from conformance.judging.excuses import (
    LOOKED_TOO_RARELY,
    PRODUCER_STATE_DELETED,
    PRODUCER_STATE_EXPIRED,
    TOO_FEW_REPLICAS,
)
from conformance.judging.producers.refusals import a_current_producer_is_not_refused
from protocol.codes import Error
from tests.support.judging import broken, excused, judged_by, labels
from tests.support.producers import ID, TID, ProducerHistory

FENCED = Error.INVALID_PRODUCER_EPOCH


def results(history: ProducerHistory) -> list[tuple[str, str]]:
    return [(one.case, one.result) for one in judged_by(a_current_producer_is_not_refused, history)]


def idempotent() -> ProducerHistory:
    return ProducerHistory().given(tid=None).writes("a", "b", at=0)


def opened() -> ProducerHistory:
    return ProducerHistory().given().adds().writes("a", at=0, tid=TID)


@pytest.mark.parametrize("error", [FENCED, Error.OUT_OF_ORDER_SEQUENCE_NUMBER, Error.UNKNOWN_PRODUCER_ID])
def test_the_next_batch_is_not_refused(error: Error) -> None:
    history = idempotent().writes("c", sequence=2, error=error).settled(1, 0)
    assert ("idempotent", "violated") in results(history)
    assert labels(a_current_producer_is_not_refused, history) == {"spurious-refusal"}
    granted = idempotent().writes("c", at=2, sequence=2).settled(1, 0)
    assert results(granted) == [("idempotent", "held"), ("idempotent", "held")]


@pytest.mark.parametrize("error", [Error.NOT_LEADER_OR_FOLLOWER, Error.REQUEST_TIMED_OUT])
def test_an_error_that_passes_says_nothing(error: Error) -> None:
    history = idempotent().writes("c", sequence=2, error=error).settled(1, 0)
    assert results(history) == [("idempotent", "held")]


def test_a_gap_and_a_fenced_epoch_are_refused_rightly() -> None:
    assert not broken(
        a_current_producer_is_not_refused, idempotent().writes("c", sequence=3, error=FENCED).settled(1, 0)
    )
    newer = idempotent().writes("c", at=2, epoch=1).writes("d", sequence=2, error=FENCED).settled(1, 0)
    assert not broken(a_current_producer_is_not_refused, newer)


def test_after_an_unknown_outcome_nothing_is_predicted() -> None:
    lost = idempotent().writes("c", sequence=2, lost="Unanswered").writes("d", sequence=2, error=FENCED).settled(1, 0)
    assert not broken(a_current_producer_is_not_refused, lost)


def test_a_leader_that_is_replaced_may_know_less() -> None:
    replaced = idempotent().writes("c", sequence=2, error=FENCED).settled(2, 1)
    assert not broken(a_current_producer_is_not_refused, replaced)


def test_what_was_deleted_need_not_be_known() -> None:
    history = idempotent().trim(1, 2).writes("c", sequence=2, error=Error.OUT_OF_ORDER_SEQUENCE_NUMBER).settled(1, 0)
    assert excused(a_current_producer_is_not_refused, history) == [("idempotent", PRODUCER_STATE_DELETED)]


def test_an_expired_producer_need_not_be_known_unless_its_transaction_is_open() -> None:
    unknown = Error.UNKNOWN_PRODUCER_ID
    history = idempotent().expires().writes("c", sequence=2, error=unknown).settled(1, 0)
    assert excused(a_current_producer_is_not_refused, history) == [("idempotent", PRODUCER_STATE_EXPIRED)]
    open_ = opened().settled(1, 0).expires().writes("b", sequence=1, tid=TID, error=unknown).settled(1, 0)
    assert results(open_) == [("legacy", "held"), ("legacy", "violated")]


def test_a_batch_of_an_open_transaction_is_not_refused() -> None:
    refused = opened().settled(1, 0).writes("b", sequence=1, tid=TID, error=FENCED).settled(1, 0)
    assert results(refused) == [("legacy", "held"), ("legacy", "violated")]
    ended = opened().ends(True).writes("b", sequence=1, tid=TID, error=Error.INVALID_TXN_STATE).settled(1, 0)
    assert broken(a_current_producer_is_not_refused, ended) == [], "the partition was not added again"


def test_the_first_batch_of_a_transaction_is_not_refused() -> None:
    first = ProducerHistory().given().adds().writes("a", tid=TID, error=FENCED).settled(1, 0)
    assert results(first) == [("legacy", "violated")]
    unknown = ProducerHistory().given().writes("a", tid=TID, error=Error.INVALID_TXN_STATE).settled(1, 0)
    assert results(unknown) == [], "the partition was not added"
    own = ProducerHistory().given().writes("a", tid=TID, error=FENCED, version=12).settled(1, 0)
    assert results(own) == [("tv2", "violated")], "in the second protocol a write adds it"


def test_the_end_of_an_open_transaction_is_not_refused() -> None:
    written = ("legacy", "held")
    assert results(opened().ends(True, error=Error.PRODUCER_FENCED)) == [written, ("legacy", "violated")]
    assert results(opened().ends(True)) == [written, ("legacy", "held")]
    assert results(opened().ends(True, error=Error.CONCURRENT_TRANSACTIONS)) == [written]


def test_another_instance_a_time_out_and_an_earlier_end_leave_it_open() -> None:
    assert results(opened().given(epoch=1).ends(True, error=Error.PRODUCER_FENCED)) == [("legacy", "held")]
    assert results(opened().later(61).ends(True, error=FENCED)) == [("legacy", "held")]
    long = ProducerHistory().given().adds().later(50).writes("a", at=0, tid=TID).later(9).ends(True, error=FENCED)
    assert results(long) == [("legacy", "held")], (
        "a transaction begins with its first request, not with its first batch"
    )
    again = opened().ends(True, error=Error.NOT_COORDINATOR).ends(True, error=Error.INVALID_TXN_STATE)
    assert results(again) == [("legacy", "held")]


def test_an_epoch_that_a_fenced_instance_asked_for_is_current_too() -> None:
    history = ProducerHistory().given(epoch=0).given(epoch=1).given(epoch=2, sent=(ID, 0))
    history.adds(epoch=2).writes("a", at=0, epoch=2, tid=TID).ends(True, epoch=2, error=FENCED)
    assert broken(a_current_producer_is_not_refused, history) == ["legacy"]


def asked_again(
    *errors: Error, seconds: float = 40, asleep: float = 0.0, replicas: tuple[int, ...] = (1, 2, 3), **configs: str
) -> ProducerHistory:
    """A fault is healed, and new instances ask for a producer id: answered at once, and the last one that much later."""
    history = ProducerHistory(**configs).hit("kill", 3).heal("kill", 3).settled(1, 1, isr=(1,), replicas=replicas)
    for error in errors[:-1]:
        history.refuses_id(error)
    return history.asleep(asleep).later(seconds).refuses_id(errors[-1])


def test_a_host_that_slept_leaves_it_open_whether_a_new_instance_is_admitted() -> None:
    judge, busy = a_current_producer_is_not_refused, Error.CONCURRENT_TRANSACTIONS
    slept = asked_again(busy, busy, seconds=20, asleep=60)
    assert (broken(judge, slept), excused(judge, slept)) == ([], [("new-instance", LOOKED_TOO_RARELY)])
    assert broken(judge, asked_again(busy, busy, asleep=60)) == ["new-instance"]


def test_a_new_instance_gets_its_producer_id_soon() -> None:
    busy, loading = Error.CONCURRENT_TRANSACTIONS, Error.COORDINATOR_LOAD_IN_PROGRESS
    assert labels(a_current_producer_is_not_refused, asked_again(busy, busy)) == {"never-given"}
    assert broken(a_current_producer_is_not_refused, asked_again(loading, busy, busy)) == ["new-instance"]
    assert results(asked_again(busy, busy, seconds=20)) == []
    assert results(asked_again(busy, busy, seconds=20).given()) == [("new-instance", "held")]
    assert results(asked_again(busy, busy).hit("kill", 2)) == [], "a fault stands"
    assert results(asked_again(busy).hit("kill", 2).heal("kill", 2).refuses_id(busy)) == [], "it was healed just now"


@pytest.mark.parametrize(
    ("replicas", "added", "legal"), [((1,), True, True), ((1, 2), True, False), ((1,), False, False)]
)
def test_the_transaction_before_may_wait_for_a_partition_with_too_few_replicas(
    replicas: tuple[int, ...], added: bool, legal: bool
) -> None:
    """Not for one that is none of its own, and not for one with a second replica, which is out of the ISR."""
    busy = Error.CONCURRENT_TRANSACTIONS
    history = asked_again(busy, busy, min_insync_replicas="2", replicas=replicas)
    history = history.adds() if added else history
    assert excused(a_current_producer_is_not_refused, history) == (
        [("new-instance", TOO_FEW_REPLICAS)] if legal else []
    )
    assert broken(a_current_producer_is_not_refused, history) == ([] if legal else ["new-instance"])
