"""Files on the nodes' disks about a violation's subjects, with one collector per kind of subject.

For a partition these are its replicas' segments; for groups and members the segments of `__consumer_offsets`, for
transactional ids those of `__transaction_state`; for the quorum each controller's quorum-state and metadata log.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from conformance.running.evidence.on_disk import copy_controllers, replicas
from fixtures.disk.metadata_log import DIRECTORY
from history.subjects import Kind, Subject
from protocol.cluster import CoordinatorType
from protocol.coordinators import LOGS, partition_for

if TYPE_CHECKING:
    from fixtures.cluster import KRaftCluster

PARTITIONS = {
    CoordinatorType.GROUP: "offsets.topic.num.partitions",
    CoordinatorType.TRANSACTION: "transaction.state.log.num.partitions",
}
"""The settings with the partition count of each coordinator's topic, which is 1 unless a topology overrides it."""


class FilesOnDisk(msgspec.Struct, kw_only=True):
    """Descriptions of the copied files, line by line, and the reasons for missing ones."""

    lines: list[str] = []
    lacking: list[str] = []


class Collector(Protocol):
    """A function that copies the files of these subjects to `folder`/<node>/. Raises the engine's errors."""

    def __call__(self, cluster: KRaftCluster, folder: Path, names: Sequence[str]) -> FilesOnDisk: ...


def copy_partitions(cluster: KRaftCluster, folder: Path, names: Sequence[str]) -> FilesOnDisk:
    """Copy the replicas of partitions."""
    lines, lacking = replicas(cluster, folder, names)
    return FilesOnDisk(lines=lines, lacking=lacking)


def copy_groups(cluster: KRaftCluster, folder: Path, names: Sequence[str]) -> FilesOnDisk:
    """Copy all partitions of __consumer_offsets: a member is named without its group, so any may hold it."""
    return _coordinator_files(
        cluster, folder, names, CoordinatorType.GROUP, range(_log_count(cluster, CoordinatorType.GROUP))
    )


def transactional_ids(cluster: KRaftCluster, folder: Path, names: Sequence[str]) -> FilesOnDisk:
    """Copy the partitions of __transaction_state that hold these transactional ids."""
    count = _log_count(cluster, CoordinatorType.TRANSACTION)
    places = sorted({partition_for(name, count) for name in names})
    return _coordinator_files(cluster, folder, names, CoordinatorType.TRANSACTION, places)


def _log_count(cluster: KRaftCluster, kind: CoordinatorType) -> int:
    return int(cluster.topology.config.get(PARTITIONS[kind], "1"))


def _coordinator_files(
    cluster: KRaftCluster, folder: Path, names: Sequence[str], kind: CoordinatorType, places: Sequence[int]
) -> FilesOnDisk:
    lines, lacking = replicas(cluster, folder, [f"{LOGS[kind]}-{place}" for place in places], names)
    return FilesOnDisk(lines=lines, lacking=lacking)


def copy_quorum(cluster: KRaftCluster, folder: Path, names: Sequence[str]) -> FilesOnDisk:
    """Copy the quorum state and metadata log of each controller."""
    lines, lacking = copy_controllers(cluster, folder, DIRECTORY)
    return FilesOnDisk(lines=lines, lacking=lacking)


COLLECTORS: dict[Kind, Collector] = {
    "partition": copy_partitions,
    "group": copy_groups,
    "member": copy_groups,
    "transactional-id": transactional_ids,
    "quorum": copy_quorum,
}
"""The collector for each kind of subject. Topics and producers have no files besides those of their partitions."""


def collectors_for(subjects: Iterable[Subject]) -> dict[Collector, list[str]]:
    """Return the collectors for these subjects, in the order of `COLLECTORS`, with the names for each."""
    subjects = sorted(subjects)
    found: dict[Collector, list[str]] = {}
    for kind, collector in COLLECTORS.items():
        names = [subject.name for subject in subjects if subject.kind == kind]
        if names:
            found.setdefault(collector, []).extend(names)
    return found


def why_no_files(subjects: Collection[Subject]) -> str:
    """Return why no files are collected for these subjects; empty if some are."""
    return "" if collectors_for(subjects) else "the disks: the events name nothing that has files"
