"""The group machine on the miniature, beyond tests/contract: bugs in drawn schedules, and an unclean election of the log."""

from __future__ import annotations

import pytest

from conformance.core.bench import Bench
from conformance.judging.excuses import OFFSETS_LOST
from conformance.machines.groups.machine import GROUP_MACHINE
from conformance.running.machine.example import Ending, ExampleRun
from conformance.running.standing import Standing
from fixtures.faults.kinds import unclean
from fixtures.tape import LiveTape
from history.events import Call, Note
from history.steps import REST_NOTE
from protocol.groups import JOIN, LEAVE_TO_RETURN
from strategies import groups as do
from strategies.steps import Disturb, Heal
from tests.miniature.coordinators.service import CONFIGS, TOPIC
from tests.miniature.core.configs import TOPIC as TOPIC_CONFIG
from tests.miniature.groups.bugs import BUGS
from tests.miniature.machine import ExampleOnMiniature, finished, hunt, play, shortened

pytestmark = pytest.mark.drawn

A, B = (do.JoinGroup(member=member, reads_from="both") for member in do.DYNAMIC[:2])
COMMIT, FETCH, ROUND = do.Commit(), do.FetchOffsets(anonymous=True), do.Round()
DRAWN = ["pending-given-away", "joins-once"]
"""Bugs that turn up soon. `./kit miniature` looks for all of them."""


@pytest.mark.parametrize("name", DRAWN)
def test_a_bug_is_found_among_drawn_schedules_and_shrunk(name: str) -> None:
    found = hunt(GROUP_MACHINE, [name], examples=30, shrink=False, rows=BUGS[name].rows)
    assert found.first is not None
    shortest = shortened(GROUP_MACHINE, found.first, found.row, [name])
    assert found.row in {one.requirement for one in shortest.violations}
    assert len(shortest.steps) <= 8
    assert play(GROUP_MACHINE, shortest.steps).violations == []


def test_rounds_leave_an_instance_away_until_a_step_of_its_own() -> None:
    away = do.JoinGroup(member="static-1", reads_from="both")
    left: list[do.GroupStep] = [away, A, do.Settle(), do.LeaveToReturn(), ROUND, do.Settle()]

    def epochs(steps: list[do.GroupStep]) -> list[int]:
        """Return the epochs that heartbeats of the instance named by the steps, without those at rest."""
        events = play(GROUP_MACHINE, steps).history.events
        rest = next(event.n for event in events if isinstance(event, Note) and event.text == REST_NOTE)
        asked = [one.request for one in events[:rest] if isinstance(one, Call) and one.op == "consumer_group_heartbeat"]
        return [one["member_epoch"] for one in asked if one["instance_id"]]

    assert epochs(left)[-1] == LEAVE_TO_RETURN
    assert epochs([*left, do.Beat(member="static-1")])[-1] == JOIN
    assert JOIN in epochs([*left, do.AwaitBalance()])[epochs(left).index(LEAVE_TO_RETURN) :]


class Lenient(ExampleOnMiniature):
    """The lab with one in-sync replica as enough for the offsets topic, so that an unclean election loses what was answered."""

    def bench(self, tape: LiveTape, standing: Standing) -> Bench:
        bench = super().bench(tape, standing)
        self._cluster.controller.set_configs((TOPIC_CONFIG, TOPIC), {**CONFIGS, "min.insync.replicas": "1"})
        return bench


UNCLEAN = Disturb(on="group-1", fault=unclean.UncleanElection(own_topic=False))


def test_an_unclean_election_of_the_log_violates_nothing_and_ends_what_records_tell() -> None:
    lab = Lenient(members=True)
    example = ExampleRun(GROUP_MACHINE, lab, lab.standing, Ending(stops=lambda one: False))
    for step in (A, B, do.Settle(), COMMIT, UNCLEAN, ROUND, FETCH, Heal(), do.Settle(), COMMIT, FETCH):
        example.step(step)
    played = finished(example)
    assert (played.trouble, [(one.requirement, one.detail) for one in played.violations]) == ("", [])
    assert ("GEN-13", OFFSETS_LOST.name) in {(one.requirement, one.excuse) for one in played.excuses}
