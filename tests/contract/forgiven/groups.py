"""Members of groups: those that may be removed or are not known, and groups that may be deleted."""

from __future__ import annotations

from conformance.judging.groups.evidence import GROUP_MAY_BE_DELETED, MAY_BE_REMOVED, MEMBER_NOT_KNOWN
from history.events import History
from tests.contract.forgiven.entry import Forgiven
from tests.support.groups import GroupHistory, settled


def _silent(seconds: float, wakes: str = "") -> History:
    """Give b a partition of a, after some seconds of silence of a; a third member c is silent twice as long."""
    history = settled().joins("c", 2, ())
    for _ in range(2):
        history.later(seconds / 2)
        if wakes == "between":
            history.beats("a", 1)
    if wakes == "at the end":
        history.beats("a", 1)
    return history.beats("b", 2, given=(1,)).history


def _begun_again(when: str = "between", stays: bool = False) -> History:
    """Hand a partition over at a lower epoch; the group is without members in between, or before, or afterwards."""
    history = GroupHistory()
    if when == "before":
        history.joins("z", 1).leaves("z")
    if stays:
        history.joins("b", 5, ())
    history.joins("a", 5, (0,))
    if when == "between":
        history.leaves("a").joins("c", 1, (0,))
        return (history.beats("b", 5) if stays else history).history
    history.joins("c", 1, ()).beats("a", 5, given=()).beats("a", 5, 6, owned=()).beats("c", 1, 1, given=(0,))
    return (history.leaves("a").leaves("c") if when == "after" else history).history


def _in_doubt(member: str = "a", when: str = "before", answers: int = 0) -> History:
    """Let a commit at its epoch; an answer to it or to b is lost before or afterwards, and some later ones come."""
    history = settled()
    if when == "before":
        history.beats(member, 1 if member == "a" else 2, lost=True)
    for _ in range(answers):
        history.joins("a", 1, (0, 1))
    history.commits("a", 1, 0)
    return (history.beats(member, 1, lost=True) if when == "after" else history).history


ENTRIES = (
    Forgiven(
        MAY_BE_REMOVED,
        row="KIP1251-INV-08",
        covered=lambda: _silent(44),
        near={
            "another subject": lambda: _silent(44, "between"),
            "before it began": lambda: _silent(30),
            "after it ended": lambda: _silent(44, "at the end"),
        },
    ),
    Forgiven(
        GROUP_MAY_BE_DELETED,
        row="KIP1251-BASE-03",
        covered=_begun_again,
        near={
            "another subject": lambda: _begun_again(stays=True),
            "before it began": lambda: _begun_again("after"),
            "after it ended": lambda: _begun_again("before"),
        },
    ),
    Forgiven(
        MEMBER_NOT_KNOWN,
        row="KIP1251-INV-12",
        covered=_in_doubt,
        near={
            "another subject": lambda: _in_doubt("b"),
            "before it began": lambda: _in_doubt(when="after"),
            "after it ended": lambda: _in_doubt(answers=2),
        },
    ),
)
