"""`./kit matrix`: run the checks of each column in its own pytest, merge the shards, write the page; one exit code for all."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from conformance.campaign.column_runs import PYTEST, Interrupted, Runner, given_by_environment, log_of, tail
from conformance.campaign.outcome import code_of
from conformance.campaign.plan import (
    BISECT,
    PLAN,
    RERUN,
    ColumnRun,
    Plan,
    column_runs_for,
    new_plan,
    planned,
    put_aside_unended,
    read_plan,
    refuse_running,
)
from conformance.campaign.rerun import column_runs_again, seen_again, violated_in
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
"""Makes an engine and the images of some versions ready."""
Merge = Callable[[Path, Sequence[str]], int]
"""Merges the shards of a folder, with options of `python -m reports`; returns an exit code."""


def matrix(
    options: Sequence[str], prepare: Prepare, command: Sequence[str] = PYTEST, merge: Merge | None = None
) -> int:
    """Check each given version, image or distribution, and merge the observations into DIR/matrix.

    After an interruption the same command continues with the columns that are left. Options that are not listed here go to
    pytest: see `./kit pytest --help`, group "Kafka conformance".
    """
    asked, rest = _parser().parse_known_args(options)
    merge = merge or merge_with_spark
    return (_rerun if asked.rerun_violated else _run)(asked, rest, prepare, command, merge)


def _run(asked: argparse.Namespace, rest: Sequence[str], prepare: Prepare, command: Sequence[str], merge: Merge) -> int:
    columns = column_runs(asked)
    refuse_wrong(asked, rest, columns, command)
    prepare(versions_of(columns))
    plan = _planned(asked, columns, rest)
    try:
        run_columns(asked.conformance_out, plan, at_once=asked.columns_at_once, command=command)
    except KeyboardInterrupt as interrupted:
        _say(
            f"interrupted; {len(plan.left)} of {len(plan.columns)} columns are left. The same command continues with them."
        )
        return code_of_interruption(interrupted)
    return _concluded(asked.conformance_out, plan, _archived(asked), merge)


def _rerun(
    asked: argparse.Namespace, rest: Sequence[str], prepare: Prepare, command: Sequence[str], merge: Merge
) -> int:
    """Run violated rows only, with another seed, into the same folder; earlier observations are kept."""
    out: Path = asked.conformance_out
    globs, rest = _requirements(rest)
    violated = violated_in(out, globs, select(_versions(asked)) if _versions(asked) else ())
    if not violated:
        _say(f"none of these rows is violated in {out / 'matrix' / 'matrix.json'}: nothing is run")
        return EXIT_SATISFIED
    _refuse_others(out)
    plan = new_plan(column_runs_again(violated, list(read_shards(out / "shards")), read_plan(out)), rest)
    known = read_baseline(_checked(Path(asked.baseline))) if asked.baseline else Baseline()
    prepare(versions_of(plan.columns))
    try:
        run_columns(out, plan, at_once=asked.columns_at_once, command=command, file=RERUN)
    except KeyboardInterrupt as interrupted:
        _say("interrupted; columns that ended are kept")
        return code_of_interruption(interrupted)
    finally:
        put_aside_unended(out, plan, _say)
    say_bad_ends(out, plan)
    merged = merge(out, [*_archived(asked), *(["--baseline", asked.baseline] if asked.baseline else [])])
    _say("\n".join(map(str, seen_again(violated, plan.columns, list(read_shards(out / "shards"))))))
    return code_of(out, plan.columns, known) or merged


def _requirements(rest: Sequence[str]) -> tuple[list[str], list[str]]:
    """The globs of --requirement, and the other options."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--requirement", action="append", default=[])
    asked, others = parser.parse_known_args(rest)
    return asked.requirement, others


def _refuse_others(out: Path) -> None:
    """Also moves aside the unfinished columns of a killed command. Raises WrongUse while another command runs in the folder."""
    for file in (PLAN, RERUN, BISECT):
        if (plan := read_plan(out, file)) is not None:
            refuse_running(out, plan.columns)
            if file != PLAN:
                put_aside_unended(out, plan, _say)


