"""`junit.xml`: a suite per column and a case per row, for tools that show JUnit reports."""

import re
from collections import Counter
from typing import Literal
from xml.etree import ElementTree

from conformance.judging.verdicts import Verdict
from reports.matrix import ColumnReport, Matrix, ReportedCell, RowFacts
from reports.texts.wording import cell_text, doubtful_deviations

Outcome = Literal["failure", "error", "skipped"]

OUTCOMES: dict[Verdict, Outcome] = {
    "violated": "failure",
    "flaky": "skipped",
    "error": "error",
    "inconclusive": "skipped",
    "not-run": "skipped",
    "untested": "skipped",
    "inapplicable": "skipped",
}
"""The outcomes of verdicts; all others count as passed. JUnit has no state between passed and failed, so a cell that proves
nothing is skipped."""

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""The characters that XML 1.0 cannot hold, not even escaped."""


def junit(matrix: Matrix) -> bytes:
    """Return the content of `junit.xml`: the same matrix gives the same bytes."""
    root = ElementTree.Element("testsuites", {"name": "Kafka conformance", **_count_cases(matrix)})
    for column in matrix.columns:
        _add_suite(root, matrix, column)
    if doubtful := doubtful_deviations(matrix):
        _add_deviations(root, doubtful)
    ElementTree.indent(root, " ")
    text: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _add_suite(root: ElementTree.Element, matrix: Matrix, column: ColumnReport) -> None:
    cells = {cell.requirement: cell for cell in matrix.cells if cell.kafka_version == column.kafka_version}
    name = _clean_text(f"Kafka {column.kafka_version}")
    suite = ElementTree.SubElement(root, "testsuite", {"name": name, **_counts_of(list(cells.values()))})
    facts = {
        "version": column.version,
        "image": column.image,
        "image_id": column.image_id,
        "runs": " ".join(column.runs),
    }
    properties = ElementTree.SubElement(suite, "properties")
    for key, value in (facts | {"incomplete": "; ".join(column.incomplete)}).items():
        ElementTree.SubElement(properties, "property", name=key, value=_clean_text(value))
    for row in matrix.requirements:
        _add_case(suite, row, cells[row.requirement], name)


def _add_case(suite: ElementTree.Element, row: RowFacts, cell: ReportedCell, column: str) -> None:
    # A dot divides packages in a class name, so most readers show `Kafka 4.3.1.KIP-320` as a tree.
    case = ElementTree.SubElement(
        suite, "testcase", classname=f"{column}.{row.family}", name=f"{row.requirement}: {_clean_text(row.title)}"
    )
    outcome = OUTCOMES.get(cell.verdict)
    if outcome:
        element = ElementTree.SubElement(case, outcome, message=_clean_text(f"{cell.verdict}: {cell_text(cell)}"))
        element.text = _clean_text("\n".join(cell.evidence)) or None
        if outcome != "skipped":
            element.set("type", "known deviation" if cell.known else cell.verdict)


def _add_deviations(root: ElementTree.Element, doubtful: list[str]) -> None:
    """Add a suite with a failure for each known deviation that no longer holds or is due for review."""
    counts = {"tests": str(len(doubtful)), "failures": str(len(doubtful)), "errors": "0", "skipped": "0"}
    suite = ElementTree.SubElement(root, "testsuite", {"name": "Known deviations", **counts})
    for text in doubtful:
        case = ElementTree.SubElement(
            suite, "testcase", classname="Known deviations", name=_clean_text(text.partition(":")[0])
        )
        ElementTree.SubElement(case, "failure", message=_clean_text(text), type="doubtful deviation")


def _count_cases(matrix: Matrix) -> dict[str, str]:
    return _counts_of(matrix.cells, len(doubtful_deviations(matrix)))


def _counts_of(cells: list[ReportedCell], doubtful: int = 0) -> dict[str, str]:
    found = Counter(OUTCOMES.get(cell.verdict) for cell in cells)
    return {
        "tests": str(len(cells) + doubtful),
        "failures": str(found["failure"] + doubtful),
        "errors": str(found["error"]),
        "skipped": str(found["skipped"]),
    }


def _clean_text(text: str) -> str:
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)
