"""Things that a leg leaves to the next night: which schedules, for how long, and whose examples."""

from pathlib import Path

import msgspec
import pytest

from conformance.campaign.night.archive import Archive, PublishedNight
from conformance.campaign.night.attempts import Attempt, AttemptEnd, FoundAttempt
from conformance.campaign.night.handing_on import AT_MOST, EXAMPLES, HANDED_ON, NIGHTS, hand_on, take_over
from conformance.catalogue import shipped_rows
from conformance.judging.news import BrokenCase
from conformance.running.evidence.folder import Schedule
from conformance.running.machine.beginning import read_beginning
from history.shards import Column
from tests.support.sample_shards import ShardBuilder

LEG, ROW = "4.4.0", "KIP320-FETCH-03"
CASES = [case.id for case in shipped_rows()[ROW].cases]
NEW = BrokenCase(ROW, CASES[0])
COLUMN = Column(label=LEG, version=LEG, image=LEG, image_id="")


class Leg:
    """The attempts of a leg, night after night."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.archive = Archive(folder / "nights")

    def attempt(self, name: str, step: str = "", *, ended: bool = True) -> FoundAttempt:
        """An attempt that broke NEW by a schedule of one step, or by a probe, which has none."""
        folder, shard = self.folder / name, ShardBuilder(f"{name}-gw0", LEG, run=name)
        shard.observe(ROW, NEW.case, "violated", evidence="evidence/1").finish().write(folder / "shards")
        schedule = Schedule(check="machines.log.LogMachine", column=COLUMN, steps=[{"step": step}] if step else [])
        (folder / "evidence" / "1").mkdir(parents=True)
        (folder / "evidence" / "1" / "schedule.json").write_bytes(msgspec.json.encode(schedule))
        (folder / EXAMPLES / LEG).mkdir(parents=True)
        (folder / EXAMPLES / LEG / name).write_text(name)
        end = AttemptEnd(is_whole=True) if ended else None
        return FoundAttempt(attempt=Attempt(night="1", leg=LEG, number=1), folder=folder, end=end)

    def publish(self, night: int, *found: FoundAttempt, new: bool = True) -> None:
        hand_on(self.archive, LEG, f"{night}", found, [NEW] if new else [])
        self.archive.publish(PublishedNight(night=f"{night}", legs={}), b"")

    def begin(self, name: str) -> list[str]:
        """The steps with which the next attempt begins."""
        out = self.folder / f"next-{name}"
        options = take_over(self.archive, LEG, out)
        if not options:
            return []
        assert options == ["--conformance-beginning", str(out / "beginning.json")]
        return [step["step"] for one in read_beginning(out / "beginning.json").schedules for step in one.steps]


@pytest.fixture
def leg(tmp_path: Path) -> Leg:
    return Leg(tmp_path)


def test_a_schedule_that_showed_something_new_begins_the_next_nights(leg: Leg) -> None:
    leg.publish(1, leg.attempt("a", "kill"))
    assert leg.begin("1") == ["kill"]
    for night in range(2, NIGHTS + 1):
        leg.publish(night)
        assert leg.begin(f"{night}") == ["kill"]
    leg.publish(NIGHTS + 1)
    assert leg.begin("last") == [], "it had its nights"


def test_what_was_known_and_what_a_probe_broke_are_not_handed_on(leg: Leg) -> None:
    leg.publish(1, leg.attempt("known", "kill"), new=False)
    leg.publish(2, leg.attempt("probe"))
    assert leg.begin("1") == []


def test_the_newest_come_first_each_once_and_not_more_than_a_bound(leg: Leg) -> None:
    for night in range(1, 4):
        leg.publish(night, leg.attempt(f"n{night}", "kill" if night != 2 else "freeze"))
    assert leg.begin("1") == ["kill", "freeze"]
    leg.publish(4, *(leg.attempt(f"more{number}", f"s{number}") for number in range(AT_MOST)))
    assert leg.begin("2") == [f"s{number}" for number in range(AT_MOST)]


def test_a_night_that_was_not_published_hands_nothing_on(leg: Leg) -> None:
    leg.publish(1)
    hand_on(leg.archive, LEG, "2", [leg.attempt("a", "kill")], [NEW])
    assert leg.begin("1") == []


def test_examples_are_those_of_the_newest_attempt_that_left_some_however_it_ended(leg: Leg, tmp_path: Path) -> None:
    leg.publish(1, leg.attempt("a"), leg.attempt("cut", ended=False))
    leg.publish(2)
    leg.begin("1")
    assert [path.name for path in (tmp_path / "next-1" / EXAMPLES / LEG).iterdir()] == ["cut"]


def test_a_database_that_is_too_large_is_begun_again(leg: Leg, monkeypatch: pytest.MonkeyPatch) -> None:
    leg.publish(1, leg.attempt("a"))
    monkeypatch.setattr("conformance.campaign.night.handing_on.LARGEST", 2)
    leg.publish(2, leg.attempt("large"))
    assert not (leg.archive.folder / HANDED_ON / LEG / EXAMPLES).exists()


def test_a_schedule_of_an_older_schema_is_left_out(leg: Leg) -> None:
    leg.publish(1, leg.attempt("a", "kill"))
    path = leg.archive.folder / HANDED_ON / LEG / "schedules.json"
    path.write_bytes(path.read_bytes().replace(b'"schema":2', b'"schema":1'))
    assert leg.begin("1") == []
