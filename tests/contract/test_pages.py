"""Pages and lines for people about violations of many kinds: none has the text of a Python structure."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from functools import cache
from html.parser import HTMLParser
from itertools import chain
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest

from conformance.catalogue import shipped_rows
from conformance.running.evidence import on_disk
from conformance.running.evidence.folder import write_evidence
from history.events import Premise
from history.observations import Observation
from reports.commands.diff import summary_lines
from reports.differences import between_columns
from reports.insights import Insights, PremiseReach
from reports.matrix import Matrix, Pooled
from reports.matrix_file import compared_matrix
from reports.site import write_site
from reports.texts.explanation import ExplainedCell, explanation
from reports.texts.junit import junit
from reports.texts.markdown import markdown
from reports.texts.terminal import show
from tests.support.sample_evidence import DISKS, FakeCluster, standing_of
from tests.support.sample_matrix import all_cases, checks, matrix, violation
from tests.support.sample_site import Sample
from tests.support.structures import structures
from tests.support.violated import ShownExample, examples_of_checks, examples_of_judges

pytestmark = pytest.mark.drawn

GOOD, BAD = "3.9.2", "4.3.1"
MACHINES_TAGS = ("script", "style", "code", "pre")
"""Parts of a page for machines, and files as they are; a text of a check is quoted in a `pre` of its own class."""


class Shown(msgspec.Struct, frozen=True):
    """One violation of each row and case, with its evidence in a folder, and the matrix that has them all."""

    matrix: Matrix
    insights: Insights
    run: Path


class PageText(HTMLParser):
    """The lines of a page that people read, with what is read out of images."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._open: list[bool] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.lines += [given[name] or "" for name in ("title", "aria-label") if name in given]
        if tag in MACHINES_TAGS:
            self._open.append("quoted" not in (given.get("class") or ""))

    def handle_endtag(self, tag: str) -> None:
        if tag in MACHINES_TAGS:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if not any(self._open):
            self.lines += data.splitlines()


def lines_of_markdown(text: str) -> list[str]:
    """The lines of a page, without what is set as code within a line: drawn inputs."""
    return [re.sub(r"`[^`]*`", "", line) for line in text.splitlines()]


@cache
def violations() -> list[tuple[ShownExample, Observation]]:
    """The first violation of each row and case."""
    found: dict[tuple[str, str], tuple[ShownExample, Observation]] = {}
    for example in chain(examples_of_judges(), examples_of_checks(BAD), examples_of_checks(GOOD)):
        for one in example.violations:
            found.setdefault((one.requirement, one.case), (example, one))
    return list(found.values())


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    run = tmp_path_factory.mktemp("run")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            on_disk, "copy_log_dirs", lambda nodes, *_: {n.name: DISKS[n.name] for n in nodes if n.name in DISKS}
        )
        paths = [_evidence(run, example, one) for example, one in violations()]
    lines: list[dict[str, Any]] = [
        violation(
            BAD, one.requirement, case=one.case, label=one.label, detail=one.detail, check=example.history.example.check,
            example=one.example, events=one.events, evidence=path, place=place,
        )
        for place, ((example, one), path) in enumerate(zip(violations(), paths, strict=True))
    ]  # fmt: skip
    rows = dict.fromkeys(line["requirement"] for line in lines)
    pooled = Pooled(
        cases=[line for row in rows for v in (GOOD, BAD) for line in all_cases(v, row, violated=2 * (v == BAD))],
        checks=[checks(v, row) for row in rows for v in (GOOD, BAD)],
        violations=lines,
        paths=[
            {name: line[name] for name in ("kafka_version", "requirement", "place")} | {"path": line["evidence"]}
            for line in lines
        ],
    )
    named = {
        row: [example.history.example.check for example, one in violations() if one.requirement == row] for row in rows
    }
    return Shown(matrix(pooled, GOOD, BAD, checks=named), _insights(), run)


def _evidence(run: Path, example: ShownExample, seen: Observation) -> str:
    return write_evidence(run, standing_of(FakeCluster()), example.history, seen, 10.0, [])


def _insights() -> Insights:
    premises = {
        (example.history.example.check, one.what): PremiseReach(
            kafka_version=BAD, check=example.history.example.check, premise=one.what, met=3, unmet=1
        )
        for example, _ in violations()
        for one in example.history.events
        if isinstance(one, Premise)
    }
    return Insights(premises=list(premises.values()))


@cache
def notation() -> set[str]:
    """The notation of the catalogue, such as EndTxn(commit) and acks=1."""
    rows = shipped_rows()
    texts = [text for row in rows for text in (row.title, row.statement, row.note, *(case.about for case in row.cases))]
    return {one for text in texts for one in structures(text)}


def bad_lines(lines: Iterable[str]) -> dict[str, list[str]]:
    """Return the lines with structures; commands and the content of meta.properties are for machines."""
    people = [line for line in lines if "./kit " not in line and "cluster.id=" not in line]
    found = {line: [one for one in structures(line) if one not in notation()] for line in people}
    return {line: bad for line, bad in found.items() if bad}


def test_many_kinds_are_shown(shown: Shown) -> None:
    broken = [cell for cell in shown.matrix.cells if cell.verdict == "violated"]
    assert len(broken) > 150
    assert all(cell.shown for cell in broken)


def test_matrix_md(shown: Shown) -> None:
    assert bad_lines(markdown(shown.matrix).splitlines()) == {}


def test_junit_xml(shown: Shown) -> None:
    root = ElementTree.fromstring(junit(shown.matrix))
    texts = [text for one in root.iter() for text in (one.text or "", *one.attrib.values())]
    assert bad_lines(texts) == {}


def test_the_terminal(shown: Shown) -> None:
    out = io.StringIO()
    show(shown.matrix, out)
    assert bad_lines(out.getvalue().splitlines()) == {}


def test_the_difference_of_columns(shown: Shown) -> None:
    assert bad_lines(summary_lines([between_columns(compared_matrix(shown.matrix), GOOD, BAD)])) == {}


def test_the_explanation_of_each_cell(shown: Shown) -> None:
    rows = {row.id: row for row in shipped_rows()}
    cells = [
        ExplainedCell(shown.matrix, shown.insights, cell.requirement, BAD, rows[cell.requirement], shown.run)
        for cell in shown.matrix.cells
        if cell.shown
    ]
    assert bad_lines(chain.from_iterable(map(explanation, cells))) == {}


def test_the_reports_of_violations(shown: Shown) -> None:
    for name in ("report.md", "course.md"):
        texts = [path.read_text() for path in sorted(shown.run.rglob(name))]
        assert len(texts) == len(violations())
        assert bad_lines(chain.from_iterable(map(lines_of_markdown, texts))) == {}


def test_the_site(shown: Shown) -> None:
    merged: Any = Sample(matrix=shown.matrix, insights=shown.insights)
    index = write_site(merged, shipped_rows(), shown.run / "matrix", shown.run)
    pages = sorted(index.parent.rglob("*.html"))
    assert len(pages) > len(violations())
    found = {page.name: bad for page in pages if (bad := bad_lines(PageText(page.read_text()).lines))}
    assert found == {}
