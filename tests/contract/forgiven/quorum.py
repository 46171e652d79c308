"""The quorum: voters that lost their log, and other voters."""

from __future__ import annotations

from conformance.judging.excuses import VOTER_LOG_LOST, VOTERS_CHANGED
from history.effects import Effects
from history.events import History
from tests.contract.forgiven.entry import Forgiven
from tests.support.descriptions import DescriptionHistory

WIPED = Effects(process="down", disk=("log-dir",))
TAIL = Effects(disk=("log-tail",))
FOUR = (101, 102, 103, 104)


def _begun() -> DescriptionHistory:
    return DescriptionHistory().quorum(9, 9, 9, watermark=9)


def _short(history: DescriptionHistory, epoch: int = 4) -> History:
    """One voter of three has what is below the high watermark."""
    return history.quorum(9, 0, 8, watermark=9, epoch=epoch).history


def _enlarged(epoch: int = 4) -> DescriptionHistory:
    return _begun().quorum(9, 9, 8, 8, watermark=-1, voters=FOUR, epoch=epoch)


ENTRIES = (
    Forgiven(
        VOTER_LOG_LOST,
        row="KIP595-HW-02",
        covered=lambda: _short(_begun().loses(WIPED)),
        near={
            "another node": lambda: _short(_begun().loses(WIPED, "broker-1")),
            "another subject": lambda: _short(_begun().loses(TAIL)),
            "before it began": lambda: DescriptionHistory().quorum(9, 0, 8, watermark=9).loses(WIPED).history,
            "after it ended": lambda: _short(
                DescriptionHistory().loses(WIPED).quorum(9, -1, -1, watermark=-1, epoch=5), epoch=6
            ),
        },
    ),
    Forgiven(
        VOTERS_CHANGED,
        row="KIP595-HW-02",
        covered=lambda: _enlarged().quorum(9, 9, 8, 8, watermark=9, voters=FOUR).history,
        near={
            "before it began": lambda: _short(_begun()),
            "after it ended": lambda: _enlarged().quorum(9, 9, 8, 8, watermark=9, voters=FOUR, epoch=5).history,
        },
        applies={"another subject": "a cluster has one quorum"},
    ),
)
