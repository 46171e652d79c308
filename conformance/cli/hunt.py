"""`./kit hunt`: the machines alone, over versions in turn, round after round, until the hours are over.

Each round is a pytest process of a few minutes on one version, with all workers that the computer carries and a seed of its own.
A round's new findings are replayed on fresh clusters at once, and searched for in other releases as time allows.
"""

import secrets
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click
import msgspec
from filelock import FileLock, Timeout

from conformance.campaign.hunt.findings import HuntFinding, Replays, add, replays_in, violations_in
from conformance.campaign.hunt.pages import FINDINGS, FoundEvidence, index_of, replay_of_finding, report_of
from conformance.campaign.hunt.replaying import PendingReplay, describe_changes, replays_to_confirm, replays_to_search
from conformance.campaign.hunt.rounds import (
    FAILING,
    KeptSchedule,
    next_round,
    read_kept_schedules,
    round_minutes,
    settled_breaches,
)
from conformance.campaign.hunt.state import Hunt, Round, read_hunt, write_hunt
from conformance.campaign.hunt.totals import totals_of
from conformance.campaign.plan import ColumnRun, Plan, read_plan, refuse_running, write_whole
from conformance.catalogue import shipped_rows
from conformance.catalogue.deviations import Deviation, load_deviations
from conformance.cli.engine import print_progress
from conformance.cli.group import PASSING_ON
from conformance.cli.matrix import (
    refuse_wrong,
    run_columns,
    say_bad_ends,
    versions_of,
)
from conformance.cli.means import Means
from conformance.cli.options import (
    add_passed_on_options,
    choose,
    column_options,
    complete_machines,
    deviations_option,
    deviations_options,
    progress_apart,
    pytest_options,
)
from conformance.core.machines import AnyMachine, all_machines
from conformance.running.machine.beginning import Beginning
from conformance.running.machine.reach import FOLDER, reach_lines
from conformance.running.session import ALL_MACHINES, machine_name, refuse_unknown_machines
from conformance.running.settings import make_writable
from fixtures.errors import WrongUse
from fixtures.images import released_versions
from fixtures.leases import workers
from history.command import COMMAND
from history.exit_codes import EXIT_INTERRUPTED, EXIT_SATISFIED, EXIT_TROUBLE, EXIT_VIOLATED, exit_code_of
from history.shards import read_shards
from reports.commands.options import Form, form, out_option, print_json

MIN_MINUTES = 1.0
"""The minimum number of minutes that must be left for another round."""
MIN_HOURS, MAX_HOURS = 0.05, 1000.0
SEARCHING = 1 / 6
"""The share of a night that is spent on replays on other releases."""
MAX_FAILED_ROUNDS = 3
"""The number of consecutive rounds without an example after which the hunt ends."""
REPLAYS, BEGINNING = "replays", "beginning.json"

_OWN = (
    "--conformance-run", "--conformance-seed", "--conformance-minutes", "--conformance-machines",
    "--conformance-beginning", "--replay", "--baseline",
)  # fmt: skip
"""pytest options that a hunt sets itself or cannot use."""


