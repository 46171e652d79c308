"""The quorum in the metrics of its nodes: what was applied stays, watermarks trail, one leader in an epoch."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from conformance.judging.judge import judge_history
from conformance.judging.quorum.gauges import (
    brokers_metadata_never_goes_back,
    epoch_in_metrics_never_falls,
    one_node_shows_leader_in_an_epoch,
    replicas_high_watermark_is_bounded,
)
from tests.support.gauge_pairs import begun
from tests.support.quorum import QuorumHistory

JUDGES = [
    brokers_metadata_never_goes_back,
    epoch_in_metrics_never_falls,
    one_node_shows_leader_in_an_epoch,
    replicas_high_watermark_is_bounded,
]


def judged(history: QuorumHistory) -> set[tuple[str, str, str]]:
    found = judge_history(JUDGES, history.history)
    return {(one.requirement.removeprefix("KIP595-"), one.case, one.result) for one in found.observations}


def violated(history: QuorumHistory) -> set[tuple[str, str]]:
    return {(row, case) for row, case, result in judged(history) if result == "violated"}


BAD: dict[str, tuple[Callable[[QuorumHistory], QuorumHistory], set[tuple[str, str]]]] = {
    "a broker applies less than before": (lambda h: h.applied(1, 7), {("INV-13", "applied")}),
    "a broker's high watermark falls": (lambda h: h.gauges(1, "observer", watermark=8), {("INV-13", "high-watermark")}),
    "a broker applies what it had applied twice before": (
        lambda h: h.applied(1, 20).applied(1, 20).applied(1, 21).applied(1, 20),
        {("INV-13", "applied")},
    ),
    "an epoch falls": (lambda h: h.gauges(1, "observer", epoch=3), {("MET-03", "leader-and-epoch")}),
    "a high watermark above its own log": (
        lambda h: h.gauges(102, watermark=12, end=9).gauges(102, watermark=12, end=9),
        {("HW-06", "bound")},
    ),
    "a high watermark above the leader's": (
        lambda h: (
            h.gauges(102, watermark=12, end=12).gauges(102, end=12, watermark=12).described(12, 12, 9, watermark=9)
        ),
        {("HW-06", "bound")},
    ),
    "two leaders in an epoch": (
        lambda h: h.gauges(101, "leader").gauges(101, "leader").gauges(102, "leader").gauges(102, "leader"),
        {("MET-02", "one-leader")},
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_history_is_a_violation(name: str) -> None:
    happens, rows = BAD[name]
    assert violated(happens(begun())) == rows


GOOD: dict[str, Callable[[QuorumHistory], QuorumHistory]] = {
    "a broker was restarted": lambda h: h.fault("kill", 1).applied(1, 2).gauges(1, "observer", watermark=1, epoch=2),
    "a broker does not know a high watermark": lambda h: h.gauges(1, "observer", watermark=-1),
    "a controller that became leader knows none yet": lambda h: h.gauges(102).gauges(
        102, "leader", epoch=5, watermark=-1
    ),
    "a leader's high watermark falls behind an epoch that is over": (
        lambda h: (
            h.gauges(102, epoch=5, watermark=12, end=12)
            .gauges(102, epoch=5, watermark=12, end=12)
            .described(9, 9, 9, watermark=9)
        )
    ),
    "an epoch was read before, and a high watermark after a change": (
        lambda h: (
            h.gauges(102, watermark=12, end=12)
            .gauges(102, epoch=5, watermark=12, end=12)
            .described(9, 9, 9, watermark=9)
        )
    ),
    "a state was read before, and an epoch after a change": (
        lambda h: h.gauges(101, "leader").gauges(101, "leader").gauges(102, "leader").gauges(102, "follower")
    ),
    "another leads in the next epoch": (
        lambda h: (
            h.gauges(101, "leader").gauges(101, "leader").gauges(102, "leader", epoch=5).gauges(102, "leader", epoch=5)
        )
    ),
}


@pytest.mark.parametrize("name", GOOD)
def test_a_good_history_is_none(name: str) -> None:
    assert not violated(GOOD[name](begun()))


def test_what_stays_or_grows_is_held() -> None:
    history = begun().applied(1, 8).applied(1, 9).gauges(1, "observer", watermark=11).described(12, 12, 9, watermark=12)
    assert {("INV-13", "applied", "held"), ("INV-13", "high-watermark", "held"), ("HW-06", "bound", "held")} <= judged(
        history
    )


def test_other_metrics_show_nothing() -> None:
    assert not judged(QuorumHistory().gauges(1, "observer", watermark=-1).applied(1, -1))
