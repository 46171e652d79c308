"""`matrix.md` for a pull request, and `summary.md` for the summary of a job."""

import html
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from conformance.catalogue.deviations import Deviation
from conformance.judging.verdicts import VERDICTS
from history.command import COMMAND
from reports.differences import TURNS, ChangedRow, ColumnDifference, Turn, between_matrices, column_pairs, turn_counts
from reports.matrix import Matrix, ReportedCell
from reports.matrix_file import ComparedMatrix, compared_matrix
from reports.rule_changes import with_observations
from reports.texts.findings import RowFinding, findings, known_in_words
from reports.texts.versions import spans
from reports.texts.wording import (
    ALARMING,
    GLYPHS,
    MEANINGS,
    TICKETS,
    FamilyRows,
    by_family,
    column_problems,
    doubtful_deviations,
    missing_examples,
)

COMMENT = 65_536
"""The maximum number of characters of a comment on GitHub."""
MENTION = "@\u200b"
"""A commercial at after which no name is read, which would notify a user."""
_SHOWN = 60
_SHOWN_IN_SUMMARY = 20
"""The maximum number of rows listed in words, since comments have a limit, and so do readers."""
_WHY = 210
_NOTES = 20


def markdown(matrix: Matrix, baseline: ComparedMatrix | None = None) -> str:
    """Render a matrix as Markdown, always in the same way; with a `baseline`, also list what has changed since then."""
    head = [
        *_head_lines(matrix, baseline, _SHOWN),
        "\n".join(_undecided_table(matrix)),
        "\n".join(_missing_lines(matrix)),
        "<details><summary>All rows</summary>",
        "\n".join([f"- {glyph} **{verdict}**: {MEANINGS[verdict]}" for verdict, glyph in GLYPHS.items()]),
    ]
    groups = ["\n".join(_group_lines(matrix, group)) for group in by_family(matrix)]
    left_out = "More rows than a comment can hold: the rest is in matrix.json and on the page."
    kept, room = [], COMMENT - sum(len(part) + 2 for part in [*head, left_out, "</details>"])
    for group in groups:
        room -= len(group) + 2
        if room < 0:
            break
        kept.append(group)
    return _join_parts([*head, *kept, *([left_out] if len(kept) < len(groups) else []), "</details>"])


def summary(matrix: Matrix, baseline: ComparedMatrix | None = None) -> str:
    """Render the part of the Markdown that fits on a screen."""
    return _join_parts(_head_lines(matrix, baseline, _SHOWN_IN_SUMMARY))


def _join_parts(parts: Sequence[str]) -> str:
    return "\n\n".join(part for part in parts if part) + "\n"


def _head_lines(matrix: Matrix, baseline: ComparedMatrix | None, shown: int) -> list[str]:
    notes = [f"> **Note:** {escape(problem)}" for problem in column_problems(matrix)]
    if len(notes) > _NOTES:
        notes[_NOTES:] = [f"> **Note:** and {len(notes) - _NOTES} more, in matrix.json and on the page."]
    return [
        "## Kafka conformance",
        "\n".join(_count_lines(matrix)),
        "\n>\n".join(notes),
        "\n".join(_change_lines(matrix, baseline, shown)) if baseline else "",
        "\n".join(f"> **{GLYPHS['violated']} {escape(text)}**\n>" for text in doubtful_deviations(matrix)).removesuffix(
            "\n>"
        ),
        "\n".join(_attention_lines(matrix, shown)),
        _inconclusive_list(matrix, shown),
        "\n".join(_rule_changes(matrix)),
    ]


def _count_lines(matrix: Matrix) -> Iterator[str]:
    used = [verdict for verdict in VERDICTS if any(verdict in column.verdicts for column in matrix.columns)]
    yield _as_row(["Kafka", *(f"{GLYPHS[verdict]} {verdict}" for verdict in used)])
    yield _as_row(["---", *("---:" for _ in used)])
    for column in matrix.columns:
        mark = f" ({column.age})" if column.age else " (incomplete)" if column.incomplete else ""
        name = f"**{escape(column.kafka_version)}**{mark}"
        yield _as_row([name, *(str(column.verdicts.get(verdict, "")) for verdict in used)])


