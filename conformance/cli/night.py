"""`./kit night`: plan a night, run its legs, and merge and publish them; on any machine, from cron or from a job of CI."""

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import click
import msgspec

from conformance.campaign.night.archive import Archive, PublishedColumn, PublishedNight
from conformance.campaign.night.attempts import (
    Attempt,
    FoundAttempt,
    counting_attempts,
    find_attempts,
    next_number,
)
from conformance.campaign.night.outcome import LegOutcome, leg_outcome, night_code, night_summary
from conformance.campaign.night.plan import NightPlan, plan_night, read_night, write_night
from conformance.campaign.plan import write_whole
from conformance.cli.engine import print_progress
from conformance.cli.group import HELP
from conformance.cli.means import Means
from conformance.cli.night_legs import run_leg
from conformance.cli.options import deviations_option, deviations_options
from conformance.running.baseline import read_baseline
from conformance.running.provenance import ATTEMPT
from fixtures.errors import WrongUse
from fixtures.images import select_versions
from history.exit_codes import EXIT_SATISFIED
from protocol.errors import KitError
from reports.carried import CarriedColumn
from reports.commands.options import PATH

MERGED = "merged-night"
"""The file by which a folder is known as one of merged nights."""
CARRIED = "carried.json"
"""The file with the columns that are carried over."""
RECORDED = ("shards", "histories", "evidence")
"""The folders of a leg that a merge reads."""

_plan_file = click.option(
    "--plan", "file", type=PATH, default=Path("night/plan.json"), metavar="FILE", show_default=True
)
_legs = click.option(
    "--legs", type=PATH, default=Path("night/legs"), metavar="DIR", show_default=True, help="the legs' folders"
)
_archive = click.option(
    "--archive", type=PATH, default=Path("nights"), metavar="DIR", show_default=True, help="the published nights"
)


@click.group(context_settings=HELP)
def night() -> None:
    """A night: plan its legs, run them, merge them. Green means that nothing is new since the last published night."""


@night.command(context_settings=HELP)
@_plan_file
@click.option("--night", "name", default="", metavar="NAME", help="a date or a growing number; default: today, UTC")
@click.option(
    "--versions", default="all", metavar="TEXT", help="versions and ranges, separated by blanks; default: all"
)
@click.option(
    "--requirements", default="", metavar="TEXT", help="globs of rows, separated by blanks; default: every row"
)
@click.option("--seed", default="", metavar="SEED", help="of all drawn inputs; default: a new one for each leg")
@click.option("--profile", default="nightly", show_default=True, metavar="smoke|quick|nightly")
@click.option("--whole", is_flag=True, envvar="KAFKA_CONFORMANCE_WHOLE_NIGHT", help="this night may be published")
@click.option(
    "--event", default="", envvar="GITHUB_EVENT_NAME", help="what began the job; `schedule` is a whole night's"
)
def plan(
    file: Path, name: str, versions: str, requirements: str, seed: str, profile: str, whole: bool, event: str
) -> None:
    """Write which legs the night has, and whether it is whole: only a whole night is published."""
    options = ["--conformance-profile", profile, *(["--conformance-seed", seed] if seed else [])]
    made = plan_night(
        name or datetime.now(UTC).date().isoformat(),
        select_versions(versions.split() or ["all"]),
        select_versions(["all"]),
        requirements.split(),
        options,
        is_meant_whole=whole or event == "schedule",
    )
    write_night(file, made)
    print_progress(f"night {made.night}: {'whole' if made.is_whole else '; '.join(made.missing)}")
    _tell_job({"legs": json.dumps(made.legs)})
    click.echo(file.read_text().rstrip())


