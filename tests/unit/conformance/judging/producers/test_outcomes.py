"""Outcomes of transactions: split, other than decided, dangling; and their honest neighbours."""

from __future__ import annotations

import pytest

from conformance.judging.excuses import BUMPED_BY_FENCED, LOOKED_TOO_RARELY, TOO_FEW_REPLICAS, UNSTABLE_OFFSETS
from conformance.judging.producers.outcomes import no_transaction_hangs, transactions_are_atomic
from conformance.judging.timeline import MIN_ISR
from protocol.codes import Error
from tests.support.judging import broken, excused, judged_by, labels
from tests.support.producers import ID, LEGACY, TID, TV2, ProducerHistory, marker, written

FIRST = written(0, "a", in_transaction=True)
SECOND = written(1, "b", sequence=1, in_transaction=True)


def opened() -> ProducerHistory:
    return ProducerHistory().given().adds().writes("a", at=0, tid=TID)


@pytest.mark.parametrize(("version", "case"), [(LEGACY, "legacy"), (TV2, "tv2")])
@pytest.mark.parametrize("committed", [True, False])
def test_end_txn_fixes_the_outcome(version: int, case: str, committed: bool) -> None:
    ended = opened().ends(committed, version=version).rests()
    assert broken(transactions_are_atomic, ended.reads(FIRST, marker(1, not committed))) == [case]
    honest = opened().ends(committed, version=version).rests().reads(FIRST, marker(1, committed))
    assert [(one.case, one.result) for one in judged_by(transactions_are_atomic, honest)] == [(case, "held")]


def test_a_decided_transaction_without_a_marker_is_broken_at_rest() -> None:
    assert labels(transactions_are_atomic, opened().ends(True).rests().reads(FIRST)) == {"other-outcome"}
    assert broken(transactions_are_atomic, opened().ends(True).reads(FIRST)) == []
    assert (
        broken(transactions_are_atomic, opened().ends(True, error=Error.CONCURRENT_TRANSACTIONS).rests().reads(FIRST))
        == []
    )


def test_one_transaction_has_one_outcome() -> None:
    """Its client decided nothing, but half a transaction is never right."""
    split = opened().writes("b", at=2, sequence=1, tid=TID).rests()
    second = written(2, "b", sequence=1, in_transaction=True)
    assert labels(transactions_are_atomic, split.reads(FIRST, marker(1, True), second, marker(3, False))) == {
        "split-outcome"
    }


def test_one_batch_without_a_decision_says_nothing() -> None:
    assert judged_by(transactions_are_atomic, opened().rests().reads(FIRST, marker(1, False))) == []


def test_the_next_transaction_of_an_epoch_is_another_one() -> None:
    history = opened().ends(True).adds().writes("b", at=2, sequence=1, tid=TID).ends(False).rests()
    second = written(2, "b", sequence=1, in_transaction=True)
    found = judged_by(transactions_are_atomic, history.reads(FIRST, marker(1, True), second, marker(3, False)))
    assert [(one.case, one.result) for one in found] == [("legacy", "held"), ("legacy", "held")]


def test_what_a_fenced_bump_may_have_aborted_is_excused() -> None:
    history = opened().given(epoch=1).given(epoch=2, sent=(ID, 0)).ends(True).rests().reads(FIRST, marker(1, False))
    assert broken(transactions_are_atomic, history) == []
    assert excused(transactions_are_atomic, history) == [("legacy", BUMPED_BY_FENCED)]
    earlier = ProducerHistory().given(epoch=0).given(epoch=1).given(epoch=2, sent=(ID, 0))
    earlier.writes("a", at=0, epoch=2, tid=TID).ends(True, epoch=2).rests()
    split = (written(0, "a", epoch=2, in_transaction=True), marker(1, False, epoch=2))
    assert broken(transactions_are_atomic, earlier.reads(*split)) == ["legacy"], "the bump came before the transaction"


