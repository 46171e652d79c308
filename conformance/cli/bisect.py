"""`./kit bisect ROW`: the versions, patches and builds of one's own included, between which a row's verdict changes.

The newest patch of each minor is run first, then the middle version between neighbours that differ, until they are adjacent.
Columns that are in the folder already are not run again. Other options go to pytest.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import click
import msgspec
from rich.console import Console
from rich.table import Table

from conformance.campaign.bisection import Outcome, next_versions, skipped_versions, verdict_boundaries
from conformance.campaign.column_runs import log_of
from conformance.campaign.plan import (
    BISECT,
    PLAN,
    RERUN,
    ColumnRun,
    Plan,
    column_runs_for,
    new_plan,
    put_aside_unfinished,
    read_plan,
    refuse_running,
)
from conformance.catalogue import shipped_rows
from conformance.catalogue.near import similar_rows
from conformance.cli.engine import print_progress
from conformance.cli.group import PASSING_ON
from conformance.cli.matrix import refuse_wrong, run_columns, versions_of
from conformance.cli.means import Means
from conformance.cli.options import (
    add_passed_on_options,
    choose,
    own_build_options,
    progress_apart,
    pytest_options,
    versions_option,
)
from conformance.core.profiles import MINUTES
from conformance.core.registry import checks_by_row, own_checks
from conformance.judging import patch_releases
from conformance.judging.pooling import judge_shards
from conformance.running.columns import WantedColumn, wanted_columns
from conformance.running.settings import make_writable
from fixtures.errors import WrongUse
from fixtures.images import newest_patches, released_versions, select_patches
from history.command import ALL_THAT_SEE_IT
from history.exit_codes import EXIT_INTERRUPTED, exit_code_of
from history.shards import ObservationLine, Shard, read_shards
from reports.commands.options import Form, complete_rows, form, out_option, print_json
from reports.order import in_order

_OUTCOMES: dict[str, Outcome] = {"violated": "bad", "satisfied": "good"}
_MARKS: dict[Outcome, str] = {"bad": "✗", "good": "✓", "": "–"}
_DEFINITE = ("violated", "satisfied", "inapplicable")
"""Verdicts of versions that are not run again; any other verdict may be due to a lack of time or to an error."""

RunColumns = Callable[[Plan], None]
"""A function that runs the columns of a plan to their end."""


class VersionResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of the row on one version; `evidence` are folders, relative to the output directory."""

    verdict: str
    reason: str
    violated: int = 0
    observations: int = 0
    evidence: list[str] = []

    @property
    def outcome(self) -> Outcome:
        return _OUTCOMES.get(self.verdict, "")


class Bisect:
    """The search for the versions at which one row's verdict changes, among the columns of one folder. `columns` ascend, keyed by
    title."""

    def __init__(self, row: str, columns: Sequence[WantedColumn], out: Path, options: Sequence[str]) -> None:
        self.row = row
        self.columns = {column.title: column for column in columns}
        self.versions = list(self.columns)
        self.out = out
        self.ran: dict[str, ColumnRun] = {}
        self._options = list(options)
        self._seed = _begin_search(out)

    def search(self, anchors: Sequence[str], run: RunColumns) -> dict[str, VersionResult]:
        """Run versions until the search needs no more; return the result of each version that has one."""
        while batch := next_versions(self.versions, anchors, self._outcomes(seen := self._results())):
            print_progress(f"{self.row}: next {', '.join(batch)}")
            plan = msgspec.structs.replace(
                new_plan(column_runs_for([self.columns[name] for name in batch]), self._options), seed=self._seed
            )
            self.ran |= {column.name: column for column in plan.columns}
            try:
                run(plan)
            finally:
                put_aside_unfinished(self.out, plan, print_progress)
        return seen

    def _outcomes(self, seen: Mapping[str, VersionResult]) -> dict[str, Outcome]:
        return {
            version: one.outcome for version, one in seen.items() if one.verdict in _DEFINITE or version in self.ran
        }

    def _results(self) -> dict[str, VersionResult]:
        shards = list(read_shards(self.out / "shards"))
        cells = [cell for cell in judge_shards(shards) if cell.requirement == self.row]
        without = {version: _result_without_shard(self.out, column) for version, column in self.ran.items()}
        own = {
            c.kafka_version: _result_of(c.verdict, c.reason, _observation_lines(self.row, c.kafka_version, shards))
            for c in cells
        }
        return {version: one for version, one in (without | own).items() if version in self.versions}


