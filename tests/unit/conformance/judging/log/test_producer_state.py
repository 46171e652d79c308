"""Evidence by which a leader may have forgotten what a producer wrote."""

from __future__ import annotations

import pytest

from conformance.judging.excuses import (
    ELECTED_UNCLEANLY_ON_REQUEST,
    PRODUCER_STATE_DELETED,
    PRODUCER_STATE_EXPIRED,
    PRODUCER_STATE_LOST,
    Evidence,
)
from conformance.judging.log.damage import ReplicaDamage
from conformance.judging.log.permitted_losses import EPOCH_BEGIN
from conformance.judging.log.producer_state import forgotten_between, may_be_forgotten, may_be_lost, may_have_expired
from history.effects import Effects
from protocol.records import Batch
from tests.support.judging import partition_story
from tests.support.producers import ProducerHistory, marker, written

FIRST, SECOND = written(0, "a"), written(1, "b", sequence=1)
SNAPSHOTS = Effects(disk=("producer-snapshots",))
FORGETS = Effects(forgets_producers=True, every_partition=True)


def wrote() -> ProducerHistory:
    return ProducerHistory().given().writes("a", at=0)


def forgotten(history: ProducerHistory, offset: int = 0, *, in_transaction: bool = False) -> Evidence | None:
    """The evidence for a batch that was written at the beginning of epoch 0, at the last read."""
    story = partition_story(history.reads(FIRST))
    return may_be_forgotten(story, offset, (0, EPOCH_BEGIN), story.full_reads[-1], in_transaction=in_transaction)


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        (wrote(), None),
        (wrote().trim(1, 1), PRODUCER_STATE_DELETED),
        (wrote().trim(1, 0), None),
        (wrote().hit("any", 1, effects=SNAPSHOTS, partition="topic-0"), PRODUCER_STATE_LOST),
        (wrote().hit("any", 1, effects=SNAPSHOTS, partition="other-0"), None),
        (wrote().expires(), PRODUCER_STATE_EXPIRED),
        (wrote().elect_uncleanly(1).settled(2, 1), ELECTED_UNCLEANLY_ON_REQUEST),
        (ProducerHistory(retention_ms="1").given().writes("a", at=0), PRODUCER_STATE_DELETED),
    ],
    ids=["nothing", "deleted", "nothing deleted", "lost", "lost of another", "expired", "election", "retention"],
)
def test_a_batch_may_be_forgotten_by_what_happened_since(history: ProducerHistory, expected: Evidence | None) -> None:
    assert forgotten(history) == expected


WIPED = Effects(process="restarts-when-healed", abrupt=True, disk=("log-dir",), every_partition=True)


def test_a_follower_that_lost_its_disk_costs_the_leader_nothing() -> None:
    assert forgotten(wrote().hit("wipe", 3, effects=WIPED)) is None
    assert forgotten(wrote().hit("wipe", 1, effects=WIPED)) == PRODUCER_STATE_LOST


@pytest.mark.parametrize(("again", "expected"), [((1, 2, 3), None), ((2, 3), PRODUCER_STATE_LOST)])
def test_a_replica_that_rejoined_the_isr_has_fetched_the_batches_again(
    again: tuple[int, ...], expected: Evidence | None
) -> None:
    history = wrote().hit("wipe", 1, effects=WIPED).settled(2, 1, isr=(2, 3)).heal("wipe", 1).settled(2, 1, isr=again)
    story = partition_story(history.settled(1, 2, isr=(1, 2, 3)).whole(1, FIRST, epoch=2, hw=1))
    lost = story.derive(ReplicaDamage).may_have_lost_producers("broker-1", -1, story.metadata[-3].asked)
    assert (PRODUCER_STATE_LOST if lost else None) == expected


def test_nothing_makes_up_for_lost_snapshots() -> None:
    history = wrote().hit("any", 1, effects=SNAPSHOTS).settled(1, 0, isr=(2, 3)).heal("any", 1).settled(1, 0)
    assert forgotten(history) == PRODUCER_STATE_LOST


