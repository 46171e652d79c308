"""Histories of a quorum whose metadata logs are read from disk."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Self

import msgspec

from history.readings import EpochEntry, HeldMetadataLog, HeldSnapshot, LeaderChange, LoggedBatch, ReadMetadataLog
from tests.support.quorum import VOTERS, QuorumHistory, name_of

Written = tuple[int, int, int] | tuple[int, int, int, str]
"""First and last offset and epoch of a batch, and its content if it is not as usual."""

LOG: tuple[Written, ...] = ((0, 0, 1), (1, 4, 1), (5, 5, 2), (6, 9, 2))
"""A log in which 102 and 103 led, one after the other."""
SHORT = LOG[:2]
"""The same log before epoch 2."""


def leader_of(epoch: int) -> int:
    return VOTERS[epoch % 3]


def change_at(offset: int, epoch: int, fields: Mapping[str, Any]) -> LeaderChange:
    """The LeaderChange record of the epoch's leader, which the next voter elected with it."""
    leader = leader_of(epoch)
    granting = tuple(sorted((leader, leader_of(epoch + 1))))
    usual = LeaderChange(offset, epoch, leader, VOTERS, granting)
    return msgspec.structs.replace(usual, **fields)


def opened_at(batches: Sequence[LoggedBatch]) -> dict[int, int]:
    """The first offset of each epoch whose beginning the log has."""
    first = [one for one in batches[:1] if one.base_offset == 0]
    later = [two for one, two in pairwise(batches) if one.leader_epoch != two.leader_epoch]
    return {one.leader_epoch: one.base_offset for one in (*first, *later)}


class MetadataLogHistory(QuorumHistory):
    def reads_log(
        self,
        node: int,
        *batches: Written,
        changes: Mapping[int, Mapping[str, Any] | None] = {},
        epochs: Mapping[int, int] | None = None,
        state: bytes | int | None = None,
        snapshots: Sequence[tuple[int, int, str]] = (),
        torn: str = "",
        steady: bool = True,
        start: int | None = None,
    ) -> Self:
        """The log of a node is read. `changes` are LeaderChange records that are not as usual, by epoch, None for a missing
        one; `epochs` is what leader-epoch-checkpoint has, if not what the log has; `state` is quorum-state or its epoch."""
        logged = tuple(LoggedBatch(b[0], b[1], b[2], 7, b[3] if len(b) > 3 else "usual") for b in batches)
        opened = opened_at(logged)
        records = {epoch: changes.get(epoch, {}) for epoch in opened}
        newest = max((one.leader_epoch for one in logged), default=0)
        begins = logged[0].base_offset if logged else 0
        held = HeldMetadataLog(
            log_start=begins if start is None else start,
            log_end=logged[-1].last_offset + 1 if logged else begins,
            batches=logged,
            leader_changes=tuple(
                change_at(opened[epoch], epoch, fields) for epoch, fields in records.items() if fields is not None
            ),
            snapshots=tuple(HeldSnapshot(end_offset=o, epoch=e, digest=d, records=3) for o, e, d in snapshots),
            epochs=tuple(EpochEntry(*one) for one in (opened if epochs is None else epochs).items()),
            quorum_state=state if isinstance(state, bytes) else _state(newest if state is None else state),
            steady=steady,
            torn=torn,
        )
        return self._asked(
            name_of(node),
            ReadMetadataLog.op,
            msgspec.to_builtins(ReadMetadataLog()),
            json.loads(msgspec.json.encode(held)),
        )

    def all_read(self, *batches: Written, **how: Any) -> Self:
        """The logs of all controllers are read, and are equal."""
        for node in VOTERS:
            self.reads_log(node, *(batches or LOG), **how)
        return self

    def commits(self, watermark: int, epoch: int = 1) -> Self:
        """The leader of an epoch describes the quorum."""
        leader = leader_of(epoch)
        return self.described(*[watermark] * 3, watermark=watermark, epoch=epoch, by=leader, leader=leader)


def _state(epoch: int) -> bytes:
    return json.dumps({"leaderId": -1, "leaderEpoch": epoch, "votedId": -1, "data_version": 0}).encode()
