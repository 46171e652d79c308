"""Answers that race with a change."""

from __future__ import annotations

from conformance.judging.excuses import (
    CHANGED_MEANWHILE,
    DELETION_TIMED_OUT,
    LOG_START_SET_BACK,
    NOT_REACHED,
    RISEN,
    SWEEP_DISTURBED,
    TRUNCATED_MEANWHILE,
)
from history.events import History
from protocol.codes import Error
from tests.contract.forgiven.entry import Forgiven
from tests.support.histories import LogHistory, stamped
from tests.support.sweeps import FOLLOWS, LEADS, SweepHistory, listed, offsets

A, B = stamped(0, 0, "a"), stamped(0, 1, "b")


def _given_b(later: int = 2) -> History:
    """A broker gives a consumer `b` with a high watermark of 1; its next high watermark is `later`."""
    history = LogHistory().created().settled(1, 0).produce(1, "a", at=0).produce(1, "b", at=1, acks=1)
    return history.fetch(1, A, B, epoch=0, hw=1).fetch(1, A, epoch=0, hw=later).history


def _trimmed(error: Error) -> History:
    """DeleteRecords up to offset 2 ends with this error."""
    return LogHistory().created().settled(1, 0).trim(1, 2, error=error).history


def _of_a_later_epoch(*, past: bool = False, again: bool = False) -> History:
    """3 returns a record of epoch 1 to a fetch at epoch 0; it was served at 1 before, or is served at 0 again."""
    history = LogHistory().settled(1, 0)
    if past:
        history.settled(2, 1).fetch(3, A, epoch=1, hw=1)
    history.fetch(3, A, stamped(1, 1, "x"), epoch=0, hw=1)
    return (history.fetch(3, A, epoch=0, hw=1) if again else history.settled(2, 1)).history


def _swept_beside_a_fault(phase: str) -> History:
    """A fault begins before a sweep and stands in it, is healed before, or begins afterwards."""
    history = SweepHistory()
    if phase != "afterwards":
        history.fault("inject")
    if phase == "before":
        history.fault("heal")
    history.begun()
    both = offsets(8, listed(LEADS), listed(FOLLOWS))
    for one in (both, offsets(8, listed(LEADS)), both):
        history.ask(*one)
    history.ended()
    return (history.fault("inject") if phase == "afterwards" else history).history


def _swept(first: int, last: int) -> History:
    """A batch request comes first and last, and single ones between; the log end in it goes from one offset to the other."""
    history = SweepHistory().begun()
    both = [offsets(8, listed(LEADS, offset=end), listed(FOLLOWS, offset=6)) for end in (first, last)]
    for one in (both[0], offsets(8, listed(LEADS, offset=9)), offsets(8, listed(FOLLOWS, offset=6)), both[1]):
        history.ask(*one)
    return history.ended().history


ONE_ANSWER = "the answer itself begins and ends it"
LOG = (A, stamped(1, 1, "b2"), stamped(1, 2, "c2"))


def _missed(node: int = 3, *, asked: bool = True, again: bool = False) -> LogHistory:
    """3 is out of the ISR when the leader is trimmed to 2, and this node shows all records after it."""
    history = LogHistory().settled(1, 0).metadata(1, 1, 0, isr=(1, 2))
    history = history.trim(1, 2).settled(1, 0) if asked else history
    history = history.trim(1, 2).settled(1, 0) if again else history
    return history.fetch(node, *LOG, epoch=0, hw=3)


def _set_back(
    restarted: int = 2, error: Error = Error.NONE, *, late: bool = False, to: int = 2, start: int = 0
) -> LogHistory:
    """2 is trimmed, a broker restarts, and 2, with this log start, serves a position beyond the end of the named epoch."""
    history = LogHistory().settled(2, 0)
    history = (history if late else history.trim(2, to, error=error)).restart(restarted).settled(2, 2)
    history = history.whole(2, *LOG[start:], epoch=2, hw=3, start=start)
    history = history.fetch(2, LOG[2], epoch=2, hw=3, start=start, offset=2, last=0)
    return history.trim(2, 2) if late else history


ENTRIES = (
    Forgiven(
        NOT_REACHED,
        row="KIP320-DR-02",
        covered=lambda: _missed().history,
        near={
            "another node": lambda: _missed(2).history,
            "before it began": lambda: _missed(asked=False).trim(1, 2).history,
            "after it ended": lambda: _missed(again=True).history,
        },
    ),
    Forgiven(
        LOG_START_SET_BACK,
        row="KIP320-FETCH-06",
        covered=lambda: _set_back().history,
        near={
            "another node": lambda: _set_back(restarted=3).history,
            "before it began": lambda: _set_back(late=True).history,
            "after it ended": lambda: _set_back(to=1, start=1).history,
            "refused": lambda: _set_back(error=Error.OFFSET_OUT_OF_RANGE).history,
        },
    ),
    Forgiven(
        DELETION_TIMED_OUT,
        row="KIP320-DR-02",
        covered=lambda: _trimmed(Error.REQUEST_TIMED_OUT),
        near={"described otherwise": lambda: _trimmed(Error.NONE)},
        applies={
            "another subject": "it is the answer to the request that is judged",
            "before it began": ONE_ANSWER,
            "after it ended": ONE_ANSWER,
        },
    ),
    Forgiven(
        TRUNCATED_MEANWHILE,
        row="KIP101-INV-12",
        covered=_of_a_later_epoch,
        near={
            "before it began": lambda: _of_a_later_epoch(past=True),
            "after it ended": lambda: _of_a_later_epoch(again=True),
        },
        applies={"another subject": "the broker that answers is the one whose fence is known"},
    ),
    Forgiven(
        SWEEP_DISTURBED,
        row="GEN-04",
        covered=lambda: _swept_beside_a_fault("during"),
        near={
            "before it began": lambda: _swept_beside_a_fault("afterwards"),
            "after it ended": lambda: _swept_beside_a_fault("before"),
        },
        applies={"another subject": "a sweep asks all brokers about all that there is"},
    ),
    Forgiven(
        CHANGED_MEANWHILE,
        row="GEN-04",
        covered=lambda: _swept(5, 9),
        near={"too little": lambda: _swept(5, 5)},
        applies={
            "another subject": "each item of a sweep is compared by itself",
            "before it began": "a sweep begins with the item's first answer",
            "after it ended": "it ends with its last",
        },
    ),
    Forgiven(
        RISEN,
        row="GEN-17",
        covered=_given_b,
        near={"too little": lambda: _given_b(later=1)},
        applies={
            "another subject": "each answer is compared with the next of its own partition",
            "before it began": ONE_ANSWER,
            "after it ended": ONE_ANSWER,
        },
    ),
)
