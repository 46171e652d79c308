"""A row, a case or an expectation that depends on a version names the promise behind it; a bug fix is no promise."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

import conformance
from conformance.catalogue import Case, Expectation, Requirement, shipped_rows
from conformance.catalogue.kips import KIPS, NAMED, with_titles
from fixtures.images.versions import newest_patches

FIRST = "3.3.."
"""All releases that the kit tests."""
MINORS = [patch.rpartition(".")[0] for patch in newest_patches()]
TICKET = re.compile(r"\bKAFKA-\d+\b")

Part = Requirement | Case | Expectation


def _ranges(row: Requirement, part: Part) -> list[str]:
    """The releases that it depends on. Unlike finalized levels they are no promise by themselves.

    The rule that the row began with needs no promise of its own, nor does the release from which a row of level `later` applies.
    """
    if isinstance(part, Expectation):
        first = [one.partition("..")[0] for one in row.applies]
        return [one for one in part.versions if one.partition("..")[0] not in first]
    begins = [
        FIRST,
        *(shipped_rows()[row.before].applies if row.level == "later" else row.applies if part is not row else []),
    ]
    return [one for one in part.applies if one not in begins and not _as_before(row, one, begins)]


def _as_before(row: Requirement, range: str, before: list[str]) -> bool:
    """True if a row of level `later` applies from the same release on as the row before the change."""
    return row.level == "later" and range.partition("..")[0] in {one.partition("..")[0] for one in before}


def _boundaries(ranges: list[str]) -> Iterator[str]:
    """The minor releases at which a rule begins or ends."""
    for low, _, high in (one.partition("..") for one in ranges):
        if low and low != FIRST.rstrip("."):
            yield low
        if high and low == FIRST.rstrip("."):
            yield MINORS[MINORS.index(high) + 1]


def _parts(row: Requirement) -> list[Part]:
    return [row, *row.cases, *row.expectations]


def _unpromised(row: Requirement) -> Iterator[str]:
    for part in _parts(row):
        name = part.expect if isinstance(part, Expectation) else part.id
        ranges, kips = _ranges(row, part), NAMED.findall(part.promised)
        supported = [need for need in part.needs if need.startswith("supported.")]
        if (ranges or supported) and not kips:
            yield f"{name}: {ranges + supported} names no KIP"
        yield from (f"{name}: {kip} is not in the table of KIPs" for kip in kips if kip not in KIPS)
        brought = {minor for kip in kips if kip in KIPS for minor in KIPS[kip].since}
        yield from (f"{name}: {kips} did not come in {minor}" for minor in _boundaries(ranges) if minor not in brought)
        if TICKET.search(part.promised) or (isinstance(part, Expectation) and TICKET.search(part.about)):
            yield f"{name}: a mended bug is no boundary"


@pytest.mark.parametrize("row", shipped_rows(), ids=lambda row: row.id)
def test_a_boundary_names_its_promise(row: Requirement) -> None:
    assert [*_unpromised(row)] == []


def _row(**changes: object) -> Requirement:
    plain = Requirement(
        id="KIP320-FETCH-02", title="t", statement="s", kip=320, section="s", level="must", priority="P1", kind="probe",
        applies=[FIRST], cases=[Case(id="a", about="a")],
    )  # fmt: skip
    return msgspec.structs.replace(plain, **changes)


@pytest.mark.parametrize(
    "row",
    [
        _row(applies=["4.2.."]),
        _row(applies=["4.2.."], promised="KAFKA-19233"),
        _row(applies=["4.2.."], promised="KIP-996"),
        _row(applies=["4.2.."], promised="KIP-1"),
        _row(applies=["3.3..3.8"], promised="KIP-896"),
        _row(cases=[Case(id="a", about="a", applies=["3.4.1.."])]),
        _row(expectations=[Expectation(versions=["3.5.2.."], expect="A", about="a")]),
        _row(expectations=[Expectation(needs=["supported.metadata.version >= 26"], expect="A", about="a")]),
        _row(expectations=[Expectation(expect="A", about="two bumps (KAFKA-19367)")]),
    ],
)
def test_a_boundary_without_a_promise_is_found(row: Requirement) -> None:
    assert [*_unpromised(row)]


@pytest.mark.parametrize(
    "row",
    [
        _row(),
        _row(applies=["4.2.."], promised="KIP-848"),
        _row(applies=["3.3..3.9"], promised="KIP-896"),
        _row(applies=["4.2.."], promised="KIP-848", cases=[Case(id="a", about="a", applies=["4.2.."])]),
        _row(needs=["Fetch >= 16"]),
        _row(expectations=[Expectation(needs=["transaction.version >= 2"], expect="A", about="a")]),
        _row(expectations=[Expectation(versions=["3.5.."], promised="KIP-903", expect="A", about="a")]),
    ],
)
def test_a_boundary_with_a_promise_is_not_found(row: Requirement) -> None:
    assert not [*_unpromised(row)]


def test_the_table_has_the_kips_that_rows_name_and_no_others() -> None:
    named = {kip for row in shipped_rows() for part in _parts(row) for kip in NAMED.findall(part.promised)}
    assert named == {*KIPS}


def test_a_promise_is_shown_with_the_titles_of_its_kips() -> None:
    assert with_titles("KIP-996, metadata.version 12") == "KIP-996 Pre-Vote, metadata.version 12"


# --- no check or judge has a boundary of its own

SOURCE = Path(conformance.__path__[0])
RELEASE = re.compile(r"\^?[34]\\?\.[\d.*\\\[\]b-]*")
"""A release number or its beginning, as code would compare it."""


def _knows_releases(tree: ast.AST) -> bool:
    """True if code can tell releases apart: it reads a column's name or version, computes with versions, or names a release or a
    supported level.
    """
    return any(_names_a_release(node) or _reads_a_column(node) or _computes(node) for node in ast.walk(tree))


def _names_a_release(node: ast.AST) -> bool:
    text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
    return bool(RELEASE.fullmatch(text)) or text.startswith("supported.")


def _reads_a_column(node: ast.AST) -> bool:
    if not isinstance(node, ast.Attribute):
        return False
    of = getattr(node.value, "attr", getattr(node.value, "id", ""))
    of_a_column = of == "column" and node.attr in ("version", "label")
    return of_a_column or node.attr == "kafka_version" or (of, node.attr) == ("example", "column")


def _computes(node: ast.AST) -> bool:
    return isinstance(node, ast.ImportFrom) and bool(
        {one.name for one in node.names} & {"in_range", "numbers", "Facts"}
    )


READERS = {
    "core/evaluate.py": "asks the catalogue for the expectation",
    "core/topologies.py": "switches the preview of the consumer protocol on",
    "judging/groups/story.py": "asks the catalogue whether a release that a node became keeps assignment epochs",
    "judging/intake.py": "orders columns",
    "judging/news.py": "asks which known deviations are of a column's release",
    "judging/patch_releases.py": "compares a patch with the one before it",
    "judging/pooling.py": "names cells",
    "judging/stored_examples.py": "finds the column of a history",
    "kip1251/upgrades.py": "starts releases without assignment epochs, and others with them",
    "kip595/rolling_upgrade.py": "starts the last release without pre-votes among newer ones",
    "judging/verdicts.py": "asks the catalogue whether a row applies",
}
"""Where releases may be known, and for what."""
CHECKING = [
    path
    for folder in ("judging", "machines", "rigs", "core", "kip101", "kip320", "kip360", "kip595", "kip1251")
    for path in sorted((SOURCE / folder).rglob("*.py"))
]


@pytest.mark.parametrize("path", CHECKING, ids=lambda path: str(path.relative_to(SOURCE)))
def test_checks_and_judges_leave_releases_to_the_catalogue(path: Path) -> None:
    known = _knows_releases(ast.parse(path.read_text(encoding="utf-8")))
    assert known is (str(path.relative_to(SOURCE)) in READERS)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("story.timeline.kafka_version >= (3, 7)", True),
        ("bench.column.version < '4.0'", True),
        ("seen = bench.column.version", True),
        ("numbers(column.version) >= (4,)", True),
        ("column.label.startswith(newest)", True),
        ("tape.example.column == wanted", True),
        ("name.startswith('4.')", True),
        ("re.match(r'3\\.[789]\\b', name)", True),
        ("ranges['supported.metadata.version'] >= 26", True),
        ("from conformance.catalogue.applicability import in_range", True),
        ("story.version == 3", False),
        ("answer.version >= 1", False),
        ("bench.column.ranges['transaction.version'] >= 2", False),
        ("{'min.cleanable.dirty.ratio': '0.01'}", False),
    ],
)
def test_code_that_tells_releases_apart_is_found(text: str, found: bool) -> None:
    assert _knows_releases(ast.parse(text)) is found
