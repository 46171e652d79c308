"""The replicas of a partition over time, as brokers described and as requests and faults moved them."""

from __future__ import annotations

import pytest

from conformance.judging.log.replicas import Replicas
from conformance.judging.timeline import NEVER
from history.effects import Effects
from protocol.codes import Error
from tests.support.histories import LogHistory
from tests.support.judging import partition_story


def replicas(history: LogHistory) -> Replicas:
    return partition_story(history).derive(Replicas)


def begun() -> LogHistory:
    return LogHistory().settled(1, 0)


def test_the_last_metadata_tells_which_replicas_there_are() -> None:
    found = replicas(begun().metadata(1, 1, 1, replicas=(1, 2), isr=(1, 2)))
    assert [found.is_replica(f"broker-{id}") for id in (1, 2, 3)] == [True, True, False]
    assert replicas(LogHistory().produce(1, "a", at=0)).is_replica("broker-3")


@pytest.mark.parametrize(
    ("history", "stays", "may_have_changed"),
    [
        (begun(), True, False),
        (begun().reassigned(1, 2), False, True),
        (begun().reassigned(1, 2, error=Error.INVALID_REPLICA_ASSIGNMENT), True, False),
        (begun().reassigned(3, 2, 1), True, False),
        (begun().reassigned(), True, False),
        (begun().hit("move", 3, effects=Effects(moves_replicas=True)), False, True),
    ],
    ids=["untouched", "removed", "refused", "reordered", "cancelled", "moved by a fault"],
)
def test_a_replica_stays_unless_a_request_or_a_fault_may_have_moved_it(
    history: LogHistory, stays: bool, may_have_changed: bool
) -> None:
    found = replicas(history)
    assert found.was_always_replica("broker-1", NEVER) or not stays
    assert found.was_always_replica("broker-3", NEVER) is stays
    assert found.was_always_replica("broker-3", 2)
    assert (found.changed_from < NEVER) is may_have_changed


def test_a_replica_that_was_described_as_gone_did_not_stay() -> None:
    history = begun().metadata(1, 1, 1, replicas=(1, 2), isr=(1, 2)).settled(1, 2)
    found = replicas(history)
    assert [found.was_always_replica("broker-3", event) for event in (2, NEVER)] == [True, False]


def test_what_is_no_replica_at_first_never_was_one() -> None:
    assert not replicas(LogHistory().settled(1, 0, replicas=(1, 2), isr=(1, 2))).was_always_replica("broker-3", 0)


def test_the_fewest_replicas_are_counted_until_the_event() -> None:
    history = begun()
    before = len(history.events)
    found = replicas(history.reassigned(1, 2).reassigned(1, error=Error.INVALID_REPLICA_ASSIGNMENT))
    assert (found.fewest_replicas(before), found.fewest_replicas(NEVER), found.fewest_replicas(0)) == (3, 2, 1)


def test_a_replica_is_out_of_sync_once_it_was_seen_so() -> None:
    history = begun()
    before = len(history.events)
    found = replicas(history.metadata(1, 1, 0, isr=(1, 2)))
    assert [found.was_out_of_sync("broker-3", event) for event in (before, len(history.events))] == [False, True]
    assert not found.was_out_of_sync("broker-2", len(history.events))


def test_a_replica_is_offline_while_its_directory_has_failed() -> None:
    fails = Effects(process="restarts-when-healed", fails_writes=True)
    history = begun().hit("fail-directory", 2, effects=fails)
    since = len(history.events)
    history.settled(1, 0)
    until = len(history.events)
    history.heal("fail-directory", 2)
    found = replicas(history)
    assert found.was_offline("broker-2", since, until - 1)
    assert not found.was_offline("broker-2", since, len(history.events))
    assert not found.was_offline("broker-1", since, until - 1)
    assert replicas(history.reassigned(1, 3)).was_offline("broker-2", since, until - 1)