class Hunter:
    """One command's work on a hunt. `night` is what it adds to the nights of the hunt."""

    def __init__(
        self,
        out: Path,
        hours: float,
        columns: Sequence[ColumnRun],
        machines: Sequence[str],
        options: Sequence[str],
        *,
        deviations: Sequence[Deviation],
        command: Sequence[str],
        clock: Callable[[], float],
        at_hand: Callable[[str], bool],
    ) -> None:
        self.hunt = read_hunt(out) or Hunt(seed=secrets.randbits(32))
        self._out = out
        self._columns = columns
        self._machines = machines
        self._options = list(options)
        self._command = command
        self._clock = clock
        given = versions_of(columns)
        self._releases = [version for version in released_versions() if version in given or at_hand(version)]
        self._deviations = deviations
        self._began = clock()
        self._in_trouble = 0
        for finding in self.hunt.findings:
            finding.judge_again(self._deviations)
        self._refuse_running()
        self.night = self.hunt.begin(hours)

    def run(self) -> None:
        """Run rounds and replays until the hours are over. Raises KeyboardInterrupt once the state has all records."""
        for one in self.hunt.rounds:
            if not one.ended:
                self._conclude(one)
        self._replay_waiting_findings()
        while self._minutes_left >= MIN_MINUTES and self._in_trouble < MAX_FAILED_ROUNDS:
            self._round()
            self._replay_waiting_findings()

    @property
    def code(self) -> int:
        """The exit code: 1 for an unknown finding of any night; 3 for a column with rounds in this night but no judged
        example."""
        tonight = [one for one in self.hunt.rounds if one.night == len(self.hunt.nights) - 1]
        judged = {one.column for one in tonight if one.totals.judged_examples}
        return exit_code_of(
            violated=any(not one.is_known for one in self.hunt.findings),
            troubled=bool({one.column for one in tonight} - judged),
        )

    @property
    def _minutes_left(self) -> float:
        return 60 * self.night.hours - (self._clock() - self._began) / 60

    def _refuse_running(self) -> None:
        """Refuse to continue while a pytest of a killed hunt is still writing."""
        for folder in [*(one.folder for one in self.hunt.rounds if not one.ended), REPLAYS]:
            if (plan := read_plan(self._out / folder)) is not None:
                refuse_running(self._out / folder, plan.columns)

    # --- rounds

    def _round(self) -> None:
        minutes = min(round_minutes(self.night.hours, len(self._columns)), self._minutes_left)
        kept = read_kept_schedules(self._out, self._wanted_machines(), print_progress)
        one = next_round(self.hunt, self._columns, self._options, kept, minutes, workers())
        plan = self._plan(one, kept)
        self.hunt.rounds.append(one)
        self._write()
        print_progress(_finding_announcement(one))
        try:
            run_columns(self._out / one.folder, plan, at_once=1, command=self._command)
        finally:
            self._conclude(one)
        say_bad_ends(self._out / one.folder, plan, expected=(EXIT_SATISFIED, EXIT_VIOLATED, EXIT_TROUBLE))
        self._in_trouble = 0 if one.totals.count else self._in_trouble + 1

    def _wanted_machines(self) -> list[AnyMachine]:
        wanted = set(self._machines)
        return [one for one in all_machines().values() if wanted & {ALL_MACHINES, machine_name(one)}]

    def _plan(self, one: Round, kept: Sequence[KeptSchedule]) -> Plan:
        beginning = Beginning(
            schedules=[each.schedule for each in kept if each.name in one.schedules],
            opening=one.opening,
            known=settled_breaches(self.hunt, one.column),
            reached=str(self._out / FOLDER),
            turn=one.number,
        )
        file = self._out / one.folder / BEGINNING
        write_whole(file, msgspec.json.format(msgspec.json.encode(beginning), indent=1))
        machines = [text for name in self._machines for text in ("--conformance-machines", name)]
        options = ["--conformance-profile", "quick", *one.options, *machines]
        minutes = ["--conformance-minutes", f"{one.minutes:.2f}"]
        own = [*minutes, "--conformance-beginning", str(file), "--conformance-seed", str(one.seed)]
        return Plan(
            options=options, seed=one.seed, columns=[ColumnRun(name=one.column, selection=one.selection, options=own)]
        )

    def _conclude(self, one: Round) -> None:
        """Add the recordings of a round to the hunt, even if the round was killed."""
        folder = self._out / one.folder
        plan = read_plan(folder)
        ran = plan.columns[0] if plan is not None else ColumnRun(name=one.column, selection=one.selection)
        shards = list(read_shards(folder / "shards", ran.run)) if ran.run else []
        one.run, one.code, one.seconds = ran.run, ran.code, ran.seconds
        one.totals = totals_of(shards, ran.run)
        seen = violations_in(folder, shards, self._deviations, one.number, one.column)
        new = [finding for each in seen if (finding := add(self.hunt.findings, each))]
        one.ended = True
        self._write()
        print_progress(
            f"round {one.number}: {one.totals.count} examples, {len(seen)} violations, {len(new)} new findings"
        )
        for finding in new:
            print_progress(f"  {self._folder(finding) / 'report.md'}{' (known)' if finding.is_known else ''}")

    # --- replays

    def _replay_waiting_findings(self) -> None:
        while self._minutes_left > 0 and (wanted := replays_to_confirm(self.hunt)[: workers()]):
            self._replay(wanted)
        while self._may_search and (wanted := replays_to_search(self.hunt, self._releases)[: workers()]):
            began = self._clock()
            self._replay(wanted)
            self.night.searching += self._clock() - began

    @property
    def _may_search(self) -> bool:
        return self._minutes_left > 0 and self.night.searching < SEARCHING * (self._clock() - self._began)

    def _replay(self, wanted: Sequence[PendingReplay]) -> None:
        """Replay findings in parallel, each in its own pytest. The next command repeats replays that did not end."""
        runs = [self._replay_of(one) for one in wanted]
        plan = Plan(options=[], seed=self.hunt.seed, columns=runs)
        print_progress(f"replays: {', '.join(run.name for run in runs)}")
        try:
            run_columns(self._out / REPLAYS, plan, at_once=len(runs), command=self._command)
        except KeyboardInterrupt:
            self._note(wanted, [run if run.has_ended else None for run in runs])
            raise
        self._note(wanted, runs)

    def _note(self, wanted: Sequence[PendingReplay], runs: Sequence[ColumnRun | None]) -> None:
        for one, run in zip(wanted, runs, strict=True):
            if run is not None:
                one.finding.replays[one.column.name] = self._replays_of(one.finding, run)
        self._write()

    def _replay_of(self, one: PendingReplay) -> ColumnRun:
        options = [*one.options, "--replay", str(self._folder(one.finding) / "schedule.json")]
        name = f"{one.finding.name} on {one.column.name}"
        return ColumnRun(name=name, selection=one.column.selection, options=options)

    def _replays_of(self, finding: HuntFinding, run: ColumnRun) -> Replays:
        replays = replays_in(read_shards(self._out / REPLAYS / "shards", run.run), finding.row, finding.label)
        print_progress(f"{run.name}: {replays}")
        return replays

    # --- files

    def _folder(self, finding: HuntFinding) -> Path:
        return self._out / FINDINGS / finding.name

    def _write(self) -> None:
        """Write all files, the state last, so that each file it names exists."""
        self.night.seconds = round(self._clock() - self._began, 1)
        for finding in self.hunt.findings:
            self._write_finding(finding)
        write_whole(self._out / "README.md", index_of(self.hunt, reach_lines(self._out)).encode())
        write_hunt(self._out, self.hunt)

    def _write_finding(self, finding: HuntFinding) -> None:
        folder, schedule = self._folder(finding), msgspec.json.format(msgspec.json.encode(finding.schedule), indent=2)
        if not (folder / "schedule.json").exists() or (folder / "schedule.json").read_bytes() != schedule:
            shutil.rmtree(folder / "evidence", ignore_errors=True)
            shutil.copytree(self._out / finding.source.evidence, folder / "evidence")
            write_whole(self._out / FAILING / f"{finding.name}.json", schedule)
            write_whole(folder / "schedule.json", schedule)
        evidence = FoundEvidence.read(folder / "evidence", finding.row)
        command = replay_of_finding(self.hunt, finding, folder / "schedule.json")
        report = report_of(finding, command, describe_changes(finding, self._releases), evidence)
        write_whole(folder / "report.md", report.encode())
        write_whole(folder / "finding.json", msgspec.json.format(msgspec.json.encode(finding), indent=1))


