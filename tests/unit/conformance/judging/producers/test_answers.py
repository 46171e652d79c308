"""Answers that the state does not allow, and near ones that it does: for each request, each kind of answer, each protocol."""

from __future__ import annotations

import pytest

from conformance.judging.excuses import BUMPED_BY_FENCED, PRODUCER_STATE_DELETED, STALE_COORDINATOR
from conformance.judging.judge import Judging
from conformance.judging.producers.answers import answers_fit_the_possible_states
from conformance.judging.producers.coordinator import LAST_EPOCH
from history.effects import Effects
from protocol.codes import Error
from tests.support.judging import broken, excused, judged_by, labels
from tests.support.producers import ID, LEGACY, TID, TV2, ProducerHistory

FENCED, OLD_FENCED, MAPPING = (
    Error.PRODUCER_FENCED,
    Error.INVALID_PRODUCER_EPOCH,
    Error.INVALID_PRODUCER_ID_MAPPING,
)
GAP, STATE, ABORTABLE = Error.OUT_OF_ORDER_SEQUENCE_NUMBER, Error.INVALID_TXN_STATE, Error.TRANSACTION_ABORTABLE
BUSY, NONE = Error.CONCURRENT_TRANSACTIONS, Error.NONE

judge = answers_fit_the_possible_states


def results(history: ProducerHistory) -> list[tuple[str, str]]:
    return [(one.case, one.result) for one in judged_by(judge, history)]


def last(history: ProducerHistory) -> tuple[str, str]:
    """Case and result of the last answer; an answer whose state was not certain belongs to no case."""
    found = [one for one in judged_by(judge, history) if len(history.events) - 1 in one.events]
    return (found[0].case, found[0].result) if found else ("", "")


def begun() -> ProducerHistory:
    """An instance at epoch 0, fenced by one at epoch 1."""
    return ProducerHistory().given(epoch=0).given(epoch=1)


def opened(epoch: int = 0) -> ProducerHistory:
    return ProducerHistory().given(epoch=epoch).adds(epoch=epoch)


def plain() -> ProducerHistory:
    return ProducerHistory().given(tid=None).writes("a", "b", at=0)


def wrote(history: ProducerHistory) -> tuple[str, str]:
    """Case and result of the last Produce; its broker is named as the leader afterwards, too."""
    event = len(history.events) - 1
    found = [one for one in judged_by(judge, history.settled(1, 0)) if event in one.events]
    return (found[0].case, found[0].result) if found else ("", "")


# --- InitProducerId


def test_a_new_instance_is_given_the_next_epoch() -> None:
    assert last(begun()) == ("init-granted", "held")
    assert last(ProducerHistory().given(epoch=0).given(epoch=2)) == ("init-granted", "violated")
    assert last(ProducerHistory().given(epoch=0).given(epoch=0)) == ("init-granted", "violated")
    assert last(ProducerHistory().given(epoch=1)) == ("init-granted", "violated"), "a new id begins at epoch 0"


def test_the_owner_is_given_the_next_epoch_and_the_same_again() -> None:
    bumped = ProducerHistory().given(epoch=0).given(epoch=1, sent=(ID, 0))
    assert last(bumped.given(epoch=1, sent=(ID, 0))) == ("init-granted", "held")
    again = ProducerHistory().given(epoch=0).given(epoch=1, sent=(ID, 0)).given(epoch=2, sent=(ID, 0))
    assert last(again) == ("init-granted", "violated")


@pytest.mark.parametrize(("version", "right", "wrong"), [(4, FENCED, OLD_FENCED), (3, OLD_FENCED, FENCED)])
def test_an_old_epoch_is_fenced_by_the_error_of_its_version(version: int, right: Error, wrong: Error) -> None:
    assert last(begun().given(sent=(ID, 0), error=right, version=version)) == ("init-fenced", "held")
    assert last(begun().given(sent=(ID, 0), error=wrong, version=version)) == ("init-fenced", "violated")
    assert last(begun().given(epoch=2, sent=(ID, 0))) == ("init-fenced", "violated")
    assert last(begun().given(sent=(ID + 1, 1), error=FENCED)) == ("init-fenced", "held")


