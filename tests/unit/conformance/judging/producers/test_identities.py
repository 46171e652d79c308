"""Producer ids, epochs, and what replicas know of producers."""

from __future__ import annotations

from conformance.judging.excuses import PRODUCER_STATE_DELETED, PRODUCER_STATE_EXPIRED
from conformance.judging.producers.coordinator import LAST_EPOCH
from conformance.judging.producers.identities import (
    producer_epochs_rise,
    producer_ids_are_unique,
    replicas_agree_on_producers,
)
from protocol.codes import Error
from tests.support.judging import broken, excused, judged_by
from tests.support.producers import ID, TV2, ProducerHistory, marker, written


def test_a_producer_id_is_given_once() -> None:
    assert broken(producer_ids_are_unique, ProducerHistory().given(tid=None).given(tid=None)) == ["producer-ids"]
    assert broken(producer_ids_are_unique, ProducerHistory().given(tid="one").given(tid="other")) == ["producer-ids"]
    again = ProducerHistory().given(tid="one").given(tid="one", epoch=1).given(8, tid=None)
    assert [one.result for one in judged_by(producer_ids_are_unique, again)] == ["held", "held"]


def test_epochs_rise() -> None:
    assert broken(producer_epochs_rise, ProducerHistory().given(epoch=1).given(epoch=1)) == ["producer-epochs"]
    assert broken(producer_epochs_rise, ProducerHistory().given(epoch=1).given(epoch=0)) == ["producer-epochs"]
    assert broken(producer_epochs_rise, ProducerHistory().given(epoch=1).given(epoch=2)) == []


def test_the_same_epoch_is_given_again_to_who_asked_for_it() -> None:
    again = ProducerHistory().given(epoch=0).given(epoch=1, sent=(7, 0)).given(epoch=1, sent=(7, 0))
    assert broken(producer_epochs_rise, again) == []
    own = ProducerHistory().given(epoch=0).given(epoch=1, sent=(7, 0)).given(epoch=1, sent=(7, 1))
    assert broken(producer_epochs_rise, own) == ["producer-epochs"]


def test_the_end_of_a_transaction_names_the_next_epoch() -> None:
    ended = ProducerHistory().given().ends(True, version=TV2, then=(ID, 1))
    assert broken(producer_epochs_rise, ended.given(epoch=1)) == ["producer-epochs"]
    repeated = ProducerHistory().given().ends(True, version=TV2, then=(ID, 1)).ends(True, version=TV2, then=(ID, 1))
    assert broken(producer_epochs_rise, repeated) == []


def test_a_former_producer_id_never_comes_back() -> None:
    assert broken(producer_epochs_rise, ProducerHistory().given(7, 9).given(8, 0).given(7, 10)) == ["producer-epochs"]
    assert broken(producer_epochs_rise, ProducerHistory().given(7, 9).given(8, 0)) == []


def test_no_epoch_is_above_the_last_one() -> None:
    near = ProducerHistory().given(epoch=0).raises_epoch(0, LAST_EPOCH)
    assert [one.label for one in judged_by(producer_epochs_rise, near.given(epoch=LAST_EPOCH + 1))][
        -1
    ] == "epoch-beyond-last"
    rotated = ProducerHistory().given(epoch=0).raises_epoch(0, LAST_EPOCH).given(8, 0).given(8, 1)
    assert broken(producer_epochs_rise, rotated) == []
    assert broken(producer_epochs_rise, rotated.given(7, LAST_EPOCH)) == ["producer-epochs"]


def test_a_producer_id_that_an_end_gives_is_given_to_no_other() -> None:
    ended = ProducerHistory().given(epoch=0).ends(True, epoch=LAST_EPOCH, version=TV2, then=(8, 0))
    assert broken(producer_ids_are_unique, ended) == []
    assert broken(producer_ids_are_unique, ended.given(8, tid="other")) == ["producer-ids"]


LOG = (written(0, "a", in_transaction=True), marker(1, True))


def known(other: tuple[int, int, int, int] | None, *, trimmed: int = 0) -> ProducerHistory:
    """At rest leader 1 knows the producer at epoch 0 with last sequence 0; follower 2 as given, or not at all."""
    history = ProducerHistory().given().trim(1, trimmed).rests()
    history.knows(1, (ID, 0, 0, -1)).knows(2, *([other] if other is not None else []))
    return history.reads(*[one for one in LOG if one.last_offset >= trimmed], start=trimmed)


def test_replicas_agree() -> None:
    assert broken(replicas_agree_on_producers, known((ID, 0, 1, -1))) == ["legacy"]
    assert broken(replicas_agree_on_producers, known(None)) == ["legacy"]
    assert [one.result for one in judged_by(replicas_agree_on_producers, known((ID, 0, 0, -1)))] == ["held"]


def test_a_replica_need_not_know_what_was_deleted() -> None:
    """With its marker left it has to know the coordinator epoch, and with its batch everything."""
    assert excused(replicas_agree_on_producers, known((ID, 0, -1, -1), trimmed=1)) == [
        ("legacy", PRODUCER_STATE_DELETED)
    ]
    assert broken(replicas_agree_on_producers, known(None, trimmed=1)) == ["legacy"]
    assert excused(replicas_agree_on_producers, known(None, trimmed=2)) == [("legacy", PRODUCER_STATE_DELETED)]


def test_a_replica_need_not_know_a_producer_that_expired() -> None:
    """All know its later batches, and its open transaction."""
    assert excused(replicas_agree_on_producers, after_expiry()) == [("legacy", PRODUCER_STATE_EXPIRED)]
    assert excused(replicas_agree_on_producers, after_expiry(other=(ID, 0, -1, -1)))
    assert broken(replicas_agree_on_producers, after_expiry("b")) == ["legacy"]
    assert broken(replicas_agree_on_producers, after_expiry("b", other=(ID, 0, -1, -1))) == ["legacy"]
    assert broken(replicas_agree_on_producers, after_expiry(other=(ID, 0, 0, 0))) == ["legacy"], "open on one of them"


def test_a_batch_that_was_sent_before_the_expiry_may_have_come_before_it() -> None:
    history = ProducerHistory().given().writes("a", lost="Unanswered").expires()
    history.writes("a", error=Error.OUT_OF_ORDER_SEQUENCE_NUMBER)
    history.rests().knows(1, (ID, 0, 0, -1)).knows(2, (ID, 0, -1, -1)).reads(*LOG)
    assert excused(replicas_agree_on_producers, history) == [("legacy", PRODUCER_STATE_EXPIRED)]


def after_expiry(*values: str, other: tuple[int, int, int, int] | None = None) -> ProducerHistory:
    """All replicas forgot the producer; then it wrote these values, and at rest follower 2 knows it as given, or not at all."""
    history = ProducerHistory().given().writes("a", at=0).expires()
    for place, value in enumerate(values, 1):
        history.writes(value, at=place, sequence=place)
    history.rests().knows(1, (ID, 0, 0, -1)).knows(2, *([other] if other is not None else []))
    return history.reads(*LOG)
