"""The rows: the shipped ones, and what the loader says about broken ones."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from conformance.catalogue import CatalogueError, Expectation, Facts, Requirement, load, shipped_rows
from conformance.catalogue.applicability import applies, in_range, numbers
from conformance.core.checks import Check
from conformance.core.registry import AnyCheck, every_check
from tests.support.declared import plausible

INVARIANTS = {
    *(f"KIP101-INV-{n:02}" for n in range(1, 21)),
    *(f"KIP595-INV-{n:02}" for n in range(1, 19)),
    *(f"KIP595-LIVE-{n:02}" for n in range(1, 11)),
    *(f"KIP360-INV-{n:02}" for n in (*range(1, 8), 12, 13, 14)),
    *(f"KIP1251-INV-{n:02}" for n in range(8, 12)),
    "KIP1251-STATIC-01b",
}
ADDED = {"KIP101-INV-18b", "KIP360-INV-15", "KIP360-INV-16", "KIP360-SEQ-22", "KIP360-TXN-16", "KIP595-SNAP-01"}
ADDED |= {"KIP1251-BASE-09", "KIP1251-INV-12", "KIP1251-INV-13"}
"""Rows added since, from live brokers and for the producer machine."""
LAWS = {f"GEN-{n:02}" for n in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22)}
LATER_ROWS = {row.id for row in shipped_rows() if row.level == "later"}
ROWS_OF = {(101, 320): 71, (595,): 116, (360, 1251): 118}

ROW = """
[[requirement]]
id = "KIP320-FETCH-02"
title = "Older current epoch is fenced"
statement = "It is fenced."
kip = 320
section = "Leader Fetch Handling"
level = "must"
priority = "P1"
kind = "probe"
applies = ["3.3.."]
[[requirement.cases]]
id = "consumer"
about = "replica id -1"
"""


# --- the shipped rows


def test_every_catalogued_row_and_every_invariant_is_there() -> None:
    catalogued = Counter(row.kip for row in shipped_rows() if row.id not in INVARIANTS | ADDED | LAWS | LATER_ROWS)
    assert {kips: sum(catalogued[kip] for kip in kips) for kips in ROWS_OF} == ROWS_OF
    assert {row.id for row in shipped_rows()} >= INVARIANTS
    assert len(shipped_rows()) - len(LAWS | LATER_ROWS) == 305 + len(INVARIANTS | ADDED) == 377


def test_a_general_law_is_of_no_kip() -> None:
    laws = {row.id for row in shipped_rows() if row.level == "law"}
    assert laws == LAWS == {row.id for row in shipped_rows() if row.kip == 0 and row.level != "later"}
    assert {shipped_rows()[id].family for id in LAWS} == {"General laws"}
    assert shipped_rows()["KIP320-FETCH-02"].family == "KIP-320"


def test_an_invariant_is_of_the_first_priority() -> None:
    numbered = re.compile(r"-(INV|LIVE)-\d+$")
    assert {row.priority for row in shipped_rows() if numbered.search(row.id)} == {"P1"}


@pytest.mark.parametrize("row", shipped_rows(), ids=lambda row: row.id)
def test_a_row_can_be_read_and_filed(row: Requirement) -> None:
    assert re.fullmatch(rf"KIP{row.kip}-[A-Z]+-\d\d[a-z]?(-L)?" if row.kip else r"GEN-\d\d(-L)?", row.id)
    assert row.cases
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", case.id) for case in row.cases)
    texts = [row.title, row.statement, row.section, *(case.about for case in row.cases)]
    assert all(text.strip() for text in texts)
    assert row.inputs >= 1


@pytest.mark.parametrize("row", shipped_rows(), ids=lambda row: row.id)
def test_a_row_applies_to_some_release_and_so_does_each_case(row: Requirement) -> None:
    shown = {case.id for facts in plausible() for case in row.applicable_cases(facts)}
    later = {case.id for case in row.cases if "TxnOffsetCommit >= 6" in (*row.needs, *case.needs)}
    assert shown | later == {case.id for case in row.cases}


@pytest.mark.parametrize("row", [row for row in shipped_rows() if row.expectations], ids=lambda row: row.id)
def test_one_expectation_is_in_force_wherever_the_row_applies(row: Requirement) -> None:
    tokens = {row.expected_token(facts) for facts in plausible() if applies(facts, row.applies, row.needs)}
    never = [entry for entry in row.expectations if entry.expect not in tokens]
    assert [entry.needs for entry in never] in ([], [["TxnOffsetCommit >= 6"]])


def test_a_row_without_an_expectation_in_force_says_so() -> None:
    row = next(row for row in shipped_rows() if row.expectations)
    with pytest.raises(CatalogueError, match=rf"{row.id}: 0 expectations are in force on 2\.8\.0"):
        row.expected_token(Facts(version="2.8.0", ranges={"Fetch": 1}))


# --- where a later KIP changed the rule


@pytest.mark.parametrize("id", sorted(LATER_ROWS))
def test_a_later_row_comes_with_the_row_whose_rule_changed(id: str) -> None:
    later = shipped_rows()[id]
    assert later.id == f"{later.before}-L"
    before = shipped_rows()[later.before]
    assert later.kip == before.kip
    assert later.promised
    assert numbers(later.applies[0].partition("..")[0]) <= numbers(before.applies[0].partition("..")[0])
    assert later.applies[0].endswith("..")


LISTS = {
    "KIP320-VER-01", "KIP595-API-02", "KIP595-CONF-01", "KIP595-FETCH-10", "KIP595-MET-01", "KIP595-MET-02", "KIP595-TOOL-01",
    "KIP595-TOOL-02",
}  # fmt: skip
"""Rows whose expectations list what a node or tool offers: a later KIP adds to the list and changes no rule."""


def test_each_tested_row_whose_rule_a_later_kip_changed_has_a_later_row() -> None:
    tested = {row for check in every_check().values() for row in check.rows}
    changed = {row.id for row in shipped_rows() if len(row.expectations) > 1 and row.id in tested - LISTS}
    before = {id.removesuffix("-L") for id in LATER_ROWS}
    assert changed <= before
    assert tested >= LATER_ROWS


# --- checks and rows, both ways


@pytest.mark.parametrize("check", every_check().values(), ids=list(every_check()))
def test_a_check_names_rows_and_cases_that_exist(check: AnyCheck) -> None:
    assert check.rows
    assert len(set(check.rows)) == len(check.rows)
    rows = [shipped_rows()[id] for id in check.rows]
    named = set(check.cases or ()) if isinstance(check, Check) else set()
    assert named <= {case.id for row in rows for case in row.cases}


LOOKED_UP = re.compile(r"\b([A-Z_]+)\[case\]")
"""Checks that look their case up in a table of their module."""


@pytest.mark.parametrize("check", every_check().values(), ids=list(every_check()))
def test_a_check_that_looks_its_case_up_finds_each_that_it_runs_for(check: AnyCheck) -> None:
    """When a row gets a case for another check, checks that ran for all of its cases so far have to name theirs."""
    if not isinstance(check, Check) or "case" not in check.parameter_names:
        return
    runs_for = check.cases or [case.id for case in shipped_rows()[check.rows[0]].cases]
    for name in LOOKED_UP.findall(inspect.getsource(check.body)):
        assert set(runs_for) <= set(check.body.__globals__[name]), f"{check.id} looks its case up in {name}"


@pytest.mark.parametrize("check", every_check().values(), ids=list(every_check()))
def test_a_check_can_run_on_some_release(check: AnyCheck) -> None:
    rows = [shipped_rows()[id] for id in check.rows]
    assert any(row.applicable_cases(facts) for row in rows for facts in plausible())


def test_an_unknown_row_is_told_where_to_look() -> None:
    with pytest.raises(CatalogueError, match=r"'KIP320-FETCH-99' is no row .* conformance/catalogue/\*\.toml"):
        shipped_rows()["KIP320-FETCH-99"]


def test_globs_choose_rows() -> None:
    chosen = shipped_rows().matching(["KIP320-FETCH-0[12]", "KIP595-VOTE-01"])
    assert [row.id for row in chosen] == ["KIP320-FETCH-01", "KIP320-FETCH-02", "KIP595-VOTE-01"]
    assert len(shipped_rows().matching([])) == len(shipped_rows())
    assert shipped_rows().matching(["kip320-*"]) == []


# --- broken ones


def _load(folder: Path, *texts: str) -> None:
    paths = [folder / f"kip{number}.toml" for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text, encoding="utf-8")
    load(paths)


def test_the_sample_row_itself_is_sound(tmp_path: Path) -> None:
    _load(tmp_path, ROW)


@pytest.mark.parametrize(
    ("was", "instead", "message"),
    [
        ('level = "must"\n', "", "level"),
        ('level = "must"', 'level = "shall"', "'shall'"),
        ('kind = "probe"', 'kind = "test"', "'test'"),
        ('title = "Older', 'titel = "Older', "titel"),
        ("kip = 320", 'kip = "320"', "kip"),
        ('applies = ["3.3.."]', 'applies = ["3.3"]', "'3.3' is not a version range; write '3.3..4.2'"),
        ('applies = ["3.3.."]', 'applies = [">=3.3"]', "is not a version range"),
        ('applies = ["3.3.."]', 'applies = ["4.0..3.9"]', "the older end first"),
        ('applies = ["3.3.."]', 'applies = ["3.3.."]\nneeds = ["Fetch 9"]', "'Fetch 9' is no need"),
        ('about = "replica id -1"', 'about = "a"\napplies = ["4"]', "'4' is not a version range"),
        ('about = "replica id -1"', 'about = "a"\nneeds = ["Fetch > 9"]', "'Fetch > 9' is no need"),
        ('[[requirement.cases]]\nid = "consumer"\nabout = "replica id -1"', "cases = []", "at least one case"),
        ('about = "replica id -1"', 'about = "a"\n[[requirement.cases]]\nid = "consumer"\nabout = "b"', "must differ"),
        (
            'about = "replica id -1"',
            'about = "a"\n[[requirement.expectations]]\nversions = ["3.x"]\nexpect = "A"\nabout = "a"',
            "'3.x' is not a version range",
        ),
    ],
)
def test_a_broken_row_is_named_with_its_file(tmp_path: Path, was: str, instead: str, message: str) -> None:
    assert was in ROW
    with pytest.raises(CatalogueError, match=r"^kip0\.toml: row KIP320-FETCH-02: ") as raised:
        _load(tmp_path, ROW.replace(was, instead))
    assert message in str(raised.value)


def test_a_row_without_an_id_is_named_by_its_place(tmp_path: Path) -> None:
    with pytest.raises(CatalogueError, match=r"^kip0\.toml: row number 2: .*id"):
        _load(tmp_path, ROW + ROW.replace('id = "KIP320-FETCH-02"\n', ""))


def test_an_id_is_used_once_over_all_files(tmp_path: Path) -> None:
    with pytest.raises(CatalogueError, match=r"^kip1\.toml: row KIP320-FETCH-02 is there twice"):
        _load(tmp_path, ROW, ROW)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (ROW + "[[requirement", "not TOML"),
        (ROW.replace("[[requirement", "[[requirements"), "'requirements'"),
        (ROW.replace("[[requirement]]", "[requirement]"), r"\[\[requirement\]\]"),
        ("", "no row"),
    ],
)
def test_a_file_that_holds_no_rows_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(CatalogueError, match=rf"^kip0\.toml: .*{message}"):
        _load(tmp_path, text)


def test_a_file_in_another_encoding_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "kip0.toml"
    path.write_bytes(ROW.replace("fenced", "gefährdet").encode("latin-1"))
    with pytest.raises(CatalogueError, match=r"^kip0\.toml: .*utf-8"):
        load([path])


# --- what a column must show


@pytest.mark.parametrize(
    ("version", "range", "inside"),
    [
        ("3.3.0", "3.3..", True),
        ("3.2.9", "3.3..", False),
        ("4.2.2", "3.3..4.2", True),
        ("4.2.10", "3.3..4.2", True),
        ("4.3.0", "3.3..4.2", False),
        ("3.5.1", "3.3..3.5.1", True),
        ("3.5.2", "3.3..3.5.1", False),
        ("3.10.0", "3.3..3.9", False),
        ("4.4.0-SNAPSHOT", "4.4..", True),
        ("3.9.2", "..4.0", True),
    ],
)
def test_ends_of_a_range_are_inclusive(version: str, range: str, inside: bool) -> None:
    assert in_range(version, range) is inside


def test_what_is_judged_is_what_the_hash_holds() -> None:
    row = shipped_rows()["KIP320-FETCH-02"]
    reworded = [msgspec.structs.replace(case, about="Other words.") for case in row.cases]
    reworded_row = msgspec.structs.replace(
        row, statement="Another.", note="another", seen="never", title="T", cases=reworded
    )
    assert reworded_row.hash == row.hash
    narrowed = msgspec.structs.replace(row.cases[0], needs=["Fetch >= 16"])
    for changed in (
        msgspec.structs.replace(row, id="KIP320-FETCH-99"),
        msgspec.structs.replace(row, applies=["3.4.."]),
        msgspec.structs.replace(row, needs=[]),
        msgspec.structs.replace(row, expectations=[Expectation(expect="fenced", about="Another.")]),
        msgspec.structs.replace(row, cases=[narrowed, *row.cases[1:]]),
    ):
        assert changed.hash != row.hash
