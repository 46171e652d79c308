"""Pure parts of checks of epochs and ids: each holds for an honest answer and fails for a broken one."""

from __future__ import annotations

from uuid import UUID

import pytest

from conformance.core.checks import ObservationClaim
from conformance.kip360.coordinator_moves import in_order, observe_new_ids
from conformance.kip1251 import group_epochs
from conformance.rigs.groups.group_log import StoredAssignment, StoredPartitions
from conformance.rigs.producers.three_brokers import TransactionOutcome
from protocol.codes import Error
from protocol.groups import LEAVE_TO_RETURN
from protocol.records import ControlType
from protocol.transactions import InitProducerIdAnswer, ProducerIdsAnswer

TOPIC = UUID(int=1)


def answer(producer_id: int, epoch: int) -> InitProducerIdAnswer:
    return InitProducerIdAnswer(
        version=4, throttle_time_ms=0, error=Error.NONE, producer_id=producer_id, producer_epoch=epoch
    )


@pytest.mark.parametrize(
    ("after", "retry", "held"),
    [
        ((7, 4), False, True),
        ((7, 3), False, False),
        ((7, 2), False, False),
        ((7, 3), True, True),
        ((8, 0), False, True),
    ],
)
def test_epochs_of_a_transactional_id_only_grow(after: tuple[int, int], retry: bool, held: bool) -> None:
    assert in_order(answer(7, 3), answer(*after), retry=retry) is held


@pytest.mark.parametrize(
    ("ids", "result"), [((3, 4), "held"), ((2, 3), "violated"), ((3, 3), "violated"), ((), "violated")]
)
def test_producer_ids_are_new(ids: tuple[int, ...], result: str) -> None:
    claim = observe_new_ids(
        ProducerIdsAnswer(version=4, throttle_time_ms=0, error=Error.NONE, producer_ids=ids),
        {1, 2},
        "controller-change",
    )
    assert isinstance(claim, ObservationClaim)
    assert claim.observation.result == result


@pytest.mark.parametrize(
    ("member_epoch", "epochs", "held"),
    [
        (5, (3, 5), True),
        (5, (3, 6), False),
        (5, None, False),
        (5, (3,), False),
        (LEAVE_TO_RETURN, (0, 0), True),
        (LEAVE_TO_RETURN, (0, 3), False),
    ],
)
def test_assignment_epochs_of_a_record(member_epoch: int, epochs: tuple[int, ...] | None, held: bool) -> None:
    listed = StoredPartitions(TOPIC, (0, 1), epochs)
    record = StoredAssignment(member_epoch, member_epoch - 1, 0, (listed,))
    assert group_epochs.in_order(record) is held


@pytest.mark.parametrize(
    ("outcome", "held"),
    [
        (TransactionOutcome(ControlType.COMMIT, -1, 4, 4), True),
        (TransactionOutcome(ControlType.ABORT, -1, 4, 4), False),
        (TransactionOutcome(None, 0, 0, 4), False),
        (TransactionOutcome(ControlType.COMMIT, 2, 2, 4), False),
        (TransactionOutcome(ControlType.COMMIT, -1, 3, 4), False),
        (TransactionOutcome(ControlType.COMMIT, -1, -1, -1), False),
    ],
)
def test_a_transaction_is_complete_on_a_partition(outcome: TransactionOutcome, held: bool) -> None:
    assert outcome.is_complete(ControlType.COMMIT) is held
