"""`./kit night`: plan a night, run its legs, and merge and publish them; on any machine, from cron or from a job of CI."""

import json
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import click
import msgspec

from conformance.campaign.night.alarm import complaints, read_published
from conformance.campaign.night.archive import Archive
from conformance.campaign.night.attempts import (
    Attempt,
    counting_attempts,
    find_attempts,
    next_number,
)
from conformance.campaign.night.canaries import CanaryOutcome, plan_canaries
from conformance.campaign.night.outcome import LegOutcome, night_code, night_summary
from conformance.campaign.night.packing import pack_archive, unpack_archive
from conformance.campaign.night.plan import plan_night, read_night, write_night
from conformance.campaign.plan import write_whole
from conformance.cli.engine import print_progress
from conformance.cli.group import HELP
from conformance.cli.means import Means
from conformance.cli.night_legs import planted_bugs, run_canary, run_leg
from conformance.cli.night_merge import (
    carry_options,
    merge_legs,
    merge_options,
    publish,
    published_night,
    tables_of,
    write_summary,
    young_options,
)
from conformance.cli.night_tell import read_issues, requests_of
from conformance.cli.options import deviations_option
from conformance.running.provenance import ATTEMPT, last_commit
from fixtures.errors import WrongUse
from fixtures.images import select_versions
from history.exit_codes import exit_code_of
from protocol.errors import KitError
from reports.commands.options import PATH

