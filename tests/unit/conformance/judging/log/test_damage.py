"""Faults that hit the replicas of a partition, by their effects."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import pytest

from conformance.judging.excuses import BYTES_FLIPPED, DAMAGED_REPLICA, EPOCH_CACHE_LOST
from conformance.judging.log.damage import ReplicaDamage
from conformance.judging.timeline import NEVER
from history.effects import Effects
from tests.support.histories import LogHistory, stamped
from tests.support.judging import partition_story

A, B = stamped(0, 0, "a"), stamped(0, 1, "b")
LOSES_LOG = Effects(process="restarts", disk=("log-dir",))
LOSES_EPOCHS = Effects(disk=("epoch-checkpoint",))


def damage(history: LogHistory) -> ReplicaDamage:
    return partition_story(history).derive(ReplicaDamage)


@pytest.mark.parametrize(
    ("partition", "every_partition", "hits"),
    [("topic-0", False, 1), ("", False, 1), ("other-0", False, 0), ("other-0", True, 1)],
)
def test_a_fault_hits_the_partition_that_it_names_or_all(partition: str, every_partition: bool, hits: int) -> None:
    effects = Effects(disk=("log-tail",), every_partition=every_partition)
    found = damage(LogHistory().settled(1, 0).hit("any", 1, effects=effects, partition=partition))
    assert len(found.faults_with(lambda effects: effects.damages_log)) == hits
    assert found.faults_with(lambda effects: effects.moves_replicas) == []


def test_all_brokers_are_hit_once_each_of_them_was() -> None:
    history = LogHistory().settled(1, 0).hit("one", 1, effects=LOSES_LOG)
    between = len(history.events)
    found = damage(history.hit("two", 2, effects=LOSES_LOG))
    end = len(history.events)
    assert found.hit_all([1, 2], end, lambda effects: effects.damages_log)
    assert not found.hit_all([1, 2], between, lambda effects: effects.damages_log)
    assert not found.hit_all([1, 2, 3], end, lambda effects: effects.damages_log)
    found = damage(history.settled(2, 1, isr=(2,)).heal("one", 1).settled(2, 1))
    assert not found.hit_all([1, 2], len(history.events), lambda effects: effects.damages_log)


@pytest.mark.parametrize("effects", [LOSES_LOG, LOSES_EPOCHS])
def test_a_node_is_undamaged_until_its_log_or_cache_is_hit(effects: Effects) -> None:
    history = LogHistory().settled(1, 0)
    before = len(history.events) - 1
    found = damage(history.hit("any", 1, effects=effects))
    expected = DAMAGED_REPLICA if effects is LOSES_LOG else EPOCH_CACHE_LOST
    assert [found.damage_at("broker-1", event) for event in (before, len(history.events))] == [None, expected]
    assert found.damage_at("broker-2", len(history.events)) is None


REJOINS: dict[str, tuple[Callable[[LogHistory], LogHistory], bool]] = {
    "left and rejoined": (lambda h: h.settled(1, 0, isr=(1, 3)).heal("wipe", 2).settled(1, 0), True),
    "never seen to leave": (lambda h: h.heal("wipe", 2).settled(1, 0), False),
    "left before the fault": (lambda h: h.heal("wipe", 2).metadata(3, 1, 0, isr=(1, 3)).metadata(1, 1, 0), False),
    "not back": (lambda h: h.heal("wipe", 2).settled(1, 0, isr=(1, 3)), False),
    "damaged again": (
        lambda h: h.settled(1, 0, isr=(1, 3)).heal("wipe", 2).settled(1, 0).hit("wipe", 2, effects=LOSES_LOG),
        False,
    ),
}


@pytest.mark.parametrize("name", REJOINS)
def test_a_replica_has_the_whole_log_again_once_it_rejoined_the_isr(name: str) -> None:
    go_on, is_whole = REJOINS[name]
    history = go_on(LogHistory().settled(1, 0).hit("wipe", 2, effects=LOSES_LOG))
    assert (damage(history).damage_at("broker-2", len(history.events)) is None) is is_whole


def test_a_replica_that_rejoined_does_not_learn_the_epochs_of_batches_that_it_kept() -> None:
    history = LogHistory().settled(1, 0).hit("any", 2, effects=LOSES_EPOCHS).settled(1, 0, isr=(1, 3))
    history.heal("any", 2).settled(1, 0)
    assert damage(history).damage_at("broker-2", len(history.events)) == EPOCH_CACHE_LOST


def test_a_log_is_corrupt_once_bytes_of_it_were_flipped() -> None:
    history = LogHistory().settled(1, 0)
    before = len(history.events)
    found = damage(history.hit("flip", 1, effects=Effects(disk=("log-bytes",))))
    assert [found.is_corrupt(event) for event in (before, NEVER)] == [False, True]
    assert found.damage_at("broker-1", NEVER) == BYTES_FLIPPED
    assert not damage(LogHistory().settled(1, 0).hit("wipe", 1, effects=LOSES_LOG)).is_corrupt(NEVER)


def test_faults_may_have_appended_from_the_first_that_does() -> None:
    history = LogHistory().settled(1, 0)
    assert damage(history).appended_since == inf
    began = len(history.events)
    history.hit("raw", 1, effects=Effects(appends=True)).hit("raw", 1, effects=Effects(appends=True))
    assert damage(history).appended_since == began


class TestALostLeaderEpochCache:
    """The replica truncates to its high watermark, as it was answered before the fault."""

    def lost(self) -> LogHistory:
        history = LogHistory().settled(1, 0).whole(2, A, B, epoch=0, hw=1).metadata(1, 1, 0, isr=(1, 3))
        return history.hit("remove-epochs", 2, effects=LOSES_EPOCHS).heal("remove-epochs", 2)

    def test_logs_need_not_agree_above_that_watermark(self) -> None:
        history = self.lost()
        found = damage(history)
        assert found.comparable_below(len(history.events)) == 1
        assert found.comparable_below(0) == inf

    def test_they_have_to_agree_again_once_the_replica_is_back_in_the_isr(self) -> None:
        history = self.lost().metadata(1, 1, 0, isr=(1, 2, 3))
        assert damage(history).comparable_below(len(history.events)) == inf