@night.command(context_settings=HELP)
@click.argument("names", nargs=-1, metavar="[LEG]...")
@_plan_file
@_legs
@_archive
@click.option("--attempt", type=int, default=0, envvar=[ATTEMPT, "GITHUB_RUN_ATTEMPT"], help="default: the next one")
@deviations_option
@click.pass_obj
def leg(
    means: Means | None,
    names: Sequence[str],
    file: Path,
    legs: Path,
    archive: Path,
    attempt: int,
    deviations: Sequence[str],
) -> int:
    """Run the named legs, or all of the plan, one after the other; 1 if anything is new, 3 for trouble, else 0.

    Each new violation is replayed at once, on a fresh cluster. One that no replay shows again is told, and is no reason for
    1 unless an earlier night found it, too.
    """
    made = read_night(file)
    if unknown := [name for name in names if name not in made.legs]:
        raise WrongUse(f"leg {unknown[0]!r} is not in the plan of night {made.night}: {', '.join(made.legs)}.")
    outcomes = []
    for name in names or made.legs:
        one = Attempt(night=made.night, leg=name, number=attempt or next_number(legs, made, name))
        outcomes.append(run_leg(legs, one, made, Archive(archive), deviations, means or Means()))
    click.echo(night_summary(made, outcomes, is_published=False).partition("\n")[2].strip())
    return night_code(outcomes)


@night.command(context_settings=HELP)
@_plan_file
@_legs
@_archive
@click.option("--out", type=PATH, default=Path("night/merged"), metavar="DIR", show_default=True)
@click.option("--pool-cut-off", "pooled", multiple=True, metavar="LEG", help="also count attempts that were cut off")
@click.option(
    "--lab", type=PATH, default=Path("night/lab"), metavar="DIR", show_default=True, help="the fault lab's tables"
)
@deviations_option
@click.pass_obj
def merge(
    means: Means | None,
    file: Path,
    legs: Path,
    archive: Path,
    out: Path,
    pooled: Sequence[str],
    lab: Path,
    deviations: Sequence[str],
) -> int:
    """Merge the newest whole attempt of each leg. A whole night is added to the archive and laid out in DIR/site."""
    made, known = read_night(file), Archive(archive)
    try:
        found = find_attempts(legs, made)
        counting = {name: counting_attempts(found, name, pooled) for name in made.legs}
        is_published = made.is_whole and any(counting.values())
        options = [
            *_merge_options(made, known, deviations),
            *_carry_options(made, [name for name in made.legs if not counting[name]], found, known, out),
        ]
        outcomes = _merge_legs(made, found, counting, known, out, options, means or Means())
        summary = night_summary(made, outcomes, is_published=is_published) + _tables_of(lab)
        if is_published:
            _publish(made, counting, outcomes, known, out)
        _write_summary(summary, out)
    except OSError as error:
        raise KitError(f"night {made.night}: {error}. Nothing is published; what was published is kept.") from error
    _tell_job({"published": json.dumps(is_published)}, summary)
    click.echo(summary.strip())
    return night_code(outcomes)


def _merge_options(made: NightPlan, known: Archive, deviations: Sequence[str]) -> list[str]:
    """Return the merge's options; raise WrongUse for a night that is older than a published one."""
    if made.is_whole:
        known.refuse_older(made.night)
    baseline = [str(known.matrix_of(one.night)) for one in known.nights(made.night)][:1]
    trend = ["--archive", str(known.folder / "runs")] if made.is_whole else []
    return [*trend, *(word for path in baseline for word in ("--baseline", path)), *deviations_options(deviations)]


def _carry_options(
    made: NightPlan, dead: Sequence[str], found: Sequence[FoundAttempt], known: Archive, out: Path
) -> list[str]:
    """Return the merge's option that has a whole night show the dead legs' columns as they were last published."""
    if not (made.is_whole and dead):
        return []
    carried = [_carried(name, found, known, known.column(name, made.night)) for name in dead]
    write_whole(out / CARRIED, msgspec.json.encode(carried))
    return ["--carry", str(out / CARRIED)]


