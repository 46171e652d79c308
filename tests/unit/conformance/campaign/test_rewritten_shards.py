"""Shards written again as today's judges would have: what they say is today's, what is lacking still shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from conformance.campaign.rewritten_shards import rewrite_shard
from conformance.catalogue import shipped_rows
from conformance.judging.pooling import gather_shards, judge_shards
from conformance.judging.stored_examples import JudgedExample
from conformance.judging.verdicts import CHANGED_SINCE, Cell
from history.observations import Observation
from history.schema import SCHEMA
from history.shards import CheckLine, ExampleLine, ExcuseCount, Footer, Header, ObservationLine, read_shard
from tests.support.fake_lab import COLUMN

ROW = "KIP320-OFLE-02"
CASE = "older"
HASHES = {row.id: row.hash for row in shipped_rows()}


def observation(example: str, result: Any = "held", row: str = ROW) -> Observation:
    return Observation(requirement=row, case=CASE, result=result, example=example, inputs=example)


def lines_of(*printed: tuple[str, list[Observation]], rows: dict[str, str]) -> list[Any]:
    lines: list[Any] = [
        Header(
            shard="s1", n=0, schema=SCHEMA, kit="0", run="r1", worker="gw0", column=COLUMN, topology="t", profile="smoke",
            seed=1, rows=rows, checks={ROW: ["kip320.one"]},
        )
    ]  # fmt: skip
    for example, found in printed:
        for one in found:
            lines.append(
                ObservationLine(
                    shard="s1",
                    n=len(lines),
                    check="kip320.one",
                    evidence=f"evidence/{example}",
                    **msgspec.structs.asdict(one),
                )
            )
        names = sorted({one.requirement for one in found})
        lines.append(
            ExampleLine(shard="s1", n=len(lines), example=example, check="kip320.one", outcome="judged", rows=names)
        )
    lines.append(CheckLine(shard="s1", n=len(lines), check="kip320.one", rows=[ROW], outcome="done"))
    counts = {"header": 1, "check": 1, "example": len(printed), "observation": sum(len(found) for _, found in printed)}
    return [*lines, Footer(shard="s1", n=len(lines), counts=counts)]


def written(folder: Path, content: bytes) -> Path:
    path = folder / "s1.jsonl"
    path.write_bytes(content)
    return path


def as_text(lines: list[Any]) -> bytes:
    return b"".join(msgspec.json.encode(line) + b"\n" for line in lines)


def again(folder: Path, content: bytes, today: dict[str, list[Observation]], *, whole: bool = True) -> Cell:
    """The row's cell by the shard as written again; what was written stays in the folder."""
    [shard] = gather_shards([read_shard(written(folder, content))])
    judged = {example: JudgedExample(observations=found, excuses=EXCUSES) for example, found in today.items()}
    path = written(folder, rewrite_shard(shard, judged, whole=whole))
    return cell(path)


def cell(path: Path, row: str = ROW) -> Cell:
    return next(cell for cell in judge_shards([read_shard(path)]) if cell.requirement == row)


FIVE = [(f"e-{n}", [observation(f"e-{n}")]) for n in range(5)]
TODAY = dict(FIVE)
EXCUSES = [ExcuseCount(requirement=ROW, case=CASE, excuse="open outcome", times=1)]
CHANGED = HASHES | {ROW: "of another day"}


def test_a_row_that_was_changed_gets_its_verdict_from_the_histories(tmp_path: Path) -> None:
    content = as_text(lines_of(*FIVE, rows=CHANGED))
    assert cell(written(tmp_path, content)).reason == CHANGED_SINCE
    found = again(tmp_path, content, TODAY)
    assert (found.verdict, found.observations) == (cell_of_unchanged(tmp_path), 5)


def cell_of_unchanged(folder: Path) -> str:
    found = cell(written(folder, as_text(lines_of(*FIVE, rows=HASHES)))).verdict
    assert found == "satisfied"
    return found


