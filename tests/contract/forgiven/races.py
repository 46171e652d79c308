"""Answers that race with a change."""

from __future__ import annotations

from conformance.judging.excuses import RISEN
from history.events import History
from tests.contract.forgiven.entry import Forgiven
from tests.support.histories import LogHistory, stamped

A, B = stamped(0, 0, "a"), stamped(0, 1, "b")


def _given_b(later: int = 2) -> History:
    """A broker gives a consumer `b` with a high watermark of 1; its next high watermark is `later`."""
    history = LogHistory().created().settled(1, 0).produce(1, "a", at=0).produce(1, "b", at=1, acks=1)
    return history.fetch(1, A, B, epoch=0, hw=1).fetch(1, A, epoch=0, hw=later).history


ENTRIES = (
    Forgiven(
        RISEN,
        row="GEN-17",
        covered=_given_b,
        near={"too little": lambda: _given_b(later=1)},
        applies={
            "another subject": "each answer is compared with the next of its own partition",
            "before it began": "the answer itself begins and ends it",
            "after it ended": "the answer itself begins and ends it",
        },
    ),
)
