"""A second client that comes and goes: what is open meanwhile, and that it is ended afterwards."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from conformance.kip1251.client_copies import Turn, take_turn


class FakeCopiers:
    """Clients that note what they do."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.copying = SimpleNamespace(group=SimpleNamespace(move_coordinator=lambda how: self.done.append(how)))

    def client(self, name: str) -> Any:
        return SimpleNamespace(
            name=name,
            begin=lambda: self.done.append(f"{name} begins"),
            end=lambda: self.done.append(f"{name} ends"),
        )

    def start(self) -> Any:
        self.done.append("join")
        return self.client("second")

    def share(self) -> None:
        self.done.append("share")

    def copy(self, one: Any, count: int) -> None:
        self.done.append(f"{one.name} copies")

    def leave(self, one: Any) -> None:
        self.done.append("leave")


@pytest.mark.parametrize(
    ("turn", "done"),
    [
        (
            Turn(True, False, "kill"),
            "first begins, join, share, second copies, first ends, kill, leave, share, first copies, second ends",
        ),
        (
            Turn(False, True, "move"),
            "join, share, second copies, first ends, second begins, move, leave, share, first copies, second ends",
        ),
    ],
)
def test_what_is_open_is_ended_after_the_other_one_copied(turn: Turn, done: str) -> None:
    copiers: Any = FakeCopiers()
    take_turn(copiers, copiers.client("first"), turn)
    assert ", ".join(copiers.done) == done
