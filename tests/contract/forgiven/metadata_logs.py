"""Metadata logs on disk: torn, behind, or with files that changed while they were read."""

from __future__ import annotations

from conformance.judging.excuses import EPOCH_FILES_CHANGED, LOG_BEHIND
from conformance.judging.quorum.evidence import METADATA_LOG_TORN
from history.events import History
from tests.contract.forgiven.entry import Forgiven
from tests.support.metadata_log_pairs import TAIL, alone, beside
from tests.support.metadata_logs import LOG, MetadataLogHistory

TORN = "30 bytes of a batch of 90"


def _changed(history: MetadataLogHistory) -> History:
    """A file that was stale when the log was read."""
    return history.reads_log(101, *LOG, epochs={1: 0}, steady=False).history


ENTRIES = (
    Forgiven(
        METADATA_LOG_TORN,
        row="KIP595-LOG-03",
        covered=lambda: beside(LOG[0], node=103, torn=TORN).history,
        near={
            "another node": lambda: (
                MetadataLogHistory().commits(5).reads_log(101, *LOG, torn=TORN).reads_log(103, LOG[0]).history
            ),
            "another subject": lambda: beside(LOG[0], *LOG[2:], node=103, torn=TORN).history,
            "after it ended": lambda: beside(LOG[0], node=103, torn=TORN).reads_log(103, *LOG).history,
        },
        applies={"before it began": "a read is one moment"},
    ),
    Forgiven(
        LOG_BEHIND,
        row="KIP595-INV-07",
        covered=lambda: beside(*TAIL, watermark=8, epoch=2).history,
        near={
            "another subject": lambda: beside(*TAIL, (10, 10, 2), watermark=8, epoch=2).history,
            "before it began": lambda: beside(*TAIL).commits(8, 2).history,
        },
        applies={"after it ended": "each read is compared with those before it, and counted by itself"},
    ),
    Forgiven(
        EPOCH_FILES_CHANGED,
        row="KIP595-LOG-04",
        covered=lambda: _changed(MetadataLogHistory()),
        near={
            "another node": lambda: alone(epochs={1: 0}).reads_log(102, steady=False).history,
            "after it ended": lambda: alone(epochs={1: 0}).history,
        },
        applies={"before it began": "a read is one moment"},
    ),
)
