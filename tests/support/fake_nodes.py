"""The nodes of a cluster in memory, for views: a function of the test answers each API."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

from fixtures.views.nodes import answers_in_turn
from fixtures.waiting import eventually
from fixtures.wire import NodeClient, PassThrough, Unanswered
from fixtures.wire.calls import Reply
from history.due import Due
from protocol.errors import KitError

T = TypeVar("T")

Script = Callable[[str, dict[str, Any]], dict[str, Any]]
"""A function from the node's name and the request's fields to the fields of the answer. It raises WireError for no
answer."""

IDS = {"broker-1": 1, "broker-2": 2, "broker-3": 3, "controller-101": 101, "controller-102": 102}
WITHIN = 0.2
"""The seconds that a view waits for something that never happens."""


class Asked(NamedTuple):
    """A request that reached a node."""

    node: str
    api: str
    version: int
    fields: dict[str, Any]


class FakeClient(NodeClient):
    """The kit's own client down to the schema's fields; it sends no frame."""

    def __init__(self, nodes: FakeNodes, name: str) -> None:
        super().__init__(name, "", 0, None, PassThrough())  # type: ignore[arg-type]  # nothing is encoded
        self._nodes = nodes

    def choose_version(self, api: str, version: int | None = None, *, at_most: int | None = None) -> int:
        newest = self._nodes.newest.get(api, 0)
        return version if version is not None else min(newest, newest if at_most is None else at_most)

    def has_field(self, api: str, field: str, version: int) -> bool:
        return False

    def call(self, api: str, version: int | None = None, *, wait_ms: int = 0, **fields: Any) -> Reply:
        spoken = self.choose_version(api, version)
        self._nodes.asked.append(Asked(self.node, api, spoken, fields))
        if self.node in self._nodes.silent:
            raise Unanswered(f"{self.node} does not answer")
        return Reply(spoken, self._nodes.script[api](self.node, fields))


class FakeNodes:
    """Three brokers and two controllers. `newest` are the versions that all offer; `silent` nodes do not answer."""

    def __init__(self, newest: dict[str, int] | None = None, **script: Script) -> None:
        self.newest = newest or {}
        self.script = script
        self.silent: set[str] = set()
        self.asked: list[Asked] = []

    @property
    def brokers(self) -> list[str]:
        return [name for name in IDS if name.startswith("broker")]

    @property
    def controllers(self) -> list[str]:
        return [name for name in IDS if name.startswith("controller")]

    def id_of(self, name: str) -> int:
        return IDS[name]

    def name_of(self, id: int) -> str:
        found = [name for name, known in IDS.items() if known == id]
        if not found:
            raise KitError(f"no node has id {id}")
        return found[0]

    def node(self, name: str | int, *, controller: bool = False) -> NodeClient:
        return FakeClient(self, self.name_of(name) if isinstance(name, int) else name)

    def reachable(self, names: Iterable[str]) -> list[str]:
        return list(names)

    def answers(self, names: Iterable[str], ask: Callable[[str], T]) -> dict[str, T]:
        return answers_in_turn(names, ask)

    def at_most(self, client: NodeClient, api: str, version: int) -> int:
        return client.choose_version(api, at_most=version)

    def eventually(
        self,
        probe: Callable[[], T | None],
        what: str,
        within: float = WITHIN,
        every: float | None = 0.001,
        due: Due | None = None,
    ) -> T:
        return eventually(probe, within=min(within, WITHIN), what=what, every=every, due=due)

    def requests(self, api: str) -> list[Asked]:
        """Return the requests of one API that reached a node."""
        return [asked for asked in self.asked if asked.api == api]