def test_a_transaction_is_aborted_before_the_next_epoch_is_given() -> None:
    assert last(opened().given(error=BUSY).given(error=BUSY).given(epoch=2)) == ("init-granted", "held")
    assert last(opened().given(epoch=2)) == ("init-granted", "held"), "a coordinator may wait for the abort"
    assert last(opened().given(epoch=1)) == ("init-granted", "violated")
    assert last(begun().given(error=BUSY)) == ("init-granted", "violated"), "nothing is open"


def test_a_stale_epoch_while_a_transaction_is_open_is_another_requirement() -> None:
    history = begun().adds(epoch=1).given(sent=(ID, 0), error=BUSY)
    assert (broken(judge, history), excused(judge, history)) == ([], [("init-fenced", BUMPED_BY_FENCED)])
    near = begun().adds(epoch=1).given(epoch=2, sent=(ID, 0))
    assert last(near) == ("init-fenced", "violated")


@pytest.mark.parametrize("half", [(ID, -1), (-1, 0)])
def test_an_id_without_an_epoch_is_an_invalid_request_and_so_is_an_epoch_without_an_id(half: tuple[int, int]) -> None:
    refused = begun().given(sent=half, error=Error.INVALID_REQUEST)
    assert last(refused) == ("", "")
    assert last(refused.given(epoch=2)) == ("init-granted", "held"), "nothing was changed"
    assert last(begun().given(epoch=2, sent=half)) == ("init-granted", "violated")
    assert last(begun().given(sent=(ID, 1), error=Error.INVALID_REQUEST)) == ("init-granted", "violated")


def test_a_coordinator_that_failed_over_may_have_forgotten_who_asked_before() -> None:
    bumped = ProducerHistory().given(epoch=0).given(epoch=1, sent=(ID, 0))
    assert last(bumped.given(sent=(ID, 0), error=FENCED, by=3)) == ("", "")
    same = ProducerHistory().given(epoch=0).given(epoch=1, sent=(ID, 0)).given(sent=(ID, 0), error=FENCED)
    assert last(same) == ("init-granted", "violated")


# --- AddPartitionsToTxn, AddOffsetsToTxn


def test_partitions_are_added_at_the_current_epoch_only() -> None:
    assert last(begun().adds(epoch=1)) == ("add-partitions-granted", "held")
    assert last(begun().adds(epoch=0, error=FENCED)) == ("add-partitions-fenced", "held")
    assert last(begun().adds(epoch=0)) == ("add-partitions-fenced", "violated")
    assert last(begun().adds(epoch=0, error=OLD_FENCED, version=1)) == ("add-partitions-fenced", "held")
    assert last(begun().adds(epoch=1, error=STATE)) == ("add-partitions-granted", "violated")
    assert last(begun().adds(epoch=1, id=ID + 1, error=MAPPING)) == ("add-partitions-fenced", "held")
    assert last(begun().adds(epoch=1, id=ID + 1)) == ("add-partitions-fenced", "violated")


def test_groups_are_added_at_the_current_epoch_only() -> None:
    assert last(begun().adds_offsets(epoch=1)) == ("add-offsets-granted", "held")
    assert last(begun().adds_offsets(epoch=0, error=FENCED)) == ("add-offsets-fenced", "held")
    assert last(begun().adds_offsets(epoch=0, error=OLD_FENCED)) == ("add-offsets-fenced", "violated")
    assert last(begun().adds_offsets(epoch=1, id=ID + 1)) == ("add-offsets-fenced", "violated")


def test_markers_may_keep_a_coordinator_busy_and_nothing_else() -> None:
    ended = opened().ends(True)
    assert last(ended.adds(error=BUSY)) == ("", "")
    assert last(opened().ends(True).adds()) == ("add-partitions-granted", "held")
    assert last(begun().adds(epoch=1, error=BUSY)) == ("add-partitions-granted", "violated")
    described = opened().ends(True).describes("CompleteCommit").adds(error=BUSY)
    assert last(described) == ("add-partitions-granted", "violated"), "its markers are all written"


@pytest.mark.parametrize("error", [Error.NOT_COORDINATOR, Error.COORDINATOR_LOAD_IN_PROGRESS])
def test_a_coordinator_that_moves_or_loads_says_nothing(error: Error) -> None:
    assert last(begun().adds(epoch=1, error=error)) == ("", "")


# --- EndTxn


