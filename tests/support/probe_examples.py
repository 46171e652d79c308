"""Examples of a probe that runs on a fake: each of its cases, with inputs that are drawn as for a real run."""

from __future__ import annotations

from typing import Any

from conformance.catalogue import shipped_rows
from conformance.core.checks import Check
from conformance.running.probe.run import draw_inputs


def examples(check: Check) -> list[tuple[str, dict[str, Any]]]:
    """Return two draws for each of its cases; an empty case if the probe runs for all of them at once."""
    cases = check.cases or tuple(case.id for case in shipped_rows()[check.own_rows[0]].cases)
    named = cases if "case" in check.parameter_names or len(cases) == 1 else ("",)
    drawn = list(draw_inputs(check.strategies, 1, 2)) if check.strategies else [{}]
    return [(case, inputs) for case in named for inputs in drawn]
