"""Pairs of histories of a quorum whose metrics are read: one in which a judge sees a violation, and a similar one without it."""

from __future__ import annotations

from collections.abc import Callable

from tests.support.quorum import QuorumHistory

GaugePair = tuple[QuorumHistory, QuorumHistory]


def begun() -> QuorumHistory:
    """The metrics of a broker are read once."""
    return QuorumHistory().gauges(1, "observer").applied(1, 8)


def two_leaders(epoch: int) -> QuorumHistory:
    """A controller shows itself as leader, and then another one does in an epoch."""
    history = begun().gauges(101, "leader").gauges(101, "leader")
    return history.gauges(102, "leader", epoch=epoch).gauges(102, "leader", epoch=epoch)


def follower(end: int) -> QuorumHistory:
    """A follower shows a high watermark of 12, and a log end."""
    return begun().gauges(102, watermark=12, end=end).gauges(102, watermark=12, end=end)


PAIRS: dict[str, Callable[[], GaugePair]] = {
    "brokers_metadata_never_goes_back": lambda: (begun().applied(1, 7), begun().fault("kill", 1).applied(1, 7)),
    "replicas_high_watermark_is_bounded": lambda: (follower(9), follower(12)),
    "one_node_shows_leader_in_an_epoch": lambda: (two_leaders(4), two_leaders(5)),
    "epoch_in_metrics_never_falls": lambda: (
        begun().gauges(1, "observer", epoch=3),
        begun().gauges(1, "observer", epoch=5),
    ),
}