def test_offsets_share_the_outcome() -> None:
    aborted = opened().commits(3).ends(False).rests().committed(3, 3, 0)
    assert labels(transactions_are_atomic, aborted) == {"aborted-offset"}
    lost = opened().commits(3).ends(True).rests().committed(3, -1, -1)
    assert labels(transactions_are_atomic, lost) == {"lost-offset"}
    kept = opened().commits(3).ends(True).rests().committed(3, 3, 0)
    assert [one.result for one in judged_by(transactions_are_atomic, kept)] == ["held"]


def test_the_offset_that_was_written_last_stays() -> None:
    """Its transaction need not be the one that ended last."""
    two = opened().commits(3).ends(True).adds().writes("b", at=2, sequence=1, tid=TID).commits(4).ends(True).rests()
    assert broken(transactions_are_atomic, two.committed(3, 4, 0)) == []
    older = opened().commits(3).ends(True).adds().writes("b", at=2, sequence=1, tid=TID).commits(4).ends(True).rests()
    assert labels(transactions_are_atomic, older.committed(3, 3, 0)) == {"lost-offset"}


def test_a_late_copy_of_an_offset_belongs_to_the_transaction_that_is_open() -> None:
    aborted = opened().commits(3).ends(False).adds().writes("b", at=2, sequence=1, tid=TID)
    assert broken(transactions_are_atomic, aborted.commits(3).ends(True).rests().committed(3, 3, 0)) == []
    again = opened().commits(3).commits(4).commits(3).ends(True).rests().committed(3, 3, 0)
    assert broken(transactions_are_atomic, again) == []


def test_an_offset_of_unknown_outcome_may_show() -> None:
    open_ = opened().commits(3).ends(True, error=Error.NOT_COORDINATOR).rests().committed(3, 3, 0)
    assert judged_by(transactions_are_atomic, open_) == []


def test_an_unstable_offset_decides_nothing_after_a_fault() -> None:
    history = opened().commits(3).ends(True).kill(2).start(2).rests().committed(3, 2, 0, stable=False)
    assert excused(transactions_are_atomic, history) == [("legacy", UNSTABLE_OFFSETS)]
    history = opened().commits(3).ends(True).rests().committed(3, 2, 0, stable=False)
    assert broken(transactions_are_atomic, history) == ["legacy"]


# --- INV-07


def test_nothing_above_an_open_transaction_is_stable() -> None:
    assert labels(no_transaction_hangs, opened().reads(FIRST)) == {"past-open-transaction"}
    assert broken(no_transaction_hangs, opened().reads(FIRST, lso=0)) == []
    ended = opened().ends(True).reads(FIRST, marker(1, True))
    assert judged_by(no_transaction_hangs, ended) == []


def test_a_timed_out_transaction_may_have_been_aborted() -> None:
    assert judged_by(no_transaction_hangs, opened().later(61).reads(FIRST, marker(1, False))) == []


def test_the_stable_offset_moves_on_at_rest() -> None:
    stuck = opened().ends(True).rests().reads(FIRST, marker(1, True), lso=0)
    assert labels(no_transaction_hangs, stuck) == {"stuck-offset"}
    assert broken(no_transaction_hangs, opened().ends(True).rests().reads(FIRST, marker(1, True))) == []


def test_no_ended_transaction_is_open_on_a_partition() -> None:
    dangling = opened().ends(True).rests().describes("CompleteCommit").knows(1, (ID, 0, 0, 0))
    assert (broken(no_transaction_hangs, dangling), labels(no_transaction_hangs, dangling)) == (
        ["no-dangling"],
        {"dangling-transaction"},
    )
    honest = opened().ends(True).rests().describes("CompleteCommit").knows(1, (ID, 0, 0, -1))
    assert [one.result for one in judged_by(no_transaction_hangs, honest)] == ["held"]


def test_a_transaction_that_its_coordinator_describes_as_ongoing_does_not_dangle() -> None:
    assert judged_by(no_transaction_hangs, opened().rests().describes("Ongoing").knows(1, (ID, 0, 0, 0))) == []


def prepared(*states: str, seconds: float = 40, asleep: float = 0.0) -> ProducerHistory:
    """At rest the coordinator describes the transaction in these states, the last one that much later."""
    history = ProducerHistory().given().adds().writes("a", at=0, tid=TID).ends(True).rests()
    for state in states[:-1]:
        history.describes(state)
    return history.asleep(asleep).later(seconds).describes(states[-1])


