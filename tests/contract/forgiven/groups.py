"""Members of groups: those that may be removed or are not known, and groups that may be deleted."""

from __future__ import annotations

from conformance.judging.groups.evidence import (
    ASSIGNMENT_NOT_KNOWN,
    CLIENT_REMOVED,
    DESCRIPTION_NOT_STABLE,
    FORMER_RELEASE,
    GENERATION_NOT_STORED,
    GROUP_MAY_BE_DELETED,
    LOG_COMPACTED,
    MAY_BE_REMOVED,
    MEMBER_NOT_KNOWN,
)
from history.events import History
from protocol.codes import Error
from tests.contract.forgiven.entry import Forgiven
from tests.support.groups import (
    READ,
    GroupHistory,
    assignment,
    departed,
    group_epoch,
    handed_over,
    settled,
    target_epoch,
)


def _silent(seconds: float, wakes: str = "") -> History:
    """Give b a partition of a, after some seconds of silence of a; a third member c is silent twice as long.

    A heartbeat of a is granted between, at the end or afterwards, if it `wakes`.
    """
    history = settled().joins("c", 2, ())
    for _ in range(2):
        history.later(seconds / 2)
        if wakes == "between":
            history.beats("a", 1)
    if wakes == "at the end":
        history.beats("a", 1)
    history.beats("b", 2, given=(1,))
    return (history.beats("a", 1) if wakes == "afterwards" else history).history


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


def _described(by: int = 2, when: str = "between", *, beats: bool = False) -> History:
    """Describe a lower group epoch than before, by the next coordinator; or answer a heartbeat of a with a lower epoch.

    A node is lost before, between or after the two, or between, and the next one is `caught up`: it granted a heartbeat.
    """
    history = handed_over().shows(("a", 2, (0,)), ("b", 2, (1,)), epoch=2)
    if when == "before":
        history.kill(3)
        history = history.shows(("a", 2, (0,)), ("b", 2, (1,)), epoch=2)
    if when in ("between", "caught up"):
        history.kill(1)
    history.moved(by)
    if when == "caught up":
        history.beats("a", 2)
    if beats:
        history.beats("a", 2, 1)
    else:
        history.shows(("a", 1, (0, 1)), ("b", 1, ()), epoch=1)
    history.beats("a", 2).beats("b", 2)
    return (history.kill(1) if when == "after" else history).history


def _compacted(missing: tuple[int, ...] = (1,), *, first: bool = False) -> History:
    """Read the log of a group whose member was answered; some offsets are missing, perhaps in another read of it."""
    history = GroupHistory().joins("a", 2)
    records = group_epoch(2), target_epoch(2), assignment("a", 2, {})
    return (history.logs(*records[:2]) if first else history).logs(*records, missing=missing).history


def _robbed_client(removed: str = "a", when: str = "before", *, group: str = "") -> History:
    """Let b have partition 1 before a returns from the callback that revokes it; a record removes a member before or afterwards.

    Or the log tells that of clients of the `group`, which the two are not.
    """
    history = GroupHistory().created_as(READ.id).has("a", 0, 1).has("b", 1).gives_up("a")
    owns, next, gone = (
        assignment(f"{group}a", 1, {0: 1, 1: 1}),
        assignment(f"{group}b", 2, {1: 2}),
        departed(group + removed),
    )
    again = {"before": (owns, gone, next), "after": (owns, next, gone), "earlier": (owns, gone, owns, next)}
    return history.logs(assignment("c", 1, {}), *again[when]).history


def _joined(*generations: int, synced: int = 1, lost: int = 1, by: str = "a") -> History:
    """Let a join a classic group; generations up to `synced` get an assignment. Then a broker is lost, and a member of another
    coordinator joins again, for generation 2.
    """
    history = GroupHistory().classic_joins("a", 1).syncs("a", 1, (0,)).classic_joins("b", 3).syncs("b", 3, (1,))
    for generation in generations:
        history.classic_joins("a", generation)
        if generation <= synced:
            history.syncs("a", generation, (0,))
    return history.kill(lost).moved(2 if lost == 1 else 1).classic_joins(by, 2).syncs(by, 2, (0,)).history