def _change_lines(matrix: Matrix, baseline: ComparedMatrix, shown: int) -> Iterator[str]:
    """Yield the rows that are worse, newly broken or better since the baseline, one by one; all others as a count."""
    if not column_pairs(baseline, compared_matrix(matrix)):
        yield f"### The baseline has none of these columns: it is of {escape(', '.join(baseline.kafka_versions))}"
        return
    differences = between_matrices(baseline, compared_matrix(matrix))
    found = {turn: [(each, moved) for each in differences for moved in each.turned_rows(turn)] for turn in TURNS}
    yield f"### Since the baseline: {turn_counts({turn: len(found[turn]) for turn in TURNS})}"
    yield from (f"\n> **Note:** {escape(f'{each.new}: {reason}')}" for each in differences for reason in each.trouble)
    listed = [line for turn in TURNS[:-1] for line in _changed_rows(matrix, turn, found[turn])]
    if listed:
        yield from ("", _as_row(["", "Row", "Kafka", "Before", "Now"]), _as_row(["---"] * 5), *listed[:shown])
    if len(listed) > shown:
        yield f"\nand {len(listed) - shown} more: `{COMMAND} diff BASELINE MATRIX` lists them all."


def _changed_rows(matrix: Matrix, turn: Turn, found: Sequence[tuple[ColumnDifference, ChangedRow]]) -> Iterator[str]:
    groups: dict[tuple[str, str, str], list[str]] = {}
    for each, moved in found:
        change = moved.change
        groups.setdefault((change.requirement, change.before, change.after), []).append(each.new)
    for (row, before, after), labels in groups.items():
        yield _as_row(
            [
                turn.replace("_", " "),
                escape(row),
                escape(spans(labels, matrix.kafka_versions)),
                before or "(no cell)",
                after or "(no cell)",
            ]
        )


def _attention_lines(matrix: Matrix, shown: int) -> Iterator[str]:
    found = findings(matrix, ALARMING[:3])
    if not found:
        yield "Nothing is violated, flaky or in error."
        return
    yield from (_as_row(["Row", "Kafka", "Why"]), _as_row(["---"] * 3))
    for each in found[:shown]:
        name = f"{each.row.requirement}<br>{escape(each.row.title)}"
        yield _as_row([name, f"{GLYPHS[each.verdict]} {escape(each.where)}", _reason_of_finding(each)])
    if len(found) > shown:
        yield f"\nand {len(found) - shown} more, in matrix.json and on the page."


def _reason_of_finding(finding: RowFinding) -> str:
    text = finding.why if len(finding.why) <= _WHY else f"{finding.why[:_WHY]} …"
    return "; ".join([f"{finding.verdict}: {escape(text)}", *known_in_words(finding.known, _deviation_text)])


def _deviation_text(entry: Deviation) -> str:
    return f"[{entry.ticket}]({TICKETS}{entry.ticket})" if entry.ticket else escape(entry.reason)


def _inconclusive_list(matrix: Matrix, shown: int) -> str:
    """List the inconclusive rows, grouped by their columns."""
    found = findings(matrix, ["inconclusive"])
    rows: dict[str, list[str]] = {}
    for each in found[:shown]:
        rows.setdefault(each.where, []).append(each.row.requirement)
    listed = "; ".join(f"on {escape(where)}: {', '.join(names)}" for where, names in rows.items())
    more = f"; and {len(found) - shown} more rows" if len(found) > shown else ""
    return f"{GLYPHS['inconclusive']} inconclusive {listed}{more}." if listed else ""


