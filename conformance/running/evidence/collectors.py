"""Files on the nodes' disks about the subjects of a violation: a collector for each kind of subject.

For a partition these are its replicas' segments; for a group and its members the segments of `__consumer_offsets`, for a
transactional id those of `__transaction_state`; for the quorum quorum-state and the metadata log of every controller.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from conformance.running.evidence.on_disk import controllers, replicas
from fixtures.disk.metadata_log import DIRECTORY
from history.subjects import Kind, Subject

if TYPE_CHECKING:
    from fixtures.cluster import KRaftCluster

OFFSETS, TRANSACTIONS = "__consumer_offsets-0", "__transaction_state-0"
"""The kit's clusters keep both topics in a single partition (`fixtures/cluster/config.py`)."""


class FilesOnDisk(msgspec.Struct, kw_only=True):
    """Descriptions of the files that were copied, line by line, and of those that are missing."""

    lines: list[str] = []
    lacking: list[str] = []


class Collector(Protocol):
    """Copies the files of these subjects to `folder`/<node>/. Raises what the engine does."""

    def __call__(self, cluster: KRaftCluster, folder: Path, names: Sequence[str]) -> FilesOnDisk: ...


def partitions(cluster: KRaftCluster, folder: Path, names: Sequence[str]) -> FilesOnDisk:
    lines, lacking = replicas(cluster, folder, names)
    return FilesOnDisk(lines=lines, lacking=lacking)


def groups(cluster: KRaftCluster, folder: Path, names: Sequence[str]) -> FilesOnDisk:
    return partitions(cluster, folder, [OFFSETS])


def transactional_ids(cluster: KRaftCluster, folder: Path, names: Sequence[str]) -> FilesOnDisk:
    return partitions(cluster, folder, [TRANSACTIONS])


def quorum(cluster: KRaftCluster, folder: Path, names: Sequence[str]) -> FilesOnDisk:
    lines, lacking = controllers(cluster, folder, DIRECTORY)
    return FilesOnDisk(lines=lines, lacking=lacking)


COLLECTORS: dict[Kind, Collector] = {
    "partition": partitions,
    "group": groups,
    "member": groups,
    "transactional-id": transactional_ids,
    "quorum": quorum,
}
"""Topics and producers have no files of their own: theirs are those of their partitions."""


def wanted(subjects: Iterable[Subject]) -> dict[Collector, list[str]]:
    """The collectors of these subjects with the names that each is asked for, in the order of `COLLECTORS`."""
    subjects = sorted(subjects)
    found: dict[Collector, list[str]] = {}
    for kind, collector in COLLECTORS.items():
        names = [subject.name for subject in subjects if subject.kind == kind]
        if names:
            found.setdefault(collector, []).extend(names)
    return found


def without_files(subjects: Collection[Subject]) -> str:
    """Why nothing is collected for these; empty where something is."""
    return "" if wanted(subjects) else "the disks: the events name nothing that has files"
