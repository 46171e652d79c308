"""`index.html`: one page that holds everything, works offline and without JavaScript. What brokers said is escaped."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files
from typing import Any
from urllib.parse import quote

import jinja2
import msgspec
from markupsafe import Markup

from conformance.catalogue import Catalogue, Requirement
from conformance.catalogue.deviations import Deviation
from conformance.judges.verdicts import FLOORS, VERDICTS, Floor, Verdict
from reports.matrix import Cell, Matrix
from reports.shown import GLYPHS, MEANINGS, TICKETS, by_kip, cell_reason, counts, problems

_SITE = files("reports") / "site"


class Segment(msgspec.Struct, kw_only=True):
    """One part of a stacked bar, in units of cells."""

    verdict: Verdict
    start: int
    count: int


class RowView(msgspec.Struct, kw_only=True):
    """A row of the catalogue with its cells in the order of the columns."""

    row: Requirement
    floor: Floor
    cells: list[Cell]
    cases: list[str]

    @property
    def differs(self) -> bool:
        return len({cell.verdict for cell in self.cells}) > 1

    @property
    def observed(self) -> bool:
        return any(cell.observations for cell in self.cells)

    @property
    def known(self) -> list[Deviation]:
        return list(dict.fromkeys(entry for cell in self.cells for entry in cell.known))

    @property
    def reasons(self) -> dict[tuple[Verdict, str], list[str]]:
        """Why cells have their verdicts, and on which columns."""
        found: dict[tuple[Verdict, str], list[str]] = {}
        for cell in self.cells:
            if cell.reason and cell.verdict not in ("untested", "inapplicable"):
                found.setdefault((cell.verdict, cell_reason(cell)), []).append(cell.kafka_version)
        return found

    @property
    def about(self) -> dict[str, str]:
        return {case.id: case.about for case in self.row.cases}

    @property
    def worst(self) -> Verdict:
        return min((cell.verdict for cell in self.cells), key=VERDICTS.index)


class GroupView(msgspec.Struct, kw_only=True):
    """The rows of a KIP and its counts per column."""

    kip: int
    rows: list[RowView]
    counts: list[dict[Verdict, int]]


def page(matrix: Matrix, catalogue: Catalogue, run: str) -> str:
    """The whole page; `run` is the relative path from it to the directory that evidence is relative to."""
    style, script = _asset("style.css"), _asset("filter.js")
    groups = _groups(matrix, catalogue)
    return _environment(run).get_template("index.html.j2").render(
        matrix=matrix,
        groups=groups,
        findings=_findings(groups),
        problems=problems(matrix),
        style=Markup(style),
        script=Markup(script),
        policy=f"default-src 'none'; style-src '{_source(style)}'; script-src '{_source(script)}'; base-uri 'none'",
    )  # fmt: skip


def bar(verdicts: dict[Verdict, int]) -> list[Segment]:
    """A column's counts as segments that lie beside each other, the greenest first."""
    order: Sequence[Verdict] = (
        "satisfied", "recorded", "violated", "flaky", "error", "inconclusive", "not-run", "untested", "inapplicable",
    )  # fmt: skip
    segments: list[Segment] = []
    start = 0
    for verdict in order:
        count = verdicts.get(verdict, 0)
        if count:
            segments.append(Segment(verdict=verdict, start=start, count=count))
        start += count
    return segments


def _findings(groups: Sequence[GroupView]) -> list[RowView]:
    """What a version breaks, then what it answers in more than one way."""
    views = [view for group in groups for view in group.rows]
    return [view for verdict in ("violated", "flaky") for view in views if view.worst == verdict]


def in_words(versions: str) -> str:
    """`3.3..3.7` as a reader would say it."""
    low, high = versions.split("..")
    if not high:
        return f"{low} and later" if low else "every version"
    return f"{low} to {high}" if low else f"up to {high}"


def _groups(matrix: Matrix, catalogue: Catalogue) -> list[GroupView]:
    labels = matrix.kafka_versions
    return [
        GroupView(
            kip=group.kip,
            rows=[_row(catalogue[id], [cells[label] for label in labels]) for id, cells in group.rows.items()],
            counts=[counts(group.cells, label) for label in labels],
        )
        for group in by_kip(matrix)
    ]


def _row(row: Requirement, cells: list[Cell]) -> RowView:
    observed = [case for cell in cells for case in cell.cases]
    cases = list(dict.fromkeys([*(case.id for case in row.cases), *observed]))
    floor = FLOORS[row.kind]
    return RowView(
        row=row, floor=msgspec.structs.replace(floor, inputs=min(floor.inputs, row.inputs)), cells=cells, cases=cases
    )


def _environment(run: str) -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_asset),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    shared: dict[str, Any] = {
        "glyphs": GLYPHS, "meanings": MEANINGS, "verdicts": VERDICTS, "bar": bar, "tickets": TICKETS,
        "link": lambda path: f"{quote(run)}/{quote(path.lstrip('/'))}",
    }  # fmt: skip
    environment.globals.update(shared)
    environment.filters["in_words"] = in_words
    return environment


def _asset(name: str) -> str:
    """A file of this package, which may lie in an archive."""
    return (_SITE / name).read_text(encoding="utf-8")


def _source(text: str) -> str:
    """The hash by which the page's own policy admits its style and script, and no other."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
