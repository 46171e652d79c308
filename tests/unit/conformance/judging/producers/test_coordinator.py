"""The answers of a transaction coordinator by its state: the tables of KIP-98, KIP-360 and KIP-890."""

from __future__ import annotations

import pytest

from conformance.judging.excuses import BUMPED_BY_FENCED
from conformance.judging.producers.coordinator import (
    LAST_EPOCH,
    NEW_ID,
    NO_EPOCH,
    PASSED,
    PASSED_LATE,
    UNSEEN_CHANGE,
    Api,
    CoordinatorRequest,
    RightAnswer,
    State,
    Status,
    right_answers,
    unrequested_states,
)
from protocol.codes import Error

P = frozenset(("topic-0",))
FENCED, STATE, BUSY = Error.PRODUCER_FENCED, Error.INVALID_TXN_STATE, Error.CONCURRENT_TRANSACTIONS
NONE, MAPPING = Error.NONE, Error.INVALID_PRODUCER_ID_MAPPING
FIRST, SECOND = 4, 5
"""Versions of EndTxn."""


def at(status: Status, epoch: int = 3, retried: int = NO_EPOCH) -> State:
    return State(status, 7, epoch, retried, P if status == "Ongoing" else frozenset())


def asked(api: Api, epoch: int, *, version: int = 5, commits: bool = False, id: int = 7) -> CoordinatorRequest:
    return CoordinatorRequest(api, 10, 11, "broker-1", version, id, epoch, P, commits)


def errors(state: State, request: CoordinatorRequest) -> set[int]:
    return {outcome.error for outcome, _ in right_answers(state, request) if outcome != UNSEEN_CHANGE}


def after(state: State, request: CoordinatorRequest) -> set[tuple[str, int]]:
    return {(left.status, left.epoch) for outcome, left in right_answers(state, request) if outcome != UNSEEN_CHANGE}


# --- EndTxn: the table of TransactionCoordinator#endTransaction

ENDS: list[tuple[int, Status, int, bool, set[int]]] = [
    # version, state, epoch (3 is current), commits, errors
    (FIRST, "Ongoing", 3, True, {NONE}),
    (FIRST, "Ongoing", 2, True, {FENCED}),
    (FIRST, "Empty", 3, True, {STATE}),
    (FIRST, "Empty", 3, False, {STATE}),
    (FIRST, "CompleteCommit", 3, True, {NONE}),
    (FIRST, "CompleteCommit", 3, False, {STATE}),
    (FIRST, "CompleteAbort", 3, True, {STATE}),
    (FIRST, "CompleteAbort", 3, False, {NONE}),
    (FIRST, "PrepareCommit", 3, True, {BUSY}),
    (FIRST, "PrepareCommit", 3, False, {STATE}),
    (FIRST, "", 3, True, {MAPPING}),
    (SECOND, "Ongoing", 3, True, {NONE}),
    (SECOND, "Ongoing", 2, True, {FENCED}),
    (SECOND, "Empty", 2, False, {FENCED}),
    (SECOND, "Empty", 3, False, {NONE}),
    (SECOND, "Empty", 2, True, {FENCED}),
    (SECOND, "Empty", 3, True, {STATE}),
    (SECOND, "CompleteAbort", 2, False, {NONE}),
    (SECOND, "CompleteAbort", 3, False, {NONE}),
    (SECOND, "CompleteAbort", 2, True, {STATE, FENCED}),
    (SECOND, "CompleteAbort", 3, True, {STATE}),
    (SECOND, "CompleteCommit", 2, False, {STATE}),
    (SECOND, "CompleteCommit", 3, False, {NONE}),
    (SECOND, "CompleteCommit", 2, True, {NONE}),
    (SECOND, "CompleteCommit", 3, True, {STATE}),
    (SECOND, "PrepareCommit", 2, True, {BUSY}),
    (SECOND, "PrepareCommit", 2, False, {STATE}),
    (SECOND, "PrepareCommit", 3, True, {FENCED}),
    (SECOND, "", 3, True, {MAPPING}),
]


@pytest.mark.parametrize(("version", "status", "epoch", "commits", "wanted"), ENDS)
def test_the_end_of_a_transaction(version: int, status: Status, epoch: int, commits: bool, wanted: set[int]) -> None:
    request = asked("EndTxn", epoch, version=version, commits=commits)
    assert errors(at(status), request) == wanted


