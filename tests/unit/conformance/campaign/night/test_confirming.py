"""Which schedules a leg replays, and what its replays say."""

from pathlib import Path

import pytest

from conformance.campaign.hunt.findings import Replays
from conformance.campaign.night.confirming import (
    AT_MOST,
    CONFIRMED,
    NewSchedule,
    confirmations_of,
    is_missed,
    read_confirmations,
    schedules_to_replay,
    write_confirmations,
)
from conformance.judging.news import BrokenCase
from history.shards import Shard, read_shards
from tests.support.sample_shards import ShardBuilder

ROW, OTHER = "KIP320-FETCH-02", "KIP320-FETCH-03"
CASE = BrokenCase(ROW, "consumer")


def shards(folder: Path, builder: ShardBuilder) -> list[Shard]:
    builder.finish().write(folder)
    return [*read_shards(folder)]


def test_each_new_case_has_one_schedule_and_a_shrunk_one_if_there_is_one(tmp_path: Path) -> None:
    built = ShardBuilder("r1-gw0").observe(ROW, CASE.case, "violated", count=1, evidence="e/1", label="stale")
    built.observe(ROW, CASE.case, "violated", count=1, evidence="e/2", label="stale").replay(ROW, "e/2", 2, 5)
    built.observe(OTHER, "known", "violated", count=1, evidence="e/3")
    (found,) = schedules_to_replay(tmp_path, shards(tmp_path / "s", built), [CASE, BrokenCase(ROW, "unfiled")])
    assert found == NewSchedule(CASE, "stale", tmp_path / "e/2" / "schedule.json")
    assert found.replay(["--kafka-version", "4.3.1"]).options == ["--replay", str(found.file)]


def test_a_row_whose_cases_are_not_told_has_the_schedule_of_any(tmp_path: Path) -> None:
    built = ShardBuilder("r1-gw0").observe(ROW, "consumer", "violated", count=1, evidence="e/1")
    assert len(schedules_to_replay(tmp_path, shards(tmp_path / "s", built), [BrokenCase(ROW, "")])) == 1


def test_only_so_many_are_replayed(tmp_path: Path) -> None:
    built, new = ShardBuilder("r1-gw0"), [BrokenCase(ROW, f"case-{number}") for number in range(AT_MOST + 1)]
    for row, case in new:
        built.observe(row, case, "violated", count=1, evidence=f"e/{case}")
    assert [each.case for each in schedules_to_replay(tmp_path, shards(tmp_path / "s", built), new)] == new[:AT_MOST]


def test_replays_are_counted_and_those_in_trouble_show_nothing(tmp_path: Path) -> None:
    one = NewSchedule(CASE, "", tmp_path)
    seen = shards(tmp_path / "1", ShardBuilder("r1-gw0").replayed(ROW, CASE.case, seen=2))
    assert confirmations_of([(one, seen)]) == {CASE: Replays(seen=2, tries=5)}
    missed = shards(tmp_path / "2", ShardBuilder("r1-gw0").replayed(ROW, CASE.case, seen=0))
    assert is_missed(confirmations_of([(one, missed)])[CASE])
    assert not is_missed(Replays(seen=1, tries=5))
    assert not is_missed(confirmations_of([(one, [])])[CASE]), "no replay came to its end"
    assert not is_missed(None)
    assert is_missed(Replays(seen=0, tries=3, trouble=2))
    assert not is_missed(Replays(seen=0, tries=2, trouble=3)), "most came to nothing"
    assert not is_missed(Replays(seen=0, tries=2)), "the replays were cut off"


def test_confirmations_are_read_as_they_were_written(tmp_path: Path) -> None:
    assert read_confirmations(tmp_path) == {}
    write_confirmations(tmp_path, {CASE: Replays(seen=0, tries=5)})
    assert read_confirmations(tmp_path) == {CASE: Replays(seen=0, tries=5)}
    (tmp_path / CONFIRMED).write_text("{")
    with pytest.raises(Exception, match=r"confirmed.json: .*no replays of this kit's"):
        read_confirmations(tmp_path)