def _begin_search(out: Path) -> int:
    """Begin a search, or continue the last one in the folder; return the seed for all columns.

    Columns that a killed search did not finish are moved aside. Raises WrongUse while another command runs in the folder.
    """
    for file in (PLAN, RERUN, BISECT):
        if (plan := read_plan(out, file)) is not None:
            refuse_running(out, plan.columns)
    last = read_plan(out, BISECT)
    if last is None:
        return new_plan([], []).seed
    put_aside_unfinished(out, last, print_progress)
    return last.seed


def _result_without_shard(out: Path, column: ColumnRun) -> VersionResult:
    """Return the result of a version whose column left no shard."""
    return VersionResult(verdict="no column", reason=f"its pytest ended with {column.code}: {log_of(out, column)}")


def _observation_lines(row: str, label: str, shards: Sequence[Shard]) -> list[ObservationLine]:
    own = [shard for shard in shards if shard.header is not None and shard.header.column.label == label]
    return [line for s in own for line in s.lines if isinstance(line, ObservationLine) and line.requirement == row]


def _result_of(verdict: str, reason: str, lines: Sequence[ObservationLine]) -> VersionResult:
    broken = [line for line in lines if line.result == "violated"]
    return VersionResult(
        verdict=verdict,
        reason=reason,
        violated=len(broken),
        observations=len(lines),
        evidence=list(dict.fromkeys(line.evidence for line in broken if line.evidence)),
    )


# --- the conclusion


