"""Records of a group coordinator, made up here, and the state that their replay gives."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import msgspec
import pytest

from conformance.rigs.groups.group_log import GroupLog, GroupState, StoredGroup, StoredMember
from protocol.codes import Error
from protocol.groups import ClassicGroup, ClassicMember
from protocol.records import Batch, Codec, ControlType, Record

TOPIC = UUID(int=1)


def decode(
    artifacts: Sequence[str], name: str, body: bytes, into: type[msgspec.Struct], version: int = 0
) -> msgspec.Struct:
    return msgspec.json.decode(body, type=into)


def written(kind: int, **fields: Any) -> bytes:
    return struct.pack(">h", kind) + msgspec.json.encode(fields)


def key(kind: int, *fields: str) -> bytes:
    """A key of strings, as every release writes it."""
    return struct.pack(">h", kind) + b"".join(struct.pack(">h", len(one)) + one.encode() for one in fields)


def record(offset: int, of: bytes, value: bytes | None, control: ControlType | None = None) -> Record:
    return Record(offset=offset, timestamp=0, key=of, value=value, control_type=control)


def batch(offset: int, *records: Record, producer_id: int = -1, control: bool = False) -> Batch:
    return Batch(
        base_offset=offset,
        last_offset=offset,
        leader_epoch=0,
        crc=0,
        crc_valid=True,
        attributes=0,
        codec=Codec.NONE,
        transactional=producer_id >= 0,
        control=control,
        base_timestamp=0,
        max_timestamp=0,
        producer_id=producer_id,
        size=0,
        records=records,
    )


def commit(at: int, offset: int, producer_id: int = -1, group: str = "g", partition: int = 0) -> Batch:
    of = written(1, group=group, topic="t", partition=partition)
    return batch(at, record(at, of, written(0, offset=offset)), producer_id=producer_id)


def marker(at: int, producer_id: int, kind: ControlType) -> Batch:
    of = struct.pack(">hh", 0, kind)
    return batch(at, record(at, of, b"", kind), producer_id=producer_id, control=True)


class Replayed(GroupLog):
    def __init__(self, *found: Batch) -> None:
        bench = SimpleNamespace(decode=decode)
        self.group = SimpleNamespace(name="g", topic=SimpleNamespace(name="t"), bench=bench)  # type: ignore[assignment]
        self.found = found

    def _batches(self) -> Iterator[Batch]:
        yield from self.found


@pytest.mark.parametrize(
    ("found", "stored"),
    [
        ([], -1),
        ([commit(0, 10), commit(1, 5)], 5),
        ([commit(0, 10), commit(1, 20, group="h"), commit(2, 30, partition=1)], 10),
        ([commit(0, 10), commit(1, 20, 7)], 10),
        ([commit(0, 10), commit(1, 20, 7), marker(2, 7, ControlType.COMMIT)], 20),
        ([commit(0, 10), commit(1, 20, 7), marker(2, 7, ControlType.ABORT)], 10),
        ([commit(0, 10), commit(1, 20, 7), commit(2, 30), marker(3, 7, ControlType.COMMIT)], 30),
        ([commit(0, 20, 7), commit(1, 30, 8), marker(2, 8, ControlType.COMMIT), marker(3, 7, ControlType.COMMIT)], 30),
        ([marker(0, 7, ControlType.COMMIT), commit(1, 20, 7), marker(2, 8, ControlType.COMMIT)], -1),
    ],
    ids=[
        "nothing", "the last plain one", "of others", "pending", "committed", "aborted", "overtaken", "by place",
        "no marker of its own",
    ],
)  # fmt: skip
def test_the_committed_offset_is_the_last_of_plain_and_decided_ones(found: list[Batch], stored: int) -> None:
    assert Replayed(*found).committed_offset(0) == stored


def test_the_end_of_a_transaction_of_another_group_is_no_offset() -> None:
    found = Replayed(commit(0, 10), commit(1, 20, 7, group="h"), marker(2, 7, ControlType.COMMIT), commit(3, 5))
    assert found.offsets(0) == [10, 5]


def assignment(at: int, member: str, epoch: int | None, *partitions: int, group: str = "g") -> Batch:
    fields = {"member_epoch": epoch, "previous_member_epoch": 0, "state": 0}
    listed = [{"topic_id": str(TOPIC), "partitions": partitions}]
    value = None if epoch is None else written(0, assigned_partitions=listed, **fields)
    return batch(at, record(at, key(8, group, member), value))


def test_the_state_is_that_of_the_newest_records_of_the_group() -> None:
    log = Replayed(
        batch(0, record(0, key(3, "g"), written(0, epoch=4))),
        batch(1, record(1, key(6, "g"), written(0, assignment_epoch=3))),
        batch(2, record(2, key(3, "h"), written(0, epoch=9))),
        assignment(3, "m", 3, 0, 1),
        assignment(4, "n", 3, 2),
        assignment(5, "n", None),
        assignment(6, "m", 4, 0),
        assignment(7, "m", 9, 5, group="h"),
    )
    expected = GroupState(4, 3, {"m": (4, frozenset({0}))})
    assert log.replay() == (expected, expected)


STORED = StoredGroup("consumer", 3, "range", (StoredMember("m", b"topics", b"partitions", "i"),))
SHOWN = ClassicGroup(
    error=Error.NONE,
    group_id="g",
    group_state="Stable",
    protocol_type="consumer",
    protocol_data="range",
    members=(
        ClassicMember(member_id="m", group_instance_id="i", member_metadata=b"topics", member_assignment=b"partitions"),
    ),
)


def classic(at: int, group: str, generation: int, *members: str) -> Batch:
    stored = [{"member_id": one, "subscription": "", "assignment": ""} for one in members]
    value = written(3, protocol_type="consumer", generation=generation, protocol="range", members=stored)
    return batch(at, record(at, key(2, group), value))


def test_a_classic_group_is_that_of_its_newest_record() -> None:
    log = Replayed(classic(0, "g", 1, "m"), classic(1, "g", 2, "n"), classic(2, "h", 7), assignment(3, "m", 4, 0))
    found = log.classic()
    assert found is not None
    assert (found.generation, [one.member_id for one in found.members], found.state) == (2, ["n"], "Stable")
    assert Replayed(classic(0, "g", 1), batch(1, record(1, key(2, "g"), None))).classic() is None


def test_an_empty_group_is_described_without_a_protocol() -> None:
    empty = msgspec.structs.replace(STORED, protocol=None, members=())
    shown = msgspec.structs.replace(SHOWN, group_state="Empty", protocol_data="", members=())
    assert empty.is_described_by(shown)
    assert not STORED.is_described_by(shown)


@pytest.mark.parametrize(
    "other",
    [
        {"group_state": "PreparingRebalance"},
        {"protocol_type": "connect"},
        {"protocol_data": "roundrobin"},
        {"members": ()},
        {"members": (msgspec.structs.replace(SHOWN.members[0], member_id="n"),)},
        {"members": (msgspec.structs.replace(SHOWN.members[0], group_instance_id=None),)},
        {"members": (msgspec.structs.replace(SHOWN.members[0], member_metadata=b"others"),)},
        {"members": (msgspec.structs.replace(SHOWN.members[0], member_assignment=b"others"),)},
        {"members": 2 * SHOWN.members},
    ],
)
def test_a_classic_group_with_another_value_is_none_of_the_record(other: dict[str, Any]) -> None:
    assert STORED.is_described_by(SHOWN)
    assert not STORED.is_described_by(msgspec.structs.replace(SHOWN, **other))