def _carried(name: str, found: Sequence[FoundAttempt], known: Archive, column: PublishedColumn) -> CarriedColumn:
    reason = "; ".join(leg_outcome(name, [], found, {}, column).reasons)
    matrix = str(known.matrix_of(column.night).absolute()) if column.night else ""
    return CarriedColumn(kafka_version=name, reason=reason, matrix=matrix, from_run=column.night, age_nights=column.age)


def _merge_legs(
    made: NightPlan,
    found: Sequence[FoundAttempt],
    counting: Mapping[str, Sequence[FoundAttempt]],
    known: Archive,
    out: Path,
    options: Sequence[str],
    means: Means,
) -> list[LegOutcome]:
    """Merge the attempts that count, if there are any, and compare each column with its published one."""
    merged = read_baseline(_merged_matrix(counting, out, options, means)) if any(counting.values()) else None
    return [
        leg_outcome(name, counting[name], found, merged.column(name) if merged else {}, known.column(name, made.night))
        for name in made.legs
    ]


def _merged_matrix(
    counting: Mapping[str, Sequence[FoundAttempt]], out: Path, options: Sequence[str], means: Means
) -> Path:
    _empty(out)
    for one in (each for attempts in counting.values() for each in attempts):
        for part in RECORDED:
            if (one.folder / part).is_dir():
                shutil.copytree(one.folder / part, out / part, dirs_exist_ok=True)
    code = means.merge(out, options)
    if code != EXIT_SATISFIED:
        raise KitError(f"the merge of {out / 'shards'} ended with {code}: nothing is published.")
    return out / "matrix" / "matrix.json"


def _empty(out: Path) -> None:
    """Remove what the last merge of a night left in a folder. Raises WrongUse if anything else was recorded there."""
    parts = [out / part for part in (*RECORDED, "matrix", "site") if (out / part).exists()]
    if parts and not (out / MERGED).exists():
        raise WrongUse(f"{parts[0]}: no merge of a night made it, and nothing recorded is removed. Give another --out.")
    write_whole(out / MERGED, b"")
    for part in parts:
        shutil.rmtree(part)


def _publish(
    made: NightPlan,
    counting: Mapping[str, Sequence[FoundAttempt]],
    outcomes: Sequence[LegOutcome],
    known: Archive,
    out: Path,
) -> None:
    """Lay out the site, then add the night to the archive: a disk that is full leaves the archive as it was."""
    shutil.copytree(out / "matrix", out / "site", ignore=shutil.ignore_patterns("parquet"))
    legs = {name: attempts[-1].attempt.number for name, attempts in counting.items() if attempts}
    unseen = {one.leg: one.not_seen_again for one in outcomes if one.not_seen_again}
    published = PublishedNight(night=made.night, legs=legs, not_seen_again=unseen)
    known.publish(published, (out / "matrix" / "matrix.json").read_bytes())


def _tables_of(lab: Path) -> str:
    """Return the tables that the fault lab printed, each below the name of its file."""
    printed = {path: path.read_text().splitlines() for path in sorted(lab.rglob("*.txt"))}
    tables = {path.stem: [line for line in lines if line.startswith("|")] for path, lines in printed.items()}
    return "".join(
        "\n".join(["", f"Fault lab: {name}", "", *(table or ["no table"]), ""]) for name, table in tables.items()
    )


def _write_summary(summary: str, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    merged = out / "matrix" / "summary.md"
    (out / "summary.md").write_text(summary + (f"\n{merged.read_text()}" if merged.is_file() else ""))


def _tell_job(outputs: Mapping[str, str], summary: str = "") -> None:
    """Append a job's outputs, and its summary, to the files that GitHub names, if it does."""
    lines = "".join(f"{name}={value}\n" for name, value in outputs.items())
    for variable, text in (("GITHUB_OUTPUT", lines), ("GITHUB_STEP_SUMMARY", summary)):
        if path := os.environ.get(variable):
            with open(path, "a", encoding="utf-8") as file:
                file.write(text)
