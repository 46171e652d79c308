"""Names that earlier versions of the kit wrote, and what they are called now.

Histories, shards and schedules stay readable after a check, a step or a field is renamed: what is read from them passes
through these tables. They are frozen: an entry is added when something that was recorded gets another name, and none is
ever changed or removed. A former name is never given to anything else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

FORMER_CHECKS: Mapping[str, str] = {"kip101.log_machine.LogMachine": "machines.log.LogMachine"}
"""Ids of checks, as histories, shards and schedules name them."""

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
"""Tags of steps."""

FORMER_FIELDS: Mapping[str, Mapping[str, str]] = {
    "ask-epoch": {"claimed_back": "current_back"},
    "ask-offsets": {"claimed_back": "current_back"},
    "fetch-at": {"last_back": "last_fetched_back", "epochs_back": "current_back"},
    "read": {"whole": "full_log", "epochs_back": "current_back"},
}
"""Names of a step's fields, by the tag it was recorded with."""

FORMER_ROLES: Mapping[str, str] = {"deposed": "former-leader"}
"""Values of a step's `role` and `to`."""


def current_check(id: str) -> str:
    """The id that a check has now."""
    return FORMER_CHECKS.get(id, id)


def current_step(recorded: Mapping[str, Any]) -> dict[str, Any]:
    """A recorded step with the tag, the names of fields and the roles of today; one of today is returned as it is."""
    tag = recorded.get("do", "")
    fields = FORMER_FIELDS.get(tag, {})
    step = {fields.get(name, name): value for name, value in recorded.items()}
    for name in step.keys() & {"role", "to"}:
        step[name] = FORMER_ROLES.get(step[name], step[name])
    return {**step, "do": FORMER_STEPS.get(tag, tag)}
