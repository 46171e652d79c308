"""Streams groups (KIP-1071): members, and the tasks that the coordinator assigns to them."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import msgspec

from protocol.codes import Error
from protocol.messages import Answer, Part, Request


class Tasks(Part, frozen=True):
    """Tasks of one subtopology, by partition."""

    subtopology_id: str
    partitions: tuple[int, ...]


class Subtopology(msgspec.Struct, frozen=True, gc=False):
    """A part of a topology that reads one topic; with a changelog topic its tasks have state."""

    id: str
    source_topic: str
    changelog_topic: str | None = None


class StreamsStatus(Part, frozen=True):
    """A condition of the group reported to its members, such as missing internal topics."""

    status_code: int
    status_detail: str


class StreamsHeartbeatAnswer(Answer, frozen=True, kw_only=True):
    """The answer to StreamsGroupHeartbeat; lists of tasks are None if the coordinator omitted them because they did not
    change."""

    error: Error
    error_message: str | None = None
    member_id: str = ""
    member_epoch: int = 0
    status: tuple[StreamsStatus, ...] | None = None
    active_tasks: tuple[Tasks, ...] | None = None
    standby_tasks: tuple[Tasks, ...] | None = None
    warmup_tasks: tuple[Tasks, ...] | None = None


class StreamsGroupHeartbeat(Request[StreamsHeartbeatAnswer], frozen=True):
    sent_as: ClassVar[Mapping[str, str]] = {
        "group": "group_id",
        "active": "active_tasks",
        "standby": "standby_tasks",
        "warmup": "warmup_tasks",
    }

    group: str
    member_id: str
    member_epoch: int
    process_id: str | None = None
    rebalance_timeout_ms: int = -1
    topology: Sequence[Subtopology] | None = None
    active: Sequence[Tasks] | None = None
    standby: Sequence[Tasks] | None = None
    warmup: Sequence[Tasks] | None = None
