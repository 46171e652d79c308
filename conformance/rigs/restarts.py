"""The wait for a restarted node."""

from conformance.core.bench import Bench
from fixtures.wire import NodeClient, WireError
from protocol.codes import Error

RESTART_TIMEOUT = 90.0
"""Seconds; a node needs 4 on an idle machine with two cores."""


def await_answer(bench: Bench, name: str) -> None:
    """Wait for a restarted node, with few tries, because they take CPU from it."""
    bench.eventually(
        lambda: is_reachable(bench.node(name)), f"{name} answering again", RESTART_TIMEOUT, 0.2, due="node"
    )


def is_reachable(node: NodeClient) -> bool:
    """True if the node answers. A release older than the column's may refuse the request's version."""
    try:
        return node.api_versions().error in (Error.NONE, Error.UNSUPPORTED_VERSION)
    except WireError:
        return False