def _left_out(member: str = "a", when: str = "before", *, shrinks: bool = False) -> History:
    """Let a member leave out a partition that it was told to give up, or not, before or after a commit of it at an older epoch,
    and be answered with its assignment.
    """
    history = GroupHistory().joins("a", 1, (0, 1)).joins("b", 2, ()).beats("a", 1, 2)
    if when == "before":
        history.beats(member, 2, owned=(0,))
    if shrinks:
        history.beats(member, 2, owned=(0,), given=(0,))
    history.commits("a", 1, 1, error=Error.STALE_MEMBER_EPOCH if shrinks else Error.NONE)
    if when == "after":
        history.beats(member, 2, owned=(0,))
    return history.commits("b", 2, 1).history


def _upgraded(release: str = "4.2.2", at: int = 2, *, by: int = 1, grants: str = "a", when: str = "between") -> History:
    """Let a broker become another release and back; meanwhile, before or afterwards a member is granted epoch 3. Then the first
    broker refuses a commit of a, at an epoch that its assignment admits."""
    history = GroupHistory().joins("a", 1, (0,)).joins("b", 1, (1,)).beats("a", 1, 2).beats("b", 1, 2)

    def rises() -> None:
        history.beats(grants, 2, 3).beats("b" if grants == "a" else "a", 2)

    if when == "before":
        rises()
    history.becomes(release, by)
    if when == "between":
        rises()
    history.heal("upgrade", by)
    if when == "after":
        rises()
    return history.commits("a", at, 0, error=Error.STALE_MEMBER_EPOCH).history


ENTRIES = (
    Forgiven(
        CLIENT_REMOVED,
        row="KIP1251-INV-08",
        covered=_robbed_client,
        near={
            "another subject": lambda: _robbed_client("c"),
            "before it began": lambda: _robbed_client(when="earlier"),
            "after it ended": lambda: _robbed_client(when="after"),
            "described otherwise": lambda: _robbed_client(group="other-"),
        },
    ),
    Forgiven(
        MAY_BE_REMOVED,
        row="KIP1251-INV-08",
        covered=lambda: _silent(44),
        near={
            "another subject": lambda: _silent(44, "between"),
            "before it began": lambda: _silent(30),
            "after it ended": lambda: _silent(44, "at the end"),
            "described otherwise": lambda: _silent(44, "afterwards"),
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
    Forgiven(
        DESCRIPTION_NOT_STABLE,
        row="KIP1251-BASE-08",
        covered=_described,
        near={
            "another node": lambda: _described(by=1, when="after"),
            "described otherwise": lambda: _described(beats=True),
            "before it began": lambda: _described(when="after"),
            "after it ended": lambda: _described(when="caught up"),
            "too little": lambda: _described(when="before"),
        },
    ),
    Forgiven(
        GENERATION_NOT_STORED,
        row="KIP1251-BASE-08",
        covered=lambda: _joined(2, 3),
        near={
            "another node": lambda: _joined(2, 3, lost=3),
            "another subject": lambda: _joined(2, 3, by="b"),
            "before it began": lambda: _joined(2),
            "after it ended": lambda: _joined(2, 3, synced=3),
        },
    ),
    Forgiven(
        ASSIGNMENT_NOT_KNOWN,
        row="KIP1251-INV-12",
        covered=_left_out,
        near={
            "another subject": lambda: _left_out("b"),
            "before it began": lambda: _left_out(when="after"),
            "after it ended": lambda: _left_out(shrinks=True),
        },
    ),
    Forgiven(
        FORMER_RELEASE,
        row="KIP1251-INV-10",
        covered=_upgraded,
        near={
            "another node": lambda: _upgraded(by=2),
            "another subject": lambda: _upgraded(grants="b"),
            "before it began": lambda: _upgraded(when="after"),
            "after it ended": lambda: _upgraded(when="before"),
            "described otherwise": lambda: _upgraded("4.4.0"),
            "a later epoch": lambda: _upgraded(at=3),
        },
    ),
    Forgiven(
        LOG_COMPACTED,
        row="GEN-13",
        covered=_compacted,
        near={"too little": lambda: _compacted(())},
        applies={
            "another subject": "each read is judged alone",
            "before it began": "what a read lacks, it lacks from its begin on",
            "after it ended": "each read is judged alone",
        },
    ),
)
