"""A leader that is cut off: what it may answer meanwhile, and what must be left of that (KIP595-SC-01)."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

import pytest

from conformance.core.checks import Claim, ObservationClaim
from conformance.kip595.zombie_leader import Seen, all_or_nothing, none_was_acknowledged_in_vain, nothing_is_committed
from conformance.rigs.quorum.writer import Outcome, Shown, Write
from protocol.codes import Error
from protocol.log import LeaderAndEpoch
from protocol.quorum import METADATA_TOPIC, QuorumAnswer, QuorumReplica

LED = LeaderAndEpoch(101, 4)
ONE, TWO = UUID(int=5), UUID(int=6)


def results(claims: Iterable[Claim]) -> list[tuple[str, str]]:
    return [(one.observation.case, one.observation.result) for one in claims if isinstance(one, ObservationClaim)]


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
    *looks: QuorumAnswer, direct: Outcome = "unknown", through: Outcome = "unknown", ghosts: Shown | None = None
) -> Seen:
    return Seen([*looks], [wrote(direct)], [wrote(through, "broker-1", "b")], [ghosts or {}])


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
    assert results(nothing_is_committed(seen(direct="refused"), LED)) == [("not-acked", "held")]
    assert results(nothing_is_committed(seen(direct="acknowledged"), LED)) == [("not-acked", "violated")]


def everywhere(**topics: UUID) -> Shown:
    return {"broker-1": topics, "broker-2": topics}


HELD = [("direct", "held"), ("through-broker", "held")]


def test_what_was_acknowledged_is_there_in_the_end() -> None:
    kept = seen(through="acknowledged")
    assert results(none_was_acknowledged_in_vain(kept, everywhere(b=ONE), ())) == HELD
    assert results(none_was_acknowledged_in_vain(kept, everywhere(), {"b"})) == HELD
    for shown in (everywhere(), everywhere(b=TWO), {"broker-1": {"b": ONE}, "broker-2": {}}):
        assert results(none_was_acknowledged_in_vain(kept, shown, ())) == [HELD[0], ("through-broker", "violated")]
    alone = seen(direct="acknowledged")
    assert results(none_was_acknowledged_in_vain(alone, everywhere(), ())) == [("direct", "violated"), HELD[1]]


def test_brokers_show_nothing_that_only_the_zombie_had() -> None:
    ghost = seen(ghosts={"broker-1": {"a": ONE}})
    assert results(none_was_acknowledged_in_vain(ghost, everywhere(), ())) == [HELD[0], ("through-broker", "violated")]
    assert results(none_was_acknowledged_in_vain(ghost, everywhere(a=ONE), ())) == HELD


def test_a_write_of_unknown_outcome_is_everywhere_or_nowhere() -> None:
    write = [wrote("unknown")]
    assert results(all_or_nothing(write, everywhere(a=ONE))) == [("unacked", "held")]
    assert results(all_or_nothing(write, everywhere())) == [("unacked", "held")]
    assert results(all_or_nothing(write, {"broker-1": {"a": ONE}, "broker-2": {}})) == [("unacked", "violated")]
    assert results(all_or_nothing([wrote("refused")], everywhere())) == []