def test_the_first_protocol_ends_what_is_open() -> None:
    assert last(opened().ends(True)) == ("end-granted", "held")
    assert last(opened().ends(True, error=STATE)) == ("end-granted", "violated")
    assert last(opened().ends(True).ends(True)) == ("end-granted", "held"), "repeated"
    assert last(opened().ends(True).ends(False, error=STATE)) == ("end-not-open", "held")
    assert last(opened().ends(False).ends(True)) == ("end-not-open", "violated"), "a commit after an abort"
    assert last(begun().ends(True, epoch=1, error=STATE)) == ("end-not-open", "held")
    assert last(begun().ends(True, epoch=1)) == ("end-not-open", "violated")


@pytest.mark.parametrize("version", [LEGACY, TV2])
def test_an_old_epoch_ends_nothing(version: int) -> None:
    history = begun().adds(epoch=1)
    assert last(history.ends(True, epoch=0, error=FENCED, version=version)) == ("end-fenced", "held")
    for error in (NONE, STATE, OLD_FENCED):
        wrong = begun().adds(epoch=1).ends(True, epoch=0, error=error, version=version, then=(ID, 2))
        assert last(wrong) == ("end-fenced", "violated")
    assert last(opened().ends(True, id=ID + 1, error=MAPPING, version=version)) == ("end-fenced", "held")


def test_the_second_protocol_raises_the_epoch_at_each_end() -> None:
    assert last(opened().ends(True, version=TV2, then=(ID, 1))) == ("end-granted", "held")
    assert last(opened().ends(True, version=TV2, then=(ID, 0))) == ("end-granted", "violated")
    assert last(begun().ends(False, epoch=1, version=TV2, then=(ID, 2))) == ("end-granted", "held"), "of nothing"
    assert last(begun().ends(True, epoch=1, version=TV2, error=STATE)) == ("end-not-open", "held")
    assert last(begun().ends(True, epoch=1, version=TV2, then=(ID, 2))) == ("end-not-open", "violated")


def test_an_end_is_repeated_at_the_epoch_before() -> None:
    ended = opened().ends(True, version=TV2, then=(ID, 1))
    assert last(ended.ends(True, version=TV2, then=(ID, 1))) == ("end-granted", "held")
    twice = opened().ends(True, version=TV2, then=(ID, 1)).ends(True, version=TV2, then=(ID, 2))
    assert last(twice) == ("end-granted", "violated")
    other = opened().ends(False, version=TV2, then=(ID, 1))
    assert last(other.ends(True, version=TV2, error=STATE)) == ("end-not-open", "held")
    granted = opened().ends(False, version=TV2, then=(ID, 1)).ends(True, version=TV2, then=(ID, 1))
    assert last(granted) == ("end-not-open", "violated")


def test_a_commit_that_comes_too_late_is_refused_either_way() -> None:
    for error, result in ((STATE, "held"), (FENCED, "held"), (NONE, "violated")):
        late = opened().later(61).describes("CompleteAbort", epoch=1)
        late.ends(True, version=TV2, error=error, then=(ID, 1))
        assert last(late) == ("end-not-open", result)


def test_a_transaction_that_may_have_timed_out_is_uncertain() -> None:
    for error in (NONE, FENCED):
        assert last(opened().later(61).ends(True, error=error)) == ("", "")
    assert last(opened().later(61).ends(True, error=MAPPING)) == ("end-granted", "violated")
    assert last(opened().later(50).ends(True, error=FENCED)) == ("end-granted", "violated")


# --- unknown outcomes


@pytest.mark.parametrize(
    ("idle", "settings", "result"),
    [
        (3.1, {"transactional_id_expiration_ms": "3000"}, "held"),
        (2.0, {"transactional_id_expiration_ms": "3000"}, "violated"),
        (99.0, {}, "violated"),
    ],
)
def test_an_id_that_was_idle_for_longer_than_it_is_remembered(
    idle: float, settings: dict[str, str], result: str
) -> None:
    """Its owner is given another producer id, as one that the coordinator does not know."""
    history = ProducerHistory().started_with(**settings).given().later(idle).given(id=8, epoch=0, sent=(ID, 0))
    assert last(history) == ("init-granted", result)


def test_an_open_transaction_keeps_its_id() -> None:
    history = opened().started_with(transactional_id_expiration_ms="3000").later(9).given(id=8, epoch=0, sent=(ID, 0))
    assert last(history) == ("init-granted", "violated")