def _finding_announcement(one: Round) -> str:
    first = f", {len(one.schedules)} schedules of earlier rounds first" if one.schedules else ""
    return f"round {one.number}: {one.column}, {one.minutes:.1f} minutes, seed {one.seed}{first}"


# --- the command


@click.command(context_settings=PASSING_ON)
@column_options
@click.option("--hours", required=True, metavar="N", help="how long, such as 8 or 0.5; the last round may end later")
@out_option("the output directory", "out/hunt")
@click.option(
    "--machine",
    "machines",
    multiple=True,
    metavar="NAME",
    help="only this one; repeatable",
    shell_complete=complete_machines,
)
@deviations_option
@form
@pytest_options
@click.pass_obj
def hunt(
    means: Means | None,
    /,
    hours: str,
    out: Path,
    machines: Sequence[str],
    deviations: Sequence[str],
    form: Form,
    rest: Sequence[str],
    **columns: Sequence[str],
) -> int:
    """Run the kit's machines over the given versions in turn until the hours are over, and keep what they find in DIR.

    The same DIR goes on where it stood; the hours count from the start of each command. pytest's own options
    are taken, too. The profile is quick unless --profile names another.
    """
    own = means or Means()
    length, runs = _parse_hours(hours), choose(**columns).runs
    wanted = list(machines) or [ALL_MACHINES]
    known = load_deviations(shipped_rows(), *map(Path, deviations))
    rest = [*rest, *deviations_options(deviations)]
    _refuse_wrong_use(wanted, rest)
    refuse_wrong(rest, runs, own.pytest)
    with _lock_folder(out), progress_apart(form):
        _refuse_other_schemas(out)
        own.prepare(versions_of(runs))
        hunter = Hunter(
            out,
            length,
            runs,
            wanted,
            rest,
            deviations=known,
            command=own.pytest,
            clock=own.clock,
            at_hand=own.at_hand,
        )
        try:
            hunter.run()
        except KeyboardInterrupt:
            print_progress(f"interrupted; the same command goes on with {out}")
            return EXIT_INTERRUPTED
        print_progress(f"{len(hunter.hunt.rounds)} rounds, {len(hunter.hunt.findings)} findings: {out / 'README.md'}")
    if form == "json":
        print_json([_finding_as_json(finding, out) for finding in hunter.hunt.findings])
    return hunter.code


