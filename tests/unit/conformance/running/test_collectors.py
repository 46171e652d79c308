"""Collection from disks depends on the kind of subject, and uses the nodes that have it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from conformance.running.evidence import on_disk
from conformance.running.evidence.collectors import COLLECTORS, groups, partitions, quorum, transactional_ids, wanted
from history.subjects import QUORUM, Subject
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
    monkeypatch.setattr(on_disk, "copies", found.copies)
    return found


def cluster() -> Any:
    return FakeCluster()


def test_each_kind_of_subject_has_its_collector() -> None:
    subjects = [Subject("partition", PARTITION), Subject("group", "g"), Subject("member", "m"), QUORUM]
    subjects += [Subject("transactional-id", "t"), Subject("topic", "strict"), Subject("producer", "7")]
    assert wanted(subjects) == {
        partitions: [PARTITION],
        groups: ["g", "m"],
        transactional_ids: ["t"],
        quorum: [QUORUM.name],
    }
    assert set(COLLECTORS.values()) == set(wanted(subjects))


def test_a_partition_is_read_on_every_broker(disks: Disks, tmp_path: Path) -> None:
    found = partitions(cluster(), tmp_path, [PARTITION])
    [(nodes, directories)] = disks.asked
    assert directories == (PARTITION,)
    assert nodes
    assert all(name.startswith("broker") for name in nodes)
    assert any(PARTITION in line for line in found.lines)


@pytest.mark.parametrize(
    ("collector", "directory"), [(groups, "__consumer_offsets-0"), (transactional_ids, "__transaction_state-0")]
)
def test_what_a_coordinator_keeps_is_a_partition_of_its_topic(
    disks: Disks, tmp_path: Path, collector: Any, directory: str
) -> None:
    found = collector(cluster(), tmp_path, ["some-name"])
    assert [asked for _, asked in disks.asked] == [(directory,)]
    assert all(f"the replica of {directory} on " in line for line in found.lacking)
    assert found.lacking


def test_the_quorum_is_read_on_every_controller(disks: Disks, tmp_path: Path) -> None:
    found = quorum(cluster(), tmp_path, [QUORUM.name])
    assert disks.asked == [(["controller-101"], ("__cluster_metadata-0",))]
    assert found.lines[0] == f"controller-101 quorum-state: {STATE.decode().strip()}"
    assert (tmp_path / "controller-101" / "__cluster_metadata-0" / "quorum-state").read_bytes() == STATE


def test_a_controller_without_its_log_is_reported(disks: Disks, tmp_path: Path) -> None:
    disks.held.pop("controller-101")
    found = quorum(cluster(), tmp_path, [QUORUM.name])
    assert found.lacking == ["the metadata log of controller-101: it has no such directory"]
