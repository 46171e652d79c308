"""The quorum: voters that lost their log or more, other voters, voters that the kit plays, and requests in their names."""

from __future__ import annotations

from conformance.judging.quorum.evidence import (
    CONTROLLER_DISK_LOST,
    REQUEST_FORGED,
    VOTER_LOG_LOST,
    VOTERS_CHANGED,
    VOTERS_SCRIPTED,
)
from history.effects import Effects
from history.events import History
from tests.contract.forgiven.entry import Forgiven
from tests.support.quorum import DOWN, QuorumHistory

WIPED = Effects(process="down", disk=("log-dir",))
STATE_LOST = Effects(process="down", disk=("quorum-state",))
TAIL = Effects(disk=("log-tail",))
FOUR = (101, 102, 103, 104)


def _begun() -> QuorumHistory:
    return QuorumHistory().described(9, 9, 9, watermark=9)


def _short(history: QuorumHistory, epoch: int = 4) -> History:
    """One voter of three has what is below the high watermark."""
    return history.described(9, 0, 8, watermark=9, epoch=epoch).history


def _enlarged(epoch: int = 4) -> QuorumHistory:
    return _begun().described(9, 9, 8, 8, watermark=-1, voters=FOUR, epoch=epoch)


def _led() -> QuorumHistory:
    return QuorumHistory().knows(101, 101, 4)


def _named_again(history: QuorumHistory) -> History:
    """Let another node name the same leader."""
    return history.knows(102, 101, 4).history


def _described_again(history: QuorumHistory) -> History:
    return history.described(9, 9, 9, watermark=9).history


ENTRIES = (
    Forgiven(
        VOTER_LOG_LOST,
        row="KIP595-HW-02",
        covered=lambda: _short(_begun().fault("any", 102, effects=WIPED)),
        near={
            "another node": lambda: _short(_begun().fault("any", 1, effects=WIPED)),
            "another subject": lambda: _short(_begun().fault("any", 102, effects=TAIL)),
            "before it began": lambda: (
                QuorumHistory().described(9, 0, 8, watermark=9).fault("any", 102, effects=WIPED).history
            ),
            "after it ended": lambda: _short(
                QuorumHistory().fault("any", 102, effects=WIPED).described(9, -1, -1, watermark=-1, epoch=5), epoch=6
            ),
        },
    ),
    Forgiven(
        VOTERS_CHANGED,
        row="KIP595-HW-02",
        covered=lambda: _enlarged().described(9, 9, 8, 8, watermark=9, voters=FOUR).history,
        near={
            "before it began": lambda: _short(_begun()),
            "after it ended": lambda: _enlarged().described(9, 9, 8, 8, watermark=9, voters=FOUR, epoch=5).history,
        },
        applies={"another subject": "a cluster has one quorum"},
    ),
    Forgiven(
        CONTROLLER_DISK_LOST,
        row="KIP595-INV-01",
        covered=lambda: _named_again(_led().fault("any", 102, effects=STATE_LOST)),
        near={
            "another node": lambda: _named_again(_led().fault("any", 1, effects=WIPED)),
            "another subject": lambda: _named_again(_led().fault("any", 102, effects=TAIL)),
            "before it began": lambda: _led().knows(102, 101, 4).fault("any", 102, effects=WIPED).history,
        },
        applies={"after it ended": "a vote that was forgotten stays so"},
    ),
    Forgiven(
        VOTERS_SCRIPTED,
        row="KIP595-DQ-01",
        covered=lambda: _described_again(_begun().plays_peers()),
        near={"another subject": lambda: _described_again(_begun().fault("any", 102, effects=DOWN))},
        applies={"before it began": "it begins with the history", "after it ended": "it ends with the history"},
    ),
    Forgiven(
        REQUEST_FORGED,
        row="KIP595-INV-04",
        covered=lambda: _described_again(_begun().vote(102, 103, 5, granted=True)),
        near={
            "another node": lambda: _described_again(_begun().vote(102, 9, 5, granted=True)),
            "another subject": lambda: _described_again(_begun().vote(102, 103, 5, offset=-1, error=42)),
            "refused": lambda: _described_again(_begun().vote(102, 103, 5)),
            "before it began": lambda: _begun().described(9, 9, 9, watermark=9).vote(102, 103, 5, granted=True).history,
        },
        applies={"after it ended": "a granted vote stays so"},
    ),
)
