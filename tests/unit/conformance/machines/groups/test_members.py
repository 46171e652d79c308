"""A raw member of the group machine: what it remembers of its epochs and partitions, as an honest client does."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from uuid import UUID

from conformance.machines.groups.members import Member
from fixtures.views.member import list_partitions
from protocol.codes import Error
from protocol.groups import AssignedPartitions, HeartbeatAnswer

TOPIC = UUID(int=1)


class Coordinator:
    """A coordinator that gives the answers in turn, and keeps what it was asked."""

    def __init__(self, *answers: HeartbeatAnswer) -> None:
        self.answers = [*answers]
        self.asked: list[dict[str, Any]] = []

    def consumer_group_heartbeat(self, **fields: Any) -> HeartbeatAnswer:
        self.asked.append(fields)
        return self.answers.pop(0)


def answer(epoch: int, *partitions: int, error: Error = Error.NONE) -> HeartbeatAnswer:
    """Return an answer, whose assignment is unchanged if there are no partitions."""
    given = list_partitions(frozenset((TOPIC, p) for p in partitions))
    assignment = AssignedPartitions(topic_partitions=tuple(given)) if partitions else None
    return HeartbeatAnswer(error=error, member_epoch=epoch, assignment=assignment, version=1)


def member_of(coordinator: Coordinator) -> Member:
    ground: Any = SimpleNamespace(bench=None, names={"group-1": "g"}, coordinator=lambda on: coordinator)
    return Member(ground, "group-1", "m", None)


def test_partitions_to_give_up_are_those_until_the_member_has_acknowledged_that() -> None:
    member = member_of(Coordinator(answer(1, 0, 1, 2), answer(1, 0), answer(2)))
    member.heartbeat()
    member.heartbeat()
    assert member.to_give_up == {(TOPIC, 1), (TOPIC, 2)}
    member.acknowledge()
    assert member.to_give_up == frozenset()
    assert member.owned == {(TOPIC, 0)}


def test_partitions_that_the_answer_to_an_acknowledgement_takes_are_still_to_be_given_up() -> None:
    member = member_of(Coordinator(answer(1, 0, 1, 2), answer(1, 0, 1), answer(1, 0)))
    member.heartbeat()
    member.heartbeat()
    member.acknowledge()
    assert member.to_give_up == {(TOPIC, 1)}


def test_a_partition_that_comes_back_has_the_later_epoch() -> None:
    member = member_of(Coordinator(answer(1, 0, 1), answer(1, 0), answer(2), answer(3, 0, 1)))
    member.heartbeat()
    for _ in range(3):
        member.acknowledge()
    assert member.ever_since == {(TOPIC, 0): 1, (TOPIC, 1): 3}
    assert member.epochs == [1, 2, 3]


def test_an_answer_that_is_not_received_changes_nothing_that_the_member_knows() -> None:
    member = member_of(Coordinator(answer(1, 0), answer(2, 0, 1)))
    member.heartbeat()
    member.acknowledge(received=False)
    assert (member.epoch, member.owned, member.epochs) == (1, frozenset({(TOPIC, 0)}), [1])


def test_a_fenced_member_owns_nothing_and_joins_at_epoch_0() -> None:
    coordinator = Coordinator(answer(1, 0), answer(0, error=Error.FENCED_MEMBER_EPOCH))
    member = member_of(coordinator)
    member.heartbeat()
    member.acknowledge()
    member.lose_all()
    assert (member.epoch, member.owned, member.to_give_up) == (0, frozenset(), frozenset())
    assert member.ever_since == {(TOPIC, 0): 1}


def test_a_missed_answer_is_made_up_for_by_a_full_heartbeat_only() -> None:
    member = member_of(Coordinator(answer(1, 0), answer(1), answer(1), answer(1, 0)))
    member.heartbeat(subscribed_topic_names=["t"])
    assert not member.has_missed
    member.acknowledge(received=False)
    member.acknowledge()
    assert member.has_missed
    member.acknowledge(subscribed_topic_names=["t"])
    assert not member.has_missed
