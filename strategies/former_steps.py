"""Former names in steps: schedules and histories keep those that a step, its fields and roles had when they were recorded.

The tables are frozen: an entry is added when something that was recorded gets another name, and none is ever changed or
removed. A former name is never given to anything else. (Former ids of checks are in `conformance.catalogue.former_ids`.)
"""

from __future__ import annotations

import re
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
_CONTROLLER = re.compile(r"controller-\d+")


def current_step(recorded: Mapping[str, Any]) -> dict[str, Any]:
    """A recorded step with the tag, the names of fields and the roles of today; one of today is returned as it is."""
    tag = recorded.get("do", "")
    fields = FORMER_FIELDS.get(tag, {})
    step = {fields.get(name, name): value for name, value in recorded.items()}
    for name in step.keys() & {"role", "to"}:
        step[name] = FORMER_ROLES.get(step[name], step[name])
    return {**step, "do": FORMER_STEPS.get(tag, tag)}


def words_in(steps: Iterable[Mapping[str, Any]]) -> set[str]:
    """The steps and faults of a schedule, and the roles that they name, as they are called today.

    >>> sorted(words_in([{"do": "disturb", "on": "strict-1", "fault": {"fault": "kill", "role": "leader", "pick": 0}}]))
    ['disturb', 'kill', 'leader']
    """
    return {word for step in steps for word in _words(step)}


def _role(word: str) -> str:
    """A role or a tag as it is called today; a controller that is named is any voter."""
    return "voter" if _CONTROLLER.fullmatch(word) else FORMER_ROLES.get(word, word)


def _words(part: Any) -> Iterator[str]:
    if isinstance(part, Mapping):
        part = current_step(part) if "do" in part else part
        named = (part.get(field) for field in ("do", "fault", "role", "to"))
        yield from (_role(word) for word in named if isinstance(word, str))
        part = [*part.values()]
    if isinstance(part, list | tuple):
        for inner in part:
            yield from _words(inner)
