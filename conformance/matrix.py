"""`./kit matrix`: checks on each column, by a pytest of its own; then merge, page and one exit code for all."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from conformance.running.baseline import Baseline, read_baseline
from conformance.running.legs import PYTEST, Interrupted, Runner, given_by_environment, log_of, tail
from conformance.running.outcome import code_of
from conformance.running.plan import Leg, Plan, legs_for, new_plan, planned, read_plan
from conformance.running.session import EXIT_INTERRUPTED, EXIT_SATISFIED, EXIT_TROUBLE, EXIT_VIOLATED
from conformance.running.watching import watching
from fixtures.errors import WrongUse
from fixtures.images import select
from fixtures.leases import workers
from fixtures.runs import kept_of

Prepare = Callable[[Sequence[str]], object]
"""Has an engine and the images of some versions ready when it returns."""
Merge = Callable[[Path, str], int]
"""Merges the shards of a folder, with an archive of runs or none; returns an exit code."""


def matrix(
    options: Sequence[str], prepare: Prepare, command: Sequence[str] = PYTEST, merge: Merge | None = None
) -> int:
    """Check each version, image or Kafka named, and merge what was seen into DIR/matrix.

    An interrupted run goes on when the same command is given again. Options that are not listed here go to pytest: see
    `./kit pytest --help`, group "Kafka conformance".
    """
    asked, rest = _parser().parse_known_args(options)
    out: Path = asked.conformance_out
    legs = _legs(asked)
    _refuse_wrong(asked, rest, legs, command)
    prepare([leg.name for leg in legs if leg.column[0] == "--kafka-version"])
    plan = _planned(asked, legs, rest)
    at_once = max(1, asked.columns_at_once)
    runner = Runner(out, plan, at_once=at_once, workers=max(1, workers() // at_once), command=command)
    began = time.monotonic()
    try:
        with watching(_say) as watch:
            runner.run(watch)
    except KeyboardInterrupt as interrupted:
        _say(f"interrupted; {len(plan.left)} of {len(plan.legs)} columns are left. The same command goes on with them.")
        return interrupted.code if isinstance(interrupted, Interrupted) else EXIT_INTERRUPTED
    _say(f"checks: {time.monotonic() - began:.0f} s")
    return _concluded(out, plan, asked.archive, merge or merge_with_spark)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="./kit matrix", description=matrix.__doc__, allow_abbrev=False)
    parser.add_argument(
        "--kafka-version",
        action="append",
        default=[],
        metavar="V",
        help="a version, a range such as 3.9..4.3, `all` (the newest patch of each minor) or `released` (every patch)",
    )
    parser.add_argument("--kafka-image", default=_given("KAFKA_IMAGE"), metavar="IMAGE", help="an image of your own")
    parser.add_argument("--kafka-home", default=_given("KAFKA_HOME"), metavar="DIR|TGZ", help="a Kafka of your own")
    parser.add_argument(
        "--conformance-out",
        type=Path,
        default=Path(_given("CONFORMANCE_OUT") or "out"),
        metavar="DIR",
        help="where everything goes; default: out",
    )
    parser.add_argument(
        "--baseline",
        default=_given("BASELINE"),
        metavar="MATRIX",
        help="a matrix.json whose violations are known: exit code 1 only for new ones",
    )
    parser.add_argument("--columns-at-once", type=int, default=2, metavar="N", help="columns side by side; default: 2")
    parser.add_argument("--add", action="store_true", help="keep the columns that are there, run those that are not")
    parser.add_argument("--archive", default="", metavar="DIR", help="add the run to this archive, and show trends")
    return parser


def _given(option: str) -> str:
    return os.environ.get(f"KAFKA_CONFORMANCE_{option}", "")


def _legs(asked: argparse.Namespace) -> list[Leg]:
    wanted = asked.kafka_version or _given("KAFKA_VERSION").replace(",", " ").split()
    own = asked.kafka_image or asked.kafka_home
    return legs_for(select(wanted) if wanted or not own else (), asked.kafka_image, asked.kafka_home)


def _refuse_wrong(asked: argparse.Namespace, rest: Sequence[str], legs: Sequence[Leg], command: Sequence[str]) -> None:
    """Before anything is put aside or built. Raises WrongUse."""
    if asked.kafka_home and not Path(asked.kafka_home).exists():
        raise WrongUse(
            f"--kafka-home {asked.kafka_home!r}: there is no {Path(asked.kafka_home).absolute()}. Give an unpacked "
            "distribution, its .tgz or a source tree; a relative path begins in the kit's own folder."
        )
    listing = [*command, "--collect-only", "-q", *rest, *legs[0].column]
    listed = subprocess.run(listing, capture_output=True, text=True, check=False)
    if listed.returncode:
        raise WrongUse(
            "\n".join([f"pytest refuses {' '.join(rest)!r}:", *(listed.stdout + listed.stderr).splitlines()[-12:]])
        )


def _planned(asked: argparse.Namespace, legs: Sequence[Leg], rest: Sequence[str]) -> Plan:
    """Also keeps a copy of the baseline, which may lie in what is put aside."""
    out: Path = asked.conformance_out
    copy = out / "baseline.json"
    known = read_plan(out)
    is_copied = known is not None and known.left and known.baseline == asked.baseline and copy.exists()
    baseline = (copy if is_copied else _checked(Path(asked.baseline))).read_bytes() if asked.baseline else b""
    wanted = new_plan(legs, rest, given_by_environment(), asked.baseline)
    plan = planned(out, wanted, add=asked.add, say=_say)
    if asked.baseline:
        copy.write_bytes(baseline)
    return plan


def _checked(baseline: Path) -> Path:
    try:
        read_baseline(baseline)
    except ValueError as error:
        raise WrongUse(str(error)) from error
    return baseline


def _concluded(out: Path, plan: Plan, archive: str, merge: Merge) -> int:
    """Merge what there is, and tell of each leg that ended in trouble, in wrong use or without a word."""
    for leg in plan.legs:
        if leg.code not in (EXIT_SATISFIED, EXIT_VIOLATED):
            _say(
                "\n".join(
                    [f"{leg.name} ended with {leg.code}; the end of {log_of(out, leg)}:", *tail(log_of(out, leg))]
                )
            )
        for kept in kept_of(leg.run):
            _say(kept)
    merged = merge(out, archive) if any((out / "shards").glob("*.jsonl")) else EXIT_TROUBLE
    return code_of(out, plan.legs, _known(out, plan)) or merged


def _known(out: Path, plan: Plan) -> Baseline:
    return read_baseline(out / "baseline.json") if plan.baseline else Baseline()


def merge_with_spark(out: Path, archive: str) -> int:
    began = time.monotonic()
    command = [sys.executable, "-m", "reports", "--in", str(out / "shards"), "--out", str(out / "matrix")]
    code = subprocess.run([*command, *(["--archive", archive] if archive else [])], check=False).returncode
    _say(f"merge: {time.monotonic() - began:.0f} s")
    return code


def _say(text: str) -> None:
    print(text, flush=True)
