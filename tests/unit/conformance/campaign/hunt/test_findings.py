"""Findings of a hunt: which violations are one, what is known, and what replays decide."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from conformance.campaign.hunt.findings import (
    HuntFinding,
    RecordedViolation,
    Replays,
    add,
    mark_known,
    replays_in,
    violations_in,
)
from conformance.campaign.hunt.replaying import replays_to_confirm
from conformance.catalogue import shipped_rows
from conformance.catalogue.deviations import Deviation, load_deviations
from history.shards import read_shards
from tests.support.fake_hunt_run import KNOWN_ROW, ROW, steps
from tests.support.sample_hunt import found, hunt_of, seen, write_round
from tests.support.sample_shards import ShardBuilder

OTHER = [{"do": "heal"}, *steps(0)]


def added(*each: RecordedViolation) -> list[HuntFinding]:
    findings: list[HuntFinding] = []
    for one in each:
        add(findings, one)
    return findings


# --- one finding or two


def test_equal_shapes_are_one_finding_whatever_the_version() -> None:
    [finding] = added(seen(1, "3.9.2"), seen(2, "4.3.1"))
    assert [one.column for one in finding.sightings] == ["3.9.2", "4.3.1"]


def test_another_shape_is_another_finding() -> None:
    first, second = added(seen(1), seen(2, schedule=OTHER))
    assert first.name != second.name


def test_a_shrunk_schedule_that_is_the_beginning_of_another_is_the_same_finding() -> None:
    """A replay ends where the violation shows."""
    [finding] = added(seen(1), seen(2, schedule=steps(1)[:1]))
    assert len(finding.shape) == 2
    assert len(added(seen(1, schedule=steps(1)[:1]), seen(2))) == 2


def test_a_schedule_that_was_not_shrunk_belongs_to_any_finding_of_its_row_label_and_case() -> None:
    [finding] = added(seen(1), seen(2, schedule=OTHER, seen=0, tries=0))
    assert [one.is_shrunk for one in finding.sightings] == [True, False]
    assert finding.source.round == 1
    assert len(added(seen(1), seen(2, schedule=OTHER, seen=0, tries=0, case="another"))) == 2


def test_a_shrunk_schedule_of_another_case_takes_no_place() -> None:
    assert len(added(seen(1, seen=0, tries=0), seen(2, schedule=OTHER, case="another"))) == 2


def test_the_first_shrunk_schedule_takes_the_place_of_one_that_was_not() -> None:
    finding = found(1, schedule=OTHER, seen=0, tries=0)
    finding.replays = {"3.9.2": Replays(seen=1, tries=5)}
    findings = [finding]
    assert add(findings, seen(2)) is None
    assert (findings[0].source.round, findings[0].shape, findings[0].replays) == (2, found(2).shape, {})
    add(findings, seen(3, schedule=OTHER))
    assert [one.source.round for one in findings] == [2, 3]


def test_the_same_schedule_seen_again_replaces_nothing() -> None:
    """An unshrunk schedule that a later round plays first is not shrunk by that."""
    [finding] = added(seen(1, seen=0, tries=0), seen(2, seen=1, tries=1))
    assert finding.source.round == 1


# --- from shards


def test_of_each_breach_the_shrunk_schedule_is_taken(tmp_path: Path) -> None:
    folder = tmp_path / "rounds" / "007"
    write_round(folder, "broken", "known")
    known = load_deviations(shipped_rows())
    by_row = {one.row: one for one in violations_in(folder, read_shards(folder / "shards"), known, 7, "4.3.1")}
    broken, deviation = by_row[ROW], by_row[KNOWN_ROW]
    assert (broken.sighting.seen, broken.sighting.tries, broken.sighting.known) == (4, 5, "")
    assert broken.sighting.evidence == f"rounds/007/evidence/{ROW}/r1-b"
    assert broken.sighting.deeds == ["kill leader", "produce"]
    assert (deviation.row, deviation.sighting.known.startswith("Since KAFKA-14704")) == (KNOWN_ROW, True)


def test_a_breach_without_replays_has_the_schedule_of_its_example(tmp_path: Path) -> None:
    folder = tmp_path / "rounds" / "001"
    write_round(folder, "unshrunk")
    [one] = violations_in(folder, read_shards(folder / "shards"), [], 1, "4.3.1")
    assert (one.sighting.is_shrunk, len(one.schedule.steps)) == (False, 4)


def test_replays_are_counted_by_row_and_label(tmp_path: Path) -> None:
    write_round(tmp_path, "broken")
    shards = list(read_shards(tmp_path / "shards"))
    assert replays_in(shards, ROW, "fence-leak") == Replays(seen=2, tries=3, trouble=1)
    assert replays_in(shards, ROW, "stuck") == Replays(seen=0, tries=1, trouble=1)


def test_a_row_whose_level_is_only_recorded_gives_no_finding(tmp_path: Path) -> None:
    row = next(row for row in shipped_rows() if not shipped_rows().judges(row.id))
    shard = ShardBuilder("s").observe(row.id, row.cases[0].id, "violated", evidence="evidence/x")
    shard.write(tmp_path)
    assert violations_in(tmp_path, read_shards(tmp_path), [], 1, "4.3.1") == []


# --- known


TICKET = Deviation(requirement=ROW, versions=("3.3..3.9",), reason="It does.\n", ticket="KAFKA-1", cases=("consumer",))


@pytest.mark.parametrize(
    ("row", "version", "case", "known"),
    [
        (ROW, "3.9.2", "consumer", "KAFKA-1"),
        (ROW, "4.0.0", "consumer", ""),
        (ROW, "3.9.2", "replica", ""),
        (KNOWN_ROW, "3.9.2", "consumer", ""),
    ],
)
def test_a_deviation_is_known_by_row_version_and_case(row: str, version: str, case: str, known: str) -> None:
    sighting = found(version=version, case=case).source
    assert mark_known([TICKET], row, "epoch 3", sighting).known == known


@pytest.mark.parametrize(
    ("deeds", "known"),
    [
        (["kill leader"], ""),
        (["kill leader", "kill active controller"], "KAFKA-1"),
        (["kill voter"], "KAFKA-1"),
        (["rate-limit voter"], ""),
        ([], ""),
    ],
)
def test_a_deviation_is_known_by_what_its_schedule_takes(deeds: list[str], known: str) -> None:
    deviation = msgspec.structs.replace(TICKET, takes=(("kill active controller", "kill voter"),))
    assert mark_known([deviation], ROW, "", found(deeds=deeds).source).known == known


@pytest.mark.parametrize(
    ("deeds", "tries", "settled"),
    [
        (["kill voter", "produce"], 5, True),
        (["kill voter", "rate-limit leader"], 5, False),
        (["kill voter", "rate-limit leader"], 0, True),
        (["kill leader"], 5, False),
    ],
    ids=["the known shape", "another fault", "not shrunk", "not known"],
)
def test_a_known_finding_whose_shrunk_shape_differs_is_replayed(deeds: list[str], tries: int, settled: bool) -> None:
    deviation = msgspec.structs.replace(TICKET, takes=(("kill active controller", "kill voter"),))
    [finding] = added(seen(1, deeds=deeds, seen=tries and 4, tries=tries))
    finding.judge_again([deviation])
    assert finding.is_settled == settled
    hunt = hunt_of("3.9.2", findings=[finding])
    assert [one.finding for one in replays_to_confirm(hunt)] == ([] if settled else [finding])


def test_each_sighting_is_judged_again_by_its_own_schedule() -> None:
    """The second ends before the fault that the deviation takes."""
    [finding] = added(seen(1, deeds=["kill voter"]), seen(2, deeds=["kill leader"]))
    finding.judge_again([msgspec.structs.replace(TICKET, takes=(("kill voter",),))])
    assert [one.known for one in finding.sightings] == ["KAFKA-1", ""]


def test_a_finding_is_known_if_it_is_on_every_version() -> None:
    [finding] = added(seen(1, "3.9.2"), seen(2, "4.3.1"))
    assert not finding.is_known
    finding.judge_again([TICKET])
    assert [one.known for one in finding.sightings] == ["KAFKA-1", ""]
    assert not finding.is_known
    finding.sightings.pop()
    assert finding.is_known


# --- what replays decide


def test_a_version_is_good_only_if_chance_does_not_explain_it() -> None:
    finding = found()
    finding.replays = {
        "3.9.2": Replays(seen=5, tries=5),
        "4.0.2": Replays(seen=1, tries=5),
        "4.3.1": Replays(seen=0, tries=5),
        "4.4.0": Replays(seen=0, tries=0, trouble=5),
    }
    assert finding.outcomes == {"3.9.2": "bad", "4.0.2": "bad", "4.3.1": "good", "4.4.0": ""}
    finding.replays["3.9.2"] = Replays(seen=2, tries=5)
    assert finding.outcomes["4.3.1"] == "", "it was missed five times in a row with a probability of 8%"
