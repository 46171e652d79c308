"""The findings of a hunt, taken from the shards of its rounds.

A finding is a row, the label of its violation, and the shape of the shrunk schedule. Violations with the same key are
sightings of one finding.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

import msgspec

from conformance.campaign.bisection import Outcome
from conformance.campaign.hunt.shapes import Shape, digest_of, shape_of
from conformance.catalogue.deviations import Deviation
from conformance.running.evidence.folder import Schedule
from conformance.running.replay import read_schedule
from conformance.running.violations import Breach, breaks_its_row
from history.shards import ExampleLine, Header, ObservationLine, ReplayLine, Shard

DOUBT = 0.05
"""A version is good if its replays all missed the finding, and would do so with at most this probability at the rate of
the finding's own column."""


class Sighting(msgspec.Struct, frozen=True, kw_only=True):
    """One violation in one round.

    `column` is what was hunted on (a version, an image or a directory), `label` that of its shards. `evidence` is a
    folder below that of the hunt. Replays of the shrunk schedule on its own cluster showed it in `seen` of `tries`;
    both are 0 if it was not shrunk. `known` is the ticket or reason of a known deviation of this version, empty without
    one. `deeds` are its example's steps and faults; `differs` is true if they have a fault that the deviation does not
    require.
    """

    round: int
    column: str
    label: str
    version: str
    seed: int
    example: str
    case: str
    evidence: str
    seen: int = 0
    tries: int = 0
    known: str = ""
    deeds: list[str] = []
    differs: bool = False

    @property
    def is_shrunk(self) -> bool:
        """True if replays of its shrunk schedule showed it again."""
        return self.seen > 0


class Replays(msgspec.Struct, frozen=True, kw_only=True):
    """Replays of a schedule on a fresh cluster: `seen` of `tries` showed the violation; `trouble` more ended in
    errors."""

    seen: int
    tries: int
    trouble: int = 0

    def __str__(self) -> str:
        return f"{self.seen} of {self.tries} replays" + (f" ({self.trouble} more in trouble)" if self.trouble else "")


class RecordedViolation(msgspec.Struct, frozen=True, kw_only=True):
    """A violation as recorded in a round's shards and evidence."""

    row: str
    label: str
    detail: str
    schedule: Schedule
    sighting: Sighting


class HuntFinding(msgspec.Struct, kw_only=True):
    """A bug as a hunt knows it. `schedule` and `detail` are those of the sighting `shown`, an index; `replays` are on
    fresh clusters, by column.

    `name` is that of its folder, which stays the same when a shrunk schedule replaces one that was not shrunk.
    """

    name: str
    row: str
    label: str
    shape: Shape
    detail: str
    schedule: Schedule
    sightings: list[Sighting]
    shown: int = 0
    replays: dict[str, Replays] = {}

    @classmethod
    def of(cls, seen: RecordedViolation) -> HuntFinding:
        shape = shape_of(seen.schedule.steps)
        return cls(
            name=f"{seen.row}-{digest_of(seen.row, seen.label, shape)}",
            row=seen.row,
            label=seen.label,
            shape=shape,
            detail=seen.detail,
            schedule=seen.schedule,
            sightings=[seen.sighting],
        )

    @property
    def source(self) -> Sighting:
        """The sighting that the schedule and the detail are from."""
        return self.sightings[self.shown]

    @property
    def is_known(self) -> bool:
        """True if its row is known to be broken on every version on which it was seen."""
        return all(sighting.known for sighting in self.sightings)

    @property
    def is_settled(self) -> bool:
        """True if it is known, and its shrunk schedule has the known shape, so that it need not be replayed."""
        return self.is_known and not (self.source.is_shrunk and self.source.differs)

    def add_sighting(self, seen: RecordedViolation) -> None:
        """Add a sighting. The first one with a shrunk schedule gives the finding that schedule."""
        shape = shape_of(seen.schedule.steps)
        is_shorter = seen.sighting.is_shrunk and not self.source.is_shrunk and shape != self.shape
        self.sightings.append(seen.sighting)
        if is_shorter:
            self.shown = len(self.sightings) - 1
            self.shape, self.detail, self.schedule, self.replays = shape, seen.detail, seen.schedule, {}

    def judge_again(self, deviations: Sequence[Deviation]) -> None:
        """Mark the sightings that the current known deviations cover."""
        self.sightings = [mark_known(deviations, self.row, self.detail, one) for one in self.sightings]

    @property
    def rate(self) -> float:
        """The share of replays on a fresh cluster of its own column that showed the finding; 0 without replays."""
        own = self.replays.get(self.source.column)
        return own.seen / own.tries if own and own.tries else 0.0

    @property
    def outcomes(self) -> dict[str, Outcome]:
        """The outcome for each column on which it was replayed: `bad` if seen there, `good` if chance does not explain
        that it was not."""
        return {column: _outcome_of_replays(replays, self.rate) for column, replays in self.replays.items()}


def _outcome_of_replays(replays: Replays, rate: float) -> Outcome:
    if replays.seen:
        return "bad"
    return "good" if replays.tries and (1 - rate) ** replays.tries <= DOUBT else ""


