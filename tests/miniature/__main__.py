"""`./kit miniature`: for each machine which judge catches which bug, after how many steps, in how many seconds; and
whether all judges stay silent on the honest miniature."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Sequence
from difflib import get_close_matches

from conformance.core.machines import AnyMachine, all_machines
from history.command import COMMAND
from history.exit_codes import exit_code_of
from history.observations import Observation
from tests.miniature.bugs import Bug
from tests.miniature.machine import Hunt, hunt, play, shortened
from tests.miniature.planted import planted_for

COLUMNS = "{:27} {:17} {:22} {:>9} {:>6} {:>7} {:>6}  {}"


def main() -> int:
    options = _options()
    print(COLUMNS.format("bug", "row", "label", "examples", "steps", "shrunk", "CPU s", "other rows"))
    missed = [
        bug.name for check, bug in _bugs().values() if bug.name in options.bugs and not _hunted(check, bug, options)
    ]
    if missed:
        print(f"not caught: {', '.join(missed)}")
    dishonest = [check.id for check in all_machines().values() if _honest(check, options)]
    return exit_code_of(violated=bool(dishonest or missed))


def _bugs() -> dict[str, tuple[AnyMachine, Bug]]:
    """The planted bugs of all machines, each with its machine, by name."""
    return {name: (check, bug) for check in all_machines().values() for name, bug in planted_for(check).bugs.items()}


def _options() -> argparse.Namespace:
    bugs = list(_bugs())
    parser = argparse.ArgumentParser(prog=f"{COMMAND} miniature", description=__doc__)
    parser.add_argument("bugs", nargs="*", default=bugs, help="bugs to look for (default: all)")
    parser.add_argument("--examples", type=int, default=200, help="examples that Hypothesis may draw for a bug")
    parser.add_argument("--honest", type=int, default=300, help="examples of each machine without a bug")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--shrinker",
        choices=["kit", "hypothesis"],
        default="kit",
        help="the kit's for live clusters, or Hypothesis' own, which takes some hundred runs more",
    )
    options = parser.parse_args()
    for unknown in sorted(set(options.bugs) - set(bugs)):
        near = " or ".join(get_close_matches(unknown, bugs))
        parser.error(
            f"no bug is named {unknown!r}. " + (f"Did you mean {near}?" if near else f"There are {', '.join(bugs)}.")
        )
    return options


def _hunted(check: AnyMachine, bug: Bug, options: argparse.Namespace) -> bool:
    """Looked for among drawn schedules; where none met it, the known schedule or script is tried."""
    began = time.process_time()
    own = options.shrinker == "hypothesis"
    found = hunt(check, [bug.name], examples=options.examples, shrink=own, number=options.seed, rows=bug.rows)
    if found.shortest is not None and found.first is not None:
        shortest = found.shortest if own else shortened(check, found.first, found.row, [bug.name])
        seconds = time.process_time() - began
        _row(bug, shortest.violations, found.drawn, len(found.first.steps), len(shortest.steps), seconds)
        return True
    seconds = time.process_time() - began
    planted = planted_for(check)
    known = planted.schedules.get(bug.name, [])
    violations = play(check, known, [bug.name]).violations if known else planted.scripts[bug.name](bug.name)
    _row(bug, violations, found.drawn, "-", f"({len(known)})" if known else "script", seconds)
    return bool(violations)


def _row(
    bug: Bug, violations: Sequence[Observation], drawn: int, first: object, shortest: object, seconds: float
) -> None:
    rows = Counter((one.requirement, one.label) for one in violations)
    best = sorted(rows, key=lambda pair: (pair[0] != bug.row, pair[0] not in bug.also, -rows[pair], pair))
    row, label = best[0] if best else ("NOT CAUGHT", "")
    others = ", ".join(sorted({other for other, _ in best} - {row}))
    print(COLUMNS.format(bug.name, row, label, drawn, first, shortest, f"{seconds:.1f}", others), flush=True)


def _honest(check: AnyMachine, options: argparse.Namespace) -> bool:
    """True if a judge finds fault with a cluster without bugs, or an example met trouble."""
    found: Hunt = hunt(check, examples=options.honest, number=options.seed)
    for trouble, times in Counter(found.troubles).items():
        print(f"trouble in {times} honest examples: {trouble}")
    print(
        f"{check.id}, honest: {found.examples} examples, {sum(found.observations.values())} observations, {found.seconds:.0f} s"
    )
    for one in found.shortest.violations if found.shortest is not None else ():
        print(f"FALSE RED {one.requirement} {one.case} {one.label}: {one.detail}")
    for step in found.shortest.steps if found.shortest is not None else ():
        print(f"    {step}")
    return found.shortest is not None or bool(found.troubles)


if __name__ == "__main__":
    raise SystemExit(main())
