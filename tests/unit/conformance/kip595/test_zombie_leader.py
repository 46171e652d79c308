"""A leader that is cut off: what it may answer meanwhile, and what must be left of that (KIP595-SC-01)."""

from __future__ import annotations

from uuid import UUID

import pytest

from conformance.kip595.zombie_leader import (
    ZombieAnswers,
    all_or_nothing,
    none_was_acknowledged_in_vain,
    nothing_is_committed,
    yields_on_contact,
)
from conformance.rigs.quorum.writer import Outcome, TopicsByBroker, Write
from protocol.codes import Error
from protocol.log import LeaderAndEpoch
from protocol.quorum import METADATA_TOPIC, QuorumAnswer, QuorumReplica
from tests.support.disturbed_quorum import CONTROLLERS, FakeDisturbed, as_disturbed, results

LED = LeaderAndEpoch(101, 4)
ONE, TWO = UUID(int=5), UUID(int=6)


def looked(end: int, watermark: int, epoch: int = 4, error: Error = Error.NONE) -> QuorumAnswer:
    return QuorumAnswer(
        version=1,
        topic=METADATA_TOPIC,
        partition=0,
        error=error,
        leader_id=101,
        leader_epoch=epoch,
        high_watermark=watermark,
        current_voters=(QuorumReplica(replica_id=101, log_end_offset=end),),
    )


def wrote(outcome: Outcome, node: str = "controller-101", topic: str = "a") -> Write:
    return Write(topic, node, outcome, 1.0, ONE if outcome == "acknowledged" else None)


def seen(
    *looks: QuorumAnswer,
    direct: Outcome = "unknown",
    through: Outcome = "unknown",
    ghosts: TopicsByBroker | None = None,
) -> ZombieAnswers:
    return ZombieAnswers([*looks], [wrote(direct)], [wrote(through, "broker-1", "b")], [ghosts or {}])


@pytest.mark.parametrize(
    ("looks", "found"),
    [
        ([looked(9, 9), looked(12, 9)], ["held"]),
        ([looked(9, 9), looked(12, 12)], ["violated"]),
        ([looked(9, 9), looked(9, 9)], []),
        ([looked(9, 9), looked(12, 12, epoch=6)], []),
        ([looked(9, 9), looked(0, 0, error=Error.NOT_LEADER_OR_FOLLOWER)], []),
        ([], []),
    ],
)
def test_its_high_watermark_stays_while_its_log_grows(looks: list[QuorumAnswer], found: list[str]) -> None:
    shown = results(nothing_is_committed(seen(*looks), LED))
    assert shown == [*(("hw-frozen", one) for one in found), ("not-acked", "held")]


def test_it_acknowledges_nothing() -> None:
    assert results(nothing_is_committed(seen(direct="refused"), LED)) == []
    assert results(nothing_is_committed(seen(direct="acknowledged"), LED)) == [("not-acked", "violated")]


def everywhere(**topics: UUID) -> TopicsByBroker:
    return {"broker-1": topics, "broker-2": topics}


APART: TopicsByBroker = {"broker-1": {"a": ONE, "b": ONE}, "broker-2": {}}
HELD = [("direct", "held"), ("through-broker", "held")]


def lead_04(what: ZombieAnswers, shown: TopicsByBroker, *deleted: str, late: float = 0.0) -> list[tuple[str, str]]:
    fake = FakeDisturbed(shown=shown, deleted=deleted, late=late)
    return results(none_was_acknowledged_in_vain(as_disturbed(fake), what))


def test_what_was_acknowledged_is_there_in_the_end() -> None:
    kept = seen(through="acknowledged")
    assert lead_04(kept, everywhere(b=ONE)) == HELD
    assert lead_04(kept, everywhere(), "b") == HELD
    for shown in (everywhere(), everywhere(b=TWO), APART):
        assert lead_04(kept, shown) == [HELD[0], ("through-broker", "violated")]
    assert lead_04(seen(direct="acknowledged"), everywhere()) == [("direct", "violated"), HELD[1]]


def test_without_a_write_that_it_took_nothing_is_shown() -> None:
    assert lead_04(seen(direct="refused", through="acknowledged"), everywhere(b=ONE)) == []


def test_a_kit_that_was_too_late_to_see_brokers_agree_proves_nothing() -> None:
    kept = seen(through="acknowledged")
    assert lead_04(kept, APART, late=9.0) == [HELD[0], ("through-broker", "kit-starved")]
    assert lead_04(kept, everywhere(), late=9.0) == [HELD[0], ("through-broker", "violated")]


def test_brokers_show_nothing_that_only_the_zombie_had() -> None:
    ghost = seen(ghosts={"broker-1": {"a": ONE}})
    assert lead_04(ghost, everywhere()) == [HELD[0], ("through-broker", "violated")]
    assert lead_04(ghost, everywhere(a=ONE)) == HELD


def log_05(outcome: Outcome, shown: TopicsByBroker, late: float = 0.0) -> list[tuple[str, str]]:
    return results(all_or_nothing(as_disturbed(FakeDisturbed(shown=shown, late=late)), [wrote(outcome)]))


def test_a_write_of_unknown_outcome_is_everywhere_or_nowhere() -> None:
    assert log_05("unknown", everywhere(a=ONE)) == [("unacked", "held")]
    assert log_05("unknown", everywhere()) == [("unacked", "held")]
    assert log_05("unknown", APART) == [("unacked", "violated")]
    assert log_05("unknown", APART, late=9.0) == [("unacked", "kit-starved")]
    assert log_05("refused", everywhere()) == []


@pytest.mark.parametrize(
    ("known", "end", "result"),
    [
        (LeaderAndEpoch(102, 5), 9, "held"),
        (LeaderAndEpoch(102, 5), 4, "violated"),
        (LeaderAndEpoch(101, 4), 9, "violated"),
    ],
)
def test_it_yields_on_contact(known: LeaderAndEpoch, end: int, result: str) -> None:
    voters = tuple(QuorumReplica(replica_id=id, log_end_offset=at) for id, at in ((101, end), (102, 9), (103, 9)))
    later = QuorumAnswer(
        version=1, topic=METADATA_TOPIC, partition=0, error=Error.NONE, leader_id=102, leader_epoch=5, high_watermark=9,
        current_voters=voters,
    )  # fmt: skip
    fake = FakeDisturbed(known=dict.fromkeys(CONTROLLERS, known), described=later)
    assert results(yields_on_contact(as_disturbed(fake), "controller-101", LED)) == [("heal", result)]
