"""Judging a column at a time gives what judging all of them at once gives."""

from __future__ import annotations

from pathlib import Path

from conformance.campaign.outcome import judged_columns
from conformance.catalogue import shipped_rows
from conformance.judging.pooling import judge_shards
from conformance.judging.verdicts import Cell
from history.shards import read_header, read_shards
from tests.support.fake_column_run import OTHER, ROW
from tests.support.sample_shards import ShardBuilder, all_checks, write_lines


def columns(folder: Path) -> None:
    """Two columns, one of them run twice, as when violated rows are run again."""
    case = shipped_rows()[OTHER].cases[0].id
    for shard, version, run in (("a", "3.9.2", "r1"), ("b", "4.3.1", "r1"), ("c", "4.3.1", "r2")):
        built = ShardBuilder(f"{run}-{shard}", version, run=run, checks=all_checks()).satisfy(shipped_rows()[ROW])
        built.observe(OTHER, case, "violated" if run == "r2" else "held").finish().write(folder)


def by_name(cells: list[Cell]) -> list[Cell]:
    return sorted(cells, key=lambda cell: (cell.kafka_version, cell.requirement))


def test_columns_by_themselves_are_judged_as_all_at_once(tmp_path: Path) -> None:
    columns(tmp_path)
    together = judge_shards(read_shards(tmp_path))
    assert by_name(judged_columns(tmp_path)) == by_name(together)
    assert [c.kafka_version for c in together if c.verdict == "violated"] == ["4.3.1"]


def test_beside_a_file_without_a_header_nothing_is_satisfied(tmp_path: Path) -> None:
    columns(tmp_path)
    lines = ShardBuilder("r3-d", "3.9.2", run="r3").observe(ROW, "consumer").text()
    write_lines(tmp_path / "r3-d.jsonl", lines[1:])
    assert read_header(tmp_path / "r3-d.jsonl") is None
    assert "satisfied" not in {cell.verdict for cell in judged_columns(tmp_path)}


def test_the_shards_of_a_run_are_found_by_their_names(tmp_path: Path) -> None:
    columns(tmp_path)
    assert [Path(shard.path).stem for shard in read_shards(tmp_path, "r1")] == ["r1-a", "r1-b"]
    assert len(list(read_shards(tmp_path))) == 3
