"""A broker's fetch sessions (KIP-227): each session's partitions as last requested and last answered."""

from __future__ import annotations

import dataclasses
from typing import Any

Plain = dict[str, Any]
Key = tuple[Any, Any, int]
"""A topic's name and id, one of them None, and the partition."""

NEW, NONE = 0, -1
"""The session epochs of a request that opens a session, and of one without."""


@dataclasses.dataclass
class Session:
    id: int
    asked: dict[Key, Plain] = dataclasses.field(default_factory=dict)
    marks: dict[Key, tuple[int, ...]] = dataclasses.field(default_factory=dict)

    def is_new(self, key: Key, answer: Plain) -> bool:
        """True if an incremental answer must have the partition."""
        marks = tuple(answer[name] for name in ("high_watermark", "last_stable_offset", "log_start_offset"))
        changed = self.marks.get(key) != marks
        self.marks[key] = marks
        return changed or bool(answer["records"] or answer["error_code"] or "diverging_epoch" in answer)


class Sessions:
    def __init__(self) -> None:
        self._all: dict[int, Session] = {}

    def lacks(self, asked: Plain) -> bool:
        """True if the request's session is unknown, since it ended with the process."""
        return asked.get("session_epoch", NONE) not in (NEW, NONE) and asked["session_id"] not in self._all

    def of(self, asked: Plain) -> Session | None:
        """Return a request's session, after the request has updated its partitions; None without one."""
        if asked.get("session_epoch", NONE) == NONE:
            return None
        if asked["session_epoch"] == NEW:
            session = Session(len(self._all) + 1)
            self._all[session.id] = session
        else:
            session = self._all[asked["session_id"]]
        session.asked |= sent(asked)
        return session


def sent(asked: Plain) -> dict[Key, Plain]:
    return {
        (topic.get("topic"), topic.get("topic_id"), partition["partition"]): partition
        for topic in asked["topics"]
        for partition in topic["partitions"]
    }
