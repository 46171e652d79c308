"""The raft requests by name: each is of the API that it is listed with, in the epoch that it is given."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from conformance.rigs.quorum.raft_requests import API, ASK

METHODS = {
    "Vote": "vote",
    "BeginQuorumEpoch": "begin_quorum_epoch",
    "EndQuorumEpoch": "end_quorum_epoch",
    "Fetch": "fetch",
    "FetchSnapshot": "fetch_snapshot",
}


class OneController:
    """A controller that keeps what it is asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.bench = SimpleNamespace(id_of=lambda name: 101)

    def peer_of(self, name: str) -> int:
        return 102

    def client(self, name: str) -> OneController:
        return self

    def __getattr__(self, method: str) -> Any:
        return lambda *args, **more: self.asked.append((method, f"{args} {more}"))


@pytest.mark.parametrize("name", ASK)
def test_a_request_is_of_its_api_and_epoch(name: str) -> None:
    quorum = OneController()
    ASK[name](quorum, "controller-101", 77, cluster_id="c")
    [(method, fields)] = quorum.asked
    assert method == METHODS[API[name]]
    assert "77" in fields
    assert "'c'" in fields
