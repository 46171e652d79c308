"""Rights of users: what is created, and that all nodes have it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from conformance.rigs.rights import CLUSTER_ACTION, READ, give_rights, right_on_cluster, right_on_topic
from fixtures.waiting import Overdue

RIGHTS = [right_on_topic("reader", READ, "orders"), right_on_cluster("node", CLUSTER_ACTION)]


class Cluster:
    """A controller and a broker that learns of rights one request later."""

    members, controllers = ("controller-1", "broker-1"), ("controller-1",)

    def __init__(self, *, refuses: bool = False) -> None:
        self.refuses = refuses
        self.wait = self
        self.created: list[dict[str, Any]] = []
        self.known: list[dict[str, Any]] = []
        self.tries = 0

    def node(self, name: str) -> Any:
        return SimpleNamespace(call=lambda api, **fields: SimpleNamespace(body=self._answer(name, api, fields)))

    def _answer(self, name: str, api: str, fields: dict[str, Any]) -> dict[str, Any]:
        if api == "CreateAcls":
            self.created = [] if self.refuses else fields["creations"]
            return {"results": [{"error_code": 31 if self.refuses else 0}]}
        assert (api, fields["resource_name_filter"]) == ("DescribeAcls", None)
        shown = self.created
        if name.startswith("broker"):
            shown, self.known = self.known, self.created
        return {"resources": [self._resource(one) for one in shown]}

    @staticmethod
    def _resource(one: dict[str, Any]) -> dict[str, Any]:
        rule = {name: one[name] for name in ("principal", "host", "operation", "permission_type")}
        return {
            "resource_type": one["resource_type"],
            "resource_name": one["resource_name"],
            "pattern_type": one["resource_pattern_type"],
            "acls": [rule],
        }

    def eventually(self, probe: Any, what: str, due: str) -> None:
        while not probe():
            self.tries += 1

    def overdue(self, due: str, what: str, within: float) -> Overdue:
        return Overdue(what, due=None, within=within, late=0.0)


def test_all_nodes_have_the_rights_afterwards() -> None:
    cluster = Cluster()
    give_rights(cluster, RIGHTS)  # type: ignore[arg-type]
    assert (cluster.created, cluster.known, cluster.tries) == (RIGHTS, RIGHTS, 1)


def test_a_refusal_is_an_error() -> None:
    with pytest.raises(Overdue, match="rights are not given"):
        give_rights(Cluster(refuses=True), RIGHTS)  # type: ignore[arg-type]
