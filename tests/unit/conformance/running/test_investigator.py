"""Investigating a finding: shrunk, replayed, and what its evidence says afterwards."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from conformance.core.machines import simpler_steps
from conformance.running.evidence.folder import Schedule as StoredSchedule
from conformance.running.evidence.report import REPLAYS_HEADING
from conformance.running.machine.discovery import Discovery, ReplayedBreach
from conformance.running.machine.example import Ending, FinishedExample, Schedule, Stops
from conformance.running.machine.investigator import REPLAYS, Investigator, latest_steps
from conformance.running.violations import Breach, breach_of, first_of_each_breach
from history.events import End, Example, History, Note
from history.observations import Observation
from history.schema import decode
from history.steps import REST_NOTE, SWEEP_NOTE, SWEPT_NOTE
from history.violation import VIOLATION, FiledViolation
from strategies.log import Produce, Read
from strategies.steps import Step, Sweep
from tests.support.fake_lab import COLUMN

NEVER = float("inf")
NOISE: list[Step] = [Produce(), Read(), Produce(acks=0), Read(full_log=True)]
BUG = Produce(on="loose-0", acks=1)
OTHER = Read(on="loose-0", role="follower")


def violation(row: str) -> Observation:
    return Observation(requirement=row, case="case", result="violated", example="e", label="label", detail="broken")


class FakeCheck:
    id = "machines.Fake"
    simpler = staticmethod(simpler_steps)


class Cluster:
    """Plays schedules: a row is broken when its step is among them.

    `wavers` says of each run whether bugs show at all, `hurried` whether the clock cuts it short.
    """

    def __init__(
        self,
        out: Path,
        bugs: dict[str, Step],
        wavers: Callable[[int], bool] = lambda run: True,
        hurried: Callable[[int], bool] = lambda run: False,
    ) -> None:
        self.out = out
        self.played: list[list[Step]] = []
        self.filed = 0
        self._bugs = bugs
        self._wavers = wavers
        self._hurried = hurried

    def __call__(self, steps: Schedule, ending: Ending, shows: Stops | None = None) -> Discovery:
        self.played.append(list(steps))
        broken = [row for row, step in self._bugs.items() if step in steps and self._wavers(len(self.played))]
        played = self._outcome(steps, [violation(row) for row in broken])
        wanted = [one for one in played.violations if shows is not None and shows(one)]
        return Discovery(played=played, evidence=self.file(wanted))

    def file(self, violations: Sequence[Observation]) -> dict[Breach, str]:
        """A folder for each, with a report that does not say yet whether it was seen again."""
        folders = {}
        for one in violations:
            self.filed += 1
            name = folders[breach_of(one)] = f"evidence-{self.filed}"
            (self.out / name).mkdir()
            (self.out / name / "report.md").write_text(f"{REPLAYS_HEADING}not tried\n")
            filed = msgspec.json.encode(FiledViolation(observation=one, notices=[]))
            (self.out / name / VIOLATION).write_bytes(filed)
            schedule = {"check": FakeCheck.id, "column": {**_column()}, "requirement": one.requirement, "steps": []}
            (self.out / name / "schedule.json").write_text(json.dumps(schedule))
        return folders

    def finding(self, steps: Schedule) -> Discovery:
        played = self._outcome(steps, [violation(row) for row, step in self._bugs.items() if step in steps])
        return Discovery(played=played, evidence=self.file(first_of_each_breach(played.violations)))

    def _outcome(self, steps: Schedule, violations: list[Observation]) -> FinishedExample:
        standing: Any = None
        opened = Example(example="e", check=FakeCheck.id, column=COLUMN.label, members=[])
        history = History(example=opened, events=[], end=End(example="e", outcome="judged", detail=""))
        return FinishedExample(
            standing=standing,
            steps=list(steps),
            history=history,
            observations=violations,
            suspicion=None,
            trouble="",
            hindered="",
            replaced="",
            cut_short=self._hurried(len(self.played)),
            seconds=0.0,
        )

    def report(self, folder: str) -> str:
        text = " ".join((self.out / folder / "report.md").read_text().split()).removeprefix(REPLAYS_HEADING)
        assert text in (
            decode((self.out / folder / VIOLATION).read_bytes(), FiledViolation, "").seen_again,
            "not tried",
        )
        return text


def _column() -> dict[str, Any]:
    return {"label": COLUMN.label, "version": COLUMN.version, "image": COLUMN.image, "image_id": COLUMN.image_id}


def investigated(
    cluster: Cluster, finding: Discovery, seconds: float = 60.0, until: float = NEVER
) -> tuple[Investigator, list[ReplayedBreach]]:
    check: Any = FakeCheck()
    investigator, found = Investigator(check, cluster, cluster.out, seconds, lambda _: None), list[ReplayedBreach]()
    investigator.investigate(finding, finding.played.violations, until, found.append)
    return investigator, found


def test_a_finding_is_shrunk_to_the_step_that_shows_it_and_replayed(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, {"A": BUG})
    investigator, [found] = investigated(cluster, cluster.finding([*NOISE, BUG, *NOISE]))
    assert cluster.played[-REPLAYS:] == [[BUG]] * REPLAYS
    assert (found.seen, found.tries, str(found.breach)) == (REPLAYS, REPLAYS, "A case label")
    assert investigator.concluded == {found.breach}
    assert 0 < investigator.seconds < 60


def test_a_sweep_at_rest_that_shows_it_becomes_a_step_since_its_turn_goes_by_the_number_of_the_example(
    tmp_path: Path,
) -> None:
    cluster = Cluster(tmp_path, {"A": Sweep(turn=7)})
    finding = cluster.finding([*NOISE, Sweep(turn=7)])
    notes = [(REST_NOTE, {}), (SWEEP_NOTE, {"turn": 7}), ("asked", {}), (SWEPT_NOTE, {})]
    finding.played.history.events.extend(Note(n=n, t=0.0, text=text, data=data) for n, (text, data) in enumerate(notes))
    finding.played.steps[:] = NOISE
    finding.played.observations[:] = [msgspec.structs.replace(violation("A"), events=[2])]
    _, [found] = investigated(cluster, finding)
    assert cluster.played[-REPLAYS:] == [[Sweep(turn=7)]] * REPLAYS
    assert (found.seen, found.tries) == (REPLAYS, REPLAYS)


def test_the_evidence_of_the_replay_says_how_often_and_that_of_the_finding_where_it_is(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, {"A": BUG})
    _, [found] = investigated(cluster, cluster.finding([*NOISE, BUG]))
    assert found.evidence == "evidence-2"
    assert cluster.report("evidence-2").startswith(f"{REPLAYS} of {REPLAYS} replays. 5 steps shrunk to 1 in ")
    assert cluster.report("evidence-1") == "Shrunk: a shorter schedule is in `evidence-2`."


def test_breaches_of_one_schedule_share_its_replays(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, {"A": BUG, "B": BUG})
    _, found = investigated(cluster, cluster.finding([*NOISE, BUG]))
    assert {one.breach.requirement: one.seen for one in found} == {"A": REPLAYS, "B": REPLAYS}
    assert cluster.played.count([BUG]) < 2 * REPLAYS


def test_a_breach_that_these_replays_do_not_show_is_shrunk_by_itself(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, {"A": BUG, "B": OTHER})
    _, found = investigated(cluster, cluster.finding([OTHER, *NOISE, BUG]))
    assert {one.breach.requirement: (one.seen, one.tries) for one in found} == dict.fromkeys("AB", (REPLAYS, REPLAYS))
    assert [OTHER] in cluster.played
    assert [BUG] in cluster.played


@pytest.mark.parametrize(("shows", "result"), [(False, (1, 1)), (True, (REPLAYS, REPLAYS))])
def test_a_replay_that_the_clock_cut_short_counts_only_if_it_showed_the_bug(
    tmp_path: Path, shows: bool, result: tuple[int, int]
) -> None:
    (plain := tmp_path / "plain").mkdir()
    calm = Cluster(plain, {"A": BUG})
    investigated(calm, calm.finding([BUG]))
    second = len(calm.played) - REPLAYS + 2
    cluster = Cluster(tmp_path, {"A": BUG}, wavers=lambda run: shows or run < second, hurried=lambda run: run >= second)
    _, [found] = investigated(cluster, cluster.finding([BUG]))
    assert (found.seen, found.tries) == result


def test_a_candidate_that_the_clock_cut_short_is_not_taken_for_one_without_the_bug(tmp_path: Path) -> None:
    (plain := tmp_path / "plain").mkdir()
    calm = Cluster(plain, {"A": BUG})
    investigated(calm, calm.finding([*NOISE, BUG]))
    shown = next(number for number, steps in enumerate(calm.played, start=1) if BUG in steps)
    cluster = Cluster(tmp_path, {"A": BUG}, wavers=lambda run: run <= shown, hurried=lambda run: run > shown)
    investigated(cluster, cluster.finding([*NOISE, BUG]))
    shorter = cluster.played[shown - 1]
    assert len(shorter) < len(NOISE) + 1
    assert cluster.played[-1] == shorter, "what was shown once is replayed"


def test_a_bug_that_never_shows_again_keeps_its_evidence_and_a_schedule_beside_it(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, {"A": BUG}, wavers=lambda run: False)
    _, [found] = investigated(cluster, cluster.finding([*NOISE, BUG]))
    assert (found.seen, found.tries, found.evidence) == (0, REPLAYS, "evidence-1")
    assert cluster.report("evidence-1").startswith(f"0 of {REPLAYS} replays. ")
    assert json.loads((tmp_path / "evidence-1" / "shrunk.json").read_text())["steps"]


@pytest.mark.parametrize(("seconds", "until"), [(0.0, NEVER), (60.0, 0.0)])
def test_without_time_nothing_is_run_and_the_report_says_why(tmp_path: Path, seconds: float, until: float) -> None:
    cluster = Cluster(tmp_path, {"A": BUG})
    ends = until if until else time.monotonic()
    investigator, found = investigated(cluster, cluster.finding([BUG]), seconds, ends)
    assert (cluster.played, found, investigator.concluded) == ([], [], set())
    assert cluster.report("evidence-1").startswith("Not shrunk: the time for that was used up")


def test_what_was_replayed_before_is_not_concluded_again(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, {"A": BUG})
    investigator, [first] = investigated(cluster, cluster.finding([BUG]))
    found: list[ReplayedBreach] = []
    finding = cluster.finding([BUG])
    investigator.investigate(finding, finding.played.violations, NEVER, found.append)
    assert found == []
    assert investigator.concluded == {first.breach}


def test_a_stored_schedule_can_be_read_back(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, {"A": BUG}, wavers=lambda run: False)
    investigated(cluster, cluster.finding([BUG]))
    stored = msgspec.json.decode((tmp_path / "evidence-1" / "shrunk.json").read_bytes(), type=StoredSchedule)
    assert msgspec.convert(stored.steps, list[Produce]) == [BUG]


def test_the_end_of_a_long_schedule_is_tried_before_all_of_it() -> None:
    assert latest_steps(range(10, 50), {12}) == [{12, *range(40, 50)}, {12, *range(30, 50)}]


@pytest.mark.parametrize(("steps", "tried"), [(0, 0), (3, 0), (4, 1), (7, 1), (8, 2)])
def test_a_short_schedule_has_no_end_worth_a_run(steps: int, tried: int) -> None:
    assert len(latest_steps(range(steps), ())) == tried
