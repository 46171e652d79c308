"""Permissions to lose acknowledged records: by an election, and by disks that a fault damaged."""

from __future__ import annotations

from conformance.judging.excuses import (
    DISK_LOST_BY_FAULT,
    DISKS_OF_MIN_ISR_LOST,
    ELECTED_UNCLEANLY_BY_CONFIG,
    ELECTED_UNCLEANLY_BY_FAULT,
    ELECTED_UNCLEANLY_ON_REQUEST,
    EPOCH_FILE_LOST_BY_FAULT,
    LAST_KNOWN_LEADER,
)
from conformance.judging.log.damage import CHECKPOINT_TIMEOUT
from conformance.judging.log.settings import SETTLED_AFTER
from conformance.judging.timeline import MIN_ISR, UNCLEAN_ELECTION
from protocol.codes import Error
from tests.contract.forgiven.entry import Forgiven
from tests.support.histories import LogHistory, stamped

A, B = stamped(0, 0, "a"), stamped(0, 1, "b")
OURS, OTHER = "topic-0", "other-0"
KEPT = "KIP101-INV-05"
OWN = 1
"""The ConfigSource of a value that is set on the topic itself."""


def _acknowledged(least: str = "2", **configs: str) -> LogHistory:
    """`a` and `b` are acknowledged with acks=all at epoch 0."""
    history = LogHistory().created(min_insync_replicas=least, **configs)
    return history.settled(1, 0).produce(1, "a", "b", at=0)


def _lost(history: LogHistory, leader: int = 2, epoch: int = 1, isr: tuple[int, ...] = (1, 2, 3)) -> LogHistory:
    """`b` is gone under a later leader."""
    return history.settled(leader, epoch, isr=isr).whole(leader, A, epoch=epoch, hw=1)


def _kept(history: LogHistory, leader: int = 2, epoch: int = 1) -> LogHistory:
    return history.settled(leader, epoch).whole(leader, A, B, epoch=epoch, hw=2)


# --- elections


def _by_fault(history: LogHistory, partition: str = OURS) -> LogHistory:
    return history.hit("unclean-election", 1, partition=partition, own_topic=False)


def _outside(history: LogHistory) -> LogHistory:
    """2, which is outside the ISR, leads."""
    history.metadata(3, 1, 0, isr=(1,)).metadata(3, -1, 1, isr=(1,))
    return _lost(history, epoch=2, isr=(2,))


def _again(history: LogHistory, *, cut: int = 0, end: int = 1) -> LogHistory:
    """1 is killed, and leads again after a time without a leader and without an ISR."""
    history.kill(1)
    if cut:
        history.cut(cut, end=end)
    history.metadata(2, -1, 1, isr=())
    return history.start(1)


ELECTIONS = (
    Forgiven(
        ELECTED_UNCLEANLY_ON_REQUEST,
        row=KEPT,
        covered=lambda: _lost(_acknowledged().elect_uncleanly(3)).history,
        near={
            "before it began": lambda: _lost(_acknowledged()).elect_uncleanly(3).history,
            "after it ended": lambda: _lost(_kept(_acknowledged().elect_uncleanly(3)), leader=3, epoch=2).history,
            "refused": lambda: _lost(_acknowledged().elect_uncleanly(3, Error.ELECTION_NOT_NEEDED)).history,
            "a later epoch": lambda: _lost(_acknowledged().elect_uncleanly(3).settled(1, 1), epoch=2).history,
            "described otherwise": lambda: (
                _lost(
                    _acknowledged()
                    .settled(-1, 1, isr=(1,))
                    .elect_uncleanly(3, lost=True)
                    .settled(1, 2, isr=(1,))
                    .settled(1, 2, isr=(1, 2)),
                    epoch=3,
                ).history
            ),
        },
        applies={"another subject": "a request names its partition, and is a fact of that one only"},
    ),
    Forgiven(
        ELECTED_UNCLEANLY_BY_FAULT,
        row=KEPT,
        covered=lambda: _lost(_by_fault(_acknowledged())).history,
        near={
            "another subject": lambda: _lost(_by_fault(_acknowledged(), OTHER)).history,
            "before it began": lambda: _by_fault(_lost(_acknowledged())).history,
            "after it ended": lambda: _lost(_by_fault(_acknowledged()).heal("unclean-election", 1)).history,
        },
    ),
    Forgiven(
        ELECTED_UNCLEANLY_BY_CONFIG,
        row=KEPT,
        covered=lambda: _outside(_acknowledged(unclean_leader_election_enable="true")).history,
        near={
            "another subject": lambda: _outside(_acknowledged().altered(UNCLEAN_ELECTION, "true", of="other")).history,
            "before it began": lambda: _outside(_acknowledged()).altered(UNCLEAN_ELECTION, "true").history,
            "after it ended": lambda: (
                _outside(
                    _acknowledged(unclean_leader_election_enable="true").altered(UNCLEAN_ELECTION, "false")
                ).history
            ),
            "refused": lambda: (
                _outside(_acknowledged().altered(UNCLEAN_ELECTION, "true", error=Error.POLICY_VIOLATION)).history
            ),
            "described otherwise": lambda: (
                _outside(
                    _acknowledged()
                    .altered(UNCLEAN_ELECTION, "true", lost=True)
                    .later(SETTLED_AFTER + 1)
                    .configured(UNCLEAN_ELECTION, "false", OWN)
                ).history
            ),
            "too little": lambda: _lost(_acknowledged(unclean_leader_election_enable="true")).history,
        },
    ),
    Forgiven(
        LAST_KNOWN_LEADER,
        row=KEPT,
        covered=lambda: _lost(_again(_acknowledged(), cut=1), leader=1, epoch=2, isr=(1,)).history,
        near={
            "another node": lambda: _lost(_again(_acknowledged(), cut=2), leader=1, epoch=2, isr=(1,)).history,
            "too little": lambda: _lost(_again(_acknowledged(), cut=1, end=2), leader=1, epoch=2, isr=(1,)).history,
            "after it ended": lambda: _lost(_kept(_again(_acknowledged(), cut=1), 1, 2), leader=3, epoch=3).history,
        },
        applies={"before it began": "the election itself begins it"},
    ),
)


