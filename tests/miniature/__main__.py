"""`python -m tests.miniature`: which judge catches which bug, after how many steps, in how many seconds; and whether all stay
silent on the honest miniature."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Sequence

from conformance.machines.log.machine import LOG_MACHINE
from history.observations import Observation
from tests.miniature.bugs import Bug
from tests.miniature.log.bugs import BUGS
from tests.miniature.log.schedules import SCHEDULES
from tests.miniature.log.scripted import SCRIPTS
from tests.miniature.machine import Hunt, hunt, play, shortened

COLUMNS = "{:27} {:17} {:22} {:>9} {:>6} {:>7} {:>6}  {}"


def main() -> int:
    options = _options()
    print(COLUMNS.format("bug", "row", "label", "examples", "steps", "shrunk", "CPU s", "other rows"))
    missed = [name for name in options.bugs if not _hunted(BUGS[name], options)]
    if missed:
        print(f"not caught: {', '.join(missed)}")
    return 1 if _honest(options) or missed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.miniature", description=__doc__)
    parser.add_argument("bugs", nargs="*", default=list(BUGS), help="bugs to look for (default: all)")
    parser.add_argument("--examples", type=int, default=200, help="examples that Hypothesis may draw for a bug")
    parser.add_argument("--honest", type=int, default=300, help="examples without a bug")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--shrinker",
        choices=["kit", "hypothesis"],
        default="kit",
        help="whose: the kit's for live clusters, or Hypothesis' own, which takes some hundred runs more",
    )
    return parser.parse_args()


def _hunted(bug: Bug, options: argparse.Namespace) -> bool:
    """Looked for among drawn schedules; where none met it, the known schedule or script is tried."""
    began = time.process_time()
    own = options.shrinker == "hypothesis"
    found = hunt(LOG_MACHINE, [bug.name], examples=options.examples, shrink=own, number=options.seed, rows=bug.rows)
    if found.shortest is not None and found.first is not None:
        shortest = found.shortest if own else shortened(LOG_MACHINE, found.first, found.row, [bug.name])
        seconds = time.process_time() - began
        _row(bug, shortest.violations, found.drawn, len(found.first.steps), len(shortest.steps), seconds)
        return True
    seconds = time.process_time() - began
    known = SCHEDULES.get(bug.name, [])
    violations = play(LOG_MACHINE, known, [bug.name]).violations if known else SCRIPTS[bug.name](bug.name)
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


def _honest(options: argparse.Namespace) -> bool:
    """Whether a judge says anything against an honest cluster."""
    found: Hunt = hunt(LOG_MACHINE, examples=options.honest, number=options.seed)
    for trouble, times in Counter(found.troubles).items():
        print(f"trouble in {times} honest examples: {trouble}")
    print(f"honest: {found.examples} examples, {sum(found.observations.values())} observations, {found.seconds:.0f} s")
    for one in found.shortest.violations if found.shortest is not None else ():
        print(f"FALSE RED {one.requirement} {one.case} {one.label}: {one.detail}")
    for step in found.shortest.steps if found.shortest is not None else ():
        print(f"    {step}")
    return found.shortest is not None or bool(found.troubles)


if __name__ == "__main__":
    raise SystemExit(main())
