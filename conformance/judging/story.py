"""The story of a subject: its facts in the order of the answers, fed one by one, and the values that judges derive from them."""

from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar, TypeVar

from conformance.judging.changes import ChangedBy
from conformance.judging.timeline import Timeline
from history.subjects import Kind

T = TypeVar("T")


class Story:
    """The base of stories. A subclass names the kind of its subjects, and takes their facts.

    Derived values are computed on demand, and dropped when another fact is added.
    """

    kind: ClassVar[Kind]
    ends_with_quorum_state: ClassVar[bool] = False
    """True if the story ends when a controller loses its quorum-state."""

    _cached: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        cls._cached = tuple(name for name, value in vars(cls).items() if isinstance(value, cached_property))

    def __init__(self, name: str, timeline: Timeline) -> None:
        self.name = name
        self.timeline = timeline
        self.number = 0
        """The number of earlier subjects of the same name, such as topics that were deleted and created again."""
        self.version = 0
        self.left_out = 0
        """The number of facts after its end."""
        self.doubted = 0
        """The number of facts that are left out, since its topic may have been deleted before."""
        self._derived: dict[Any, Any] = {}

    def add_fact(self, fact: Any) -> None:
        """Add a fact. The caller (`Reading`) raises `version`."""
        raise NotImplementedError

    def replace_unknown(self, unknown: Any, fact: Any) -> None:
        """Replace a request of unknown outcome by the fact that its answer turned out to be, or by nothing (None)."""
        assert unknown is None
        self.add_fact(fact)

    @property
    def open_requests(self) -> list[Any]:
        """The requests of unknown outcome that may still reach the next subject of this name."""
        return []

    @property
    def changed_by(self) -> ChangedBy | None:
        """The faults that caused a change of the subject; None if the story does not record changes."""
        return None

    def derive(self, make: Callable[[Any], T]) -> T:
        """Return the result of `make` for this story. It is computed once and kept for further calls with the same `make`."""
        try:
            found: T = self._derived[make]
        except KeyError:
            found = self._derived[make] = make(self)
        return found

    def forget(self) -> None:
        """Drop all derived values, including cached properties."""
        self._derived.clear()
        for name in self._cached:
            self.__dict__.pop(name, None)