def test_a_request_without_an_answer_may_have_taken_effect_or_not() -> None:
    for epoch in (1, 2):
        assert last(ProducerHistory().given(epoch=0).given(lost=True).given(epoch=epoch)) == ("init-granted", "held")
    assert last(ProducerHistory().given(epoch=0).given(lost=True).given(epoch=3)) == ("init-granted", "violated")
    for error in (NONE, FENCED):
        assert last(ProducerHistory().given(epoch=0).given(lost=True).adds(error=error)) == ("", "")
    assert last(ProducerHistory().given(epoch=0).given(lost=True).adds(error=STATE)) == (
        "add-partitions-granted",
        "violated",
    )


def test_an_end_without_an_answer_leaves_both_open() -> None:
    for committed, error in ((True, NONE), (False, NONE), (False, STATE), (True, BUSY)):
        assert "violated" not in last(opened().ends(True, lost=True).ends(committed, error=error))
    assert last(opened().ends(True, lost=True).ends(True, error=STATE)) == ("end-granted", "violated")


def test_what_was_lost_is_done_with_after_a_new_epoch_and_one_more_answer() -> None:
    settled = opened().ends(True, lost=True).given(error=BUSY).given(epoch=2)
    assert last(settled.adds(epoch=2).ends(True, epoch=2)) == ("end-granted", "held")


def test_a_description_makes_the_state_certain() -> None:
    lost = ProducerHistory().given(epoch=0).given(lost=True)
    assert last(lost.describes("Empty", epoch=1).adds(epoch=0, error=STATE)) == ("add-partitions-fenced", "violated")


def test_a_coordinator_that_was_cut_off_may_answer_from_an_old_state() -> None:
    cut = Effects(process="frozen")
    zombie = ProducerHistory().given(epoch=0).hit("paused-zombie", 2, effects=cut).given(epoch=1, by=3)
    zombie.adds(epoch=1, error=FENCED)
    assert (broken(judge, zombie), excused(judge, zombie)) == ([], [("add-partitions-granted", STALE_COORDINATOR)])
    other = ProducerHistory().given(epoch=0).hit("paused-zombie", 1, effects=cut).given(epoch=1, by=3)
    assert last(other.adds(epoch=1, error=FENCED)) == ("add-partitions-granted", "violated")


# --- Produce


def test_an_idempotent_producer_is_answered_by_its_sequence() -> None:
    assert wrote(plain().writes("c", at=2, sequence=2)) == ("produce-granted", "held")
    assert wrote(plain().writes("c", sequence=3, error=GAP)) == ("produce-out-of-order", "held")
    for error in (NONE, OLD_FENCED, Error.UNKNOWN_PRODUCER_ID, Error.DUPLICATE_SEQUENCE_NUMBER):
        assert wrote(plain().writes("c", at=2, sequence=3, error=error)) == ("produce-out-of-order", "violated")
    assert wrote(plain().writes("c", sequence=1, error=GAP)) == ("produce-out-of-order", "held"), "an overlap"
    assert wrote(plain().writes("c", sequence=2, error=GAP)) == ("produce-granted", "violated")


def test_a_batch_that_comes_again_is_answered_with_its_offset() -> None:
    assert wrote(plain().writes("a", "b", at=0)) == ("produce-repeated", "held")
    assert wrote(plain().writes("a", "b", at=2)) == ("produce-repeated", "violated")
    assert wrote(plain().writes("a", "b", error=GAP)) == ("produce-repeated", "violated")


def test_an_old_epoch_is_fenced_where_a_newer_one_was_seen() -> None:
    newer = plain().writes("c", at=2, epoch=1)
    assert wrote(newer.writes("d", sequence=2, error=OLD_FENCED)) == ("produce-fenced-seen", "held")
    for error in (NONE, FENCED, GAP):
        wrong = plain().writes("c", at=2, epoch=1).writes("d", at=3, sequence=2, error=error)
        assert wrote(wrong) == ("produce-fenced-seen", "violated")


def test_a_sequence_that_was_deleted_may_be_forgotten() -> None:
    history = plain().trim(1, 2).writes("c", at=2, sequence=3).settled(1, 0)
    assert (broken(judge, history), excused(judge, history)) == (
        [],
        [("produce-out-of-order", PRODUCER_STATE_DELETED)],
    )
    near = plain().trim(1, 2).writes("c", sequence=3, error=FENCED).settled(1, 0)
    assert broken(judge, near) == ["produce-out-of-order"], "no leader answers so, whatever it knows"


