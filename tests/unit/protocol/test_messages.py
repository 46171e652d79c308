"""The parts that messages of all areas share."""

from __future__ import annotations

from uuid import UUID

import pytest

from protocol.groups import Heartbeat
from protocol.messages import Topic, Versions
from protocol.quorum import Vote
from protocol.transactions import EndTxn, TakeProducerIds


@pytest.mark.parametrize(
    ("version", "inside"), [(-1, False), (0, False), (1, True), (3, True), (4, False), (None, False), ("1", False)]
)
def test_a_range_of_versions_includes_both_ends(version: object, inside: bool) -> None:
    versions = Versions(1, 3)
    assert (version in versions) is inside
    assert str(versions) == "1-3"


def test_a_topic_is_known_by_name_or_by_name_and_id() -> None:
    both = Topic("t", UUID(int=1))
    assert Topic.of("t") == Topic("t", None)
    assert Topic.of(both) is both


def test_a_request_is_sent_with_its_fields_by_their_names_in_the_schema() -> None:
    assert EndTxn("id", 7, 0, True, version=3).fields == {
        "transactional_id": "id",
        "producer_id": 7,
        "producer_epoch": 0,
        "committed": True,
    }
    assert Heartbeat("g", "m", 2).fields == {
        "group_id": "g",
        "member_id": "m",
        "generation_id": 2,
        "group_instance_id": None,
    }


def test_an_operation_is_named_by_its_class_and_its_api_too_unless_it_says_otherwise() -> None:
    assert (EndTxn.op, EndTxn.api) == ("end_txn", "EndTxn")
    assert (TakeProducerIds.op, TakeProducerIds.api) == ("take_producer_ids", "InitProducerId")
    assert Vote.answer.__name__ == "VoteAnswer"
