"""The glyphs, words and order in which all reports show verdicts."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from conformance.catalogue.rows import Level, family_of
from conformance.judging import patch_releases
from conformance.judging.verdicts import VERDICTS, CaseTally, Verdict, sum_in_words
from history.command import row_command
from history.observations import Observation
from history.shards import AttemptCount
from reports.matrix import Matrix, ReportedCell, Violation
from reports.order import in_order

GLYPHS: dict[Verdict, str] = {
    "violated": "✗",
    "flaky": "~",
    "error": "!",
    "inconclusive": "?",
    "satisfied": "✓",
    "recorded": "◦",
    "not-run": "○",
    "untested": "·",
    "inapplicable": "–",
}

MEANINGS: dict[Verdict, str] = {
    "violated": "an observation breaks the row",
    "flaky": "identical tries were answered differently, no answer breaks the row",
    "error": "the kit or its surroundings failed, so the cell says nothing about Kafka",
    "inconclusive": "below the floor, more left undecided than held, most tries without their premise, or lines are missing",
    "satisfied": "every case was exercised often enough, with its premise read back, and held",
    "recorded": "informational, or the promise of a later KIP: observed, never judged",
    "not-run": "no check of the row ran here, or the row was changed since",
    "untested": "the kit has no check for the row yet",
    "inapplicable": "this version does not have what the row is about",
}

SENTENCE = 500
"""The maximum number of characters of a violation in one sentence."""

ALARMING: tuple[Verdict, ...] = ("violated", "flaky", "error", "inconclusive")
"""The verdicts that need a look, the worst first."""

LEVELS: dict[Level, str] = {
    "must": "the document requires it",
    "should": "the document recommends it",
    "landed": "not in the document, but every release does it and clients rely on it",
    "gap": "the document asks for it and releases do not deliver it: the row is red, and that is the finding",
    "law": "a general law that any Kafka keeps, whatever the KIP",
    "informational": "recorded, never judged",
    "later": "the promise of a later KIP: whether it is kept is recorded for every version, and never judged",
}

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")

TICKETS = "https://issues.apache.org/jira/browse/"


class FamilyRows(msgspec.Struct, kw_only=True):
    """The rows of one KIP, or the general laws (`kip` 0), as cells by row and column label."""

    kip: int
    rows: dict[str, dict[str, ReportedCell]]

    @property
    def family(self) -> str:
        return family_of(self.kip)

    @property
    def cells(self) -> list[ReportedCell]:
        return [cell for row in self.rows.values() for cell in row.values()]


def by_family(matrix: Matrix) -> list[FamilyRows]:
    """Group rows, in the catalogue's order, under their KIPs in ascending order; general laws come last."""
    kips = {row.requirement: row.kip for row in matrix.requirements}
    families = {kip: FamilyRows(kip=kip, rows={}) for kip in sorted({*kips.values()}, key=lambda kip: (not kip, kip))}
    for row, kip in kips.items():
        families[kip].rows[row] = {}
    for cell in matrix.cells:
        families[kips[cell.requirement]].rows[cell.requirement][cell.kafka_version] = cell
    return list(families.values())


def count_by_verdict(cells: Iterable[ReportedCell], label: str) -> dict[Verdict, int]:
    """Count the cells of a column by verdict, in the order of `VERDICTS`; verdicts without a cell are left out."""
    found = Counter(cell.verdict for cell in cells if cell.kafka_version == label)
    return {verdict: found[verdict] for verdict in VERDICTS if found[verdict]}


def alarming_cells(matrix: Matrix, verdicts: Sequence[Verdict] = ALARMING) -> list[ReportedCell]:
    """Return the cells that need a look, the worst first, then in the order of the matrix."""
    rank = {verdict: place for place, verdict in enumerate(verdicts)}
    return sorted((cell for cell in matrix.cells if cell.verdict in rank), key=lambda cell: rank[cell.verdict])


def cell_reason(cell: ReportedCell) -> str:
    """Return the reason for a cell's verdict, with the result of replays and the errors of the kit."""
    parts = [cell.reason]
    if cell.replays.tries:
        parts.append(f"seen again in {cell.replays.seen} of {cell.replays.tries} replays")
    if cell.verdict == "error" and cell.checks.trouble:
        parts.append(cell.checks.trouble)
    return "; ".join(part for part in parts if part)


def missing_examples(cell: ReportedCell) -> list[str]:
    """Return the checks of a cell with examples that lost their premise or failed with an error of the kit, and how
    many."""
    return [f"{check}: {_missing_examples(count)}" for check, count in cell.attempts.items()]


