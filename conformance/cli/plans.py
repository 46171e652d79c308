"""`./kit matrix --plan`: what would run on each column, in which order, and how long it would take. Nothing runs."""

import subprocess
from collections.abc import Sequence

import msgspec

from conformance.campaign.plan import ColumnRun
from conformance.cli.engine import print_progress
from conformance.running.planning.forecast import HEAD, minutes, read_forecast
from fixtures.errors import WrongUse
from fixtures.leases import workers
from history.command import COMMAND
from history.exit_codes import EXIT_SATISFIED
from reports.commands.options import Form, print_json

LIST_ONLY_OPTIONS = frozenset(
    {
        "--collect-only",
        "--co",
        "--markers",
        "--fixtures",
        "--funcargs",
        "--fixtures-per-test",
        "--cache-show",
        "--version",
    }
)
"""pytest options that only list something."""


def workers_a_column(columns: int, at_once: int) -> int:
    """Return the number of workers per column: what the machine can run, divided among columns that run in parallel."""
    return max(1, workers() // max(1, min(at_once, columns)))


def print_plans(
    columns: Sequence[ColumnRun], shared: Sequence[str], at_once: int, command: Sequence[str], form: Form
) -> int:
    """Print the plan of each column, as pytest forecasts it, and how long all of them take. `shared` are their options."""
    each = [*command, "-vvv", "-n", str(workers_a_column(len(columns), at_once))]
    lines = {one.name: _forecast_lines(list_items([*shared, *one.options], one.selection, each)) for one in columns}
    found = {name: read_forecast(own) for name, own in lines.items()}
    clocks = [0] * at_once
    for one in found.values():
        clocks[clocks.index(min(clocks))] += one.seconds
    if form == "json":
        print_json({"columns": msgspec.to_builtins(found), "seconds": max(clocks)})
        return EXIT_SATISFIED
    for name, own in lines.items():
        print_progress("\n".join([f"column {name}", *own]))
    print_progress(f"in all about {minutes(max(clocks))}, {at_once} columns at once, and the merge")
    return EXIT_SATISFIED


def _forecast_lines(listed: str) -> list[str]:
    """Return the lines of the forecast from what pytest listed."""
    lines = listed.splitlines()
    return [line for line in lines[lines.index(HEAD) :] if line and " collected" not in line]


def list_items(options: Sequence[str], selection: Sequence[str], command: Sequence[str]) -> str:
    """Return what pytest lists for the selected column with these options. Raises WrongUse for options that it refuses."""
    if telling := [word for word in options if word.partition("=")[0] in LIST_ONLY_OPTIONS]:
        raise WrongUse(f"{telling[0]} lists and runs nothing: give it to {COMMAND} pytest.")
    listed = subprocess.run(
        [*command, "--collect-only", *options, *selection], capture_output=True, text=True, check=False
    )
    if listed.returncode:
        output = (listed.stdout + listed.stderr).splitlines()[-12:]
        raise WrongUse("\n".join([f"pytest refuses {' '.join(options)!r}:", *output]))
    return listed.stdout
