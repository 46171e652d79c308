"""A mutant's column beside that of the unmodified Kafka: which rows were caught, missed, not exercised, or red unexpectedly."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conformance.cli.app import main
from mutants import Mutant, Red, mutant
from mutants.compare import compare


def red(*ids: str) -> tuple[Red, ...]:
    return tuple(Red(id=id, kind="probe", why="planted") for id in ids)


MUTANT = Mutant(name="m", targets=(), applies=(), about="a bug", red=red("A", "B"), may=red("C"))


def matrix(path: Path, mutated: dict[str, str], **unharmed: str) -> Path:
    columns = {"mutant": mutated, "plain": {"Z": "conformant", **unharmed}}
    cells = [
        {"requirement": row, "kafka_version": label, "verdict": verdict}
        for label, verdicts in columns.items()
        for row, verdict in verdicts.items()
    ]
    file = path / "matrix.json"
    file.write_text(json.dumps({"cells": cells}))
    return file


def test_each_row_of_the_table_is_caught(tmp_path: Path) -> None:
    found = compare(MUTANT, matrix(tmp_path, {"A": "violated", "B": "violated", "C": "violated"}), "mutant", "plain")
    assert (found.caught, found.as_well, found.as_promised) == (("A", "B"), ("C",), True)


def test_a_row_that_stays_green_is_missed(tmp_path: Path) -> None:
    found = compare(MUTANT, matrix(tmp_path, {"A": "violated", "B": "conformant"}), "mutant", "plain")
    assert (found.missed, found.as_promised) == (("B",), False)


@pytest.mark.parametrize("verdict", ["untested", "not-run", "inapplicable", None])
def test_a_row_without_a_check_is_not_missed(tmp_path: Path, verdict: str | None) -> None:
    mutated = {"A": "violated"} | ({"B": verdict} if verdict else {})
    found = compare(MUTANT, matrix(tmp_path, mutated), "mutant", "plain")
    assert (found.unexercised, found.missed, found.as_promised) == (("B",), (), True)


def test_a_mutant_of_which_nothing_was_exercised_does_not_keep_its_promise(tmp_path: Path) -> None:
    assert not compare(MUTANT, matrix(tmp_path, {"D": "conformant"}), "mutant", "plain").as_promised


def test_another_red_row_is_unexpected_unless_it_is_red_without_the_mutant(tmp_path: Path) -> None:
    mutated = {"A": "violated", "B": "violated", "D": "violated", "E": "violated"}
    found = compare(MUTANT, matrix(tmp_path, mutated, D="violated"), "mutant", "plain")
    assert (found.unexpected, found.as_promised) == (("E",), False)


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no column 'other'; it has \['mutant', 'plain'\]"):
        compare(MUTANT, matrix(tmp_path, {"A": "violated"}), "mutant", "other")


def test_its_text_names_each_kind_of_row(tmp_path: Path) -> None:
    lines = str(compare(MUTANT, matrix(tmp_path, {"A": "violated"}), "mutant", "plain")).splitlines()
    assert [line.split() for line in lines] == [
        ["caught", "A"],
        ["as_well", "-"],
        ["missed", "-"],
        ["unexpected", "-"],
        ["unexercised", "B"],
    ]


def test_the_command_reads_the_matrix_of_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    red_rows = {row.id: "violated" for row in mutant("unfenced-leader-epoch").red}
    (tmp_path / "matrix").mkdir()
    matrix(tmp_path / "matrix", red_rows)
    asked = ["mutants", "compare", "unfenced-leader-epoch", "mutant", "plain", "--out"]
    assert main([*asked, str(tmp_path)]) == 0
    assert f"caught      {', '.join(sorted(red_rows))}" in capsys.readouterr().out
    matrix(tmp_path / "matrix", {"Z": "violated"})
    assert main([*asked, str(tmp_path)]) == 1
    assert main([*asked, str(tmp_path / "nowhere")]) == 2
    assert "nowhere/matrix/matrix.json" in capsys.readouterr().err