def test_another_broker_than_the_leader_may_know_less() -> None:
    assert broken(judge, plain().writes("c", sequence=3, error=OLD_FENCED).settled(2, 1)) == []


def test_a_fenced_instance_writes_nowhere() -> None:
    assert wrote(begun().writes("a", tid=TID, error=OLD_FENCED)) == ("produce-fenced", "held")
    for error in (NONE, FENCED, STATE):
        assert wrote(begun().writes("a", at=0, tid=TID, error=error)) == ("produce-fenced", "violated")
    assert wrote(begun().writes("a", epoch=1, id=ID + 1, tid=TID, error=MAPPING)) == ("produce-fenced", "held")


@pytest.mark.parametrize(("version", "right", "wrong"), [(10, STATE, ABORTABLE), (11, ABORTABLE, STATE)])
def test_the_first_protocol_writes_to_added_partitions_only(version: int, right: Error, wrong: Error) -> None:
    assert wrote(opened().writes("a", at=0, tid=TID, version=version)) == ("produce-granted", "held")
    assert wrote(begun().writes("a", epoch=1, tid=TID, version=version, error=right)) == ("produce-not-open", "held")
    for error in (NONE, wrong):
        refused = begun().writes("a", at=0, epoch=1, tid=TID, version=version, error=error)
        assert wrote(refused) == ("produce-not-open", "violated")


def test_the_second_protocol_adds_the_partition_by_the_write() -> None:
    written = begun().writes("a", at=0, epoch=1, tid=TID, version=12).settled(1, 0)
    assert last(written.ends(True, epoch=1, version=TV2, then=(ID, 2))) == ("end-granted", "held")
    for error in (NONE, STATE):
        refused = begun().writes("a", epoch=1, tid=TID, version=12, error=Error.NOT_LEADER_OR_FOLLOWER).settled(1, 0)
        assert last(refused.ends(True, epoch=1, version=TV2, error=error, then=(ID, 2)))[1] != "violated"


# --- TxnOffsetCommit


def test_offsets_are_committed_in_a_transaction_of_their_group() -> None:
    assert last(opened().adds_offsets().commits(3)) == ("offset-commit-granted", "held")
    assert last(opened().adds_offsets().commits(3, error=STATE)) == ("offset-commit-granted", "violated")
    assert last(opened().commits(3, error=ABORTABLE)) == ("offset-commit-not-open", "held")
    assert last(opened().commits(3, error=STATE, version=3)) == ("offset-commit-not-open", "held")
    assert last(opened().commits(3)) == ("offset-commit-not-open", "violated")
    assert last(opened().commits(3, version=5)) == ("offset-commit-granted", "held"), "it adds the group by itself"


@pytest.mark.parametrize("error", [Error.ILLEGAL_GENERATION, Error.STALE_MEMBER_EPOCH, Error.UNKNOWN_MEMBER_ID])
def test_a_group_may_refuse_the_member_that_a_commit_names_and_no_other(error: Error) -> None:
    for member, instance in ((("m", 3), None), (("", 3), None), (("m", -1), None), (("", -1), "i")):
        refused = opened().adds_offsets().commits(3, member=member, instance=instance, error=error)
        assert last(refused) == ("", "")
        assert last(refused.ends(True)) == ("end-granted", "held"), "the transaction goes on"
    assert last(opened().adds_offsets().commits(3, error=error)) == ("offset-commit-granted", "violated")
    assert last(opened().adds_offsets().commits(3, member=("m", 3), error=STATE)) == (
        "offset-commit-granted",
        "violated",
    )


def test_a_fenced_instance_commits_no_offsets() -> None:
    assert last(begun().commits(3, error=OLD_FENCED)) == ("offset-commit-fenced", "held")
    for error in (NONE, FENCED):
        assert last(begun().commits(3, error=error)) == ("offset-commit-fenced", "violated")


# --- words, and judging again


def test_a_wrong_answer_is_told_with_the_right_one_and_its_reason() -> None:
    [wrong] = [one for one in judged_by(judge, begun().ends(True, epoch=0)) if one.result == "violated"]
    assert labels(judge, begun().ends(True, epoch=0)) == {"wrong-answer"}
    assert wrong.detail == (
        "broker-2 answered EndTxn at epoch 0 of producer 7 with NONE; expected PRODUCER_FENCED, since epoch 1 of producer 7 is "
        "current since event 11, its transaction is Empty. Promised: Each answer is one that the state allows (EndTxn "
        "with another epoch or producer id)."
    )


