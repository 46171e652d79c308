"""The legs of a night: a leg's column, its news, and the replays of what is new."""

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from conformance.campaign.night.archive import Archive
from conformance.campaign.night.attempts import (
    Attempt,
    AttemptEnd,
    FoundAttempt,
    begin_attempt,
    counting_attempts,
    end_attempt,
    find_attempts,
)
from conformance.campaign.night.canaries import CanaryOutcome, PlantedBug, Verdicts, canary_outcome
from conformance.campaign.night.confirming import confirmations_of, schedules_to_replay, write_confirmations
from conformance.campaign.night.handing_on import take_over
from conformance.campaign.night.maturity import provisional_rows
from conformance.campaign.night.outcome import LegOutcome, leg_outcome
from conformance.campaign.night.plan import Canary, NightPlan
from conformance.campaign.outcome import is_troubled, judge_columns
from conformance.campaign.plan import PLAN, ColumnRun, begin_plan, new_plan
from conformance.catalogue import shipped_rows
from conformance.catalogue.applicability import in_range
from conformance.catalogue.deviations import load_deviations
from conformance.cli.engine import print_progress
from conformance.cli.matrix import run_columns, say_bad_ends
from conformance.cli.means import Means
from conformance.cli.options import deviations_options
from conformance.core.profiles import PROFILES
from conformance.core.registry import rows_with_a_probe
from conformance.judging.news import BrokenCase, judged_cell
from conformance.running.columns import IMAGE, LABEL, VERSION
from conformance.running.provenance import ATTEMPT
from history.exit_codes import EXIT_SATISFIED, EXIT_TROUBLE, EXIT_VIOLATED
from history.shards import read_shards
from mutants import Mutant, all_mutants
from protocol.errors import KitError

REPLAYS = "replays"
"""The folder of an attempt in which new violations are replayed; no merge reads it."""


def run_leg(
    folder: Path, one: Attempt, made: NightPlan, archive: Archive, deviations: Sequence[str], means: Means
) -> LegOutcome:
    """Run an attempt of a leg below `folder`, replay what is new in it, and return what it broke."""
    own = _folder_of(one, folder)

    def select() -> list[str]:
        return [*_select_version(one.leg, means), *take_over(archive, one.leg, own)]

    run_attempt(own, one, select, [*made.options, *deviations_options(deviations)], means)

    def outcome() -> LegOutcome:
        return _outcome_by_shards(made, _own(one, folder, made), one.leg, archive, deviations)

    first = outcome()
    found = [*first.news.new, *first.provisional]
    return outcome() if replay_new(own, one, found, deviations, means) else first


def run_canary(folder: Path, one: Attempt, made: NightPlan, canary: Canary, means: Means) -> CanaryOutcome:
    """Run an attempt of a canary below `folder`, and return whether it looks well."""
    run_attempt(_folder_of(one, folder), one, partial(_select_canary, canary, means), canary.options, means)
    return judge_canary(canary, _own(one, folder, made), {})


def _folder_of(one: Attempt, folder: Path) -> Path:
    return folder / one.night / f"{one.leg}-{one.number}"


def _own(one: Attempt, folder: Path, made: NightPlan) -> list[FoundAttempt]:
    """Return this attempt as it was recorded, without the leg's others."""
    return [each for each in find_attempts(folder, made) if each.attempt == one]


def judge_canary(canary: Canary, found: Sequence[FoundAttempt], unharmed: Verdicts) -> CanaryOutcome:
    """Judge the attempt of a canary that counts; see `canary_outcome`."""
    counting = counting_attempts(found, canary.name)
    cells = [cell for one in counting for cell in judge_columns(one.folder / "shards").cells]
    return canary_outcome(canary, counting, found, {cell.requirement: cell.verdict for cell in cells}, unharmed)


def _select_version(version: str, means: Means) -> list[str]:
    means.prepare([version])
    return [VERSION, version]


def _select_canary(canary: Canary, means: Means) -> list[str]:
    means.prepare([canary.kafka_version])
    return [IMAGE, means.canary(canary.mutant, canary.kafka_version), LABEL, canary.name]


