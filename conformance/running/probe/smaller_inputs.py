"""Shrinking the drawn inputs of a violated probe: numbers towards the minimum, sampled values towards the first."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import msgspec
from hypothesis import HealthCheck, find, settings
from hypothesis import strategies as st

from conformance.core.evaluate import canonical_text
from conformance.running.evidence.folder import ReplayResult, add_replays

Inputs = dict[str, Any]
REPLAYS = 5


class BrokenInputs(msgspec.Struct, frozen=True, kw_only=True):
    """The first example that showed a breach: its case, inputs, evidence, how many seconds it took, and whether the breach is a
    known deviation."""

    case: str
    inputs: Inputs
    evidence: str
    seconds: float = 0.0
    is_known: bool = False


class AttemptResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an attempt: whether the example showed the breach, and its evidence if that was wanted."""

    shown: bool
    evidence: str = ""


class TryInputs(Protocol):
    """A function that runs an example with these inputs, with evidence of the breach if `wanted`."""

    def __call__(self, inputs: Inputs, *, wanted: bool) -> AttemptResult: ...


class SmallestInputs(msgspec.Struct, frozen=True, kw_only=True):
    """The smallest inputs that showed a breach, with their evidence; `seen` of `tries` replays showed it."""

    inputs: Inputs
    evidence: str
    seen: int
    tries: int


def shrink_inputs(
    broken: BrokenInputs, strategies: Mapping[str, st.SearchStrategy[Any]], attempt: TryInputs, out: Path, ends: float
) -> SmallestInputs:
    """Shrink the inputs and replay the smallest until `ends` (`time.monotonic`).

    The results are added to the evidence below `out`.
    """
    tried = find_smallest(
        broken.inputs,
        simplest_inputs(strategies),
        lambda inputs: attempt(inputs, wanted=False).shown,
        lambda: time.monotonic() < ends,
    )
    found = _replay_inputs(tried, broken, attempt, ends)
    add_replays(
        out / found.evidence,
        ReplayResult(seen=found.seen, tries=found.tries, note=f"Smallest inputs: `{_inputs_text(found.inputs)}`."),
    )
    if found.evidence != broken.evidence:
        add_replays(out / broken.evidence, ReplayResult(note=f"Smaller inputs are in `{found.evidence}`."))
    return found


def _replay_inputs(inputs: Inputs, broken: BrokenInputs, attempt: TryInputs, ends: float) -> SmallestInputs:
    """Replay the inputs, and return the evidence of the first replay that shows the breach, else that of the first example."""
    seen = tries = 0
    evidence = ""
    while tries < REPLAYS and (not tries or time.monotonic() < ends):
        tries += 1
        tried = attempt(inputs, wanted=not evidence)
        seen += tried.shown
        evidence = evidence or tried.evidence
    return SmallestInputs(inputs=inputs, evidence=evidence or broken.evidence, seen=seen, tries=tries)


def _inputs_text(inputs: Inputs) -> str:
    return canonical_text(msgspec.to_builtins(inputs))


def simplest_inputs(strategies: Mapping[str, st.SearchStrategy[Any]]) -> Inputs:
    """Return each strategy's simplest value, to which Hypothesis would shrink it."""
    quiet = settings(database=None, deadline=None, suppress_health_check=list(HealthCheck))
    return {name: find(strategy, lambda _: True, settings=quiet) for name, strategy in strategies.items()}


def find_smallest(inputs: Inputs, least: Inputs, shows: Callable[[Inputs], bool], left: Callable[[], bool]) -> Inputs:
    """Return the smallest inputs that still show the breach, searching while time is `left`: first with all at their minimum,
    then one by one."""
    if inputs == least or not left():
        return inputs
    if shows(least):
        return least
    found = inputs
    for name in inputs:
        found = _shrink_input(found, name, least[name], shows, left)
    return found


def _shrink_input(
    inputs: Inputs, name: str, least: Any, shows: Callable[[Inputs], bool], left: Callable[[], bool]
) -> Inputs:
    """Make one input smaller: its minimum if that shows the breach, else, for a number, the smallest value that bisection
    finds."""
    value = inputs[name]
    if value == least or not left():
        return inputs
    if shows(inputs | {name: least}):
        return inputs | {name: least}
    if type(value) is not int or type(least) is not int:
        return inputs
    hidden, shown = least, value
    while abs(shown - hidden) > 1 and left():
        middle = hidden + (shown - hidden) // 2
        if shows(inputs | {name: middle}):
            shown = middle
        else:
            hidden = middle
    return inputs | {name: shown}