# --- from shards


def violations_in(
    folder: Path, shards: Iterable[Shard], deviations: Sequence[Deviation], number: int, column: str
) -> list[RecordedViolation]:
    """Return the violations of round `number`, whose output is in `folder`; shrunk ones first.

    Each breach in a shard has the schedules whose replays showed it, or else the first example's.
    """
    found = [
        _sighting_of_line(folder, shard.header, line, replay, deviations, number, column)
        for shard in shards
        if shard.header is not None
        for line, replay in schedules_of(shard)
    ]
    return sorted(found, key=lambda one: not one.sighting.is_shrunk)


def schedules_of(shard: Shard) -> Iterator[tuple[ObservationLine, ReplayLine | None]]:
    """Yield a violation with evidence for each breach of a shard, or all whose shrunk schedules showed it again."""
    replays = {(line.requirement, line.evidence): line for line in shard.lines if isinstance(line, ReplayLine)}
    broken = [line for line in shard.lines if isinstance(line, ObservationLine) and line.evidence]
    for _, lines in groupby(sorted(filter(breaks_its_row, broken), key=_breach_of_line), key=_breach_of_line):
        of_breach = [(line, replays.get((line.requirement, line.evidence))) for line in lines]
        yield from [(line, replay) for line, replay in of_breach if replay and replay.seen] or of_breach[:1]


def _breach_of_line(line: ObservationLine) -> Breach:
    return Breach(line.requirement, line.label, line.case)


def _sighting_of_line(
    folder: Path,
    header: Header,
    line: ObservationLine,
    replay: ReplayLine | None,
    deviations: Sequence[Deviation],
    number: int,
    column: str,
) -> RecordedViolation:
    sighting = Sighting(
        round=number,
        column=column,
        label=header.column.label,
        version=header.column.version,
        seed=header.seed,
        example=line.example,
        case=line.case,
        evidence=str(Path(folder.parent.name) / folder.name / line.evidence),
        seen=replay.seen if replay else 0,
        tries=replay.tries if replay else 0,
        deeds=line.deeds,
    )
    return RecordedViolation(
        row=line.requirement,
        label=line.label,
        detail=line.detail,
        schedule=read_schedule(folder / line.evidence / "schedule.json"),
        sighting=mark_known(deviations, line.requirement, line.detail, sighting),
    )


def mark_known(deviations: Iterable[Deviation], row: str, detail: str, one: Sighting) -> Sighting:
    """Return a violation's sighting with the ticket, or else the reason, of the known deviation with this wording and
    schedule, if there is one."""
    about = [entry for entry in deviations if entry.covers(row, one.version)]
    known = [entry for entry in about if entry.explains(one.case, detail, one.deeds)]
    name = known[0].ticket or known[0].reason.strip() if known else ""
    differs = bool(known) and not any(entry.foresees(one.deeds) for entry in known)
    return msgspec.structs.replace(one, known=name, differs=differs)


def replays_in(shards: Iterable[Shard], row: str, label: str) -> Replays:
    """Count a replay's examples that broke the row with this label. Others that ended in errors are no tries."""
    lines = [line for shard in shards for line in shard.lines]
    shown = {
        line.example
        for line in lines
        if isinstance(line, ObservationLine) and breaks_its_row(line) and (line.requirement, line.label) == (row, label)
    }
    ended = {line.example: line.outcome for line in lines if isinstance(line, ExampleLine)}
    judged = {example for example, outcome in ended.items() if outcome == "judged"}
    return Replays(seen=len(shown), tries=len(shown | judged), trouble=len(ended.keys() - shown - judged))


# --- findings and sightings


def add(findings: list[HuntFinding], seen: RecordedViolation) -> HuntFinding | None:
    """File a violation; return a new finding, or None for a further sighting of one of `findings`.

    A schedule that was not shrunk has no shape of its own: it belongs to the first finding with its row, label and
    case, and the first shrunk schedule replaces it.
    """
    alike = [one for one in findings if (one.row, one.label) == (seen.row, seen.label)]
    same = _same_finding(alike, shape_of(seen.schedule.steps), seen.sighting)
    if same is None:
        findings.append(HuntFinding.of(seen))
        return findings[-1]
    same.add_sighting(seen)
    return None


def _same_finding(alike: Sequence[HuntFinding], shape: Shape, sighting: Sighting) -> HuntFinding | None:
    """Return the first of `alike`, findings with one row and label, to which a schedule of this shape belongs."""
    exact = [one for one in alike if one.shape == shape]
    of_case = [one for one in alike if any(earlier.case == sighting.case for earlier in one.sightings)]
    if not sighting.is_shrunk:
        return next(iter([*exact, *of_case]), None)
    begun = [one for one in alike if one.source.is_shrunk and _begins_with(one.shape, shape)]
    return next(iter([*exact, *begun, *(one for one in of_case if not one.source.is_shrunk)]), None)


def _begins_with(whole: Shape, shape: Shape) -> bool:
    """True if `whole` begins with `shape`: a replay ends once the violation shows, which may be earlier on another
    version."""
    return bool(shape) and whole[: len(shape)] == shape
