"""Collection from disks depends on the kind of subject, and uses the nodes that have it."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from conformance.running.evidence import on_disk
from conformance.running.evidence.collectors import (
    COLLECTORS,
    collectors_for,
    copy_groups,
    copy_partitions,
    copy_quorum,
    transactional_ids,
)
from fixtures.wire.records import encode_batch
from history.subjects import QUORUM, Subject
from protocol.records import NewBatch, NewRecord
from tests.support.sample_evidence import DISKS, PARTITION, FakeCluster

STATE = b'{"leaderId":101,"leaderEpoch":4,"votedId":-1,"data_version":1}\n'


class Disks:
    """The nodes' directories, and which of them were requested."""

    def __init__(self, held: dict[str, dict[str, bytes]]) -> None:
        self.held = held
        self.asked: list[tuple[list[str], tuple[str, ...]]] = []

    def copies(self, nodes: Sequence[Any], *directories: str) -> dict[str, dict[str, bytes]]:
        names = [node.name for node in nodes]
        self.asked.append((names, directories))
        return {name: self.held.get(name, {}) for name in names}


@pytest.fixture
def disks(monkeypatch: pytest.MonkeyPatch) -> Disks:
    found = Disks({**DISKS, "controller-101": {"__cluster_metadata-0/quorum-state": STATE}})
    monkeypatch.setattr(on_disk, "copy_log_dirs", found.copies)
    return found


def cluster() -> Any:
    return FakeCluster()


def test_each_kind_of_subject_has_its_collector() -> None:
    subjects = [Subject("partition", PARTITION), Subject("group", "g"), Subject("member", "m"), QUORUM]
    subjects += [Subject("transactional-id", "t"), Subject("topic", "strict"), Subject("producer", "7")]
    assert collectors_for(subjects) == {
        copy_partitions: [PARTITION],
        copy_groups: ["g", "m"],
        transactional_ids: ["t"],
        copy_quorum: [QUORUM.name],
    }
    assert set(COLLECTORS.values()) == set(collectors_for(subjects))


def test_a_partition_is_read_on_every_broker(disks: Disks, tmp_path: Path) -> None:
    found = copy_partitions(cluster(), tmp_path, [PARTITION])
    [(nodes, directories)] = disks.asked
    assert directories == (PARTITION,)
    assert nodes
    assert all(name.startswith("broker") for name in nodes)
    assert any(PARTITION in line for line in found.lines)


@pytest.mark.parametrize(
    ("collector", "directory"), [(copy_groups, "__consumer_offsets-0"), (transactional_ids, "__transaction_state-0")]
)
def test_what_a_coordinator_keeps_is_a_partition_of_its_topic(
    disks: Disks, tmp_path: Path, collector: Any, directory: str
) -> None:
    found = collector(cluster(), tmp_path, ["some-name"])
    assert [asked for _, asked in disks.asked] == [(directory,)]
    assert all(f"the replica of {directory} on " in line for line in found.lacking)
    assert found.lacking


def with_config(**config: str) -> Any:
    made = FakeCluster()
    made.topology = msgspec.structs.replace(
        made.topology, config={name.replace("_", "."): value for name, value in config.items()}
    )
    return made


def test_a_coordinators_log_of_several_partitions_is_read_where_the_keys_are(disks: Disks, tmp_path: Path) -> None:
    ids = with_config(transaction_state_log_num_partitions="3")
    transactional_ids(ids, tmp_path, ["a", "d"])
    copy_groups(with_config(offsets_topic_num_partitions="2"), tmp_path, ["g"])
    assert [asked for _, asked in disks.asked] == [
        ("__transaction_state-1",),  # 97 and 100 modulo 3
        ("__consumer_offsets-0", "__consumer_offsets-1"),
    ]


def of_transactional_id(name: str, state: int) -> NewRecord:
    """A record as a coordinator writes it: version 1 of the value, without partitions."""
    key = struct.pack(">hh", 0, len(name)) + name.encode()
    return NewRecord(struct.pack(">hqhib", 1, 7, 2, 60_000, state) + bytes(18), key=key)


def test_of_a_coordinators_log_what_is_about_the_ids_is_told_in_words(disks: Disks, tmp_path: Path) -> None:
    records = [of_transactional_id("mine", 1), of_transactional_id("other", 2), of_transactional_id("mine", 4)]
    stored = b"".join(encode_batch(NewBatch((one,), base_offset=place)) for place, one in enumerate(records))
    log = {"__transaction_state-0/00000000000000000000.log": stored}
    disks.held = {"broker-1": log, "broker-2": log}
    lines = transactional_ids(cluster(), tmp_path, ["mine"]).lines
    assert [line.strip().partition(": ")[2] for line in lines if ", CRC" in line][:2] == [
        "mine is Ongoing, producer 7 epoch 2, timeout 60000 ms",
        "mine is CompleteCommit, producer 7 epoch 2, timeout 60000 ms",
    ]
    assert lines.count("      and 1 of others") == 2


def test_the_quorum_is_read_on_every_controller(disks: Disks, tmp_path: Path) -> None:
    found = copy_quorum(cluster(), tmp_path, [QUORUM.name])
    assert disks.asked == [(["controller-101"], ("__cluster_metadata-0",))]
    assert found.lines[0] == f"controller-101 quorum-state: {STATE.decode().strip()}"
    assert (tmp_path / "controller-101" / "__cluster_metadata-0" / "quorum-state").read_bytes() == STATE


def test_a_controller_without_its_log_is_reported(disks: Disks, tmp_path: Path) -> None:
    disks.held.pop("controller-101")
    found = copy_quorum(cluster(), tmp_path, [QUORUM.name])
    assert found.lacking == ["the metadata log of controller-101: it has no such directory"]
