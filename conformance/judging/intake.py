"""The decision which shards count, from a summary of each: their columns, and the parts known to be missing."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from conformance.catalogue import Catalogue, Facts
from conformance.catalogue.applicability import numbers
from conformance.judging import patch_releases
from conformance.judging.patch_releases import PatchComparison, comparisons
from history.releases import place_of_version
from history.schema import SCHEMA, refuse_older
from history.shards import Header

NAME_LENGTH = 200
"""The maximum length of the name of a column or run."""


class ShardSummary(msgspec.Struct, frozen=True, kw_only=True):
    """All lines under one shard id ('' for lines without a readable id).

    `lines` counts distinct whole lines, `bad` torn and foreign ones, `numbers` distinct line numbers, from `first` to `last`.
    `kinds` counts whole lines by type; `counted` has the footer's own counts, `footer` its number. `foreign` is the schema of a
    header of another schema, `label` the column's label if any line has it. `ended_early` is the footer's reason for an early
    end.
    """

    shard: str
    lines: int
    bad: int
    numbers: int
    first: int | None = None
    last: int | None = None
    footer: int | None = None
    headers: int = 1
    header: Header | None = None
    foreign: int | None = None
    label: str | None = None
    kinds: dict[str, int] = {}
    counted: dict[str, int | None] | None = None
    ended_early: str | None = None

    @property
    def missing_part(self) -> str:
        """A description of the part missing from this shard; empty if it has every line up to its footer."""
        if self.footer is None:
            return "has no footer: its worker was cut short"
        gaps = self.footer + 1 - self.numbers
        if self.last != self.footer or gaps < 0:
            return "goes on after its footer"
        return f"lacks {gaps} of its lines" if gaps else self._why_miscounted

    @property
    def _why_miscounted(self) -> str:
        wrong = [
            f"{counted} lines of type {kind} where {self.kinds.get(kind, 0)} are"
            for kind, counted in sorted((self.counted or {}).items())
            if counted != self.kinds.get(kind, 0)
        ]
        return f"has a footer that counts {', '.join(wrong)}" if wrong else ""

    @property
    def refusal(self) -> str:
        """The reason why the shard does not count; empty if it does."""
        if self.foreign is not None:
            return f"it is of schema {self.foreign}, this kit reads {SCHEMA}: merge it with the kit that wrote it"
        if self.header is None:
            return "it has no readable header, so its column is not known"
        if self.lines > self.numbers or self.headers > 1:
            return "different lines carry one number: two workers wrote under one shard id, or the file was edited"
        return _why_no_name(self.header)


class QuarantinedShard(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """A shard that does not count; `kafka_version` is its column's label if that could be read."""

    shard: str
    kafka_version: str
    reason: str


class Quarantine(msgspec.Struct, kw_only=True):
    """The shards that do not count. `unreadable` counts distinct lines that are torn or do not belong to a shard."""

    unreadable: int = 0
    empty_files: bool = False
    shards: list[QuarantinedShard] = []


class ColumnFacts(msgspec.Struct, kw_only=True):
    """A column as declared by all of its shards.

    `ranges` has the highest level of each API and feature, `differing` all levels where shards differ. `checks` are by row;
    `changed` are the rows that no shard ran in today's form. `incomplete` describes known missing parts; `ended_early` names the
    runs that ended early, and why; `patches` compares the column with the patch before it.
    """

    kafka_version: str
    version: str
    image: str
    image_id: str
    build: str = ""
    digest: str = ""
    selection: list[str] = []
    ranges: dict[str, int] = {}
    differing: dict[str, list[int]] = {}
    checks: dict[str, set[str]] = {}
    changed: set[str] = set()
    headers: list[Header] = []
    incomplete: list[str] = []
    ended_early: list[str] = []
    patches: list[PatchComparison] = []

    @property
    def label(self) -> str:
        return self.headers[0].column.label

    @property
    def run(self) -> str:
        """The first run of the column; its only run if each run became a column."""
        return self.headers[0].run

    @property
    def facts(self) -> Facts:
        return Facts(version=self.version, ranges=self.ranges)


class Intake(msgspec.Struct, kw_only=True):
    """The shards that count and the columns they form. `shards` maps each shard to its column's label; `outdated` has (shard,
    changed row) pairs."""

    columns: list[ColumnFacts]
    shards: dict[str, str]
    outdated: list[tuple[str, str]]
    quarantine: Quarantine


