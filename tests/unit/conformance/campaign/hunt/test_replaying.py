"""The replays that findings wait for, and the changes over releases that they show."""

from __future__ import annotations

from conformance.campaign.hunt.findings import HuntFinding, Replays
from conformance.campaign.hunt.replaying import describe_changes, replays_to_confirm, replays_to_search
from tests.support.sample_hunt import found, hunt_of

RELEASES = ["3.7.0", "3.7.1", "3.7.2", "3.8.1", "3.9.2"]
SEEN, NOT_SEEN = Replays(seen=5, tries=5), Replays(seen=0, tries=5)


def replayed(**columns: Replays) -> HuntFinding:
    finding = found(1, "3.9.2")
    finding.replays = {name.removeprefix("v").replace("_", "."): one for name, one in columns.items()}
    return finding


def names(finding: HuntFinding) -> list[str]:
    return [one.column.name for one in replays_to_search(hunt_of("3.9.2", findings=[finding]), RELEASES)]


def test_each_finding_that_is_not_known_is_confirmed_on_its_own_column() -> None:
    known, new = found(1, "4.3.1", known="KAFKA-1"), found(2, "3.9.2", schedule=[{"do": "heal"}])
    hunt = hunt_of("4.3.1", "3.9.2", findings=[known, new])
    assert [(one.finding, one.column.selection) for one in replays_to_confirm(hunt)] == [
        (new, ["--kafka-version", "3.9.2"])
    ]
    new.replays = {"3.9.2": NOT_SEEN}
    assert replays_to_confirm(hunt) == []


def test_the_newest_patches_are_searched_first_and_then_between_neighbours_that_differ() -> None:
    assert names(replayed(v3_9_2=SEEN)) == ["3.7.2", "3.8.1"]
    assert names(replayed(v3_9_2=SEEN, v3_8_1=SEEN, v3_7_2=NOT_SEEN)) == []
    assert names(replayed(v3_9_2=SEEN, v3_8_1=SEEN, v3_7_2=SEEN)) == []


def test_neither_known_findings_nor_those_that_were_not_seen_again_are_searched() -> None:
    assert names(replayed()) == []
    assert names(replayed(v3_9_2=NOT_SEEN)) == []
    known = replayed(v3_9_2=SEEN)
    known.sightings = [found(1, known="KAFKA-1").source]
    assert names(known) == []


def test_changes_are_told_in_words() -> None:
    finding = replayed(v3_9_2=SEEN, v3_8_1=SEEN, v3_7_2=NOT_SEEN)
    assert describe_changes(finding, RELEASES) == ["first bad: 3.8.1 (3.7.2 is good)", "not replayed: 3.7.0, 3.7.1"]
    assert describe_changes(replayed(v3_9_2=SEEN, v3_8_1=SEEN), RELEASES)[0] == "no change: bad on 3.8.1, 3.9.2"
    assert describe_changes(replayed(v3_9_2=SEEN), RELEASES) == []
