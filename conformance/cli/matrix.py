"""`./kit matrix`: run the checks of each column in its own pytest, merge the shards, write the page; one exit code for all."""

import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import click
import msgspec

from conformance.campaign.column_runs import Runner, log_of, options_from_environment, tail_of_log
from conformance.campaign.outcome import campaign_exit_code, is_partial
from conformance.campaign.plan import (
    BISECT,
    PLAN,
    RERUN,
    ColumnRun,
    Plan,
    choose_plan,
    new_plan,
    put_aside_unfinished,
    read_plan,
    refuse_running,
)
from conformance.campaign.rerun import ViolatedCase, case_reruns, column_runs_again, violated_cases
from conformance.campaign.watching import watching
from conformance.catalogue import shipped_rows
from conformance.catalogue.deviations import Deviation, load_deviations
from conformance.cli.engine import print_progress
from conformance.cli.group import PASSING_ON
from conformance.cli.means import Means, Merge
from conformance.cli.options import (
    ColumnChoice,
    add_passed_on_options,
    choose,
    column_options,
    deviations_option,
    deviations_options,
    environment_variable,
    progress_apart,
    pytest_options,
)
from conformance.cli.plans import list_items, print_plans, workers_a_column
from conformance.core.registry import every_check
from conformance.judging.verdicts import Verdict
from conformance.running.baseline import Baseline, read_baseline
from conformance.running.columns import VERSION
from conformance.running.recording.spent import spent_lines
from conformance.running.recording.unfinished import unfinished_lines
from conformance.running.settings import make_writable
from fixtures.errors import WrongUse
from fixtures.images import select_versions
from fixtures.runs import kept_notes
from history.exit_codes import EXIT_INTERRUPTED, EXIT_SATISFIED, EXIT_TROUBLE, EXIT_VIOLATED
from history.shards import read_shards
from protocol.errors import KitError
from reports.commands.options import Form, form, matrix_file, out_option, print_json
from reports.errors import spark_missing
from reports.matrix_file import read_compared

COPY = "baseline.json"
"""The copy of the baseline next to the plan, in case the original is among recordings that are moved aside."""


class MatrixOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of `./kit matrix`; `rest` are those of pytest."""

    columns: ColumnChoice
    out: Path
    baseline: str = ""
    at_once: int = 2
    add: bool = False
    archive: str = ""
    deviations: list[str] = []
    rest: list[str] = []


@click.command(context_settings=PASSING_ON)
@column_options
@out_option("the output directory")
@click.option(
    "--baseline",
    envvar=environment_variable("BASELINE"),
    default="",
    metavar="MATRIX",
    help="a matrix.json whose violations are known: exit code 1 only for new ones",
)
@click.option(
    "--columns-at-once",
    "at_once",
    type=click.IntRange(min=1),
    default=2,
    metavar="N",
    help="columns side by side; default: 2",
)
@click.option("--add", is_flag=True, help="keep existing columns, run only missing ones")
@click.option(
    "--rerun-violated",
    "again",
    is_flag=True,
    help="run only rows that are violated in DIR/matrix, on the columns where they are, with another seed",
)
@click.option(
    "--plan", is_flag=True, help="tell what would run, in which order, and how long it would take; run nothing"
)
@click.option("--archive", default="", metavar="DIR", help="add the run to this archive, and show trends")
@deviations_option
@form
@pytest_options
@click.pass_obj
def matrix(
    means: Means | None,
    /,
    out: Path,
    baseline: str,
    at_once: int,
    add: bool,
    again: bool,
    plan: bool,
    archive: str,
    deviations: Sequence[str],
    form: Form,
    rest: Sequence[str],
    **columns: Sequence[str],
) -> int:
    """Check each given version, image or distribution, and merge the observations into DIR/matrix.

    After an interruption the same command continues with the columns that are left. pytest's own options, such as -n and -k,
    are taken, too. With --format json stdout has one object, with the exit code and the verdicts by row and column; the file
    that it names has all else.
    """
    wanted = choose(**columns)
    asked = MatrixOptions(
        columns=wanted,
        out=out,
        baseline=baseline,
        at_once=at_once,
        add=add,
        archive=archive,
        deviations=deviations_options(deviations),
        rest=[*rest, *deviations_options(deviations)],
    )
    if plan:
        runs, shared = _columns_to_plan(asked, again=again)
        return print_plans(runs, shared, at_once, (means or Means()).pytest, form)
    if means is None and find_spec("pyspark") is None:
        raise KitError(spark_missing("pyspark"))  # in the end nothing could be merged
    file = matrix_file(out, None)
    earlier = _time_of(file)
    with progress_apart(form):
        code = (_rerun_violated if again else _run_matrix)(asked, means or Means())
    if form == "json":
        print_json(_as_json(file if _time_of(file) != earlier else None, code))
    return code


def _time_of(file: Path) -> int:
    """Return the modification time of the file in nanoseconds; 0 if it does not exist."""
    return file.stat().st_mtime_ns if file.is_file() else 0


def _as_json(merged: Path | None, code: int) -> dict[str, object]:
    """Return the exit code, and the verdicts by row and column if the command has merged any."""
    if merged is None:
        return {"exit_code": code, "matrix": None, "columns": [], "verdicts": {}}
    read = read_compared(merged)
    verdicts: dict[str, dict[str, Verdict]] = {}
    for cell in read.cells:
        verdicts.setdefault(cell.requirement, {})[cell.kafka_version] = cell.verdict
    return {"exit_code": code, "matrix": str(merged), "columns": read.kafka_versions, "verdicts": verdicts}


add_passed_on_options(matrix)


def _run_matrix(asked: MatrixOptions, means: Means) -> int:
    wanted = asked.columns.runs
    refuse_wrong(asked.rest, wanted, means.pytest)
    make_writable(asked.out, "--conformance-out")
    if (baseline := _baseline_of(asked)) is not None:
        _check_baseline(baseline)
    means.prepare(versions_of(wanted))
    plan = _choose_plan(asked, wanted)
    try:
        run_columns(asked.out, plan, at_once=asked.at_once, command=means.pytest)
    except KeyboardInterrupt:
        print_progress(
            f"interrupted; {len(plan.columns_left)} of {len(plan.columns)} columns are left. "
            "The same command continues with them."
        )
        _merge_and_conclude(asked, plan, asked.deviations, means.merge)
        return EXIT_INTERRUPTED
    return _merge_and_conclude(asked, plan, _archive_options(asked), means.merge)


def _columns_to_plan(asked: MatrixOptions, *, again: bool) -> tuple[list[ColumnRun], Sequence[str]]:
    """Return the columns that would run, and the options that they share."""
    if not again:
        return asked.columns.runs, asked.rest
    violated, rest = _violated_before(asked)
    return column_runs_again(violated, list(read_shards(asked.out / "shards"))), rest


def _violated_before(asked: MatrixOptions) -> tuple[list[ViolatedCase], list[str]]:
    """Return the violated cases to run again, and the options without those that selected them."""
    versions = list(asked.columns.versions)
    globs, rest = _split_requirements(asked.rest)
    return violated_cases(asked.out, globs, select_versions(versions) if versions else ()), rest


def _rerun_violated(asked: MatrixOptions, means: Means) -> int:
    """Rerun only the violated rows, with another seed, into the same folder; earlier observations are kept."""
    out = asked.out
    violated, rest = _violated_before(asked)
    if not violated:
        print_progress(f"none of these rows is violated in {out / 'matrix' / 'matrix.json'}: nothing is run")
        return EXIT_SATISFIED
    _refuse_others(out)
    plan = new_plan(column_runs_again(violated, list(read_shards(out / "shards"))), rest)
    known = read_baseline(_check_baseline(Path(asked.baseline))) if asked.baseline else Baseline()
    means.prepare(versions_of(plan.columns))
    try:
        run_columns(out, plan, at_once=asked.at_once, command=means.pytest, file=RERUN)
    except KeyboardInterrupt:
        print_progress("interrupted; columns that ended are kept")
        return EXIT_INTERRUPTED
    finally:
        put_aside_unfinished(out, plan, print_progress)
    say_bad_ends(out, plan)
    merged = means.merge(out, [*_archive_options(asked), *(["--baseline", asked.baseline] if asked.baseline else [])])
    print_progress("\n".join(map(str, case_reruns(violated, plan.columns, list(read_shards(out / "shards"))))))
    return campaign_exit_code(out, plan.columns, known, _known_deviations(asked)) or merged


def _split_requirements(rest: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split options into the globs of --requirement and the others."""
    words, globs, others = iter(rest), list[str](), list[str]()
    for word in words:
        flag, is_set, value = word.partition("=")
        if flag == "--requirement":
            globs.append(value if is_set else next(words, ""))
        else:
            others.append(word)
    return globs, others