add_passed_on_options(hunt, _OWN)


def _refuse_other_schemas(out: Path) -> None:
    """Raise WrongSchema before an engine is needed if the folder has files of another kit version."""
    read_hunt(out)
    read_kept_schedules(out, [*all_machines().values()], lambda _: None)


def _finding_as_json(finding: HuntFinding, out: Path) -> dict[str, object]:
    """Return a finding as JSON, with its folder and without its schedule."""
    fields = msgspec.to_builtins(finding)
    return {"folder": str(out / FINDINGS / finding.name), **{key: fields[key] for key in fields if key != "schedule"}}


def _parse_hours(text: str) -> float:
    try:
        hours = float(text)
    except ValueError:
        hours = 0.0
    if not MIN_HOURS <= hours <= MAX_HOURS:
        raise WrongUse(
            f"--hours {text!r}: give a number from {MIN_HOURS} to {MAX_HOURS:.0f}, such as 8 or 0.5. "
            "Each round has to boot its clusters first."
        )
    return hours


def _refuse_wrong_use(machines: Sequence[str], rest: Sequence[str]) -> None:
    """Refuse wrong use before anything is written."""
    try:
        refuse_unknown_machines(machines, "--machine")
    except ValueError as error:
        raise WrongUse(str(error)) from error
    if own := [word for word in rest if word.partition("=")[0] in _OWN]:
        raise WrongUse(
            f"{own[0]}: a hunt chooses this for each of its rounds. Leave it out, or give it to {COMMAND} pytest. "
            "A hunt has --hours, --out and --machine."
        )


@contextmanager
def _lock_folder(out: Path) -> Iterator[None]:
    """Lock the folder within the block. Raises WrongUse while another hunt uses it."""
    make_writable(out, "--out")
    try:
        with FileLock(out / "hunt.lock", timeout=0):
            yield
    except Timeout as taken:
        raise WrongUse(
            f"{out}: another hunt works in this folder. Interrupt it with Ctrl-C, wait for its end, or give another --out."
        ) from taken
