"""Bounds that passed while the host slept, and files that are not yet due."""

from __future__ import annotations

from conformance.judging.excuses import CHECKPOINT_NOT_DUE, LOOKED_TOO_RARELY
from history.events import History
from tests.contract.forgiven.entry import Forgiven
from tests.support.histories import BROKERS, LogHistory, held_on_disk, stamped

C = stamped(0, 2, "c")


def _leaderless(history: LogHistory) -> LogHistory:
    """Broker 2 describes no leader, though the only member of the ISR is alive."""
    return history.metadata(2, -1, 1, isr=(1,), unfenced=(1, 2))


def _begun() -> LogHistory:
    return _leaderless(LogHistory().settled(1, 0))


def _looked_every(seconds: float) -> History:
    history = _begun()
    for _ in range(6):
        _leaderless(history.asleep(seconds))
    return history.history


def _checkpoint(seconds: float, entry: int = 0) -> History:
    """Replica 1 was trimmed to 2 and is read that much later; its file has an entry that starts at `entry`."""
    history = LogHistory().settled(1, 0).produce(1, "a", "b", "c", at=0).trim(1, 2).all_healed().settled(1, 0).at_rest()
    for broker in BROKERS:
        history.whole(broker, C, epoch=0, hw=3, start=2)
    return history.later(seconds).on_disk(held_on_disk(1, C, epochs=((0, entry),), start=2)).history


ENTRIES = (
    Forgiven(
        LOOKED_TOO_RARELY,
        row="GEN-08",
        covered=lambda: _leaderless(_begun().asleep(60)).history,
        near={
            "before it began": lambda: (
                _leaderless(_leaderless(LogHistory().settled(1, 0).asleep(60)).later(40)).history
            ),
            "too little": lambda: _looked_every(7),
        },
        applies={
            "another subject": "a host that sleeps looks at no subject",
            "after it ended": "the bound begins again there, so that what follows is judged as if nothing had been before",
        },
    ),
    Forgiven(
        CHECKPOINT_NOT_DUE,
        row="KIP320-DR-02",
        covered=lambda: _checkpoint(0.2),
        near={"after it ended": lambda: _checkpoint(31), "too little": lambda: _checkpoint(0.2, entry=2)},
        applies={
            "another subject": "the file of each replica is judged by itself",
            "before it began": "without DeleteRecords or a fault the file has nothing to lose",
        },
    ),
)
