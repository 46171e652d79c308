"""The merge of a night: its matrix, the columns that it carries over, and the site that it publishes."""

import shutil
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from conformance.campaign.night.archive import Archive, PublishedColumn, PublishedNight
from conformance.campaign.night.attempts import FoundAttempt
from conformance.campaign.night.canaries import CanaryOutcome
from conformance.campaign.night.handing_on import hand_on
from conformance.campaign.night.maturity import MATURE, ages_after, provisional_rows
from conformance.campaign.night.outcome import LegOutcome, leg_outcome
from conformance.campaign.night.plan import Canary, NightPlan
from conformance.campaign.plan import write_whole
from conformance.cli.engine import print_progress
from conformance.cli.means import Means
from conformance.cli.night_legs import judge_canary, row_hashes
from conformance.cli.options import deviations_options
from conformance.running.baseline import Baseline, read_baseline
from fixtures.errors import WrongUse
from history.exit_codes import EXIT_SATISFIED
from protocol.errors import KitError
from reports.carried import CarriedColumn
from reports.site.published import RUNS, NightLine, copy_run, keep_within, size_of, write_nights

MERGED = "merged-night"
"""The file by which a folder is known as one of merged nights."""
CARRIED = "carried.json"
"""The file with the columns that are carried over."""
YOUNG = "provisional.json"
"""The file with the rows that are provisional."""
RECORDED = ("shards", "histories", "evidence")
"""The folders of a leg that a merge reads."""


def merge_options(made: NightPlan, known: Archive, deviations: Sequence[str]) -> list[str]:
    """Return the merge's options; raise WrongUse for a night that is older than a published one."""
    if made.is_whole:
        known.refuse_older(made.night)
    baseline = [str(known.matrix_of(one.night)) for one in known.nights(made.night)][:1]
    trend = ["--archive", str(known.folder / "runs")] if made.is_whole else []
    return [*trend, *(word for path in baseline for word in ("--baseline", path)), *deviations_options(deviations)]


def carry_options(
    made: NightPlan, dead: Sequence[str], found: Sequence[FoundAttempt], known: Archive, out: Path
) -> list[str]:
    """Return the merge's option that has a whole night show the dead legs' columns as they were last published."""
    if not (made.is_whole and dead):
        return []
    carried = [_carried(name, found, known, known.column(name, made.night)) for name in dead]
    write_whole(out / CARRIED, msgspec.json.encode(carried))
    return ["--carry", str(out / CARRIED)]


def young_options(made: NightPlan, known: Archive, out: Path) -> list[str]:
    """Return the merge's option that marks rows as provisional, if there are any."""
    young = provisional_rows(known.ages(made.night), row_hashes())
    if not young:
        return []
    write_whole(
        out / YOUNG, msgspec.json.encode({row: f"{nights} of {MATURE} clean nights" for row, nights in young.items()})
    )
    return ["--provisional", str(out / YOUNG)]


def _carried(name: str, found: Sequence[FoundAttempt], known: Archive, column: PublishedColumn) -> CarriedColumn:
    reason = "; ".join(leg_outcome(name, [], found, {}, column).reasons)
    matrix = str(known.matrix_of(column.night).absolute()) if column.night else ""
    return CarriedColumn(kafka_version=name, reason=reason, matrix=matrix, from_run=column.night, age_nights=column.age)


def merge_legs(
    made: NightPlan,
    found: Sequence[FoundAttempt],
    counting: Mapping[str, Sequence[FoundAttempt]],
    known: Archive,
    out: Path,
    options: Sequence[str],
    means: Means,
) -> tuple[list[LegOutcome], list[CanaryOutcome]]:
    """Merge the attempts that count, if there are any, compare each column with its published one, and judge the canaries."""
    _empty(out)
    merged = read_baseline(_merged_matrix(counting, out, options, means)) if any(counting.values()) else Baseline()
    young = provisional_rows(known.ages(made.night), row_hashes())

    def outcome(name: str) -> LegOutcome:
        before = known.column(name, made.night)
        return leg_outcome(name, counting[name], found, merged.column(name), before, young, merged.stale_in(name))

    def canary(one: Canary) -> CanaryOutcome:
        unharmed = {row: cell.verdict for row, cell in merged.column(one.kafka_version).items()}
        return judge_canary(one, found, unharmed)

    return [outcome(name) for name in made.legs], [canary(one) for one in made.canaries]