def sort_shards(
    summaries: Iterable[ShardSummary], catalogue: Catalogue, empty_files: bool = False, by_run: bool = False
) -> Intake:
    """Sort the shards into columns and the quarantine. With `by_run`, each run's part of a column becomes a separate column named
    after both.

    Raises WrongSchema for a shard of an older schema.
    """
    known = sorted(summaries, key=lambda summary: summary.shard)
    for each in known:
        refuse_older(SCHEMA if each.foreign is None else each.foreign, f"shard {each.shard}")
    headers = {each.shard: each.header for each in known if each.header is not None and not each.refusal}
    quarantine = Quarantine(
        unreadable=sum(each.bad for each in known),
        empty_files=empty_files,
        shards=[_quarantine(each) for each in known if each.shard and each.shard not in headers],
    )
    named = {shard: _name(header, by_run) for shard, header in headers.items()}
    marks = _marks(known, named, quarantine)
    groups = _by_name(headers, named)
    columns = [_column(name, group, catalogue, marks) for name, group in groups.items()]
    compared, early = comparisons(groups), _runs_that_ended_early(known, named)
    for column in columns:
        column.patches = compared.get(column.kafka_version, [])
        column.ended_early = sorted(early[column.kafka_version])
    return Intake(
        columns=sorted(columns, key=lambda column: (place_of_version(column.version), column.kafka_version)),
        shards=named,
        outdated=[(shard, row) for shard, header in headers.items() for row in _changed_rows(header, catalogue)],
        quarantine=quarantine,
    )


def _name(header: Header, by_run: bool) -> str:
    return f"{header.column.label} in run {header.run}" if by_run else header.column.label


def _why_no_name(header: Header) -> str:
    """Return why no column or run can have this name, given that names become folders and rows depend on the version."""
    for what, name in (("column", header.column.label), ("run", header.run)):
        if not 0 < len(name) <= NAME_LENGTH:
            return f"its header names a {what} in {len(name)} characters; there must be 1 to {NAME_LENGTH}"
    if not numbers(header.column.version):
        return f"its header gives {header.column.version!r} as the version of its column; one begins with a number"
    return ""


def _quarantine(summary: ShardSummary) -> QuarantinedShard:
    label = summary.header.column.label if summary.header else summary.label or ""
    return QuarantinedShard(shard=summary.shard, kafka_version=label, reason=summary.refusal)


def _marks(known: Sequence[ShardSummary], named: dict[str, str], quarantine: Quarantine) -> dict[str, list[str]]:
    """Return descriptions of missing parts, by a column's name or label; those that may belong to any column are under ''."""
    marks: dict[str, list[str]] = defaultdict(list)
    for summary in known:
        if summary.shard in named and summary.missing_part:
            marks[named[summary.shard]].append(f"shard {summary.shard} {summary.missing_part}")
        if not summary.shard and summary.bad:
            marks[""].append(f"{summary.bad} unreadable lines have no shard id")
    for entry in quarantine.shards:
        marks[entry.kafka_version].append(f"shard {entry.shard} is quarantined: {entry.reason}")
    if quarantine.empty_files:
        marks[""].append("a shard file is empty")
    return marks


def _runs_that_ended_early(known: Sequence[ShardSummary], named: dict[str, str]) -> dict[str, set[str]]:
    """Return the runs that ended early, by column. Their shards are complete, so their observations count in full."""
    found: dict[str, set[str]] = defaultdict(set)
    for summary in known:
        if summary.shard in named and summary.header is not None and summary.ended_early:
            found[named[summary.shard]].add(f"run {summary.header.run} ended early ({summary.ended_early})")
    return found


def _by_name(headers: dict[str, Header], named: dict[str, str]) -> dict[str, list[Header]]:
    groups: dict[str, list[Header]] = defaultdict(list)
    for shard, header in headers.items():
        groups[named[shard]].append(header)
    return groups


def _column(called: str, headers: list[Header], catalogue: Catalogue, marks: dict[str, list[str]]) -> ColumnFacts:
    first = headers[0].column
    levels: dict[str, set[int]] = defaultdict(set)
    checks: dict[str, set[str]] = defaultdict(set)
    for header in headers:
        for name, level in header.column.ranges.items():
            levels[name].add(level)
        for row, names in header.checks.items():
            checks[row].update(names)
    checks[patch_releases.ROW].add(patch_releases.CHECK)
    return ColumnFacts(
        kafka_version=called,
        version=first.version,
        image=first.image,
        image_id=first.image_id,
        build=first.build,
        digest=first.digest,
        selection=first.selection,
        ranges={name: max(declared) for name, declared in sorted(levels.items())},
        differing={name: sorted(declared) for name, declared in sorted(levels.items()) if len(declared) > 1},
        checks=checks,
        changed=_rows_changed_everywhere(headers, catalogue),
        headers=headers,
        incomplete=[mark for key in dict.fromkeys((called, first.label, "")) for mark in marks.get(key, [])],
    )


def _changed_rows(header: Header, catalogue: Catalogue) -> list[str]:
    return sorted(row for row, hash in header.rows.items() if row in catalogue and catalogue[row].hash != hash)


def _rows_changed_everywhere(headers: list[Header], catalogue: Catalogue) -> set[str]:
    """Return the rows that shards ran only in an older form."""
    changed = {row for header in headers for row in _changed_rows(header, catalogue)}
    current = {row for h in headers for row, hash in h.rows.items() if row in catalogue and catalogue[row].hash == hash}
    return changed - current