def run_attempt(
    folder: Path, attempt: Attempt, select: Callable[[], list[str]], options: Sequence[str], means: Means
) -> None:
    """Run a leg's column, which `select` makes ready; an error of the kit ends the attempt as a dead one."""
    begin_attempt(folder, attempt)
    os.environ[ATTEMPT] = str(attempt.number)
    try:
        column = ColumnRun(name=attempt.leg, selection=select())
        plan = new_plan([column], options)
        begin_plan(folder, plan, PLAN, print_progress)
        run_columns(folder, plan, at_once=1, command=means.pytest)
        say_bad_ends(folder, plan)
        end_attempt(folder, _end_of(column, folder))
    except KitError as error:
        print_progress(f"{attempt}: {error}")
        end_attempt(folder, AttemptEnd(is_whole=False, trouble=[str(error)]))


def _end_of(column: ColumnRun, folder: Path) -> AttemptEnd:
    is_whole = column.code in (EXIT_SATISFIED, EXIT_VIOLATED, EXIT_TROUBLE) and any((folder / "shards").glob("*.jsonl"))
    troubled = is_troubled(column, folder / "shards")
    trouble = [f"its run ended with {column.code}"] if troubled or not is_whole else []
    return AttemptEnd(is_whole=is_whole, trouble=trouble, seconds=column.seconds)


def replay_new(folder: Path, one: Attempt, new: Sequence[BrokenCase], deviations: Sequence[str], means: Means) -> bool:
    """Replay a schedule of each new case on fresh clusters, with another seed, and record how often it is seen again.

    Return whether anything was recorded: in trouble of the kit nothing is, and all that is new counts.
    """
    wanted = schedules_to_replay(folder, read_shards(folder / "shards"), new) if new else []
    if not wanted:
        return False
    runs = [each.replay([VERSION, one.leg]) for each in wanted]
    print_progress(f"{one}: {len(new)} new, replayed: {', '.join(run.name for run in runs)}")
    try:
        run_columns(folder / REPLAYS, new_plan(runs, deviations_options(deviations)), at_once=1, command=means.pytest)
    except KitError as error:
        print_progress(f"{one}: nothing is replayed: {error}")
        return False
    shards = folder / REPLAYS / "shards"
    found = confirmations_of((each, [*read_shards(shards, run.run)]) for each, run in zip(wanted, runs, strict=True))
    write_confirmations(folder, found)
    print_progress("\n".join(f"{case}: {replays}" for case, replays in found.items()))
    return True


def _outcome_by_shards(
    made: NightPlan, found: Sequence[FoundAttempt], name: str, archive: Archive, deviations: Sequence[str]
) -> LegOutcome:
    counting = counting_attempts(found, name)
    known = load_deviations(shipped_rows(), *map(Path, deviations))
    judged = [judge_columns(one.folder / "shards", known) for one in counting]
    cells = {cell.requirement: judged_cell(cell, each.explained) for each in judged for cell in each.cells}
    young = provisional_rows(archive.ages(made.night), row_hashes())
    return leg_outcome(name, counting, found, cells, archive.column(name, made.night), young)


def row_hashes() -> dict[str, str]:
    """Return the hash of each row of the catalogue."""
    return {row.id: row.hash for row in shipped_rows()}


def planted_bugs(version: str) -> list[PlantedBug]:
    """Return the mutants that act on a version and turn rows red that a probe of the shortest profile, a canary's, shows."""
    acting = [one for one in all_mutants() if any(in_range(version, versions) for versions in one.applies)]
    bugs = [planted_bug(one) for one in acting]
    return [bug for bug in bugs if bug.red]


def planted_bug(one: Mutant) -> PlantedBug:
    """Return a mutant as a canary's; what only longer profiles show, schedules or judges, may be red."""
    shown = rows_with_a_probe(PROFILES[0])
    red = [red.id for red in one.red if red.kind == "probe" and red.id in shown]
    return PlantedBug(name=one.name, red=red, may=[each.id for each in (*one.red, *one.may) if each.id not in red])
