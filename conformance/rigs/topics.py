"""The topics that rigs and machines begin with."""

from collections.abc import Sequence

from conformance.core.bench import Bench
from fixtures.views.nodes import ask_until_granted
from fixtures.wire import NodeClient
from protocol.codes import Error
from protocol.messages import Topic
from protocol.topics import CreateTopicsAnswer, NewTopic
from protocol.words import say


def create_topics(bench: Bench, wanted: Sequence[NewTopic]) -> list[Topic]:
    """Create topics in one request, and those again whose brokers are all fenced.

    A broker starved of CPU is fenced for a while, and cannot host replicas meanwhile.
    """
    node, topics = bench.node(bench.brokers[0]), dict[str, Topic]()

    def create_missing() -> CreateTopicsAnswer:
        answer = node.create_topics([one for one in wanted if one.name not in topics])
        topics.update({one.name: Topic(one.name, one.topic_id) for one in answer.topics if one.error is Error.NONE})
        return answer

    ask_until_granted(
        bench, create_missing, f"the topics {say([one.name for one in wanted])} created", _waits_for_brokers
    )
    return [topics[one.name] for one in wanted]


def _waits_for_brokers(answer: CreateTopicsAnswer) -> bool:
    refused = [one for one in answer.topics if one.error is not Error.NONE]
    return all(
        one.error is Error.INVALID_REPLICA_ASSIGNMENT and "are fenced" in (one.error_message or "") for one in refused
    )


def delete_topics(bench: Bench, topics: Sequence[Topic | str], by: NodeClient | None = None) -> None:
    """Delete topics through a broker, by default the first."""
    broker = by or bench.node(bench.brokers[0])
    ask_until_granted(
        bench, lambda: broker.delete_topics(topics), f"the topics {say([str(one) for one in topics])} deleted"
    )
