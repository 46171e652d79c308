"""Fenced epochs: what must have no effect, and what is no effect."""

from __future__ import annotations

from conformance.judging.excuses import BUMPED_BY_FENCED, ELECTED_UNCLEANLY_ON_REQUEST
from conformance.judging.producers.fencing import a_fenced_epoch_has_no_effect
from protocol.codes import Error
from tests.support.judging import broken, excused, judged_by, labels
from tests.support.producers import ID, TID, ProducerHistory, written


def fenced() -> ProducerHistory:
    """Epoch 0 was given, then epoch 1 to a new instance."""
    return ProducerHistory().given(epoch=0).given(epoch=1)


def cases(history: ProducerHistory) -> list[tuple[str, str]]:
    return [(one.case, one.result) for one in judged_by(a_fenced_epoch_has_no_effect, history)]


def test_no_request_of_a_fenced_epoch_is_granted() -> None:
    assert cases(fenced().ends(True, epoch=0)) == [("coordinator", "violated")]
    assert cases(fenced().adds(epoch=0)) == [("coordinator", "violated")]
    assert cases(fenced().ends(True, epoch=0, error=Error.PRODUCER_FENCED)) == [("coordinator", "held")]
    assert cases(fenced().ends(True, epoch=1)) == []
    assert labels(a_fenced_epoch_has_no_effect, fenced().adds(epoch=0)) == {"fenced-request-granted"}


def test_a_request_that_was_sent_before_the_newer_epoch_was_answered_is_not_fenced() -> None:
    assert cases(ProducerHistory().given(epoch=0).ends(True, epoch=0).given(epoch=1)) == []


def test_no_batch_of_a_fenced_epoch_reaches_a_log() -> None:
    late = written(0, "late", in_transaction=True)
    history = fenced().writes("late", at=0, tid=TID).reads(late)
    assert cases(history) == [("any-partition", "violated")]
    refused = fenced().writes("late", tid=TID, error=Error.INVALID_PRODUCER_EPOCH).reads(written(0, "x", id=9))
    assert cases(refused) == [("any-partition", "held")]


def test_a_log_that_was_not_read_afterwards_shows_nothing() -> None:
    read_before = fenced().reads(written(0, "x", id=9)).writes("late", tid=TID, error=Error.INVALID_PRODUCER_EPOCH)
    assert cases(read_before) == []


def test_an_unclean_election_excuses_only_what_came_before_it() -> None:
    late = written(0, "late", in_transaction=True)
    lost = fenced().elect_uncleanly(2).settled(2, 1).writes("late", at=0, tid=TID).reads(late)
    assert excused(a_fenced_epoch_has_no_effect, lost) == [("any-partition", ELECTED_UNCLEANLY_ON_REQUEST)]
    earlier = ProducerHistory().elect_uncleanly(2).settled(2, 1).given(epoch=0).given(epoch=1)
    assert cases(earlier.writes("late", at=0, tid=TID).reads(late)) == [("any-partition", "violated")]


def test_a_partition_that_saw_the_newer_epoch_is_another_case() -> None:
    seen = fenced().writes("new", at=0, epoch=1, tid=TID).writes("late", at=1, tid=TID)
    both = (written(0, "new", epoch=1, in_transaction=True), written(1, "late", in_transaction=True))
    assert cases(seen.reads(*both)) == [("seen-epoch", "violated")]


def test_a_batch_that_was_sent_before_may_come_late() -> None:
    sent = ProducerHistory().given(epoch=0).writes("early", lost="Unanswered", tid=TID).given(epoch=1)
    assert cases(sent.writes("early", at=0, tid=TID).reads(written(0, "early", in_transaction=True))) == []


def test_a_fenced_instance_that_asked_for_the_next_epoch_leaves_it_open() -> None:
    history = fenced().given(epoch=2, sent=(ID, 0)).ends(True, epoch=1)
    assert broken(a_fenced_epoch_has_no_effect, history) == []
    assert excused(a_fenced_epoch_has_no_effect, history) == [("coordinator", BUMPED_BY_FENCED)]
    before = fenced().ends(True, epoch=0).given(epoch=2, sent=(ID, 0))
    assert broken(a_fenced_epoch_has_no_effect, before) == ["coordinator"], "it was granted before the bump"
    own = fenced().given(epoch=2, sent=(ID, 1)).ends(True, epoch=1)
    assert broken(a_fenced_epoch_has_no_effect, own) == ["coordinator"]
