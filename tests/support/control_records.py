"""LeaderChange records as a voter in memory writes them, and the decoding of their messages."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable
from typing import Any

from protocol.records import ControlType, NewBatch, NewRecord

VERSION = struct.pack(">h", 1)


def leader_change(leader: int, voters: Iterable[int], granting: Iterable[int], offset: int, epoch: int) -> NewBatch:
    """A batch with the record, whose message is JSON after its version."""
    fields = {"leader_id": leader, "voters": _as_fields(voters), "granting_voters": _as_fields(granting)}
    key = struct.pack(">hh", 0, int(ControlType.LEADER_CHANGE))
    record = NewRecord(VERSION + json.dumps(fields).encode(), key)
    return NewBatch((record,), base_offset=offset, leader_epoch=epoch, control=True, timestamp=1)


def _as_fields(voters: Iterable[int]) -> list[dict[str, int]]:
    return [{"voter_id": one} for one in sorted(voters)]


class LeaderChangeMessage:
    """The schema of that message."""

    def decode(self, data: bytes, version: int) -> Any:
        return json.loads(data[len(VERSION) :])