# --- disks


def _wiped(history: LogHistory, *nodes: int) -> LogHistory:
    for node in nodes:
        history.hit("wipe-disk", node)
    return history


def _one_by_one(history: LogHistory, *nodes: int) -> LogHistory:
    for node in nodes:
        history.hit("wipe-disk", node).heal("wipe-disk", node)
    return history


def _last_of_the_isr(history: LogHistory) -> LogHistory:
    return _lost(history.metadata(1, -1, 1, isr=(2,)), epoch=2, isr=(2,))


def _without_epochs(node: int = 2, *, seen: int = 0, partition: str = OURS) -> LogHistory:
    """A replica that had shown this high watermark long before lost leader-epoch-checkpoint."""
    history = _acknowledged()
    if seen:
        history.fetch(2, A, B, epoch=0, hw=seen).later(CHECKPOINT_TIMEOUT + 1)
    return history.hit("remove-epoch-checkpoint", node, partition=partition)


DISKS = (
    Forgiven(
        DISKS_OF_MIN_ISR_LOST,
        row=KEPT,
        covered=lambda: _lost(_wiped(_acknowledged(), 1, 3)).history,
        near={
            "another node": lambda: _lost(_wiped(_acknowledged("1"), 3)).history,
            "before it began": lambda: _wiped(_lost(_acknowledged()), 1, 3).history,
            "after it ended": lambda: _lost(_one_by_one(_acknowledged(), 3, 1)).history,
            "refused": lambda: (
                _lost(
                    _wiped(
                        LogHistory()
                        .created(min_insync_replicas="2")
                        .settled(1, 0)
                        .altered(MIN_ISR, "1", error=Error.INVALID_CONFIG)
                        .produce(1, "a", "b", at=0),
                        1,
                    )
                ).history
            ),
            "too little": lambda: _lost(_wiped(_acknowledged(), 1).altered(MIN_ISR, "1")).history,
        },
    ),
    Forgiven(
        DISK_LOST_BY_FAULT,
        row=KEPT,
        covered=lambda: _last_of_the_isr(_acknowledged().cut(2, end=1)).history,
        near={
            "another node": lambda: _last_of_the_isr(_acknowledged().cut(3, end=1)).history,
            "before it began": lambda: _last_of_the_isr(_acknowledged()).cut(2, end=1).history,
            "after it ended": lambda: (
                _last_of_the_isr(
                    _acknowledged().cut(2, end=1).settled(1, 0, isr=(1, 3)).heal("cut-tail-above", 2).settled(1, 0)
                ).history
            ),
            "too little": lambda: _last_of_the_isr(_acknowledged().cut(2, end=2)).history,
        },
    ),
    Forgiven(
        EPOCH_FILE_LOST_BY_FAULT,
        row=KEPT,
        covered=lambda: _lost(_without_epochs()).history,
        near={
            "another node": lambda: _lost(_without_epochs(3)).history,
            "another subject": lambda: _lost(_without_epochs(partition=OTHER)).history,
            "before it began": lambda: _lost(_acknowledged()).hit("remove-epoch-checkpoint", 2, partition=OURS).history,
            "after it ended": lambda: _lost(_without_epochs().heal("remove-epoch-checkpoint", 2)).history,
            "too little": lambda: _lost(_without_epochs(seen=2)).history,
        },
    ),
)

ENTRIES = (*ELECTIONS, *DISKS)