def test_what_was_appended_after_the_fault_is_known() -> None:
    history = wrote().hit("any", 1, effects=SNAPSHOTS)
    over = len(history.events)
    story = partition_story(history.writes("b", at=1).reads(FIRST, SECOND))
    read = story.full_reads[-1]
    assert may_be_forgotten(story, 1, (0, over), read) is None
    assert may_be_forgotten(story, 0, (0, 2), read) == PRODUCER_STATE_LOST


def test_the_leader_that_appended_the_second_batch_has_to_know_the_first() -> None:
    """2, which follows, lost its disk and shows both batches."""
    history = wrote().hit("wipe", 2, effects=WIPED).heal("wipe", 2).whole(2, FIRST, SECOND, epoch=0, hw=2)
    story = partition_story(history)
    read = story.full_reads[-1]
    assert forgotten_between(story, read, read.batches[0], read.batches[1]) is None


def test_what_is_above_the_highest_log_start_is_known() -> None:
    assert forgotten(wrote().trim(1, 1), offset=1) is None


def test_no_producer_expires_while_its_transaction_is_open() -> None:
    assert forgotten(wrote().expires(), in_transaction=True) is None
    assert forgotten(wrote().trim(1, 1), in_transaction=True) == PRODUCER_STATE_DELETED


@pytest.mark.parametrize(
    "effects", [SNAPSHOTS, FORGETS, Effects(moves_log_start=True)], ids=["lost", "expired", "log start moved"]
)
def test_what_begins_after_the_answer_explains_nothing(effects: Effects) -> None:
    story = partition_story(wrote().reads(FIRST).hit("later", 1, 2, 3, effects=effects))
    assert may_be_forgotten(story, 0, (0, EPOCH_BEGIN), story.full_reads[-1]) is None


def test_producers_expire_only_while_the_fault_stands() -> None:
    history = wrote().expires()
    healed = len(history.events)
    story = partition_story(history.reads(FIRST))
    read = story.full_reads[-1]
    assert may_have_expired(story, (0, EPOCH_BEGIN), read)
    assert not may_have_expired(story, (0, healed), read)


def test_a_loss_is_permitted_from_the_moment_on_that_is_asked_about() -> None:
    history = wrote().elect_uncleanly(1).settled(2, 1)
    story = partition_story(history.fetch(2, FIRST, epoch=1, hw=1))
    read = story.reads[-1]
    assert may_be_lost(story, (0, EPOCH_BEGIN), read) == ELECTED_UNCLEANLY_ON_REQUEST
    assert may_be_lost(story, (1, read.asked), read) is None


class TestTwoBatchesOfAProducer:
    """The leader appended the second, and need not have known the first."""

    def evidence(self, *batches: Batch, expires: bool = True) -> Evidence | None:
        history = wrote().expires() if expires else wrote()
        story = partition_story(history.reads(*batches))
        read = story.full_reads[-1]
        return forgotten_between(story, read, read.batches[0], read.batches[-1])

    def test_without_a_fault_it_knew_it(self) -> None:
        assert self.evidence(FIRST, SECOND, expires=False) is None

    def test_outside_of_transactions_it_may_have_expired(self) -> None:
        assert self.evidence(FIRST, SECOND) == PRODUCER_STATE_EXPIRED

    def test_in_one_transaction_it_did_not_expire(self) -> None:
        open_ = written(0, "a", in_transaction=True)
        assert self.evidence(open_, written(1, "b", sequence=1, in_transaction=True)) is None

    @pytest.mark.parametrize(("of", "expected"), [(7, PRODUCER_STATE_EXPIRED), (8, None)], ids=["own", "another's"])
    def test_after_the_marker_of_its_transaction_it_may_have(self, of: int, expected: Evidence | None) -> None:
        open_, next_ = written(0, "a", in_transaction=True), written(2, "b", sequence=1, in_transaction=True)
        assert self.evidence(open_, marker(1, True, id=of), next_) == expected