def test_observations_of_today_replace_the_former_ones(tmp_path: Path) -> None:
    found = again(tmp_path, as_text(lines_of(*FIVE, rows=HASHES)), TODAY | {"e-3": [observation("e-3", "violated")]})
    assert (found.verdict, found.observations) == ("violated", 5)
    shard = read_shard(tmp_path / "s1.jsonl")
    [broken] = [line for line in shard.lines if isinstance(line, ObservationLine) and line.result == "violated"]
    assert (broken.check, broken.history, broken.evidence) == (
        "kip320.one", "histories/r1/gw0.jsonl.zst", "evidence/e-3",
    )  # fmt: skip


def test_nothing_changes_where_judges_say_the_same(tmp_path: Path) -> None:
    content = as_text(lines_of(*FIVE, rows=HASHES))
    again(tmp_path, content, TODAY)
    once = (tmp_path / "s1.jsonl").read_bytes()
    again(tmp_path, once, TODAY)
    assert (tmp_path / "s1.jsonl").read_bytes() == once
    assert shard_says(tmp_path, ExampleLine) == [[ROW]] * 5


def shard_says(folder: Path, kind: type[ExampleLine]) -> list[list[str]]:
    return [line.rows for line in read_shard(folder / "s1.jsonl").lines if isinstance(line, kind)]


def test_an_example_that_says_nothing_any_more_is_about_no_row(tmp_path: Path) -> None:
    assert again(tmp_path, as_text(lines_of(*FIVE, rows=HASHES)), {example: [] for example in TODAY}).observations == 0
    assert shard_says(tmp_path, ExampleLine) == [[]] * 5


def test_excuses_are_those_of_today(tmp_path: Path) -> None:
    again(tmp_path, as_text(lines_of(*FIVE, rows=HASHES)), {"e-1": []})
    lines = [line for line in read_shard(tmp_path / "s1.jsonl").lines if isinstance(line, ExampleLine)]
    assert {line.example: line.excuses for line in lines if line.excuses} == {"e-1": EXCUSES}


def test_a_changed_row_with_an_example_that_cannot_be_judged_stays_changed(tmp_path: Path) -> None:
    today = {example: found for example, found in FIVE if example != "e-2"}
    found = again(tmp_path, as_text(lines_of(*FIVE, rows=CHANGED)), today)
    assert (found.verdict, found.reason) == ("not-run", CHANGED_SINCE)


def test_an_unchanged_row_keeps_what_was_said_of_an_example_without_a_history(tmp_path: Path) -> None:
    violated = [*FIVE, ("e-5", [observation("e-5", "violated")])]
    assert again(tmp_path, as_text(lines_of(*violated, rows=HASHES)), TODAY).verdict == "violated"


def test_an_example_whose_own_line_was_cut_off_is_judged_all_the_same(tmp_path: Path) -> None:
    cut = as_text(lines_of(*FIVE, rows=HASHES)[:10])
    assert again(tmp_path, cut, TODAY | {"e-4": [observation("e-4", "violated")]}).verdict == "violated"


@pytest.mark.parametrize("damage", ["no footer", "a line less", "a torn line", "a line twice"])
def test_a_shard_that_was_not_whole_is_not_mended_by_writing_it_again(tmp_path: Path, damage: str) -> None:
    lines = as_text(lines_of(*FIVE, rows=HASHES)).splitlines(keepends=True)
    content = {
        "no footer": b"".join(lines[:-1]),
        "a line less": b"".join([*lines[:3], *lines[4:]]),
        "a torn line": b"".join([*lines[:3], lines[3][:-20] + b"\n", *lines[4:]]),
        "a line twice": b"".join([*lines[:3], lines[3], *lines[3:]]),
    }[damage]
    before = cell(written(tmp_path, content)).verdict
    after = again(tmp_path, content, TODAY).verdict
    assert after == before == (cell_of_unchanged(tmp_path) if damage == "a line twice" else "inconclusive")


def test_nothing_is_whole_beside_a_line_that_tells_no_shard(tmp_path: Path) -> None:
    content = as_text(lines_of(*FIVE, rows=HASHES))
    assert again(tmp_path, content, TODAY, whole=False).verdict == "inconclusive"