_plan_file = click.option(
    "--plan", "file", type=PATH, default=Path("night/plan.json"), metavar="FILE", show_default=True
)
_legs = click.option(
    "--legs", type=PATH, default=Path("night/legs"), metavar="DIR", show_default=True, help="the legs' folders"
)
_archive = click.option(
    "--archive", type=PATH, default=Path("nights"), metavar="DIR", show_default=True, help="the published nights"
)
_out = click.option(
    "--out", type=PATH, default=Path("night/merged"), metavar="DIR", show_default=True, help="the merged night"
)
_added = click.option(
    "--added", type=PATH, default=Path("night/added"), metavar="DIR", show_default=True, help="what was added to it"
)
_published = click.option(
    "--published",
    type=PATH,
    default=Path("night/published.json"),
    metavar="FILE",
    show_default=True,
    help="the newest published night",
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
    if made.is_whole:
        newest = made.legs[-1]
        made = msgspec.structs.replace(made, canaries=plan_canaries(made.night, newest, planted_bugs(newest)))
    write_night(file, made)
    print_progress(f"night {made.night}: {'whole' if made.is_whole else '; '.join(made.missing)}")
    _tell_job({"legs": json.dumps(made.all_legs)})
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
    if unknown := [name for name in names if name not in made.all_legs]:
        raise WrongUse(f"leg {unknown[0]!r} is not in the plan of night {made.night}: {', '.join(made.all_legs)}.")
    outcomes: list[LegOutcome] = []
    canaries: list[CanaryOutcome] = []
    for name in names or made.all_legs:
        one = Attempt(night=made.night, leg=name, number=attempt or next_number(legs, made, name))
        if canary := made.canary(name):
            canaries.append(run_canary(legs, one, made, canary, means or Means()))
        else:
            outcomes.append(run_leg(legs, one, made, Archive(archive), deviations, means or Means()))
    click.echo(night_summary(made, outcomes, canaries, is_published=False).partition("\n")[2].strip())
    return night_code([*outcomes, *canaries])


@night.command(context_settings=HELP)
@_plan_file
@_legs
@_archive
@_out
@click.option("--pool-cut-off", "pooled", multiple=True, metavar="LEG", help="also count attempts that were cut off")
@click.option(
    "--lab", type=PATH, default=Path("night/lab"), metavar="DIR", show_default=True, help="the fault lab's tables"
)
@_published
@click.option(
    "--bound", type=click.IntRange(min=0), default=900, metavar="MIB", show_default=True, help="the site's size"
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
    published: Path,
    bound: int,
    deviations: Sequence[str],
) -> int:
    """Merge the newest whole attempt of each leg. A whole night is added to the archive and laid out in DIR/site."""
    made, known = read_night(file), Archive(archive)
    if made.is_whole:
        known.refuse_lost(read_published(published))
    try:
        found = find_attempts(legs, made)
        counting = {name: counting_attempts(found, name, pooled) for name in made.legs}
        options = [
            *merge_options(made, known, deviations),
            *carry_options(made, [name for name in made.legs if not counting[name]], found, known, out),
            *young_options(made, known, out),
        ]
        outcomes, canaries = merge_legs(made, found, counting, known, out, options, means or Means())
        is_published = made.is_whole and any(counting.values()) and not any(one.looks_well for one in canaries)
        summary = night_summary(made, outcomes, canaries, is_published=is_published) + tables_of(lab)
        if is_published:
            newest = published_night(made, counting, outcomes, known)
            publish(newest, known, out, bound * 1024**2, outcomes, found)
            write_whole(published, msgspec.json.encode(newest))
        write_summary(summary, out)
    except OSError as error:
        raise KitError(f"night {made.night}: {error}. Nothing is published; what was published is kept.") from error
    _tell_job({"published": json.dumps(is_published)}, summary)
    click.echo(summary.strip())
    return night_code([*outcomes, *canaries])


@night.command(context_settings=HELP)
@_plan_file
@_archive
@_out
@click.option("--open", "issues", type=PATH, metavar="FILE", help="open issues: gh issue list --json number,title,body")
@click.option("--page", default="", metavar="URL", help="the address of the published site")
@click.option("--to", type=PATH, default=Path("night/issues.json"), metavar="FILE", show_default=True)
def tell(file: Path, archive: Path, out: Path, issues: Path | None, page: str, to: Path) -> None:
    """Write which issues to open, update and close, as requests to GitHub's API; none for a night that is not published."""
    made = read_night(file)
    known = Archive(archive)
    published = known.find(made.night)
    matrix = known.matrix_of(made.night)
    requests = requests_of(published, matrix, out, read_issues(issues), page) if published else []
    write_whole(to, msgspec.json.format(msgspec.json.encode(requests), indent=1))
    for request in requests:
        click.echo(f"{request.action} {request.title}")


@night.command(context_settings=HELP)
@_archive
@_added
def pack(archive: Path, added: Path) -> None:
    """Write what was added to the archive since it was saved whole, or say, each 7th night, that it is to be saved whole.

    For a job that keeps nights in a cache, to which nothing can be added.
    """
    is_whole = pack_archive(Archive(archive), added)
    print_progress(f"to be saved: {archive if is_whole else added}")
    _tell_job({"whole": json.dumps(is_whole)})


@night.command(context_settings=HELP)
@_archive
@_added
def unpack(archive: Path, added: Path) -> None:
    """Bring an archive that was saved whole to what was added to it since."""
    unpack_archive(Archive(archive), added)


@night.command(context_settings=HELP)
@_published
def alarm(published: Path) -> int:
    """Complain, with exit code 3, if no night was published for 36 hours, or the schedule is about to be switched off."""
    found = [*complaints(read_published(published), last_commit(), datetime.now(UTC))]
    for complaint in found:
        click.echo(complaint)
    return exit_code_of(troubled=bool(found))


def _tell_job(outputs: Mapping[str, str], summary: str = "") -> None:
    """Append a job's outputs, and its summary, to the files that GitHub names, if it does."""
    lines = "".join(f"{name}={value}\n" for name, value in outputs.items())
    for variable, text in (("GITHUB_OUTPUT", lines), ("GITHUB_STEP_SUMMARY", summary)):
        if path := os.environ.get(variable):
            with open(path, "a", encoding="utf-8") as file:
                file.write(text)