def _merged_matrix(
    counting: Mapping[str, Sequence[FoundAttempt]], out: Path, options: Sequence[str], means: Means
) -> Path:
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


def published_night(
    made: NightPlan, counting: Mapping[str, Sequence[FoundAttempt]], outcomes: Sequence[LegOutcome], known: Archive
) -> PublishedNight:
    """Return the night as the archive keeps it."""
    found = (case for one in outcomes for case in (*one.news.new, *one.not_seen_again, *one.provisional))
    return PublishedNight(
        night=made.night,
        legs={name: attempts[-1].attempt.number for name, attempts in counting.items() if attempts},
        published=datetime.now(UTC).isoformat(timespec="seconds"),
        green=[one.leg for one in outcomes if one.exit_code == EXIT_SATISFIED],
        new={one.leg: [*one.news.new] for one in outcomes if one.news.new},
        not_seen_again={one.leg: one.not_seen_again for one in outcomes if one.not_seen_again},
        provisional={one.leg: one.provisional for one in outcomes if one.provisional},
        mended={one.leg: one.mended for one in outcomes if one.mended},
        dead=[one.leg for one in outcomes if not one.attempts],
        seconds=sum(one.seconds for one in outcomes),
        ages=ages_after(
            known.ages(made.night),
            row_hashes(),
            executed={row for one in outcomes for row in one.executed},
            disturbed={case.requirement for case in found},
        ),
    )


def publish(
    night: PublishedNight,
    known: Archive,
    out: Path,
    bound: int,
    outcomes: Sequence[LegOutcome],
    found: Sequence[FoundAttempt],
) -> None:
    """Lay out the site, then add the night to the archive: a disk that is full leaves the archive as it was."""
    site = out / "site"
    nights = [night, *(each for each in known.nights(night.night))]
    if known.site.is_dir():
        shutil.copytree(known.site, site)
    shutil.rmtree(site / RUNS / night.night, ignore_errors=True)
    copy_run(out, site / RUNS / night.night)
    runs = [site / RUNS / each.night for each in reversed(nights)]
    keep_within([run for run in runs if run.is_dir()], bound)
    write_nights(site, [_night_line(each) for each in nights])
    print_progress(f"{site}: {size_of(site) / 1024**2:.1f} MiB")
    draft = known.draft_site(site)
    for one in outcomes:
        own = [each for each in found if each.attempt.leg == one.leg]
        hand_on(known, one.leg, night.night, own, [*one.news.new, *one.not_seen_again, *one.provisional])
    known.publish(night, (out / "matrix" / "matrix.json").read_bytes())
    known.keep_site(draft)


def _night_line(night: PublishedNight) -> NightLine:
    def on_legs(found: Mapping[str, Sequence[object]]) -> list[str]:
        return [f"{one} on {leg}" for leg, all_of_leg in found.items() for one in all_of_leg]

    return NightLine(
        night=night.night,
        published=night.published,
        green=len(night.green),
        new=on_legs(night.new),
        not_seen_again=on_legs(night.not_seen_again),
        mended=on_legs(night.mended),
        dead=night.dead,
        seconds=night.seconds,
    )


def tables_of(lab: Path) -> str:
    """Return the tables that the fault lab printed, each below the name of its file."""
    printed = {path: path.read_text().splitlines() for path in sorted(lab.rglob("*.txt"))}
    tables = {path.stem: [line for line in lines if line.startswith("|")] for path, lines in printed.items()}
    return "".join(
        "\n".join(["", f"Fault lab: {name}", "", *(table or ["no table"]), ""]) for name, table in tables.items()
    )


def write_summary(summary: str, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    merged = out / "matrix" / "summary.md"
    (out / "summary.md").write_text(summary + (f"\n{merged.read_text()}" if merged.is_file() else ""))
