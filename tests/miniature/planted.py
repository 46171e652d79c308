"""A machine's planted bugs, the schedules and scripts that meet them, and legal schedules."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from conformance.core.machines import AnyMachine
from history.observations import Observation
from tests.miniature.bugs import Bug

Script = Callable[..., list[Observation]]
"""A function of the names of the bugs that are switched on, which returns the violations."""


@dataclasses.dataclass(frozen=True)
class Planted:
    """The plantings. `schedules` and `scripts` are by bug: steps of the machine, or actions beyond its steps."""

    bugs: Mapping[str, Bug]
    schedules: Mapping[str, Sequence[Any]]
    legal: Mapping[str, Sequence[Any]]
    scripts: Mapping[str, Script] = dataclasses.field(default_factory=dict)


def planted_for(check: AnyMachine) -> Planted:
    """Return `tests/miniature/<subject>/planted.py` for the machine in `conformance/machines/<subject>/`."""
    subject = check.module.split(".")[-2]
    found: Planted = importlib.import_module(f"tests.miniature.{subject}.planted").PLANTED
    return found