def run_columns(out: Path, plan: Plan, *, at_once: int, command: Sequence[str], file: str = PLAN) -> None:
    """Run the columns of a plan and show their progress. Raises Interrupted."""
    at_once = max(1, at_once)
    runner = Runner(out, plan, at_once=at_once, workers=max(1, workers() // at_once), file=file, command=command)
    began = time.monotonic()
    with watching(_say) as watch:
        runner.run(watch)
    _say(f"checks: {time.monotonic() - began:.0f} s")


def code_of_interruption(interrupted: KeyboardInterrupt) -> int:
    return interrupted.code if isinstance(interrupted, Interrupted) else EXIT_INTERRUPTED


def versions_of(columns: Sequence[ColumnRun]) -> list[str]:
    """The released versions among these columns."""
    return [column.selection[1] for column in columns if column.selection[0] == "--kafka-version"]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="./kit matrix", description=matrix.__doc__, allow_abbrev=False)
    add_column_options(parser)
    parser.add_argument(
        "--conformance-out",
        type=Path,
        default=Path(_given("CONFORMANCE_OUT") or "out"),
        metavar="DIR",
        help="the output directory; default: out",
    )
    parser.add_argument(
        "--baseline",
        default=_given("BASELINE"),
        metavar="MATRIX",
        help="a matrix.json whose violations are known: exit code 1 only for new ones",
    )
    parser.add_argument("--columns-at-once", type=int, default=2, metavar="N", help="columns side by side; default: 2")
    parser.add_argument("--add", action="store_true", help="keep existing columns, run only missing ones")
    parser.add_argument(
        "--rerun-violated",
        action="store_true",
        help="run only rows that are violated in DIR/matrix, on the columns where they are, with another seed",
    )
    parser.add_argument("--archive", default="", metavar="DIR", help="add the run to this archive, and show trends")
    return parser


def add_column_options(parser: argparse.ArgumentParser) -> None:
    """The options that name columns."""
    parser.add_argument(
        "--kafka-version",
        action="append",
        default=[],
        metavar="V",
        help="a version, a range such as 3.9..4.3, `all` (the newest patch of each minor) or `released` (every patch)",
    )
    parser.add_argument("--kafka-image", default=_given("KAFKA_IMAGE"), metavar="IMAGE", help="an image of your own")
    parser.add_argument("--kafka-home", default=_given("KAFKA_HOME"), metavar="DIR|TGZ", help="a Kafka of your own")


def _given(option: str) -> str:
    return os.environ.get(f"KAFKA_CONFORMANCE_{option}", "")


def _versions(asked: argparse.Namespace) -> list[str]:
    return asked.kafka_version or _given("KAFKA_VERSION").replace(",", " ").split()


def column_runs(asked: argparse.Namespace) -> list[ColumnRun]:
    """The columns that the options of `add_column_options` name; the newest version if there is none. Raises UnknownVersion."""
    wanted = _versions(asked)
    own = asked.kafka_image or asked.kafka_home
    return column_runs_for(select(wanted) if wanted or not own else (), asked.kafka_image, asked.kafka_home)


def refuse_wrong(
    asked: argparse.Namespace, rest: Sequence[str], columns: Sequence[ColumnRun], command: Sequence[str]
) -> None:
    """Raises WrongUse, before any recording is moved aside or image built."""
    if asked.kafka_home and not Path(asked.kafka_home).exists():
        raise WrongUse(
            f"--kafka-home {asked.kafka_home!r}: there is no {Path(asked.kafka_home).absolute()}. Give an unpacked "
            "distribution, its .tgz or a source tree; a relative path begins in the kit's own folder."
        )
    listing = [*command, "--collect-only", "-q", *rest, *columns[0].selection]
    listed = subprocess.run(listing, capture_output=True, text=True, check=False)
    if listed.returncode:
        raise WrongUse(
            "\n".join([f"pytest refuses {' '.join(rest)!r}:", *(listed.stdout + listed.stderr).splitlines()[-12:]])
        )


def _planned(asked: argparse.Namespace, columns: Sequence[ColumnRun], rest: Sequence[str]) -> Plan:
    """The plan to run. Also keeps a copy of the baseline, which may be among the recordings that are moved aside."""
    out: Path = asked.conformance_out
    copy = out / "baseline.json"
    known = read_plan(out)
    is_copied = known is not None and known.left and known.baseline == asked.baseline and copy.exists()
    baseline = (copy if is_copied else _checked(Path(asked.baseline))).read_bytes() if asked.baseline else b""
    wanted = new_plan(columns, rest, given_by_environment(), asked.baseline)
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
    """Merge all shards, whatever the exit codes of the columns are; return the exit code of the campaign."""
    say_bad_ends(out, plan)
    options = [*archived, *(["--baseline", str(out / "baseline.json")] if plan.baseline else [])]
    merged = merge(out, options) if any((out / "shards").glob("*.jsonl")) else EXIT_TROUBLE
    shards = [shard for column in plan.columns if column.run for shard in read_shards(out / "shards", column.run)]
    _say_each([*spent_lines(shards), *unfinished_lines(shards, every_check(), out)])
    return code_of(out, plan.columns, _known(out, plan)) or merged


def _say_each(lines: Sequence[str]) -> None:
    for line in lines:
        _say(line)


def say_bad_ends(out: Path, plan: Plan, expected: Sequence[int] = (EXIT_SATISFIED, EXIT_VIOLATED)) -> None:
    """Print the last log lines of columns whose exit code was not expected, and what was kept on the engine."""
    for column in plan.columns:
        if column.code not in expected:
            _say(
                "\n".join(
                    [
                        f"{column.name} ended with {column.code}; the end of {log_of(out, column)}:",
                        *tail(log_of(out, column)),
                    ]
                )
            )
        for kept in kept_of(column.run):
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
