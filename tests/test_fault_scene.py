"""What faults write, to a leader that answers as a test says."""

from __future__ import annotations

from typing import cast
from uuid import UUID

import pytest

from fixtures.errors import KitError
from fixtures.faults.scene import append
from fixtures.wire import Error, NodeClient
from fixtures.wire.calls import Topic
from fixtures.wire.log import ProducedPartition
from fixtures.wire.records import NewBatch, batch

TOPIC = Topic("new", UUID(int=7))


class Leader:
    """Answers each write with the next of the errors, then with offset 5."""

    def __init__(self, *errors: Error) -> None:
        self.errors = list(errors)
        self.asked = 0

    def produce(self, topic: Topic, partition: int, records: NewBatch, *, acks: int) -> ProducedPartition:
        self.asked += 1
        error = self.errors.pop(0) if self.errors else Error.NONE
        return ProducedPartition(version=13, partition=partition, error=error, base_offset=-1 if error else 5)


def append_to(leader: Leader) -> int:
    return append(lambda: cast(NodeClient, leader), TOPIC, 0, batch(b"one"))


def test_a_leader_that_has_not_heard_of_its_partition_is_asked_again() -> None:
    leader = Leader(Error.UNKNOWN_TOPIC_ID, Error.UNKNOWN_TOPIC_OR_PARTITION, Error.NOT_LEADER_OR_FOLLOWER)
    assert append_to(leader) == 5
    assert leader.asked == 4


def test_what_is_refused_for_another_reason_is_told_with_the_answer() -> None:
    leader = Leader(Error.INVALID_RECORD)
    with pytest.raises(KitError, match=r"a write to new-0 was refused: .*INVALID_RECORD"):
        append_to(leader)
    assert leader.asked == 1