def test_an_end_in_the_second_protocol_leaves_the_next_epoch() -> None:
    assert after(at("Ongoing"), asked("EndTxn", 3, version=FIRST, commits=True)) == {("PrepareCommit", 3)}
    assert after(at("Ongoing"), asked("EndTxn", 3, version=SECOND)) == {("PrepareAbort", 4)}
    repeated = [outcome for outcome, _ in right_answers(at("CompleteAbort"), asked("EndTxn", 2, version=SECOND))]
    assert repeated == [RightAnswer(NONE, 7, 3)]


# --- InitProducerId


def test_the_next_epoch_is_given_to_a_new_instance_and_to_the_owner() -> None:
    for epoch, retried in ((-1, -1), (3, 3)):
        found = [*right_answers(at("Empty"), asked("InitProducerId", epoch, id=-1 if epoch < 0 else 7))]
        assert [(outcome, left.epoch, left.retried) for outcome, left in found] == [
            (RightAnswer(NONE, 7, 4), 4, retried)
        ]


def test_who_asks_again_is_given_the_same_epoch() -> None:
    again = asked("InitProducerId", 2)
    assert [outcome for outcome, _ in right_answers(at("Empty", retried=2), again)] == [RightAnswer(NONE, 7, 3)]
    moved = again._replace(failed_over=True)
    assert errors(at("Empty", retried=2), moved) == {NONE, FENCED}
    assert errors(at("Empty"), again) == {FENCED}


@pytest.mark.parametrize(("version", "error"), [(3, Error.INVALID_PRODUCER_EPOCH), (4, FENCED)])
def test_the_error_for_an_old_epoch_goes_by_the_version(version: int, error: int) -> None:
    assert errors(at("Empty"), asked("InitProducerId", 1, version=version)) == {error}


def test_an_open_transaction_is_aborted_first() -> None:
    new = asked("InitProducerId", -1, id=-1)
    assert after(at("Ongoing"), new) == {("PrepareAbort", 4), ("Empty", 5)}
    assert errors(at("Ongoing"), new) == {BUSY, NONE}
    failed = [left for outcome, left in right_answers(at("Ongoing"), new) if outcome == UNSEEN_CHANGE]
    assert [(left.status, left.epoch, left.raised) for left in failed] == [("Ongoing", 4, True)]
    assert after(failed[0], new) == {("PrepareAbort", 4), ("Empty", 5)}, "the epoch is raised once"


def test_a_stale_epoch_leaves_an_open_transaction_alone() -> None:
    found = [*right_answers(at("Ongoing"), asked("InitProducerId", 1))]
    assert (RightAnswer(FENCED), at("Ongoing")) in found
    assert {outcome.excuse for outcome, left in found if left.status == "PrepareAbort"} == {BUMPED_BY_FENCED}


# --- the other requests


@pytest.mark.parametrize("api", ["AddPartitionsToTxn", "AddOffsetsToTxn"])
def test_partitions_and_groups_are_added(api: Api) -> None:
    assert errors(at("Empty"), asked(api, 3)) == {NONE}
    assert errors(at("Empty"), asked(api, 2)) == {FENCED}
    assert errors(at("Empty"), asked(api, 2, version=1)) == {Error.INVALID_PRODUCER_EPOCH}
    assert errors(at("Empty"), asked(api, 3, id=8)) == {MAPPING}
    assert errors(at("PrepareCommit"), asked(api, 3)) == {BUSY}
    [(_, left)] = right_answers(at("CompleteAbort"), asked(api, 3))
    assert (left.status, left.added, left.opened) == ("Ongoing", P, 10)


def test_a_write_passes_if_its_partition_was_added() -> None:
    first, second = asked("Produce", 3, version=11), asked("Produce", 3, version=12)
    assert errors(at("Ongoing"), first) == errors(at("Ongoing"), second) == {PASSED}
    assert errors(at("Empty"), first) == {Error.TRANSACTION_ABORTABLE}
    assert errors(at("Empty"), first._replace(version=10)) == {STATE}
    assert after(at("Empty"), second) == {("Ongoing", 3)}
    assert errors(at("Empty"), asked("Produce", 2, version=12)) == {Error.INVALID_PRODUCER_EPOCH}
    assert errors(at("PrepareCommit"), first) == {BUSY, PASSED_LATE}


# --- without a request


def test_markers_are_written_and_open_transactions_time_out() -> None:
    assert [left.status for left in unrequested_states(at("PrepareAbort"), timed_out=False)] == ["CompleteAbort"]
    assert [*unrequested_states(at("Ongoing"), timed_out=False)] == []
    assert {left.epoch for left in unrequested_states(at("Ongoing"), timed_out=True)} == {4}
    raised = at("Ongoing", epoch=4)._replace(raised=True)
    assert [(left.epoch, left.raised) for left in unrequested_states(raised, timed_out=False)] == [(3, False)]


