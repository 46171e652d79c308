"""Descriptions of groups in words: epochs, and the partitions of each member."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from conformance.judging.groups_in_words import OUTCOMES, REQUESTS
from protocol.groups import AssignedPartitions, DescribedMember, TopicPartitions


def assigned(*partitions: int) -> dict[str, Any]:
    return {"topic_partitions": [{"topic_id": "t", "partitions": list(partitions)}]}


def test_a_group_is_described_by_its_epochs_and_members() -> None:
    keeps = {"member_id": "m", "member_epoch": 3, "assignment": assigned(0, 1), "target_assignment": assigned(0, 1)}
    gives = {"member_id": "n", "member_epoch": 4, "assignment": assigned(), "target_assignment": assigned(2)}
    value = {"group_state": "Stable", "group_epoch": 4, "assignment_epoch": 4, "members": [keeps, gives]}
    assert OUTCOMES["consumer_group_describe"](value) == (
        "Stable at epoch 4, assigned at 4: m at epoch 3 with 0, 1, n at epoch 4 with nothing, to have 2"
    )
    assert OUTCOMES["consumer_group_describe"](value | {"members": []}).endswith("assigned at 4: no members")


def test_a_described_member_is_said_by_its_partitions() -> None:
    def of(*partitions: int) -> AssignedPartitions:
        return AssignedPartitions(topic_partitions=(TopicPartitions(topic_id=UUID(int=1), partitions=partitions),))

    member = DescribedMember(member_id="m", member_epoch=3, assignment=of(0, 1), target_assignment=of(1))
    assert str(member) == "m at epoch 3 with 0, 1, to have 1"


def test_an_error_of_a_client_is_said_with_its_number() -> None:
    error = {"group": "g", "code": "_TRANSPORT", "reason": "refused", "times": 2, "fatal": False}
    assert REQUESTS["client_error"](error) == "error _TRANSPORT of the client in g, 2 times: refused"
    fatal = REQUESTS["client_error"](error | {"times": 1, "fatal": True})
    assert fatal == "error _TRANSPORT of the client in g, after which it does nothing more: refused"
