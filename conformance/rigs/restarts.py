"""The wait for a node that was restarted."""

from conformance.core.bench import Bench
from fixtures.wire import NodeClient, WireError
from protocol.codes import Error

RESTARTED_WITHIN = 90.0
"""Seconds; a node needs 4 on an idle machine of two cores."""


def answering_again(bench: Bench, name: str) -> None:
    """Wait for a restarted node. Tries are rare, because the node shares its cores with them."""
    bench.eventually(
        lambda: is_reachable(bench.node(name)), f"{name} answering again", RESTARTED_WITHIN, 0.2, due="node"
    )


def is_reachable(node: NodeClient) -> bool:
    """True if the node answers; an older release than the column's may refuse the version that it is asked in."""
    try:
        return node.api_versions().error in (Error.NONE, Error.UNSUPPORTED_VERSION)
    except WireError:
        return False
