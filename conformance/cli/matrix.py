"""`./kit matrix`: checks on each column, by a pytest of its own; then merge, page and one exit code for all."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from conformance.campaign.legs import PYTEST, Interrupted, Runner, given_by_environment, log_of, tail
from conformance.campaign.outcome import code_of
from conformance.campaign.plan import (
    BISECT,
    PLAN,
    RERUN,
    Leg,
    Plan,
    legs_for,
    new_plan,
    planned,
    put_aside_unended,
    read_plan,
    refuse_running,
)
from conformance.campaign.rerun import legs_again, seen_again, violated_in
from conformance.campaign.watching import watching
from conformance.core.registry import every_check
from conformance.running.baseline import Baseline, read_baseline
from conformance.running.recording.spent import spent_lines
from conformance.running.recording.unfinished import unfinished_lines
from conformance.running.session import EXIT_INTERRUPTED, EXIT_SATISFIED, EXIT_TROUBLE, EXIT_VIOLATED
from fixtures.errors import WrongUse
from fixtures.images import select
from fixtures.leases import workers
from fixtures.runs import kept_of
from history.shards import read_shards

Prepare = Callable[[Sequence[str]], object]
"""Has an engine and the images of some versions ready when it returns."""
Merge = Callable[[Path, Sequence[str]], int]
"""Merges the shards of a folder, with options of `python -m reports`; returns an exit code."""


def matrix(
    options: Sequence[str], prepare: Prepare, command: Sequence[str] = PYTEST, merge: Merge | None = None
) -> int:
    """Check each version, image or Kafka named, and merge what was seen into DIR/matrix.

    An interrupted run goes on when the same command is given again. Options that are not listed here go to pytest: see
    `./kit pytest --help`, group "Kafka conformance".
    """
    asked, rest = _parser().parse_known_args(options)
    merge = merge or merge_with_spark
    return (_rerun if asked.rerun_violated else _run)(asked, rest, prepare, command, merge)


def _run(asked: argparse.Namespace, rest: Sequence[str], prepare: Prepare, command: Sequence[str], merge: Merge) -> int:
    legs = _legs(asked)
    _refuse_wrong(asked, rest, legs, command)
    prepare(versions_of(legs))
    plan = _planned(asked, legs, rest)
    try:
        run_legs(asked.conformance_out, plan, at_once=asked.columns_at_once, command=command)
    except KeyboardInterrupt as interrupted:
        _say(f"interrupted; {len(plan.left)} of {len(plan.legs)} columns are left. The same command goes on with them.")
        return code_of_interruption(interrupted)
    return _concluded(asked.conformance_out, plan, _archived(asked), merge)


def _rerun(
    asked: argparse.Namespace, rest: Sequence[str], prepare: Prepare, command: Sequence[str], merge: Merge
) -> int:
    """Violated rows only, with another seed, into the same folder: what is there stays, and more is known."""
    out: Path = asked.conformance_out
    globs, rest = _requirements(rest)
    violated = violated_in(out, globs, select(_versions(asked)) if _versions(asked) else ())
    if not violated:
        _say(f"no row that is meant is violated in {out / 'matrix' / 'matrix.json'}: nothing is run")
        return EXIT_SATISFIED
    _refuse_others(out)
    plan = new_plan(legs_again(violated, list(read_shards(out / "shards")), read_plan(out)), rest)
    known = read_baseline(_checked(Path(asked.baseline))) if asked.baseline else Baseline()
    prepare(versions_of(plan.legs))
    try:
        run_legs(out, plan, at_once=asked.columns_at_once, command=command, file=RERUN)
    except KeyboardInterrupt as interrupted:
        _say("interrupted; what columns showed that came to their end stays")
        return code_of_interruption(interrupted)
    finally:
        put_aside_unended(out, plan, _say)
    _tell_bad_ends(out, plan)
    merged = merge(out, [*_archived(asked), *(["--baseline", asked.baseline] if asked.baseline else [])])
    _say("\n".join(map(str, seen_again(violated, plan.legs, list(read_shards(out / "shards"))))))
    return code_of(out, plan.legs, known) or merged


def _requirements(rest: Sequence[str]) -> tuple[list[str], list[str]]:
    """Which of the violated rows are meant, and the other options."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--requirement", action="append", default=[])
    asked, others = parser.parse_known_args(rest)
    return asked.requirement, others


