"""A long honest history of a replicated log, on which every judge has something to say and none anything against it."""

from __future__ import annotations

from uuid import UUID

import pytest

from conformance.judging.judge import judge_all
from conformance.judging.log import records
from history.effects import Effects
from protocol.codes import Error
from tests.support.histories import LogHistory, Producer, held_on_disk, stamped
from tests.support.judging import WITH_WHAT_IS_TOLD, judged_by, partition_story

BOTH = stamped(0, 0, "a", "b")
ONE, TWO = UUID(int=1), UUID(int=2)


def short_histories() -> list[LogHistory]:
    """Return honest histories of what the long one lacks: no leader, a reassignment, a repeated batch, a failed directory, and a
    topic that was created again."""
    leaderless = LogHistory().settled(1, 0, isr=(1,)).kill(1).metadata(2, -1, 1, isr=(1,), unfenced=(2, 3))
    leaderless.start(1).settled(1, 2, isr=(1,))
    moved = LogHistory().settled(1, 0, replicas=(1, 2), isr=(1, 2)).reassigned(1, 3)
    moved.settled(1, 0, replicas=(1, 2, 3), isr=(1, 2, 3)).settled(1, 1, replicas=(1, 3), isr=(1, 3))
    again = LogHistory().settled(1, 0)
    for _ in range(2):
        again.produce(1, "a", at=0, producer=Producer(7, 0, 0))
    failed = Effects(process="restarts-when-healed", abrupt=True, fails_writes=True)
    beside = LogHistory().settled(1, 0).hit("failed-directory", 1, effects=failed, partition="other-0")
    beside.beside_failed(1).produce(1, "a", at=0)
    recreated = LogHistory().created_as(ONE).settled(1, 0).deleted(id=ONE).created_as(TWO).settled(1, 0)
    recreated.fetch(1, epoch=0, hw=0, version=13, id=TWO).refused(1, 0, Error.UNKNOWN_TOPIC_ID, id=ONE)
    return [leaderless, moved, again, beside, recreated]


def test_kills_moves_and_trims_of_an_honest_cluster_are_held_by_everybody() -> None:
    history = (
        LogHistory()
        .created(min_insync_replicas="2")
        .settled(1, 0)
        .produce(1, "a", "b", at=0)
        .settled(1, 0)
        .whole(1, BOTH, epoch=0, hw=2)
        .fetch(2, BOTH, epoch=0, hw=2)
        .step("deliver", (2, 0), (0, 0, "a"), (1, 0, "b"))
        .commit(1, 2, 0)
    )
    tail = stamped(0, 2, "t")
    history.produce(1, "t", at=2, acks=1).whole(1, BOTH, tail, epoch=0, hw=2).latest(1, 2).fetch(1, BOTH, epoch=0, hw=2)
    history.whole(3, BOTH, tail, epoch=0, hw=2).fetch(3, BOTH, epoch=0, hw=2).whole(3, BOTH, tail, epoch=0, hw=2)
    history.produce(1, "u", lost=True).kill(1)
    history.metadata(2, 1, 0).metadata(3, 2, 1).metadata(2, 2, 1).refused(2, 0, Error.FENCED_LEADER_EPOCH, hint=(2, 1))
    after = stamped(1, 2, "c", "d")
    history.produce(2, "c", "d", at=2).whole(2, BOTH, after, epoch=1, hw=3)
    history.fetch(2, epoch=1, hw=3, offset=3, last=0, diverging=(0, 2))
    history.fetch(2, epoch=1, hw=3, offset=9, last=1, diverging=(1, 4)).trim(2, 3)
    history.whole(2, after, epoch=1, hw=4, start=3).earliest(2, 3).latest(2, 4)
    history.start(1).metadata(1, 1, 0).metadata(1, 2, 1).whole(1, BOTH, epoch=1, hw=0).move(2, 1).settled(1, 2)
    last = stamped(2, 4, "e")
    history.produce(1, "e", at=4).whole(1, BOTH, after, last, epoch=2, hw=4).hit("cut-off-from-controllers", 1)
    history.metadata(2, 2, 3, isr=(2, 3), unfenced=(2, 3)).metadata(3, 2, 3, isr=(2, 3)).fetch(
        2, after, last, epoch=3, hw=5, start=3
    )
    history.produce(1, "z", error=Error.NOT_ENOUGH_REPLICAS).heal("cut-off-from-controllers", 1)
    history.epoch_end(2, 0, (0, 2), 3).step("rewind", (2, 0), told=(0, 2)).committed(2, 2, 0)
    history.fetch(2, after, last, epoch=3, hw=5, start=3, offset=2).step("deliver", (5, 2), (3, 1, "d"), (4, 2, "e"))
    history.settled(2, 3).fetch(1, BOTH, after, last, epoch=3, hw=5).refused(1, 2, Error.FENCED_LEADER_EPOCH)
    history.refused(2, 4, Error.UNKNOWN_LEADER_EPOCH)
    history.all_healed().at_rest().settled(2, 3)
    for broker, start in ((1, 0), (2, 3), (3, 3)):
        batches = (BOTH, after, last) if start == 0 else (after, last)
        history.whole(broker, *batches, epoch=3, hw=5, start=start).fetch(broker, *batches, epoch=3, hw=5, start=start)
    for epoch, end in ((0, 3), (1, 4), (2, 5), (3, 5)):
        history.epoch_end(2, epoch, (epoch, end), 3)
    history.earliest(2, 3, epoch=3).latest(2, 5, epoch=3)
    whole = held_on_disk(1, BOTH, after, last, epochs=((0, 0), (1, 2), (2, 4)))
    cut = held_on_disk(2, after, last, epochs=((1, 3), (2, 4), (3, 5)), start=3)
    history.on_disk(whole, cut)
    everything = [one for each in (history, *short_histories()) for one in judge_all(WITH_WHAT_IS_TOLD, each.history)]
    assert [(o.requirement, o.detail) for o in everything if o.result == "violated"] == []
    of_partitions = {one.row for one in WITH_WHAT_IS_TOLD if one.about == "partition" and not one.records}
    assert {o.requirement for o in everything} >= of_partitions - {"GEN-01", "KIP1251-INV-11"}