def _refuse_others(out: Path) -> None:
    """Raise WrongUse while another command runs in the folder, and move aside the unfinished columns of a killed one."""
    for file in (PLAN, RERUN, BISECT):
        if (plan := read_plan(out, file)) is not None:
            refuse_running(out, plan.columns)
            if file != PLAN:
                put_aside_unfinished(out, plan, print_progress)


def run_columns(out: Path, plan: Plan, *, at_once: int, command: Sequence[str], file: str = PLAN) -> None:
    """Run the columns of a plan and show their progress. Raises KeyboardInterrupt."""
    each = workers_a_column(len(plan.columns_left), at_once)
    runner = Runner(out, plan, at_once=at_once, workers=each, file=file, command=command)
    began = time.monotonic()
    with watching(print_progress) as watch:
        runner.run(watch)
    print_progress(f"checks: {time.monotonic() - began:.0f} s")


def versions_of(columns: Sequence[ColumnRun]) -> list[str]:
    """Return the released versions among these columns."""
    return [column.selection[1] for column in columns if column.selection[0] == VERSION]


def refuse_wrong(rest: Sequence[str], columns: Sequence[ColumnRun], command: Sequence[str]) -> None:
    """Raise WrongUse for options that pytest or a column would refuse, before recordings are moved or images are built."""
    list_items(rest, columns[0].selection, [*command, "-q"])


def _choose_plan(asked: MatrixOptions, columns: Sequence[ColumnRun]) -> Plan:
    """Choose the plan to run, and copy the baseline, since it may be among recordings that are moved aside."""
    baseline = file.read_bytes() if (file := _baseline_of(asked)) else None
    wanted = new_plan(columns, asked.rest, options_from_environment(), asked.baseline)
    plan = choose_plan(asked.out, wanted, add=asked.add, say=print_progress)
    if baseline is not None:
        (asked.out / COPY).write_bytes(baseline)
    return plan


def _baseline_of(asked: MatrixOptions) -> Path | None:
    """Return the baseline's file, or its copy if this command continues an interrupted one that has a copy."""
    copy, known = asked.out / COPY, read_plan(asked.out)
    if known is not None and known.columns_left and known.baseline == asked.baseline and copy.exists():
        return copy
    return Path(asked.baseline) if asked.baseline else None


def _check_baseline(baseline: Path) -> Path:
    try:
        read_baseline(baseline)
    except ValueError as error:
        raise WrongUse(str(error)) from error
    return baseline


def _merge_and_conclude(asked: MatrixOptions, plan: Plan, archived: Sequence[str], merge: Merge) -> int:
    """Merge all shards, whatever the columns' exit codes; return the exit code of the whole command."""
    out, is_whole = asked.out, not is_partial(plan.options, plan.environment)
    say_bad_ends(out, plan)
    options = [*archived, *(["--baseline", str(out / COPY)] if plan.baseline else [])]
    merged = merge(out, options) if any((out / "shards").glob("*.jsonl")) else EXIT_TROUBLE
    shards = [shard for column in plan.columns if column.run for shard in read_shards(out / "shards", column.run)]
    _say_each([*spent_lines(shards), *unfinished_lines(shards, every_check(), out)])
    return (
        campaign_exit_code(out, plan.columns, _baseline_in(out, plan), _known_deviations(asked), is_whole=is_whole)
        or merged
    )


def _known_deviations(asked: MatrixOptions) -> list[Deviation]:
    return load_deviations(shipped_rows(), *map(Path, asked.deviations[1::2]))


def _say_each(lines: Sequence[str]) -> None:
    for line in lines:
        print_progress(line)


def say_bad_ends(out: Path, plan: Plan, expected: Sequence[int] = (EXIT_SATISFIED, EXIT_VIOLATED)) -> None:
    """Print the last log lines of each column with an unexpected exit code, and the notes on all kept runs."""
    for column in plan.columns:
        if column.run and column.code not in expected:
            print_progress(
                "\n".join(
                    [
                        f"{column.name} ended with {column.code}; the end of {log_of(out, column)}:",
                        *tail_of_log(log_of(out, column)),
                    ]
                )
            )
        for kept in kept_notes(column.run):
            print_progress(kept)


def _baseline_in(out: Path, plan: Plan) -> Baseline:
    return read_baseline(out / COPY) if plan.baseline else Baseline()


def _archive_options(asked: MatrixOptions) -> list[str]:
    return [*(["--archive", asked.archive] if asked.archive else []), *asked.deviations]
