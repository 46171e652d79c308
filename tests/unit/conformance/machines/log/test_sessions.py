"""The fetch sessions of the log machine: one at each node, begun again once the node has ended it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from conformance.machines.log.sessions import FetchSessions
from protocol.codes import Error
from protocol.log import FetchAnswer, FetchOptions
from protocol.messages import Topic

PARTITION: Any = SimpleNamespace(topic=Topic("t"), index=0)


class FakeNode:
    """Answers with session 7, or with `errors` in their order."""

    def __init__(self, name: str, errors: list[Error] | None = None) -> None:
        self.node = name
        self.asked: list[tuple[int, int]] = []
        self._errors = errors or []

    def fetch_many(self, wanted: Any, options: FetchOptions) -> FetchAnswer:
        self.asked.append((options.session_id, options.session_epoch))
        error = self._errors.pop(0) if self._errors else Error.NONE
        return FetchAnswer(version=12, error=error, session_id=7 if error is Error.NONE else 0)


def fetch(sessions: FetchSessions, *nodes: Any) -> None:
    for node in nodes:
        sessions.fetch(PARTITION, node, 0, 1)


def test_a_session_begins_with_epoch_0_and_goes_on_with_the_next() -> None:
    node = FakeNode("broker-1")
    fetch(FetchSessions(), node, node, node)
    assert node.asked == [(0, 0), (7, 1), (7, 2)]


def test_each_node_has_its_own() -> None:
    one, other = FakeNode("broker-1"), FakeNode("broker-2")
    fetch(FetchSessions(), one, other, one)
    assert (one.asked, other.asked) == ([(0, 0), (7, 1)], [(0, 0)])


def test_an_ended_session_is_followed_by_another() -> None:
    node = FakeNode("broker-1", [Error.NONE, Error.FETCH_SESSION_ID_NOT_FOUND])
    fetch(FetchSessions(), node, node, node)
    assert node.asked == [(0, 0), (7, 1), (0, 0)]
