"""Settings that rigs and checks change while a cluster runs."""

from collections.abc import Mapping

from conformance.core.bench import Bench
from fixtures.views.nodes import ask_until_granted
from fixtures.wire import NodeClient
from protocol.configs import ResourceType
from protocol.words import say


def alter_configs(
    bench: Bench, node: NodeClient, type: ResourceType, name: str, changes: Mapping[str, str | None]
) -> None:
    """Change settings of a topic, group or broker through a node; None removes one. Without a name they are those of all
    brokers."""
    ask_until_granted(
        bench,
        lambda: node.incremental_alter_configs(type, name, dict(changes)),
        f"{say(dict(changes))} of {say(name or 'the cluster')} accepted",
    )
