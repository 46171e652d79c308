"""Scenarios of a log: fixed schedules that aim at a log's invariants and end with `quiescence.at_rest`."""

from collections.abc import Callable, Sequence
from typing import Any

from conformance.core.checks import Body, Check, Rig, scenario
from conformance.judging.timeline import AT_REST


def log_scenario(
    schedule: str,
    *rows: str,
    rig: Rig[Any, Any],
    cases: Sequence[str] | None = None,
    examples: int = 2,
    lasts: float = 0.0,
    **strategies: Any,
) -> Callable[[Body], Check]:
    """Declare a scenario that aims at partitions, like `conformance.core.checks.scenario`: ``log_scenario("KIP320-SC-03",
    "KIP320-CONS-01", …)``.
    """
    return scenario(
        schedule,
        *rows,
        rig=rig,
        aims=("partition",),
        rest=AT_REST,
        cases=cases,
        examples=examples,
        lasts=lasts,
        **strategies,
    )
