"""The plantings for a machine: bugs, schedules and scripts that meet them, and schedules of what is legal."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from conformance.core.machines import AnyMachine
from history.observations import Observation
from tests.miniature.bugs import Bug

Script = Callable[..., list[Observation]]
"""Takes the names of the bugs that are switched on, and returns the violations."""


@dataclasses.dataclass(frozen=True)
class Planted:
    """`schedules` and `scripts` are by bug, and so are steps of the machine, or what its steps do not reach."""

    bugs: Mapping[str, Bug]
    schedules: Mapping[str, Sequence[Any]]
    legal: Mapping[str, Sequence[Any]]
    scripts: Mapping[str, Script] = dataclasses.field(default_factory=dict)


def planted_for(check: AnyMachine) -> Planted:
    """`tests/miniature/<subject>/planted.py` of the machine in `conformance/machines/<subject>/`."""
    subject = check.module.split(".")[-2]
    found: Planted = importlib.import_module(f"tests.miniature.{subject}.planted").PLANTED
    return found
