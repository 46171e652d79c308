"""The kit's jobs: `python -m conformance matrix|setup|sweep|faults|storm`, behind `./kit`.

`matrix` runs the checks, merges the shards with Spark whatever pytest returned, and ends with pytest's code.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from conformance.running.legs import Plan, Runner, code_of, legs_for, log_of, planned, tail
from conformance.running.session import EXIT_INTERRUPTED, EXIT_SATISFIED, EXIT_TROUBLE, EXIT_VIOLATED, EXIT_WRONG_USE
from conformance.running.storm import Storm, drawn_plans, succeeded, summary
from fixtures.engine import connect, ensure
from fixtures.errors import KitError, UnknownVersion
from fixtures.faults.show import Stages, as_expected, chosen, kinds, show, table
from fixtures.images import newest, obtain, select
from fixtures.leases import workers
from fixtures.runs import Run, forget, sweep


def main(arguments: Sequence[str] | None = None) -> int:
    given = sys.argv[1:] if arguments is None else list(arguments)
    parser = argparse.ArgumentParser(prog="./kit", description=__doc__)
    parser.add_argument("command", choices=COMMANDS)
    command, rest = parser.parse_known_args(given)
    try:
        return COMMANDS[command.command](rest)
    except UnknownVersion as error:
        print(error, file=sys.stderr)
        return EXIT_WRONG_USE
    except KitError as error:
        print(error, file=sys.stderr)
        return EXIT_TROUBLE
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED


def setup(versions: Sequence[str]) -> int:
    """An engine that answers and the images of some versions; nothing else is changed."""
    client = ensure(install=True, progress=_say)
    sweep(client, _say)
    for version in select(list(versions)):
        obtain(version, progress=_say)
    return 0


def clean(kept: Sequence[str]) -> int:
    """Remove what dead runs of this host left on the engine, and kept runs that are named."""
    client = ensure(install=False)
    removed = [name for run in kept for name in forget(client, run)] + sweep(client, _say)
    _say(f"{len(removed)} things removed")
    return 0


def matrix(options: Sequence[str]) -> int:
    """Checks on each column, merge, page; the same command goes on with a run that was interrupted.

    Options that are not its own go to pytest.
    """
    asked, rest = _matrix_parser().parse_known_args(options)
    asked.kafka_version = (
        asked.kafka_version or os.environ.get("KAFKA_CONFORMANCE_KAFKA_VERSION", "").replace(",", " ").split()
    )
    own = asked.kafka_image or asked.kafka_home
    versions = select(asked.kafka_version) if asked.kafka_version or not own else ()
    setup(asked.kafka_version if versions else [])
    out: Path = asked.conformance_out
    given = [*rest, "--conformance-out", str(out)]
    plan = planned(out, legs_for(versions, asked.kafka_image, asked.kafka_home), given, add=asked.add, say=_say)
    began = time.monotonic()
    Runner(out, plan, at_once=asked.columns_at_once, workers=max(1, workers() // asked.columns_at_once)).run(_wait)
    _say(f"checks: {time.monotonic() - began:.0f} s")
    return _concluded(out, plan)


def _matrix_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="./kit matrix", description=matrix.__doc__, add_help=False)
    parser.add_argument("--kafka-version", action="append", default=[], metavar="V")
    parser.add_argument("--kafka-image", default=os.environ.get("KAFKA_CONFORMANCE_KAFKA_IMAGE", ""), metavar="IMAGE")
    parser.add_argument("--kafka-home", default=os.environ.get("KAFKA_CONFORMANCE_KAFKA_HOME", ""), metavar="DIR|TGZ")
    parser.add_argument("--conformance-out", type=Path, default=Path("out"), metavar="DIR")
    parser.add_argument("--columns-at-once", type=int, default=2, metavar="N", help="columns side by side; default: 2")
    parser.add_argument("--add", action="store_true", help="keep the columns that are there, run those that are not")
    return parser


def _wait(runner: Runner) -> None:
    runner.wait(1.0)


def _concluded(out: Path, plan: Plan) -> int:
    """Merge what there is, and tell of each leg that ended in wrong use or without a word."""
    for leg in plan.legs:
        if leg.code not in (EXIT_SATISFIED, EXIT_VIOLATED):
            _say(
                f"{leg.name} ended with {leg.code}; the end of {log_of(out, leg)}:\n"
                + "\n".join(tail(log_of(out, leg)))
            )
    merged = _merge(out) if any((out / "shards").glob("*.jsonl")) else EXIT_TROUBLE
    return code_of([leg.code for leg in plan.legs]) or merged


def faults(options: Sequence[str]) -> int:
    """Each fault once on each version, as a table; 0 if every one showed its witness and healed.

    With --sabotage the acts are left out, and it is 0 if no witness showed.
    """
    parser = argparse.ArgumentParser(prog="./kit faults", description=faults.__doc__)
    parser.add_argument("--kafka-version", action="append", default=[], metavar="V")
    parser.add_argument("--fault", action="append", default=[], metavar="GLOB", help="by name; default: all")
    parser.add_argument(
        "--every-role", action="store_true", help="aim each at all of its roles; default: the usual one"
    )
    parser.add_argument("--sabotage", action="store_true", help="leave the acts out: every witness has to stay away")
    asked = parser.parse_args(options)
    setup(asked.kafka_version)
    shown = {}
    with Run.begin() as run:
        try:
            for version in select(asked.kafka_version or [newest()]):
                image, wanted = obtain(version), chosen(asked.fault, every_role=asked.every_role)
                shown[version] = show(image, wanted, run, _say, sabotage=asked.sabotage)
        finally:
            run.end(connect())
    _say(table(shown))
    return 0 if all(as_expected(rows, sabotage=asked.sabotage) for rows in shown.values()) else EXIT_TROUBLE


def storm(options: Sequence[str]) -> int:
    """Random fault cycles in a row on one cluster under light traffic; 0 if every one showed its witness and healed."""
    parser = argparse.ArgumentParser(prog="./kit storm", description=storm.__doc__)
    parser.add_argument("--kafka-version", default=newest(), metavar="V")
    parser.add_argument("--cycles", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="the same faults in the same order; default: 0")
    parser.add_argument("--fault", action="append", default=[], metavar="GLOB", help="by name; default: all")
    parser.add_argument("--overlapping", action="store_true", help="two at a time instead of each by itself")
    asked = parser.parse_args(options)
    setup([asked.kafka_version])
    with Run.begin() as run:
        try:
            [version] = select([asked.kafka_version])
            raged = Storm(Stages(obtain(version), run), _say)
            try:
                raged.rage(drawn_plans(asked.seed, kinds(asked.fault), overlapping=asked.overlapping), asked.cycles)
            finally:
                _say("\n".join(summary(raged)))
        finally:
            run.end(connect())
    return 0 if succeeded(raged) else EXIT_TROUBLE


def _merge(out: Path) -> int:
    began = time.monotonic()
    command = [sys.executable, "-m", "reports", "--in", str(out / "shards"), "--out", str(out / "matrix")]
    code = subprocess.run(command, check=False).returncode
    _say(f"merge: {time.monotonic() - began:.0f} s")
    return code


COMMANDS = {"matrix": matrix, "setup": setup, "sweep": clean, "faults": faults, "storm": storm}


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