def _missing_examples(count: AttemptCount) -> str:
    kinds = {"lost their premise": count.lost, "ended in trouble of the kit": count.errors}
    return f"{' and '.join(f'{times} {what}' for what, times in kinds.items() if times)} of {count.made} examples"


def undecided_in_words(tally: CaseTally) -> list[str]:
    """Return the counts of a case that decide nothing: excused, left out, and tries that lost their premise."""
    lost = f"{tally.lost} of {tally.attempts} tries lost their premise" if tally.lost else ""
    outside = sum_in_words(tally.outside, "outside the row's preconditions")
    found = [sum_in_words(tally.excused, "excused"), sum_in_words(tally.left_out, "left out"), outside, lost]
    return [text for text in found if text]


def cell_why(cell: ReportedCell) -> str:
    """Describe a cell in one line: its first violation, and its reason."""
    first = cell.shown[0] if cell.verdict == "violated" and cell.shown else None
    parts = [f"case {first.case}: {sentence_of(first)}" if first else "", cell_reason(cell)]
    return " ".join("; ".join(part for part in parts if part).split())


def sentence_of(violation: Violation | Observation) -> str:
    """Return the first line of a violation's text, its sentence; the evidence has the rest."""
    text = " ".join(violation.detail.partition("\n")[0].split()) or violation.label
    return text if len(text) <= SENTENCE else f"{text[:SENTENCE]}…"


def cell_text(cell: ReportedCell) -> str:
    """Describe a cell in one line: its reason, its first violation and its known deviations."""
    return "; ".join(
        part for part in [cell_why(cell), *(f"known: {e.ticket or 'no ticket'}" for e in cell.known)] if part
    )


def commands_again(cell: ReportedCell, selection: Sequence[str]) -> list[str]:
    """Return the commands that run each check again that saw a violation of the cell, or else the row's own checks.

    There is none for a row that only a merge judges.
    """
    if cell.requirement == patch_releases.ROW:
        return []
    checks = [*dict.fromkeys(shown.check for shown in cell.shown)] or [""]
    return [row_command(selection, cell.requirement, check) for check in checks]


def replace_controls(text: str) -> str:
    """Replace control characters, which a broker's text may hold, before it is shown in a terminal."""
    return _CONTROL.sub(" ", text)


def column_problems(matrix: Matrix) -> list[str]:
    """Return the reasons to doubt columns, one sentence each."""
    found = [
        f"Column {column.kafka_version} was not run and is that of night {column.from_run}, {column.age}: {column.not_run}."
        for column in matrix.columns
        if column.from_run
    ]
    found += [
        f"Column {column.kafka_version} is incomplete: {reason}."
        for column in matrix.columns
        for reason in column.incomplete
    ]
    for column in matrix.columns:
        found += [
            f"Column {column.kafka_version}: {reason}; checks that it left are not-run."
            for reason in column.ended_early
        ]
        for name, levels in column.differing.items():
            found.append(
                f"Column {column.kafka_version}: its clusters declared {name} as {levels}; the highest counts."
            )
    if len(matrix.columns) > 1:
        found += [f"Column {left}; it is left out of since when." for left in in_order(matrix.columns).unordered]
    found += [
        f"Shard {entry.shard} of column {entry.kafka_version or '(unknown)'} is quarantined: {entry.reason}."
        for entry in matrix.quarantine.shards
    ]
    if matrix.quarantine.unreadable:
        found.append(f"{matrix.quarantine.unreadable} lines are torn, or are not lines of a shard; they don't count.")
    found += [
        f"{count} observations are of {row}, which the catalogue does not have."
        for row, count in matrix.unknown_rows.items()
    ]
    return found


def doubtful_deviations(matrix: Matrix) -> list[str]:
    """Return the known deviations that no longer hold, or have to be looked at again, one sentence each.

    Reports show them as prominently as a new violation.
    """
    stale = [
        f"The known deviation of {entry.requirement} no longer holds on {entry.kafka_version}: the cell is satisfied. "
        "Narrow its versions in known-deviations.toml."
        for entry in matrix.stale_deviations
    ]
    due = [
        f"The known deviation of {entry.requirement} {', '.join(entry.cases)} was to be looked at again on {entry.look_again}: "
        f"see whether the newest release still has it{' and what became of ' + entry.ticket if entry.ticket else ''}, "
        "and give it an end or another date in known-deviations.toml."
        for entry in matrix.due_deviations
    ]
    return [*stale, *due]
