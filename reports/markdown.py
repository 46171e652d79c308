"""`matrix.md`: the matrix for a pull request or a job summary."""

from __future__ import annotations

import html

from conformance.judges.verdicts import VERDICTS
from reports.matrix import Matrix
from reports.shown import ALARMING, GLYPHS, MEANINGS, Group, alarming, by_kip, cell_text, counts, problems

_SHOWN = 100
"""Cells told in words; a comment on a pull request has a limit, and so has a reader."""


def markdown(matrix: Matrix) -> str:
    """The same matrix gives the same text."""
    parts = [
        "## Kafka conformance",
        "\n".join(_summary(matrix)),
        "\n".join(f"> **Note:** {_safe(problem)}" for problem in problems(matrix)),
        "\n".join(_attention(matrix)),
        "\n".join(["<details><summary>All rows</summary>", "", *_legend()]),
        *["\n".join(_group(matrix, group)) for group in by_kip(matrix)],
        "</details>",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _summary(matrix: Matrix) -> list[str]:
    used = [verdict for verdict in VERDICTS if any(verdict in column.verdicts for column in matrix.columns)]
    lines = [_line(["Kafka", *(f"{GLYPHS[verdict]} {verdict}" for verdict in used)])]
    lines.append(_line(["---", *("---:" for _ in used)]))
    for column in matrix.columns:
        mark = " (incomplete)" if column.incomplete else ""
        lines.append(
            _line([f"**{_safe(column.kafka_version)}**{mark}", *(str(column.verdicts.get(v, 0)) for v in used)])
        )
    return lines


def _attention(matrix: Matrix) -> list[str]:
    cells = alarming(matrix, ALARMING[:3])
    if not cells:
        return ["Nothing is violated, flaky or in error."]
    titles = {row.requirement: _safe(row.title) for row in matrix.requirements}
    lines = [_line(["Row", "Kafka", "Verdict", "Why"]), _line(["---"] * 4)]
    for cell in cells[:_SHOWN]:
        verdict = f"{GLYPHS[cell.verdict]} {cell.verdict}"
        row = f"{cell.requirement}<br>{titles[cell.requirement]}"
        lines.append(_line([row, _safe(cell.kafka_version), verdict, _safe(cell_text(cell)[:300])]))
    if len(cells) > _SHOWN:
        lines += ["", f"and {len(cells) - _SHOWN} more, in matrix.json and index.html."]
    return lines


def _legend() -> list[str]:
    return [f"- {glyph} **{verdict}**: {MEANINGS[verdict]}" for verdict, glyph in GLYPHS.items()]


def _group(matrix: Matrix, group: Group) -> list[str]:
    labels = matrix.kafka_versions
    totals = [" ".join(f"{GLYPHS[v]}{n}" for v, n in counts(group.cells, label).items()) for label in labels]
    lines = [_line([f"KIP-{group.kip}", *map(_safe, labels)]), _line(["---", *(":-:" for _ in labels)])]
    lines.append(_line(["", *totals]))
    for row, cells in group.rows.items():
        lines.append(_line([row, *(GLYPHS[cells[label].verdict] for label in labels)]))
    return lines


def _line(texts: list[str]) -> str:
    return f"| {' | '.join(texts)} |"


def _safe(text: str) -> str:
    """Text that came from elsewhere: no HTML, no Markdown, no second line, no new column."""
    plain = html.escape(" ".join(text.split()), quote=False)
    for sign in "\\`*_[]|~":
        plain = plain.replace(sign, f"\\{sign}")
    return plain.replace("@", "@\u200b")