def _rule_changes(matrix: Matrix) -> Iterator[str]:
    """Yield a table of the promises of later KIPs, and the columns that keep them."""
    changes = with_observations(matrix.rule_changes)
    if not changes:
        return
    yield "### Where the rule changed\n"
    yield "What later KIPs promised, recorded for every version and never judged; – where nothing was observed.\n"
    yield _as_row(["Row", "Promised by", "First kept", *map(escape, matrix.kafka_versions)])
    yield _as_row(["---", "---", "---", *(":-:" for _ in matrix.kafka_versions)])
    for change in changes:
        values = [change.values[label] for label in matrix.kafka_versions]
        name = f"{change.requirement}<br>{escape(change.title)}"
        yield _as_row([name, escape(change.by), escape(change.first) or "–", *(value or "–" for value in values)])


def _undecided_table(matrix: Matrix) -> Iterator[str]:
    """Yield a table of cases that were sometimes left undecided, by name; those with the largest share come first."""
    judged = [cell for cell in matrix.cells if cell.verdict != "inapplicable"]
    cells = [(cell, case, tally) for cell in judged for case, tally in cell.cases.items() if tally.undecided]
    if not cells:
        return
    yield "<details><summary>Left undecided, by the evidence that leaves it open</summary>\n"
    yield from (_as_row(["Case", "Kafka", "Held", "Violated", "Excused", "Left out"]), _as_row(["---"] * 6))
    for cell, case, tally in sorted(cells, key=lambda one: one[2].held - one[2].undecided)[:_SHOWN]:
        left_out = _counts_text(tally.left_out | tally.outside)
        counts = [str(tally.held), str(tally.violated), _counts_text(tally.excused), left_out]
        yield _as_row([f"{cell.requirement} {escape(case)}", escape(cell.kafka_version), *counts])
    if len(cells) > _SHOWN:
        yield f"\nand {len(cells) - _SHOWN} more, in matrix.json and on the page."
    yield "\n</details>"


def _counts_text(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{escape(name)} {times}" for name, times in counts.items()) or "–"


def _missing_lines(matrix: Matrix) -> Iterator[str]:
    """Yield a list of checks with examples that lost their premise or failed with an error of the kit."""
    found = dict.fromkeys(
        f"- {escape(cell.kafka_version)} {escape(text)}" for cell in matrix.cells for text in missing_examples(cell)
    )
    if not found:
        return
    yield "<details><summary>Examples that did not reach their end</summary>\n"
    yield from [*found][:_SHOWN]
    if len(found) > _SHOWN:
        yield f"\nand {len(found) - _SHOWN} more, in matrix.json and on the page."
    yield "\n</details>"


def _group_lines(matrix: Matrix, group: FamilyRows) -> Iterator[str]:
    """Yield the rows on which columns differ as a table, all others grouped by verdict."""
    labels = matrix.kafka_versions
    alike = {
        row: next(iter(cells.values())).verdict
        for row, cells in group.rows.items()
        if _columns_agree(list(cells.values()))
    }
    yield f"**{group.family}**\n"
    for verdict, rows in groupby(sorted(alike, key=lambda row: VERDICTS.index(alike[row])), key=alike.__getitem__):
        yield f"{GLYPHS[verdict]} {verdict} on every column: {', '.join(rows)}\n"
    differing = {row: cells for row, cells in group.rows.items() if row not in alike}
    if differing:
        yield from (_as_row(["", *map(escape, labels)]), _as_row(["---", *(":-:" for _ in labels)]))
    for row, cells in differing.items():
        yield _as_row([row, *(GLYPHS[cells[label].verdict] for label in labels)])


def _columns_agree(cells: Sequence[ReportedCell]) -> bool:
    return len({cell.verdict for cell in cells}) == 1


def _as_row(texts: Sequence[str]) -> str:
    return f"| {' | '.join(texts)} |"


def escape(text: str) -> str:
    """Escape foreign text: no HTML, no Markdown, no second line, no new column."""
    plain = html.escape(" ".join(text.split()), quote=False)
    for sign in "\\`*_[]|~":
        plain = plain.replace(sign, f"\\{sign}")
    return plain.replace("@", MENTION)
