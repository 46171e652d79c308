"""Committed offsets, and what group members are handed."""

from __future__ import annotations

from conformance.judging.excuses import ASSIGNED_AGAIN, OFFSETS_LOST, STALE_COORDINATOR, UNSTABLE_OFFSETS
from history.effects import Effects
from history.events import History
from tests.contract.forgiven.entry import Forgiven
from tests.support.histories import LogHistory

WIPED = Effects(process="restarts", abrupt=True, disk=("log-dir",), every_partition=True)
ROW = "KIP101-INV-19"


def _stale(broker: int = 1, fault: str = "cut-off-from-controllers", when: str = "stands") -> History:
    """1 shows the commit before the last one, while a fault is active, before it, or after it."""
    history = LogHistory().commit(1, 3, 0).commit(1, 5, 0)
    if when != "comes":
        history.hit(fault, broker)
    if when == "is over":
        history.heal(fault, broker)
    history.committed(1, 3, 0)
    return (history.hit(fault, broker) if when == "comes" else history).history


def _wiped(broker: int = 1, *, when: str = "between") -> History:
    """1 took a commit and shows none; a disk is lost in between, before or afterwards."""
    history = LogHistory()
    if when == "before":
        history.hit("wipe-disk", broker, effects=WIPED).heal("wipe-disk", broker)
    history.commit(1, 3, 0)
    if when == "between":
        history.hit("wipe-disk", broker, effects=WIPED).heal("wipe-disk", broker)
    history.committed(1, -1, -1)
    return (history.hit("wipe-disk", broker, effects=WIPED) if when == "after" else history).history


def _unstable(seconds: float = 0.0, *, stable: bool = False, fault: bool = True) -> History:
    """1 took a commit, and is killed and started; `seconds` later 2 shows none."""
    history = LogHistory().commit(1, 3, 0)
    return (history.restart(1) if fault else history).later(seconds).committed(2, -1, -1, stable=stable).history


def _skips(group: str = "g", commit: int = 2, *, when: str = "between") -> History:
    """A member is handed `a`, then `c`, and never `b`; its group, or another one, is rebalanced."""
    history = LogHistory().created().settled(1, 0).produce(1, "a", "b", "c", at=0)
    history.assigned("member-1", group="g").client_commit("member-2", commit, 0)
    if when == "before":
        history.assigned("member-2", group=group)
    history.delivered("member-1", 0, 0, "a")
    if when == "between":
        history.assigned("member-2", group=group)
    history.delivered("member-1", 2, 0, "c")
    return (history.assigned("member-2", group=group) if when == "after" else history).history


ENTRIES = (
    Forgiven(
        STALE_COORDINATOR,
        row=ROW,
        covered=_stale,
        near={
            "another node": lambda: _stale(3),
            "before it began": lambda: _stale(when="comes"),
            "after it ended": lambda: _stale(when="is over"),
        },
    ),
    Forgiven(
        OFFSETS_LOST,
        row=ROW,
        covered=_wiped,
        near={
            "another node": lambda: _wiped(3),
            "before it began": lambda: _wiped(when="after"),
            "after it ended": lambda: _wiped(when="before"),
        },
    ),
    Forgiven(
        UNSTABLE_OFFSETS,
        row=ROW,
        covered=_unstable,
        near={
            "too little": lambda: _unstable(stable=True),
            "before it began": lambda: _unstable(fault=False),
            "after it ended": lambda: _unstable(61.0),
        },
        applies={
            "another subject": "any broker may become the coordinator of the group after a fault",
        },
    ),
    Forgiven(
        ASSIGNED_AGAIN,
        row="GEN-16",
        covered=_skips,
        near={
            "another subject": lambda: _skips("other"),
            "too little": lambda: _skips(commit=1),
            "before it began": lambda: _skips(when="after"),
            "after it ended": lambda: _skips(when="before"),
        },
    ),
)