# --- the end of a producer id's epochs (KIP360-INIT-15, -16)

LAST, BEYOND = LAST_EPOCH, LAST_EPOCH + 1


def given(state: State, request: CoordinatorRequest) -> set[tuple[int, int, int]]:
    """Error, producer id and epoch of each right answer."""
    return {(one.error, one.producer_id, one.epoch) for one, _ in right_answers(state, request) if one != UNSEEN_CHANGE}


@pytest.mark.parametrize(("epoch", "id"), [(NO_EPOCH, -1), (LAST, 7)])
def test_another_producer_id_follows_the_last_epoch(epoch: int, id: int) -> None:
    assert given(at("Empty", LAST), asked("InitProducerId", epoch, id=id)) == {(NONE, NEW_ID, 0)}
    assert given(at("Empty", LAST - 1), asked("InitProducerId", min(epoch, LAST - 1), id=id)) == {(NONE, 7, LAST)}


def rotated(retried: int = LAST) -> State:
    return State("Empty", 8, 0, retried, former_id=7)


def test_the_owner_of_the_last_epoch_is_given_the_same_again() -> None:
    assert given(rotated(), asked("InitProducerId", LAST)) == {(NONE, 8, 0)}
    assert errors(rotated(), asked("InitProducerId", LAST - 1)) == {FENCED}
    assert errors(rotated(NO_EPOCH), asked("InitProducerId", LAST)) == {FENCED}, "a new instance asked"


def test_after_the_next_step_the_former_producer_id_is_fenced() -> None:
    [(_, bumped)] = right_answers(rotated(), asked("InitProducerId", 0, id=8))
    [(_, opened)] = right_answers(rotated(), asked("AddPartitionsToTxn", 0, id=8))
    for state in (bumped, opened):
        assert errors(state, asked("InitProducerId", LAST)) == {FENCED}


def test_an_end_at_the_last_epoch_answers_with_another_producer_id() -> None:
    state = at("Ongoing", LAST)
    assert given(state, asked("EndTxn", LAST, version=SECOND)) == {(NONE, NEW_ID, 0)}
    assert after(state, asked("EndTxn", LAST, version=FIRST)) == {("PrepareAbort", LAST)}


def ended(status: Status) -> State:
    return State(status, 8, 0, NO_EPOCH, former_id=7)


def test_the_same_end_again_is_answered_with_the_same_producer_id() -> None:
    again = asked("EndTxn", LAST, version=SECOND)
    assert given(ended("CompleteAbort"), again) == {(NONE, 8, 0)}
    assert errors(ended("PrepareAbort"), again) == {BUSY}
    assert errors(ended("CompleteAbort"), again._replace(epoch=LAST - 1)) == {MAPPING}
    assert errors(ended("CompleteCommit"), again) == {STATE}
    assert errors(rotated(), again) == {MAPPING, FENCED, STATE}, "it ends nothing"


def test_the_new_producer_id_waits_for_the_markers_and_goes_on() -> None:
    assert errors(ended("PrepareCommit"), asked("AddPartitionsToTxn", 0, id=8)) == {BUSY}
    assert errors(ended("CompleteCommit"), asked("AddPartitionsToTxn", 0, id=8)) == {NONE}
    assert errors(ended("CompleteCommit"), asked("AddPartitionsToTxn", LAST)) == {MAPPING}


def test_an_abort_by_the_server_at_the_last_epoch_leaves_none_for_a_client() -> None:
    new = asked("InitProducerId", -1, id=-1)
    assert after(at("Ongoing", LAST), new) == {("PrepareAbort", BEYOND), ("Empty", 0)}
    [as_it_is, by_another] = unrequested_states(at("PrepareAbort", BEYOND), timed_out=False)
    assert (as_it_is.producer_id, as_it_is.epoch) == (7, BEYOND)
    assert (by_another.producer_id, by_another.epoch, by_another.former_id) == (NEW_ID, 0, 7)
    for state in (as_it_is, by_another):
        assert (NONE, 7, BEYOND + 1) not in given(state, new)
    assert given(as_it_is, new) == {(NONE, NEW_ID, 0)}
    assert given(as_it_is._replace(retried=LAST), asked("InitProducerId", LAST)) == {(NONE, NEW_ID, 0)}


def test_many_epochs_are_asked_for_in_a_row() -> None:
    many = asked("InitProducerId", 3)._replace(times=100)
    [(outcome, left)] = right_answers(at("Empty"), many)
    assert (outcome, left.epoch, left.retried) == (RightAnswer(NONE, 7, 103), 103, 102)
