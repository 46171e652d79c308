"""An engine in memory that knows a run's labels and removes its containers."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Thing:
    name: str
    labels: dict[str, str]
    shelf: "Shelf"
    trouble: Iterator[Exception] = field(default_factory=lambda: iter(()))

    @property
    def attrs(self) -> dict[str, Any]:
        return {"Labels": self.labels}

    @property
    def id(self) -> str:
        return self.name

    @property
    def tags(self) -> list[str]:
        return [self.name]

    def remove(self, **_: Any) -> None:
        for error in self.trouble:
            raise error
        del self.shelf.things[self.name]


@dataclass
class Shelf:
    things: dict[str, Thing] = field(default_factory=dict)

    def add(self, name: str, labels: dict[str, str], *trouble: Exception) -> Thing:
        self.things[name] = Thing(name, labels, self, iter(trouble))
        return self.things[name]

    def list(self, *, filters: dict[str, str], **options: Any) -> Sequence[Thing]:
        key, _, value = filters["label"].partition("=")
        return [thing for thing in self.things.values() if thing.labels.get(key) == value]

    def remove(self, name: str, **_: Any) -> None:
        self.things[name].remove()


@dataclass
class FakeEngine:
    containers: Shelf = field(default_factory=Shelf)
    networks: Shelf = field(default_factory=Shelf)
    volumes: Shelf = field(default_factory=Shelf)
    images: Shelf = field(default_factory=Shelf)

    def names(self) -> set[str]:
        return {thing.name for shelf in vars(self).values() for thing in shelf.things.values()}


@dataclass
class FakePulls:
    """An engine whose pulls and manifest look-ups do what the test says."""

    pull: Callable[..., Any]
    inspect_distribution: Callable[..., Any] = lambda _: None
    timeout: float = 60

    @property
    def api(self) -> "FakePulls":
        return self
