"""The shape of a schedule: equal for schedules that differ only in numbers and in the names of their subjects."""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from conformance.judging.narration import TAGS

Shape = tuple[str, ...]
"""A string for each step of a schedule, made of the step's words."""

SUBJECT_FIELD = "on"
ROLE_FIELDS = ("role", "to")
_NODE = re.compile(r".+-\d+")
"""The name of a node, used instead of a role."""


def shape_of(steps: Sequence[Mapping[str, Any]]) -> Shape:
    """Return the kind, fault, roles and subject of each step; subjects and named nodes are numbered by first use.

    >>> shape_of([{"do": "disturb", "on": "strict-1", "fault": {"fault": "kill", "role": "leader", "pick": 0}},
    ...           {"do": "produce", "on": "strict-1", "records": 3, "to": "former-leader"}])
    ('disturb #1 kill leader', 'produce #1 former-leader')
    """
    names: dict[str, str] = {}
    return tuple(" ".join(_words_of_step(step, names)) for step in steps)


def _words_of_step(part: Any, names: dict[str, str]) -> Iterator[str]:
    """Yield a step's words, kind and subject first, whatever the order of the fields."""
    if isinstance(part, Mapping):
        yield from (part[tag] for tag in TAGS if isinstance(part.get(tag), str))
        yield from (_number_word(str(part[field]), names) for field in [SUBJECT_FIELD] if field in part)
        yield from (_role_word(part[field], names) for field in ROLE_FIELDS if isinstance(part.get(field), str))
        part = [part[field] for field in sorted(part)]
    if isinstance(part, list | tuple):
        for inner in part:
            yield from _words_of_step(inner, names)


def _role_word(role: str, names: dict[str, str]) -> str:
    return _number_word(role, names) if _NODE.fullmatch(role) else role


def _number_word(name: str, names: dict[str, str]) -> str:
    return names.setdefault(name, f"#{len(names) + 1}")


def digest_of(row: str, label: str, shape: Shape) -> str:
    """Return eight hexadecimal digits that identify a finding's key."""
    return hashlib.sha256("\n".join([row, label, *shape]).encode()).hexdigest()[:8]