def test_it_goes_on_from_the_turns_that_were_judged_before() -> None:
    history = begun().adds(epoch=1).ends(True, epoch=1).adds(epoch=1).ends(False, epoch=1).ends(True, epoch=1)
    judging = Judging([judge], history.example)
    for event in history.events:
        judging.feed([event])
        judging.violations()
    assert judging.results().observations == judged_by(judge, history)
    assert [one.case for one in judging.violations()] == ["end-not-open"]


# --- near the last epoch


def near_the_end(epoch: int = LAST_EPOCH) -> ProducerHistory:
    return ProducerHistory().given(epoch=0).raises_epoch(0, epoch)


def test_epochs_that_were_raised_in_a_row_are_current() -> None:
    assert last(near_the_end(32_000).adds(epoch=32_000)) == ("add-partitions-granted", "held")
    assert last(near_the_end(32_000).adds(epoch=31_999, error=FENCED)) == ("add-partitions-fenced", "held")
    assert last(near_the_end(32_000).adds(epoch=31_999)) == ("add-partitions-fenced", "violated")


def test_nothing_is_predicted_after_epochs_that_were_raised_in_part() -> None:
    partly = ProducerHistory().given(epoch=0).raises_epoch(0, 32_000, given=5)
    assert last(partly.adds(epoch=6, error=FENCED)) == ("", "")
    assert last(ProducerHistory().given(epoch=0).raises_epoch(0, 32_000, lost=True).adds(epoch=9)) == ("", "")
    again = ProducerHistory().given(epoch=0).raises_epoch(0, 32_000, lost=True).given(epoch=700)
    assert last(again.adds(epoch=700, error=FENCED)) == ("add-partitions-granted", "violated")


def test_another_producer_id_follows_and_its_owner_is_given_it_again() -> None:
    asked = (ID, LAST_EPOCH)
    assert last(near_the_end().given(8, 0, sent=asked)) == ("init-granted", "held")
    assert last(near_the_end().given(epoch=LAST_EPOCH + 1, sent=asked)) == ("init-granted", "violated")
    assert last(near_the_end().given(8, 0, sent=asked).given(8, 0, sent=asked)) == ("init-granted", "held")
    assert last(near_the_end().given(8, 0, sent=asked).given(9, 0, sent=asked)) == ("init-granted", "violated")
    moved_on = near_the_end().given(8, 0, sent=asked).given(8, 1, sent=(8, 0))
    assert last(moved_on.given(sent=asked, error=FENCED)) == ("init-fenced", "held")


def test_the_former_producer_id_is_no_owner_of_the_transaction() -> None:
    rotated = near_the_end().given(8, 0)
    assert last(rotated.adds(epoch=LAST_EPOCH, error=MAPPING)) == ("add-partitions-fenced", "held")
    granted = near_the_end().given(8, 0).adds(epoch=LAST_EPOCH)
    assert last(granted) == ("add-partitions-fenced", "violated")


def test_an_end_at_the_last_epoch_names_another_producer_id() -> None:
    def ended() -> ProducerHistory:
        return near_the_end().adds(epoch=LAST_EPOCH).ends(True, epoch=LAST_EPOCH, version=TV2, then=(8, 0))

    assert last(ended()) == ("end-granted", "held")
    beyond = near_the_end().adds(epoch=LAST_EPOCH)
    assert last(beyond.ends(True, epoch=LAST_EPOCH, version=TV2, then=(ID, LAST_EPOCH + 1))) == (
        "end-granted",
        "violated",
    )
    prepared = ended().describes("PrepareCommit", LAST_EPOCH + 1)
    assert last(prepared.adds(id=8, error=BUSY)) == ("", "")
    assert last(ended().adds(id=8, error=MAPPING)) == ("add-partitions-granted", "violated")
    complete = ended().describes("CompleteCommit", 0, id=8)
    assert last(complete.adds(id=8)) == ("add-partitions-granted", "held")
    again = ended().describes("CompleteCommit", 0, id=8).ends(True, epoch=LAST_EPOCH, version=TV2, then=(8, 0))
    assert last(again) == ("end-granted", "held")