def test_a_host_that_slept_leaves_it_open_whether_a_transaction_is_complete_soon() -> None:
    slept = prepared("PrepareCommit", "PrepareCommit", seconds=20, asleep=60)
    assert broken(no_transaction_hangs, slept) == []
    assert ("no-dangling", LOOKED_TOO_RARELY) in excused(no_transaction_hangs, slept)
    assert broken(no_transaction_hangs, prepared("PrepareCommit", "PrepareCommit", asleep=60)) == ["no-dangling"]


def test_a_decided_transaction_is_complete_soon() -> None:
    assert labels(no_transaction_hangs, prepared("PrepareCommit", "PrepareCommit")) == {"unfinished-transaction"}
    assert broken(no_transaction_hangs, prepared("PrepareAbort", "PrepareEpochFence")) == ["no-dangling"]
    assert not broken(no_transaction_hangs, prepared("PrepareCommit", "PrepareCommit", seconds=20))
    assert not broken(no_transaction_hangs, prepared("PrepareCommit", "CompleteCommit"))
    assert not broken(no_transaction_hangs, prepared("PrepareCommit", "Ongoing", "PrepareCommit"))
    assert not broken(no_transaction_hangs, prepared("Ongoing", "Ongoing"))


@pytest.mark.parametrize(("outcome", "legal"), [("refused", True), ("before it rests", False), ("afterwards", True)])
def test_it_takes_markers_once_its_min_insync_replicas_allows_it(outcome: str, legal: bool) -> None:
    """The setting is lowered before the history rests, or only after the read; or the request to lower it is refused."""
    history = ProducerHistory(min_insync_replicas="2").given().adds().writes("a", at=0, tid=TID).ends(True)
    history.settled(1, 1, isr=(1,), replicas=(1,))
    if outcome != "afterwards":
        refused = Error.POLICY_VIOLATION if outcome == "refused" else Error.NONE
        history.altered(MIN_ISR, "1", error=refused)
    history.rests().reads(FIRST, lso=0)
    if outcome == "afterwards":
        history.altered(MIN_ISR, "1")
    assert broken(transactions_are_atomic, history) == ([] if legal else ["legacy"])
    assert excused(transactions_are_atomic, history) == ([("legacy", TOO_FEW_REPLICAS)] if legal else [])


@pytest.mark.parametrize(("replicas", "legal"), [((1,), True), ((1, 2), False)])
def test_a_partition_with_too_few_replicas_takes_no_marker(replicas: tuple[int, ...], legal: bool) -> None:
    """With a second replica, which is out of the ISR, it does not stay so."""
    shrunk = ProducerHistory(min_insync_replicas="2").given().adds().writes("a", at=0, tid=TID).ends(True)
    shrunk.rests().settled(1, 1, isr=(1,), replicas=replicas).reads(FIRST, lso=0)
    assert broken(transactions_are_atomic, shrunk) == ([] if legal else ["legacy"])
    assert excused(transactions_are_atomic, shrunk) == ([("legacy", TOO_FEW_REPLICAS)] if legal else [])
    prepared = shrunk.describes("PrepareCommit").later(40).describes("PrepareCommit")
    assert excused(no_transaction_hangs, prepared) == ([("no-dangling", TOO_FEW_REPLICAS)] if legal else [])
    assert broken(no_transaction_hangs, prepared) == ([] if legal else ["no-dangling"])


def test_what_a_fenced_instance_writes_is_of_no_transaction() -> None:
    """Its batch is not a part of the one that its successor aborted; a batch from before that is."""
    zombie = opened().given(epoch=1).writes("b", at=2, sequence=1, tid=TID).rests()
    assert (
        judged_by(transactions_are_atomic, zombie.reads(FIRST, marker(1, False, epoch=1), written(2, "b", sequence=1)))
        == []
    )
    owner = opened().writes("b", at=1, sequence=1, tid=TID).given(epoch=1).rests()
    late = written(3, "b", sequence=1, in_transaction=True)
    assert broken(transactions_are_atomic, owner.reads(FIRST, marker(1, False, epoch=1), late, lso=3)) == ["legacy"]
