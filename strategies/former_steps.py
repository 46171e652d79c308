"""Former names in steps: schedules and histories keep those that a step, its fields and roles had when they were recorded.

The tables are frozen: an entry is added when something that was recorded gets another name, and none is ever changed or
removed. A former name is never given to anything else. (Former ids of checks are in `conformance.catalogue.former_ids`.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

FORMER_STEPS: Mapping[str, str] = {
    "ask-committed": "offset-fetch",
    "ask-epoch": "offset-for-leader-epoch",
    "ask-offsets": "list-offsets",
    "confront": "probe-leaders",
    "fill": "produce-to-all",
    "recall": "revisit-position",
    "shake": "disturb-briefly",
    "survey": "read-everything",
    "trim": "delete-records",
}
"""Former tag -> tag."""

FORMER_FIELDS: Mapping[str, Mapping[str, str]] = {
    "ask-epoch": {"claimed_back": "current_back"},
    "ask-offsets": {"claimed_back": "current_back"},
    "fetch-at": {"last_back": "last_fetched_back", "epochs_back": "current_back"},
    "read": {"whole": "full_log", "epochs_back": "current_back"},
}
"""By the tag that a step was recorded with: former field -> field."""

FORMER_ROLES: Mapping[str, str] = {"deposed": "former-leader"}
"""Former value -> value, in the fields `role` and `to`."""


def current_step(recorded: Mapping[str, Any]) -> dict[str, Any]:
    """A recorded step with the tag, the names of fields and the roles of today; one of today is returned as it is."""
    tag = recorded.get("do", "")
    fields = FORMER_FIELDS.get(tag, {})
    step = {fields.get(name, name): value for name, value in recorded.items()}
    for name in step.keys() & {"role", "to"}:
        step[name] = FORMER_ROLES.get(step[name], step[name])
    return {**step, "do": FORMER_STEPS.get(tag, tag)}


def roles_in(steps: Iterable[Mapping[str, Any]]) -> set[str]:
    """The roles that the faults of a schedule hit, by the names of today.

    >>> roles_in([{"do": "disturb", "on": "strict-1", "fault": {"fault": "kill", "role": "leader", "pick": 0}}])
    {'leader'}
    """
    return {role for step in steps for role in _roles(step)}


def _roles(part: Any) -> Iterator[str]:
    if isinstance(part, Mapping):
        if "fault" in part and isinstance(role := part.get("role"), str):
            yield FORMER_ROLES.get(role, role)
        part = [*part.values()]
    if isinstance(part, list | tuple):
        for inner in part:
            yield from _roles(inner)