def _refuse_others(out: Path) -> None:
    """Also puts aside what a command that was killed left half done. Raises WrongUse while another one is at it."""
    for file in (PLAN, RERUN, BISECT):
        if (plan := read_plan(out, file)) is not None:
            refuse_running(out, plan.legs)
            if file != PLAN:
                put_aside_unended(out, plan, _say)


def run_legs(out: Path, plan: Plan, *, at_once: int, command: Sequence[str], file: str = PLAN) -> None:
    """Shown while it runs. Raises Interrupted."""
    at_once = max(1, at_once)
    runner = Runner(out, plan, at_once=at_once, workers=max(1, workers() // at_once), file=file, command=command)
    began = time.monotonic()
    with watching(_say) as watch:
        runner.run(watch)
    _say(f"checks: {time.monotonic() - began:.0f} s")


def code_of_interruption(interrupted: KeyboardInterrupt) -> int:
    return interrupted.code if isinstance(interrupted, Interrupted) else EXIT_INTERRUPTED


def versions_of(legs: Sequence[Leg]) -> list[str]:
    """The released versions that legs are about."""
    return [leg.column[1] for leg in legs if leg.column[0] == "--kafka-version"]


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
    parser.add_argument(
        "--rerun-violated",
        action="store_true",
        help="run only rows that are violated in DIR/matrix, on the columns where they are, with another seed",
    )
    parser.add_argument("--archive", default="", metavar="DIR", help="add the run to this archive, and show trends")
    return parser


def _given(option: str) -> str:
    return os.environ.get(f"KAFKA_CONFORMANCE_{option}", "")


def _versions(asked: argparse.Namespace) -> list[str]:
    return asked.kafka_version or _given("KAFKA_VERSION").replace(",", " ").split()


def _legs(asked: argparse.Namespace) -> list[Leg]:
    wanted = _versions(asked)
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


def _concluded(out: Path, plan: Plan, archived: Sequence[str], merge: Merge) -> int:
    """Merge what there is, whatever legs ended with."""
    _tell_bad_ends(out, plan)
    options = [*archived, *(["--baseline", str(out / "baseline.json")] if plan.baseline else [])]
    merged = merge(out, options) if any((out / "shards").glob("*.jsonl")) else EXIT_TROUBLE
    shards = [shard for leg in plan.legs if leg.run for shard in read_shards(out / "shards", leg.run)]
    _say_each([*spent_lines(shards), *unfinished_lines(shards, every_check(), out)])
    return code_of(out, plan.legs, _known(out, plan)) or merged


def _say_each(lines: Sequence[str]) -> None:
    for line in lines:
        _say(line)


def _tell_bad_ends(out: Path, plan: Plan) -> None:
    """Of legs that ended in trouble, in wrong use or without a word; and what was kept on the engine."""
    for leg in plan.legs:
        if leg.code not in (EXIT_SATISFIED, EXIT_VIOLATED):
            _say(
                "\n".join(
                    [f"{leg.name} ended with {leg.code}; the end of {log_of(out, leg)}:", *tail(log_of(out, leg))]
                )
            )
        for kept in kept_of(leg.run):
            _say(kept)


def _known(out: Path, plan: Plan) -> Baseline:
    return read_baseline(out / "baseline.json") if plan.baseline else Baseline()


def _archived(asked: argparse.Namespace) -> list[str]:
    return ["--archive", asked.archive] if asked.archive else []


def merge_with_spark(out: Path, options: Sequence[str]) -> int:
    began = time.monotonic()
    command = [sys.executable, "-m", "reports", "--in", str(out / "shards"), "--out", str(out / "matrix")]
    code = subprocess.run([*command, *options], check=False).returncode
    _say(f"merge: {time.monotonic() - began:.0f} s")
    return code


def _say(text: str) -> None:
    print(text, flush=True)
