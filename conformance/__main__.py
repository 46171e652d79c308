"""The kit's jobs: `python -m conformance matrix|setup|sweep|faults|storm|bisect|hunt|rejudge`, behind `./kit`.

Each says with --help what it takes.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path

import conformance.cli.bisect
import conformance.cli.hunt
import conformance.cli.matrix
import conformance.cli.rejudge
from conformance.cli.storm import Storm, drawn_plans, succeeded, summary
from conformance.running.session import EXIT_INTERRUPTED, EXIT_TROUBLE, EXIT_WRONG_USE
from fixtures.engine import connect, ensure
from fixtures.errors import KitError, WrongUse
from fixtures.faults.selftest import Targets, as_expected, chosen, kinds, self_test, table
from fixtures.images import newest, obtain, select
from fixtures.ready import have_ready
from fixtures.runs import Run, forget, sweep


def main(arguments: Sequence[str] | None = None) -> int:
    given = sys.argv[1:] if arguments is None else list(arguments)
    parser = argparse.ArgumentParser(prog="./kit", description=__doc__)
    parser.add_argument("command", choices=COMMANDS)
    # Only the first word is this parser's: what follows, --help too, is for the command.
    command = parser.parse_args(given[:1]).command
    try:
        return COMMANDS[command](given[1:])
    except WrongUse as error:
        print(error, file=sys.stderr)
        return EXIT_WRONG_USE
    except KitError as error:
        print(error, file=sys.stderr)
        return EXIT_TROUBLE
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED


def setup(versions: Sequence[str]) -> int:
    """An engine that answers and the images of some versions; nothing else is changed."""
    wanted = select(list(versions))
    have_ready(wanted, _say)
    if wanted:
        _say(f"ready: the Docker engine, and Kafka {', '.join(wanted)}")
    return 0


def clean(kept: Sequence[str]) -> int:
    """Remove what dead runs of this host left on the engine, and kept runs that are named."""
    client = ensure(install=False)
    removed = [name for run in kept for name in forget(client, run)] + sweep(client, _say)
    _say(f"{len(removed)} things removed")
    return 0


def matrix(options: Sequence[str]) -> int:
    """Checks on each column, merge, page (conformance/cli/matrix.py)."""
    return conformance.cli.matrix.matrix(options, prepare=lambda versions: have_ready(versions, _say))


def faults(options: Sequence[str]) -> int:
    """Each fault once on each version, as a table; 0 if every one showed its witness and its consequence, and healed.

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
    tested = {}
    with Run.begin() as run:
        try:
            for version in select(asked.kafka_version or [newest()]):
                image, wanted = obtain(version), chosen(asked.fault, every_role=asked.every_role)
                tested[version] = self_test(image, wanted, run, _say, sabotage=asked.sabotage)
        finally:
            run.end(connect())
    _say(table(tested))
    return 0 if all(as_expected(rows, sabotage=asked.sabotage) for rows in tested.values()) else EXIT_TROUBLE


def storm(options: Sequence[str]) -> int:
    """Random fault cycles in a row on one cluster under light traffic; 0 if every one showed its witness and its consequence."""
    parser = argparse.ArgumentParser(prog="./kit storm", description=storm.__doc__)
    parser.add_argument("--kafka-version", default=newest(), metavar="V")
    parser.add_argument("--cycles", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="the same faults in the same order; default: 0")
    parser.add_argument("--fault", action="append", default=[], metavar="GLOB", help="by name; default: all")
    parser.add_argument(
        "--at-once", type=int, default=1, choices=(1, 2, 3), help="faults that stand together; default: 1"
    )
    parser.add_argument("--minutes", type=float, default=math.inf, metavar="M", help="no plan begins after M minutes")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("out/storm"),
        metavar="DIR",
        help="for logs of clusters that do not become whole",
    )
    asked = parser.parse_args(options)
    setup([asked.kafka_version])
    with Run.begin() as run:
        try:
            [version] = select([asked.kafka_version])
            raged = Storm(Targets(obtain(version), run), _say, asked.out / run.id)
            try:
                plans = drawn_plans(asked.seed, kinds(asked.fault), at_once=asked.at_once)
                raged.rage(plans, asked.cycles, asked.minutes)
            finally:
                _say("\n".join(summary(raged)))
        finally:
            run.end(connect())
    return 0 if succeeded(raged) else EXIT_TROUBLE


def bisect(options: Sequence[str]) -> int:
    """Where over the released versions a row's verdict changes (conformance/cli/bisect.py)."""
    return conformance.cli.bisect.bisect(options, prepare=lambda versions: have_ready(versions, _say))


def hunt(options: Sequence[str]) -> int:
    """The machines alone over versions in turn, for hours (conformance/cli/hunt.py)."""
    return conformance.cli.hunt.hunt(options, prepare=lambda versions: have_ready(versions, _say))


def rejudge(options: Sequence[str]) -> int:
    """Stored histories judged again, without a cluster (conformance/cli/rejudge.py)."""
    return conformance.cli.rejudge.main(list(options))


COMMANDS = {
    "bisect": bisect,
    "hunt": hunt,
    "rejudge": rejudge,
    "matrix": matrix,
    "setup": setup,
    "sweep": clean,
    "faults": faults,
    "storm": storm,
}


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