def table_of(
    row: str, versions: Sequence[str], seen: Mapping[str, VersionResult], ran: Mapping[str, ColumnRun]
) -> Table:
    table = Table(title=row, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for head in ("version", "", "verdict", "violated", ""):
        table.add_column(head)
    for version in versions:
        if (one := seen.get(version)) is None:
            table.add_row(version, "", "not run", "", "neighbours agree", style="dim")
        else:
            counted = f"{one.violated} of {one.observations} observations"
            where = "" if version in ran else "reused"
            why = one.reason if not one.outcome else ""
            table.add_row(version, _MARKS[one.outcome], one.verdict, counted, where or why)
    return table


def search_conclusions(versions: Sequence[str], seen: Mapping[str, VersionResult], out: Path) -> list[str]:
    """Return the conclusions as text: the changes, the versions that did not run, and the folders with evidence."""
    outcomes = {version: one.outcome for version, one in seen.items()}
    found = verdict_boundaries(versions, outcomes)
    decided = [version for version in versions if outcomes.get(version)]
    lines = [str(change) for change in found]
    if not decided:
        lines.append("no version decided whether the row holds")
    elif not found:
        lines.append(
            f"no change: {outcomes[decided[0]]} from {decided[0]} to {decided[-1]}, on {len(decided)} versions"
        )
    if skipped := skipped_versions(versions, outcomes):
        lines.append(f"not run, since their neighbours agree (--all runs them): {', '.join(skipped)}")
    evidence = [
        f"{version}: {out / folder}" for version in versions if version in seen for folder in seen[version].evidence
    ]
    return [*lines, *(["evidence:", *evidence] if evidence else [])]


def as_json(row: str, versions: Sequence[str], seen: Mapping[str, VersionResult]) -> dict[str, object]:
    """Return the result as JSON: `changes` as in `VerdictBoundary`; `versions` in ascending order, with null for one that did not
    run."""
    outcomes = {version: one.outcome for version, one in seen.items()}
    return {
        "row": row,
        "changes": [msgspec.to_builtins(change) for change in verdict_boundaries(versions, outcomes)],
        "versions": {version: msgspec.to_builtins(seen.get(version)) for version in versions},
    }


# --- the command


@click.command(context_settings=PASSING_ON)
@click.argument("row", shell_complete=complete_rows)
@own_build_options
@versions_option("such as 3.7..4.0; default: every released one", "versions")
@click.option(
    "--conformance-profile",
    "--profile",
    "profile",
    type=click.Choice(list(MINUTES)),
    default="quick",
    help="default: quick",
)
@click.option("--all", "every", is_flag=True, help="run every patch, not only where neighbours differ")
@out_option("its columns are reused; default: out/bisect-ROW", None)
@form
@pytest_options
@click.pass_obj
def bisect(
    means: Means | None,
    /,
    row: str,
    versions: Sequence[str],
    profile: str,
    every: bool,
    out: Path | None,
    form: Form,
    rest: Sequence[str],
    **columns: Sequence[str],
) -> int:
    """Find the released versions, patches included, between which the verdict of ROW changes, such as KIP320-LO-04.

    The newest patch of each minor is run first, then the middle version between neighbours that differ, until they are
    adjacent. Builds of your own are run too, and stand in the order of their versions: a snapshot before a release candidate,
    and this before its release. One whose place is not known, such as a build of a released version, is left out with the
    reason. Columns that are in the folder already are not run again. pytest's own options
    are taken, too.

    The row's own checks run. Give --all-that-see-it for a violation that another check saw in passing.

    The exit code is 0 if the row is decided on a version, 3 if on none.
    """
    _refuse_row(row)
    own, folder = means or Means(), out or Path("out") / f"bisect-{row}"
    options = ["--requirement", row, "--conformance-profile", profile, *rest]
    releases, builds = (
        select_patches([word for text in versions for word in text.replace(",", " ").split()]),
        _own_builds(columns),
    )
    refuse_wrong(options, column_runs_for([*builds, *wanted_columns(releases)]), own.pytest)
    make_writable(folder, "--conformance-out")

    def run(plan: Plan) -> None:
        own.prepare(versions_of(plan.columns))
        run_columns(folder, plan, at_once=2, command=own.pytest, file=BISECT)

    with progress_apart(form):
        search = Bisect(row, _sort_columns(row, releases, builds, own), folder, options)
        try:
            seen = search.search(search.versions if every else _anchor_columns(search.versions), run)
        except KeyboardInterrupt:
            print_progress("interrupted; the same command continues with the columns that are left")
            return EXIT_INTERRUPTED
    if form == "json":
        print_json(as_json(row, search.versions, seen))
    else:
        Console().print(table_of(row, search.versions, seen, search.ran))
        print_progress(
            "\n".join([*search_conclusions(search.versions, seen, folder), *_others_that_see(row, seen, rest)])
        )
    return exit_code_of(troubled=not any(one.outcome for one in seen.values()))


add_passed_on_options(bisect, ("--requirement",))


def _others_that_see(row: str, seen: Mapping[str, VersionResult], rest: Sequence[str]) -> list[str]:
    """Return a line about other checks that see the row, if only its own checks ran and none of them found a violation."""
    others = len(checks_by_row()[row]) - len(own_checks()[row])
    if not others or ALL_THAT_SEE_IT in rest or any(one.outcome == "bad" for one in seen.values()):
        return []
    return [
        f"its own checks ran; {others} others see the row on their way: {ALL_THAT_SEE_IT}, with a new --out, runs them, too"
    ]


def _own_builds(columns: Mapping[str, Sequence[str]]) -> list[WantedColumn]:
    """Return the user's own builds, each labelled with the title by which its observations are found again."""
    own = choose(**columns).with_versions(())
    return [msgspec.structs.replace(column, label=column.title) for column in own]


class _Placed(msgspec.Struct, frozen=True, kw_only=True):
    """A column in the form that `reports.order` takes."""

    kafka_version: str
    version: str
    selection: list[str]


def _sort_columns(
    row: str, releases: Sequence[str], builds: Sequence[WantedColumn], means: Means
) -> list[WantedColumn]:
    """Sort all columns by version; leave out builds whose place is unknown, and print the reason."""
    if builds:
        means.prepare(())
    versions = {column.title: means.version_of(column) for column in builds}
    named = {column.title: column for column in (*wanted_columns(releases), *builds)}
    order = in_order(
        [
            _Placed(kafka_version=title, version=versions.get(title, column.name), selection=column.selection)
            for title, column in named.items()
        ]
    )
    for left in order.unordered:
        print_progress(f"{row}: {left}. It is left out; to see the row on it: matrix --requirement {row}")
    return [named[label] for label in order.labels]


def _anchor_columns(names: Sequence[str]) -> Sequence[str]:
    """Return the columns to run first: the newest patch of each minor, release candidates and the user's own builds."""
    older = set(released_versions()) - set(newest_patches())
    return [name for name in names if name not in older] or names


def _refuse_row(row: str) -> None:
    if row not in [one.id for one in shipped_rows()]:
        raise WrongUse(f"{row!r} is not a row of the catalogue. {similar_rows(row)}")
    if row not in checks_by_row() or row == patch_releases.ROW:
        raise WrongUse(f"{row}: the kit has no check for this row that one version could decide")
