"""Topics that are created by a rig, again if they are refused."""

from typing import Any, cast

import pytest

from conformance.core.bench import Bench
from conformance.rigs.topics import create_topics
from protocol.codes import Error
from protocol.errors import KitError
from protocol.topics import NewTopic
from tests.support.fake_nodes import FakeNodes

WANTED = [NewTopic("orders", ((1,),)), NewTopic("bills", ((2,),))]


FENCED = (
    "All brokers specified in the manual partition assignment for partition 0 are fenced or in controlled shutdown."
)


def created(name: str, error: Error = Error.NONE, message: str = FENCED) -> dict[str, Any]:
    return {"name": name, "topic_id": None, "error_code": int(error), "error_message": message if error else None}


def test_topic_on_a_fenced_broker_is_asked_for_again_and_the_others_are_not() -> None:
    def answer(_: str, fields: dict[str, Any]) -> dict[str, Any]:
        names = [topic["name"] for topic in fields["topics"]]
        fenced = Error.INVALID_REPLICA_ASSIGNMENT if len(names) == 2 else Error.NONE
        return {"topics": [created(name, fenced if name == "bills" else Error.NONE) for name in names]}

    nodes = FakeNodes(CreateTopics=answer)
    topics = create_topics(cast(Bench, nodes), WANTED)
    assert [topic.name for topic in topics] == ["orders", "bills"]
    assert [[topic["name"] for topic in asked.fields["topics"]] for asked in nodes.requests("CreateTopics")] == [
        ["orders", "bills"],
        ["bills"],
    ]


def test_a_creation_that_is_always_refused_is_told_with_its_error() -> None:
    nodes = FakeNodes(CreateTopics=lambda *_: {"topics": [created("orders", Error.POLICY_VIOLATION, "no topics")]})
    with pytest.raises(KitError, match=r"orders created(?s:.)*POLICY_VIOLATION"):
        create_topics(cast(Bench, nodes), WANTED[:1])
