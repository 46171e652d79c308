"""`./kit miniature`: the machines on a cluster in memory."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Literal

import click

from conformance.cli.group import HELP, run
from conformance.core.machines import AnyMachine, all_machines
from history.command import COMMAND
from history.exit_codes import exit_code_of
from history.observations import Observation
from tests.miniature.bugs import Bug
from tests.miniature.machine import Hunt, hunt, play, shortened
from tests.miniature.planted import planted_for

COLUMNS = "{:27} {:17} {:22} {:>9} {:>6} {:>7} {:>6}  {}"


@click.command(context_settings=HELP)
@click.argument("names", nargs=-1, metavar="[BUG]...")
@click.option("--examples", default=200, metavar="N", help="that Hypothesis may draw for a bug; default: 200")
@click.option("--honest", default=300, metavar="N", help="examples of each machine without a bug; default: 300")
@click.option("--seed", default=0, metavar="N", help="default: 0")
@click.option(
    "--shrinker",
    type=click.Choice(["kit", "hypothesis"]),
    default="kit",
    help="the kit's for live clusters, or Hypothesis' own, which takes some hundred runs more; default: kit",
)
def miniature(
    names: Sequence[str], examples: int, honest: int, seed: int, shrinker: Literal["kit", "hypothesis"]
) -> int:
    """Run each machine on a cluster in memory: with each planted BUG (default: all), and without any.

    Prints for each bug which judge catches it, after how many steps, in how many seconds. The exit code is 0 if each is
    caught, and all judges stay silent on the honest cluster.
    """
    bugs = _bugs()
    _refuse_unknown(names, list(bugs))
    print(COLUMNS.format("bug", "row", "label", "examples", "steps", "shrunk", "CPU s", "other rows"))
    wanted = [bugs[name] for name in bugs if name in (names or bugs)]
    missed = [bug.name for check, bug in wanted if not _is_caught(check, bug, examples, seed, shrinker)]
    if missed:
        print(f"not caught: {', '.join(missed)}")
    dishonest = [check.id for check in all_machines().values() if _is_dishonest(check, honest, seed)]
    return exit_code_of(violated=bool(dishonest or missed))


def _bugs() -> dict[str, tuple[AnyMachine, Bug]]:
    """The planted bugs of all machines, each with its machine, by name."""
    return {name: (check, bug) for check in all_machines().values() for name, bug in planted_for(check).bugs.items()}


def _refuse_unknown(names: Sequence[str], bugs: Sequence[str]) -> None:
    for unknown in sorted(set(names) - set(bugs)):
        near = " or ".join(get_close_matches(unknown, bugs))
        hint = f"Did you mean {near}?" if near else f"There are {', '.join(bugs)}."
        raise click.UsageError(f"no bug is named {unknown!r}. {hint}")


def _is_caught(check: AnyMachine, bug: Bug, examples: int, seed: int, shrinker: Literal["kit", "hypothesis"]) -> bool:
    """True if a judge catches the bug in a drawn schedule, or else in the known schedule or script."""
    began = time.process_time()
    own = shrinker == "hypothesis"
    found = hunt(check, [bug.name], examples=examples, shrink=own, number=seed, rows=bug.rows)
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


def _is_dishonest(check: AnyMachine, examples: int, seed: int) -> bool:
    """True if a judge finds a violation on a cluster without bugs, or an example ends in an error."""
    found: Hunt = hunt(check, examples=examples, number=seed)
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
    sys.exit(run(miniature, sys.argv[1:], f"{COMMAND} miniature"))
