"""Meetings in a schedule, counted by the faults that are active."""

from __future__ import annotations

from fixtures.faults.kinds.process import Kill, Stop
from fixtures.faults.kinds.shapes import Isolate
from strategies.meetings import FaultOnSubject, count_meetings, standing_at_each
from strategies.steps import AlterClusterDefault, DeleteTopic, Disturb, Heal, HealPartly, ReadEverything

KILL, STOP = Disturb(on="strict-0", fault=Kill()), Disturb(on="strict-0", fault=Stop())
ELSEWHERE = Disturb(on="loose-0", fault=Isolate())


def test_faults_meet_in_the_order_of_their_injection_on_the_same_subject() -> None:
    assert count_meetings([KILL, ELSEWHERE, STOP]) == {("kill", "stop"): 1}
    assert count_meetings([STOP, KILL]) == {("stop", "kill"): 1}


def test_what_was_healed_meets_nothing_any_more() -> None:
    assert count_meetings([KILL, Heal(), STOP]) == {}
    assert count_meetings([KILL, ELSEWHERE, HealPartly(which=2), STOP]) == {}
    assert count_meetings([KILL, ELSEWHERE, HealPartly(which=1), STOP]) == {("kill", "stop"): 1}


def test_administration_meets_every_fault_that_stands() -> None:
    steps = [AlterClusterDefault(key="k"), KILL, ELSEWHERE, DeleteTopic(on="fleeting"), AlterClusterDefault(key="k")]
    assert count_meetings(steps) == {
        ("delete-topic", "kill"): 1,
        ("delete-topic", "isolate"): 1,
        ("alter-cluster-default", "kill"): 1,
        ("alter-cluster-default", "isolate"): 1,
    }


def test_standing_faults_are_told_before_each_step() -> None:
    assert [standing for _, standing in standing_at_each([KILL, HealPartly(), ReadEverything()])] == [
        [],
        [FaultOnSubject("kill", "strict-0")],
        [],
    ]
