"""Rights of users: rules of an authorizer, as CreateAcls takes them (KIP-140)."""

from collections.abc import Sequence
from typing import Any

from conformance.core.bench import Bench
from fixtures.wire import NodeClient
from protocol.words import say

READ, DESCRIBE, CLUSTER_ACTION = 3, 8, 9
"""Operations."""
_ANY_HOST, _ALLOWED, _OF_THIS_NAME = "*", 3, 3
_TOPIC, _CLUSTER = 2, 4
_ANY = 1
_ALL_RIGHTS: dict[str, Any] = {
    "resource_type_filter": _ANY,
    "resource_name_filter": None,
    "pattern_type_filter": _ANY,
    "principal_filter": None,
    "host_filter": None,
    "operation": _ANY,
    "permission_type": _ANY,
}


def right_on_cluster(user: str, operation: int) -> dict[str, Any]:
    """Return the rule that allows a user this operation on the cluster."""
    return _right(_CLUSTER, "kafka-cluster", user, operation)


def right_on_topic(user: str, operation: int, topic: str) -> dict[str, Any]:
    """Return the rule that allows a user this operation on one topic."""
    return _right(_TOPIC, topic, user, operation)


def _right(kind: int, name: str, user: str, operation: int) -> dict[str, Any]:
    resource = {"resource_type": kind, "resource_name": name, "resource_pattern_type": _OF_THIS_NAME}
    return {
        **resource,
        "principal": f"User:{user}",
        "host": _ANY_HOST,
        "operation": operation,
        "permission_type": _ALLOWED,
    }


def give_rights(bench: Bench, rights: Sequence[dict[str, Any]]) -> None:
    """Create these rules, and wait until all nodes have them. Raises Overdue."""
    nodes = [bench.node(name) for name in bench.members]
    given = bench.node(bench.controllers[0]).call("CreateAcls", creations=rights).body["results"]
    if any(one["error_code"] for one in given):
        raise bench.wait.overdue("quorum", f"rights are not given: {say(given)}", 0.0)

    def are_in_force() -> bool:
        return all(one in listed for listed in map(_rights_at, nodes) for one in rights)

    bench.eventually(are_in_force, "all nodes with the rights that users have", due="quorum")


def _rights_at(node: NodeClient) -> list[dict[str, Any]]:
    """Return the rules that a node has, by DescribeAcls, in the form of those that were created."""
    described = node.call("DescribeAcls", **_ALL_RIGHTS).body["resources"]
    return [
        {
            "resource_type": one["resource_type"],
            "resource_name": one["resource_name"],
            "resource_pattern_type": one["pattern_type"],
            **{name: rule[name] for name in ("principal", "host", "operation", "permission_type")},
        }
        for one in described
        for rule in one["acls"]
    ]
