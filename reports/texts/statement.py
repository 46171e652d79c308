"""`statements/*.md`: a conformance statement for each column, be it a release or an own build, on one page."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from conformance.catalogue.sources import SOURCES
from conformance.judging.news import BROKEN
from conformance.judging.verdicts import Verdict
from reports.matrix import ColumnReport, Matrix, ReportedCell, RowFacts
from reports.texts.badges import file_of
from reports.texts.markdown import escape
from reports.texts.wording import LEVELS, TICKETS, column_problems

_OPEN: tuple[Verdict, ...] = ("error", "inconclusive", "not-run")
"""The verdicts of rows about which this column says nothing."""
_COUNTED: tuple[Verdict, ...] = ("satisfied", "violated", "flaky", *_OPEN, "untested")
_JUDGED = [level for level in LEVELS if level not in ("informational", "later")]


def statements(matrix: Matrix) -> dict[str, str]:
    """Return a page for each column, by file name."""
    return {file_of(column).replace(".json", ".md"): _statement(matrix, column) for column in matrix.columns}


def _statement(matrix: Matrix, column: ColumnReport) -> str:
    rows = {row.requirement: row for row in matrix.requirements}
    cells = [cell for cell in matrix.cells if cell.kafka_version == column.kafka_version]
    broken = [cell for cell in cells if cell.verdict in BROKEN]
    doubts = _doubt_lines(matrix, column)
    parts = [
        f"# Conformance statement: Kafka {escape(column.kafka_version)}",
        "What a run of this kit observed, and no certificate: a row that holds was tried, never proven.",
        "## What was run",
        "\n".join(_run_lines(column)),
        "## What holds",
        "\n".join(_count_lines(cells, rows)),
        f"## What is broken: {len(broken)} rows",
        "\n".join(_broken_line(cell, rows[cell.requirement]) for cell in broken) or "None.",
        "## What is open",
        "\n".join(_open_lines(cells)) or "Nothing.",
        "## What was read",
        "\n".join(f"- {one.page}: {one.revision}; read {one.read}" for one in SOURCES.values()),
        *doubts,
    ]
    return "\n\n".join(parts) + "\n"


def _run_lines(column: ColumnReport) -> Iterator[str]:
    facts: dict[str, Iterable[object]] = {
        "Kafka": [f"{column.version}, as its own files say"],
        "Image": [" ".join(part for part in (column.image, column.digest) if part)],
        "Features": [f"{name}={level}" for name, level in sorted(column.features.items())],
        "Kit": column.kits,
        "Commit of the kit": dict.fromkeys(one.commit for one in column.origins if one.commit),
        "Begun": dict.fromkeys(one.began for one in column.origins if one.began),
        "Profile": column.profiles,
        "Topologies": column.topologies,
        "Seeds": column.seeds,
        "Runs": column.runs,
    }
    for name, values in facts.items():
        if text := ", ".join(map(str, values)):
            yield f"- {name}: {escape(text)}"


def _count_lines(cells: list[ReportedCell], rows: Mapping[str, RowFacts]) -> Iterator[str]:
    """Yield a table: how many rows of each strength have which verdict; those that do not apply are left out."""
    counts = Counter((rows[cell.requirement].level, cell.verdict) for cell in cells)
    yield f"| strength | {' | '.join(_COUNTED)} |"
    yield f"|---|{'---:|' * len(_COUNTED)}"
    for level in _JUDGED:
        yield f"| {level} | {' | '.join(str(counts[level, verdict]) for verdict in _COUNTED)} |"


def _broken_line(cell: ReportedCell, row: RowFacts) -> str:
    cases = ", ".join(sorted(case for case, tally in cell.cases.items() if tally.violated or tally.wavering))
    tickets = sorted({entry.ticket for entry in cell.known if entry.ticket})
    why = ", ".join(f"[{ticket}]({TICKETS}{ticket})" for ticket in tickets) or (
        "known" if cell.known else "not known yet"
    )
    replays = f"; seen in {cell.replays.seen} of {cell.replays.tries} replays" if cell.replays.tries else ""
    return f"- `{row.requirement}` ({row.level}) {escape(row.title)}: {escape(cases)}; {why}{replays}"


def _open_lines(cells: list[ReportedCell]) -> Iterator[str]:
    for verdict in _OPEN:
        if rows := [cell.requirement for cell in cells if cell.verdict == verdict]:
            yield f"- {verdict}: {', '.join(rows)}"


def _doubt_lines(matrix: Matrix, column: ColumnReport) -> list[str]:
    found = [f"- {escape(text)}" for text in column_problems(matrix) if column.kafka_version in text]
    return ["## Before you trust it", "\n".join(found)] if found else []
