"""Epochs that are exhausted on a broker that is fenced on the way."""

from types import SimpleNamespace
from typing import Any, cast

from conformance.kip360.exhausted_epochs import at_last_epoch, exhaust
from conformance.rigs.producers.combined_node import LAST_EPOCH
from conformance.rigs.producers.producer import CheckProducer
from fixtures.wire import NodeClient
from protocol.codes import Error
from tests.support.fake_nodes import FakeNodes


class Coordinator:
    """A transaction coordinator that refuses from an epoch on, once, or always to bump at it."""

    def __init__(self, refuses_at: int, error: Error, *, once: bool) -> None:
        self.epoch, self.refuses_at, self.error, self.once = 0, refuses_at, error, once
        self.asked: list[int] = []

    def bump_epochs(self, _id: str, _producer: int, epoch: int, times: int, **_: Any) -> Any:
        self.asked.append(epoch)
        if epoch <= self.refuses_at < epoch + times:
            self.epoch, refused = self.refuses_at, self.refuses_at
            self.refuses_at = -1 if self.once else refused
            return SimpleNamespace(error=self.error, producer_epoch=-1)
        self.epoch = epoch + times
        return SimpleNamespace(error=Error.NONE, producer_epoch=self.epoch)


class Producer:
    """A producer in memory at epoch 0 of one coordinator."""

    transactional_id, producer_id, timeout_ms = "tid-1", 7, 1_000

    def __init__(self, coordinator: Coordinator) -> None:
        self.bench, self.coordinator, self.epoch = FakeNodes(), coordinator, 0

    def describe(self) -> Any:
        return SimpleNamespace(producer_id=7, producer_epoch=self.coordinator.epoch)

    def continue_at(self, _: int, epoch: int) -> None:
        self.epoch = epoch


def exhausted(coordinator: Coordinator) -> Producer:
    producer = Producer(coordinator)
    exhaust(cast(CheckProducer, producer), cast(NodeClient, coordinator))
    return producer


def test_coordinator_that_was_away_is_asked_again_from_where_it_stands() -> None:
    coordinator = Coordinator(20_693, Error.NOT_COORDINATOR, once=True)
    assert exhausted(coordinator).epoch == LAST_EPOCH
    assert coordinator.asked == [0, 20_693]


def test_refusal_that_does_not_pass_breaks_the_row() -> None:
    producer = exhausted(Coordinator(20_693, Error.INVALID_PRODUCER_EPOCH, once=False))
    claim = at_last_epoch(cast(CheckProducer, producer))
    assert not claim.met
    assert [(promise.row, promise.case) for promise in claim.promises] == [("KIP360-INIT-03", "untouched")]
