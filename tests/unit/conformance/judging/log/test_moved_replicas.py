"""Partitions whose replicas move to other brokers and back, or that have fewer than three."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from conformance.judging.excuses import DISKS_OF_MIN_ISR_LOST
from conformance.judging.judge import Judge
from conformance.judging.log.convergence import healed_replicas_converge, replicas_agree_at_quiescence
from conformance.judging.log.leader_epochs import leader_epoch_caches_match_the_log
from conformance.judging.log.permitted_losses import PermittedLosses
from conformance.judging.log.records import acknowledged_records_are_kept
from conformance.judging.log.replicas import Replicas
from conformance.judging.log.truncation import truncation_keeps_the_common_prefix
from conformance.judging.timeline import NEVER
from protocol.codes import Error
from tests.support.histories import LogHistory, held_on_disk, stamped
from tests.support.judging import broken, excused, partition_story

A, B = stamped(0, 0, "a"), stamped(0, 1, "b")
LEFT = (1, 2)


def begun() -> LogHistory:
    return LogHistory().created().settled(1, 0).produce(1, "a", at=0).produce(1, "b", at=1)


# --- a replica that is removed


def without_the_third(replicas: tuple[int, ...]) -> LogHistory:
    """3 was fenced; at the end the partition has these replicas, and 3 still has a directory with half of the log."""
    history = begun().metadata(1, 1, 0, isr=LEFT, unfenced=LEFT).reassigned(1, 2)
    history.all_healed().settled(1, 1, isr=LEFT, replicas=replicas).at_rest().settled(1, 1, isr=LEFT, replicas=replicas)
    for broker in LEFT:
        history.whole(broker, A, B, epoch=1, hw=2)
    whole, half = (held_on_disk(broker, A, B, epochs=((0, 0),)) for broker in LEFT), held_on_disk(3, A, epochs=())
    return history.on_disk(*whole, half)


@pytest.mark.parametrize("judge", [replicas_agree_at_quiescence, leader_epoch_caches_match_the_log])
def test_a_replica_that_was_removed_need_not_agree(judge: Judge) -> None:
    assert broken(judge, without_the_third(LEFT)) == []
    assert broken(judge, without_the_third((1, 2, 3))) != []


@pytest.mark.parametrize(("replicas", "expected"), [(LEFT, []), ((1, 2, 3), ["follower"])])
def test_a_fenced_replica_that_was_removed_need_not_come_back(replicas: tuple[int, ...], expected: list[str]) -> None:
    history = begun().metadata(1, 1, 0, isr=LEFT, unfenced=LEFT).reassigned(1, 2).all_healed()
    history.settled(1, 1, isr=LEFT, replicas=replicas).later(33).settled(1, 1, isr=LEFT, replicas=replicas)
    history.at_rest(met=False).metadata(1, 1, 1, isr=LEFT, replicas=replicas)
    for broker in LEFT:
        history.whole(broker, A, B, epoch=1, hw=2)
    assert broken(healed_replicas_converge, history) == expected


# --- a replica that is removed and added again


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (lambda history: history.reassigned(1, 3), []),
        (lambda history: history.reassigned(1, 3, lost=True), []),
        (lambda history: history.reassigned(1, 3, error=Error.REQUEST_TIMED_OUT), []),
        (lambda history: history.reassigned(1, 3, error=Error.INVALID_REPLICA_ASSIGNMENT), ["epoch-change"]),
        (lambda history: history.reassigned(3, 2, 1), ["epoch-change"]),
        (lambda history: history.reassigned(), ["epoch-change"]),
    ],
    ids=["removed", "no answer", "timed out", "refused", "reordered", "cancelled"],
)
def test_a_replica_that_was_removed_and_added_again_starts_empty(
    request_: Callable[[LogHistory], LogHistory], expected: list[str]
) -> None:
    """No Metadata shows the time in between."""
    history = begun().whole(1, A, B, epoch=0, hw=2).whole(2, A, B, epoch=0, hw=2)
    request_(history).reassigned(1, 2, 3).move(1, 3).settled(3, 1).whole(3, A, B, epoch=1, hw=2)
    history.whole(2, epoch=1, hw=0)
    # By what it was read to hold, and by what was acknowledged while it was in sync.
    assert broken(truncation_keeps_the_common_prefix, history) == 2 * expected


# --- few replicas


def emptied(replicas: tuple[int, ...], *lost: int) -> LogHistory:
    """Replicas lose their disks, and one of them leads with an empty log. min.insync.replicas is 3."""
    history = LogHistory().created(min_insync_replicas="3").settled(1, 0, replicas=replicas, isr=replicas)
    history.produce(1, "a", at=0)
    for broker in lost:
        history.hit("wipe-disk", broker)
    for broker in lost:
        history.heal("wipe-disk", broker)
    return history.settled(2, 1, replicas=replicas, isr=replicas).whole(2, epoch=1, hw=0)


def test_acks_all_waits_for_no_more_replicas_than_there_are() -> None:
    for replicas in ((1, 2), (1, 2, 3)):
        assert partition_story(emptied(replicas, 1, 2)).derive(Replicas).fewest_replicas(NEVER) == len(replicas)
    losses = [PermittedLosses(partition_story(emptied(replicas, 1, 2))).all for replicas in ((1, 2), (1, 2, 3))]
    assert [[loss.by for loss in found if loss.by == DISKS_OF_MIN_ISR_LOST] for found in losses] == [
        [DISKS_OF_MIN_ISR_LOST],
        [],
    ]
    assert broken(acknowledged_records_are_kept, emptied((1, 2), 1, 2)) == []
    assert excused(acknowledged_records_are_kept, emptied((1, 2), 1, 2)) == [("kept", DISKS_OF_MIN_ISR_LOST)]


def test_replicas_that_leave_later_permit_no_earlier_loss() -> None:
    """Three replicas had to acknowledge and two disks are lost; then the partition shrinks to two replicas."""
    history = emptied((1, 2, 3), 1, 2).reassigned(1, 2).settled(2, 2, replicas=LEFT, isr=LEFT)
    assert partition_story(history).derive(Replicas).fewest_replicas(NEVER) == 2
    assert broken(acknowledged_records_are_kept, history) == ["kept"]


def test_replicas_that_left_before_permit_the_loss() -> None:
    """The record was acknowledged by two replicas."""
    history = LogHistory().created(min_insync_replicas="3").settled(1, 0).reassigned(1, 2)
    history.settled(1, 0, replicas=LEFT, isr=LEFT).produce(1, "a", at=0)
    for broker in LEFT:
        history.hit("wipe-disk", broker)
    for broker in LEFT:
        history.heal("wipe-disk", broker)
    history.settled(2, 1, replicas=LEFT, isr=LEFT).whole(2, epoch=1, hw=0)
    assert broken(acknowledged_records_are_kept, history) == []
