"""`statements/*.md`: a conformance statement for each column, be it a release or an own build, on one page."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from conformance.catalogue.rows import RECORDED
from conformance.catalogue.sources import SOURCES
from conformance.judging.news import BROKEN
from conformance.judging.verdicts import Verdict
from reports.matrix import ColumnReport, Matrix, ReportedCell, RowFacts
from reports.texts.badges import file_of
from reports.texts.markdown import escape
from reports.texts.wording import LEVELS, MEANINGS, TICKETS, by_family, column_problems

STATEMENTS = "statements"
"""The folder of the statements, beside matrix.json."""

_OPEN: tuple[Verdict, ...] = ("error", "inconclusive", "not-run", "untested")
"""The verdicts of rows about which this column says nothing."""
_HASH = 12
"""The characters of a commit or a digest that are enough to cite it."""

_STRENGTHS: dict[str, str] = {level: f"{level}: {meaning}" for level, meaning in LEVELS.items()}

_Rows = Mapping[str, RowFacts]


def statements(matrix: Matrix) -> dict[str, str]:
    """Return the Markdown of a page for each column, by file name without its ending."""
    return {file_of(column).removesuffix(".json"): _statement(matrix, column) for column in matrix.columns}


def _statement(matrix: Matrix, column: ColumnReport) -> str:
    rows = {row.requirement: row for row in matrix.requirements}
    every = [cell for group in by_family(_of_column(matrix, column)) for cell in group.cells]
    cells = [cell for cell in every if rows[cell.requirement].level not in RECORDED]
    broken = _having(cells, *BROKEN)
    doubts = column_problems(_of_column(matrix, column))
    parts = [
        f"# Conformance statement: Kafka {escape(column.kafka_version)}",
        _sum(cells),
        "A requirement held if each of its cases was observed as often as its floor demands and no observation broke it: "
        "evidence, not proof. One observation is enough to break it. An open requirement says nothing about this Kafka. This is "
        "what the runs below observed, and no certificate.",
        f"To cite it:\n\n> {escape(_citation(column))}",
        *(["## Before you trust it", "\n".join(f"- {escape(text)}" for text in doubts)] if doubts else []),
        "## What was run",
        "\n".join(_run_lines(column)),
        "## In numbers",
        "\n".join(
            _count_lines(
                "Strength", cells, {name: _STRENGTHS[row.level] for name, row in rows.items()}, [*_STRENGTHS.values()]
            )
        ),
        "\n".join(_count_lines("Document", cells, {name: row.family for name, row in rows.items()})),
        f"Left out are requirements that do not apply to this version ({len(_having(cells, 'inapplicable'))}), and those that "
        f"are only recorded ({len(every) - len(cells)}).",
        f"## What is broken: {_many(len(broken))}",
        "\n".join(_broken_line(cell, rows[cell.requirement]) for cell in broken) or "Nothing.",
        "## What held",
        "\n".join(_held_lines(cells, rows)) or "Nothing.",
        "## What is open",
        "\n".join(_open_lines(cells)) or "Nothing.",
        "## What was read",
        "The documents, in the state in which the requirements were read from them:",
        "\n".join(f"- {one.page}: {one.revision}; read {one.read}" for one in SOURCES.values()),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _of_column(matrix: Matrix, column: ColumnReport) -> Matrix:
    """Return the matrix as that of one column."""
    cells = [cell for cell in matrix.cells if cell.kafka_version == column.kafka_version]
    shards = [one for one in matrix.quarantine.shards if one.kafka_version in (column.kafka_version, "")]
    quarantine = msgspec.structs.replace(matrix.quarantine, shards=shards)
    return msgspec.structs.replace(matrix, columns=[column], cells=cells, quarantine=quarantine)


def _having(cells: Iterable[ReportedCell], *verdicts: Verdict) -> list[ReportedCell]:
    return [cell for cell in cells if cell.verdict in verdicts]


def _many(rows: int) -> str:
    return f"{rows} requirement{'' if rows == 1 else 's'}"


def _sum(cells: Sequence[ReportedCell]) -> str:
    held, broken, left_open = (len(_having(cells, *those)) for those in (("satisfied",), BROKEN, _OPEN))
    return f"**Of {_many(held + broken + left_open)} that apply, {held} held, {broken} were broken and {left_open} are open.**"


def _citation(column: ColumnReport) -> str:
    commits = dict.fromkeys(one.commit[:_HASH] for one in column.origins if one.commit)
    kit = f"Kafka conformance kit {', '.join(column.kits)}" + (f" ({', '.join(commits)})" if commits else "")
    build = f" (build {column.digest[:_HASH]})" if column.digest else ""
    days = sorted({one.began[:10] for one in column.origins if one.began})
    began = f" of {' to '.join(dict.fromkeys([days[0], days[-1]]))}" if days else ""
    profile = f"profile {', '.join(column.profiles)}"
    runs = f"run{'' if len(column.runs) == 1 else 's'} {', '.join(column.runs)}"
    return f"{kit}: conformance statement of Kafka {column.kafka_version}{build}, {profile}, {runs}{began}."


def _run_lines(column: ColumnReport) -> Iterator[str]:
    source = f"as the user says; its own files say {column.build}" if column.build else "as its own files say"
    facts: dict[str, Iterable[object]] = {
        "Kafka": [f"{column.version}, {source}"],
        "Image": [column.image] if column.image else [],
        "Build": [f"{column.digest}, of its jars and its configuration"] if column.digest else [],
        "Features": [f"{name}={level}" for name, level in sorted(column.features.items())],
        "Kit": column.kits,
        "Commit of the kit": dict.fromkeys(one.commit for one in column.origins if one.commit),
        "Begun": dict.fromkeys(one.began for one in column.origins if one.began),
        "Profile": column.profiles,
        "Seeds": column.seeds,
        "Runs": column.runs,
    }
    for name, values in facts.items():
        if text := ", ".join(map(str, values)):
            yield f"- {name}: {escape(text)}"


def _count_lines(
    head: str, cells: Sequence[ReportedCell], groups: Mapping[str, str], order: Sequence[str] = ()
) -> Iterator[str]:
    """Yield a table: how many rows of each group held, were broken and are open; a group of which no row applies is left out."""
    applying = [cell for cell in cells if cell.verdict != "inapplicable"]
    counts: Counter[tuple[str, Verdict]] = Counter((groups[cell.requirement], cell.verdict) for cell in applying)
    yield f"| {head} | rows | held | broken | {' | '.join(_OPEN)} |"
    yield f"|---|{'---:|' * (3 + len(_OPEN))}"
    found = dict.fromkeys(group for group, _ in counts)
    for group in [one for one in order or found if one in found]:
        broken = sum(counts[group, verdict] for verdict in BROKEN)
        open_ones = [counts[group, verdict] for verdict in _OPEN]
        numbers = [counts[group, "satisfied"], broken, *open_ones]
        yield f"| {escape(group)} | {' | '.join(map(str, [sum(numbers), *numbers]))} |"


def _broken_line(cell: ReportedCell, row: RowFacts) -> str:
    cases = ", ".join(sorted(case for case, tally in cell.cases.items() if tally.violated or tally.wavering))
    tickets = sorted({entry.ticket for entry in cell.known if entry.ticket})
    reasons = [entry.reason for entry in cell.known if not entry.ticket]
    known = [f"[{ticket}]({TICKETS}{ticket})" for ticket in tickets] + [f"no ticket: {escape(one)}" for one in reasons]
    strength = f"{row.level}{', flaky' if cell.verdict == 'flaky' else ''}"
    why = f"Known, {'; '.join(known)}" if known else "Not known yet"
    replays = f" Seen in {cell.replays.seen} of {cell.replays.tries} replays." if cell.replays.tries else ""
    return (
        f"- `{row.requirement}` ({strength}) {escape(row.title)}. Cases: {escape(cases)}.{replays} {why.rstrip('.')}."
    )


def _held_lines(cells: Sequence[ReportedCell], rows: _Rows) -> Iterator[str]:
    held: dict[str, list[str]] = {}
    for cell in _having(cells, "satisfied"):
        held.setdefault(rows[cell.requirement].family, []).append(cell.requirement)
    for family, names in held.items():
        yield f"- {family}: {', '.join(names)}"


def _open_lines(cells: Sequence[ReportedCell]) -> Iterator[str]:
    for verdict in _OPEN:
        if names := [cell.requirement for cell in _having(cells, verdict)]:
            yield f"- {verdict} ({MEANINGS[verdict]}): {', '.join(names)}"
