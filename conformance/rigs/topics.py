"""The topics that rigs and machines begin with."""

from collections.abc import Sequence

from conformance.core.bench import Bench
from protocol.codes import Error
from protocol.errors import KitError
from protocol.messages import Topic
from protocol.topics import CreatedTopic, NewTopic
from protocol.words import say


def create_topics(bench: Bench, wanted: Sequence[NewTopic]) -> list[Topic]:
    """Create topics in one request, and retry those whose brokers are all fenced. Raises KitError for other refusals.

    A broker starved of CPU is fenced for a while, and cannot host replicas meanwhile.
    """
    topics: dict[str, Topic] = {}

    def all_created() -> bool:
        missing = [topic for topic in wanted if topic.name not in topics]
        for created in bench.node(bench.brokers[0]).create_topics(missing).topics:
            if created.error is Error.NONE:
                topics[created.name] = Topic(created.name, created.topic_id)
            elif not _is_fenced_for_now(created):
                raise KitError(
                    f"topic {created.name} could not be created: {created.error.name} {say(created.error_message)}"
                )
        return len(topics) == len(wanted)

    bench.eventually(all_created, f"brokers that take the replicas of {say([topic.name for topic in wanted])}")
    return [topics[topic.name] for topic in wanted]


def _is_fenced_for_now(created: CreatedTopic) -> bool:
    return created.error is Error.INVALID_REPLICA_ASSIGNMENT and "are fenced" in (created.error_message or "")
