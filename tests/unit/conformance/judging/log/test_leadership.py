"""The leader of each epoch, as brokers named it, and what is known of it at an event."""

from __future__ import annotations

from conformance.judging.log.leadership import Leadership
from tests.support.histories import LogHistory, stamped
from tests.support.judging import partition_story

A = stamped(0, 0, "a")


def leadership(history: LogHistory) -> Leadership:
    return partition_story(history).derive(Leadership)


def test_an_epoch_has_the_leader_that_was_named_first() -> None:
    history = LogHistory().metadata(1, -1, 0).metadata(1, 1, 0).metadata(2, 2, 0).metadata(2, 3, 4)
    assert leadership(history).leaders == {0: "broker-1", 4: "broker-3"}


def test_the_epochs_of_a_node_are_in_their_order() -> None:
    found = leadership(LogHistory().metadata(1, 1, 5).metadata(2, 2, 3).metadata(2, 1, 2))
    assert found.epochs_of("broker-1") == [2, 5]
    assert found.epochs_of("broker-3") == []


def test_only_an_epoch_that_was_always_named_without_a_leader_can_have_none() -> None:
    found = leadership(LogHistory().metadata(1, 1, 0).metadata(1, -1, 1))
    assert [found.may_have_leader(epoch) for epoch in (0, 1, 2)] == [True, False, True]


def test_an_epoch_is_known_from_the_answer_that_first_named_it() -> None:
    history = LogHistory().metadata(1, 1, 0).metadata(1, 2, 3).metadata(2, 1, 1)
    found = leadership(history)
    first, newer, older = (found.first_named(epoch) for epoch in (0, 3, 1))
    assert 0 <= first < newer < older
    assert found.first_named(2) == -1
    assert [found.newest_epoch_before(event) for event in (first, first + 1, newer + 1, older + 1)] == [-1, 0, 3, 3]


def test_the_first_epoch_is_the_one_that_was_named_first() -> None:
    assert leadership(LogHistory().metadata(1, 1, 2).metadata(2, 2, 1)).first_epoch == 2
    assert leadership(LogHistory().produce(1, "a", at=0)).first_epoch == -1


def test_a_read_is_the_leaders_if_it_led_the_epoch_that_was_named() -> None:
    history = LogHistory().metadata(1, 1, 0).metadata(1, 2, 1)
    for broker, epoch in ((1, 0), (2, 0), (1, 1), (2, 1)):
        history.whole(broker, A, epoch=epoch, hw=1)
    found = leadership(history)
    assert [(read.node, read.cur) for read in found.leader_reads] == [("broker-1", 0), ("broker-2", 1)]


def test_the_role_of_a_replica_is_by_the_newest_epoch_if_none_was_named() -> None:
    history = LogHistory().whole(1, A, epoch=-1, hw=1).metadata(1, 1, 0).whole(1, A, epoch=-1, hw=1).metadata(1, 2, 1)
    history.whole(1, A, epoch=-1, hw=1).whole(1, A, epoch=0, hw=1)
    story = partition_story(history)
    assert [story.derive(Leadership).role_of(read) for read in story.full_reads] == [
        "",
        "leader",
        "follower",
        "leader",
    ]