@pytest.mark.parametrize("met", [True, False])
def test_what_the_cluster_makes_of_a_fault_neither_ends_it_nor_counts_as_a_fault(met: bool) -> None:
    history = LogHistory().created().hit("pause-past-fencing", 1)
    witnessed = len(history.events) - 1
    history.followed("pause-past-fencing", 1, met=met).metadata(2, 2, 1).heal("pause-past-fencing", 1)
    timeline = partition_story(history).timeline
    [span] = timeline.spans
    assert not timeline.fault_between(witnessed, len(history.events) - 2)
    assert (span.witnessed, span.ended) == (witnessed, len(history.events) - 1)


# --- the faults that an observation lived through


def lived(history: LogHistory) -> list[list[str]]:
    """The faults that each observation of leader epochs along a log lived through."""
    return [one.lived for one in judged_by(records.leader_epochs_never_decrease, history)]


def watched(history: LogHistory, leader: int, epoch: int) -> LogHistory:
    return history.whole(leader, stamped(0, 0, "a"), stamped(0, 1, "b"), epoch=epoch, hw=2)


def test_brokers_that_differ_from_each_other_show_no_change() -> None:
    history = LogHistory().metadata(1, 1, 1).metadata(2, 1, 0).hit("delay", 3).metadata(1, 1, 1).metadata(2, 1, 0)
    assert lived(watched(history, 1, 1)) == [[]]


def test_an_observation_of_a_calm_moment_lived_through_no_fault() -> None:
    assert lived(watched(LogHistory().settled(1, 0), 1, 0)) == [[]]


def test_an_observation_after_a_change_of_leader_names_the_fault() -> None:
    history = watched(LogHistory().settled(1, 0), 1, 0).kill(1).metadata(2, 2, 1)
    assert lived(watched(history, 2, 1)) == [[], ["kill"]]


def test_a_fault_that_changed_neither_leader_nor_isr_does_not_count() -> None:
    history = LogHistory().settled(1, 0).kill(3).settled(1, 0)
    assert lived(watched(history, 1, 0)) == [[]]


def test_a_fault_on_a_broker_that_no_change_concerns_does_not_count() -> None:
    """A rate limit on 3; 2 replaces 1 as the leader, and an hour later an administrator moves it back."""
    history = LogHistory().settled(1, 0).hit("rate-limit", 3).settled(2, 1).healed("rate-limit", 3)
    assert lived(watched(history.later(3600).settled(1, 2), 1, 2)) == [[]]


def test_a_change_long_after_a_fault_was_healed_does_not_count() -> None:
    history = LogHistory().settled(1, 0).hit("rate-limit", 1).healed("rate-limit", 1)
    assert lived(watched(history.later(60).settled(2, 1), 2, 1)) == [[]]
    history = LogHistory().settled(1, 0).hit("rate-limit", 1).healed("rate-limit", 1)
    assert lived(watched(history.later(5).settled(2, 1), 2, 1)) == [["rate-limit"]]


def test_a_fault_that_only_sends_requests_does_not_count_for_a_change_of_its_leader() -> None:
    history = LogHistory().settled(1, 0).hit("roll-by-size", 1).settled(2, 1)
    assert lived(watched(history, 2, 1)) == [[]]
    assert lived(watched(LogHistory().settled(1, 0).move(1, 2).settled(2, 1), 2, 1)) == [["move-leader"]]


def test_a_shrunk_isr_counts() -> None:
    history = LogHistory().settled(1, 0).kill(3).metadata(1, 1, 0, isr=(1, 2))
    assert lived(watched(history, 1, 0)) == [["kill"]]
