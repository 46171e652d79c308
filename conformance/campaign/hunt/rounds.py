"""A hunt's next round: its column, its seed, the schedules to try first, and the violations to leave aside."""

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from conformance.campaign.hunt.findings import HuntFinding
from conformance.campaign.hunt.state import Hunt, Round
from conformance.campaign.plan import ColumnRun
from conformance.core.machines import AnyMachine
from conformance.running.evidence.folder import Schedule
from conformance.running.replay import read_schedule
from conformance.running.violations import Breach
from history.schema import WrongSchema

FAILING = "failing"
"""The folder of schedules that broke a row, one file each."""
MIN_MINUTES, MAX_MINUTES = 6.0, 15.0
"""The bounds of a round's minutes, if the hours permit."""
SCHEDULES_A_MINUTE = 0.125
"""Schedules of earlier rounds per worker and minute of a round: they take about a quarter of its time."""
SETTLED_AFTER = 2
"""A breach that this many of a column's rounds saw again, without a new finding, is no longer investigated there."""
REINVESTIGATED_EVERY = 10
"""One in this many rounds of a column investigates such breaches nevertheless."""


class KeptSchedule(msgspec.Struct, frozen=True, kw_only=True):
    """A schedule that broke a row; `name` is that of its file, and of its finding if that is this hunt's."""

    name: str
    schedule: Schedule


def read_kept_schedules(out: Path, machines: Sequence[AnyMachine], say: Callable[[str], None]) -> list[KeptSchedule]:
    """Return the kept schedules of these machines, by name. An unreadable one stays where it is, and is reported.

    Raises WrongSchema for one of another schema.
    """
    by_id = {machine.id: machine for machine in machines}
    kept = []
    for path in sorted((out / FAILING).glob("*.json")):
        try:
            schedule = read_schedule(path)
            if machine := by_id.get(schedule.check):
                machine.steps(schedule.steps)
                kept.append(KeptSchedule(name=path.stem, schedule=schedule))
        except WrongSchema:
            raise
        except (ValueError, msgspec.ValidationError) as error:
            say(f"{path} is not played: {error}")
    return kept


# --- the next round


def round_minutes(hours: float, columns: int) -> float:
    """Return a round's minutes, within the bounds: each column gets two rounds in the hours, and no round more than
    half of them."""
    return min(max(30 * hours / columns, MIN_MINUTES), MAX_MINUTES, 30 * hours)


def next_column(hunt: Hunt, columns: Sequence[ColumnRun]) -> ColumnRun:
    """Return the column whose last round was the longest ago; columns without any come first, in order."""
    last = {one.column: one.number for one in hunt.rounds}
    return min(columns, key=lambda column: last.get(column.name, -1))


def next_round(
    hunt: Hunt,
    columns: Sequence[ColumnRun],
    options: Sequence[str],
    kept: Sequence[KeptSchedule],
    minutes: float,
    workers: int,
) -> Round:
    """Return the next round, in the last of the hunt's nights."""
    column, number, night = next_column(hunt, columns), len(hunt.rounds) + 1, len(hunt.nights) - 1
    return Round(
        number=number,
        night=night,
        column=column.name,
        selection=list(column.selection),
        options=list(options),
        seed=(hunt.seed + number) % 2**32,
        minutes=minutes,
        opening=not any(one.totals.count for one in hunt.rounds_of(column.name)),
        schedules=untried_schedules(hunt, column.name, kept)[: max(1, int(workers * minutes * SCHEDULES_A_MINUTE))],
    )


def untried_schedules(hunt: Hunt, column: str, kept: Sequence[KeptSchedule]) -> list[str]:
    """Return the names of schedules neither run nor found on this column in this night, new findings first."""
    tonight = [one for one in hunt.rounds_of(column) if one.night == len(hunt.nights) - 1]
    tried = {name for one in tonight for name in (*one.schedules, *hunt.findings_of_round(one.number))}
    known = {one.name for one in hunt.findings if one.is_known}
    return sorted((one.name for one in kept if one.name not in tried), key=lambda name: (name in known, name))


def settled_breaches(hunt: Hunt, column: str) -> list[Breach]:
    """Return the breaches that the next round on this column does not investigate again."""
    if len(hunt.rounds_of(column)) % REINVESTIGATED_EVERY == 0:
        return []
    breaches = {
        Breach(finding.row, finding.label, sighting.case)
        for finding in hunt.findings
        for sighting in finding.sightings
        if sighting.column == column
    }
    return sorted(breach for breach in breaches if _is_settled(hunt.findings, column, breach))


def _is_settled(findings: Sequence[HuntFinding], column: str, breach: Breach) -> bool:
    alike = [one for one in findings if (one.row, one.label) == (breach.requirement, breach.label)]
    sightings = [s for one in alike for s in one.sightings if (s.column, s.case) == (column, breach.case)]
    rounds = sorted({sighting.round for sighting in sightings})
    new = {one.source.round for one in alike}
    return len(rounds) > SETTLED_AFTER and new.isdisjoint(rounds[-SETTLED_AFTER:])
