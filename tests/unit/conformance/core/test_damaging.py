"""Damage to a named broker's disk: recorded as a fault whose witness is what the disk itself shows afterwards."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from conformance.core import damaging
from conformance.core.damaging import ChangeResult, Disk
from fixtures.disk.checkpoint import EPOCHS, HIGH_WATERMARKS
from fixtures.disk.producers import snapshot_name
from fixtures.faults.base.fault import NothingToDamage
from fixtures.tape import LiveTape, StoredTape
from history.events import End, Example, Fault
from history.store import HistoryWriter, read_histories
from protocol.errors import KitError
from tests.support.disk_files import producer_snapshot

EXAMPLE = Example(example="e-1", check="kip.check", column="4.3.1")
EPOCH_FILE = f"topic-0/{EPOCHS}"
LOG = "topic-0/00000000000000000000.log"


class FakeNode:
    """A stopped node with these files; without `obeys`, commands on its volume change nothing."""

    def __init__(self, *files: str, state: str = "exited", obeys: bool = True) -> None:
        self.files = dict.fromkeys(files, b"old")
        self.obeys = obeys
        self.log_dirs = (".",)
        self._state = state

    def state(self) -> str:
        return self._state

    def exists(self, path: str) -> bool:
        return any(f"{file}/".startswith(f"{path}/") for file in self.files)

    def read_file(self, path: str) -> bytes:
        return self.files[path]

    def ran(self, command: str) -> None:
        path = shlex.split(command)[-1]
        if self.obeys and command.startswith("rm"):
            for gone in shlex.split(command)[3:]:
                self.files = {file: data for file, data in self.files.items() if not f"{file}/".startswith(f"{gone}/")}
        elif self.obeys:
            self.files[path] = b"new"


@pytest.fixture
def tape(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LiveTape]:
    def on_volume(node: FakeNode, *commands: str, within: str = ".") -> None:
        for command in commands:
            node.ran(command)

    monkeypatch.setattr(damaging, "on_volume", on_volume)
    with HistoryWriter(tmp_path / "gw0.jsonl.zst") as writer:
        yield LiveTape(writer, EXAMPLE)


def disk(tape: LiveTape | StoredTape, node: FakeNode) -> Disk:
    real: Any = node
    return Disk(tape, "broker-1", "topic-0", lambda: real)


def phases(tape: LiveTape) -> list[tuple[str, str]]:
    return [(e.fault, e.phase) for e in tape.history.events if isinstance(e, Fault)]


@pytest.mark.parametrize(
    ("lose", "file", "fault"),
    [
        (Disk.remove_epoch_checkpoint, EPOCH_FILE, "remove-epoch-checkpoint"),
        (Disk.remove_watermarks, HIGH_WATERMARKS, "remove-watermark-checkpoint"),
        (Disk.remove_replica, LOG, "remove-replica"),
    ],
)
def test_a_removed_file_is_a_fault_that_was_witnessed(tape: LiveTape, lose: Any, file: str, fault: str) -> None:
    node = FakeNode(file, LOG, "topic-1/other")
    assert lose(disk(tape, node)) == ChangeResult(before=True, after=False)
    assert phases(tape) == [(fault, "inject"), (fault, "witness")]
    assert list(node.files) == [*([LOG] if file != LOG else []), "topic-1/other"]


def test_its_injection_names_partition_and_effects(tape: LiveTape) -> None:
    disk(tape, FakeNode(EPOCH_FILE)).remove_epoch_checkpoint()
    inject, witness = [e for e in tape.history.events if isinstance(e, Fault)]
    assert (inject.node, inject.detail["partition"], inject.detail["path"]) == ("broker-1", "topic-0", EPOCH_FILE)
    assert inject.effects is not None
    assert inject.effects.loses_epochs
    assert witness.effects is None


@pytest.mark.parametrize("state", ["running", "paused"])
def test_the_disk_of_a_broker_that_is_up_is_left_alone(tape: LiveTape, state: Any) -> None:
    node = FakeNode(EPOCH_FILE, state=state)
    with pytest.raises(KitError, match=f"broker-1 is {state}: its disk is damaged while it is down"):
        disk(tape, node).remove_epoch_checkpoint()
    assert list(node.files) == [EPOCH_FILE]


def test_damage_that_the_disk_does_not_show_is_not_witnessed(tape: LiveTape) -> None:
    with pytest.raises(KitError, match="does not show on its disk"):
        disk(tape, FakeNode(EPOCH_FILE, obeys=False)).remove_epoch_checkpoint()
    assert phases(tape) == [("remove-epoch-checkpoint", "inject")]


def test_a_file_that_was_never_written_cannot_be_damaged(tape: LiveTape) -> None:
    with pytest.raises(NothingToDamage, match=f"broker-1 has not written {EPOCH_FILE}"):
        disk(tape, FakeNode(LOG)).remove_epoch_checkpoint()
    assert phases(tape) == [("remove-epoch-checkpoint", "inject"), ("remove-epoch-checkpoint", "heal")]


@pytest.mark.parametrize(
    "damage",
    [
        Disk.remove_epoch_checkpoint,
        Disk.remove_watermarks,
        Disk.remove_replica,
        lambda disk: disk.tear_snapshot(3),
    ],
)
def test_a_replica_that_is_not_there_is_a_mistake_of_the_kit(tape: LiveTape, damage: Any) -> None:
    with pytest.raises(KitError, match="broker-1 has no replica of topic-0") as mistake:
        damage(disk(tape, FakeNode("topic-1/00000000000000000000.log")))
    assert not isinstance(mistake.value, NothingToDamage)


def test_a_file_that_was_put_is_read_back(tape: LiveTape) -> None:
    put = disk(tape, FakeNode(EPOCH_FILE)).restore_epochs(b"new")
    assert put == ChangeResult(before=True, after=True, content=b"new")
    with pytest.raises(KitError, match="does not show"):
        disk(tape, FakeNode(EPOCH_FILE)).restore_epochs(b"another")
    assert phases(tape)[1:] == [("old-epoch-checkpoint", "witness"), ("old-epoch-checkpoint", "inject")]


def test_a_stored_history_needs_no_node(tape: LiveTape, tmp_path: Path) -> None:
    lost = disk(tape, FakeNode(EPOCH_FILE)).remove_epoch_checkpoint()
    tape.end(End(example="e-1", outcome="judged"))
    [history] = read_histories(tmp_path / "gw0.jsonl.zst")
    assert disk(StoredTape(history), FakeNode(state="running")).remove_epoch_checkpoint() == lost


SNAPSHOTS = tuple(f"topic-0/{snapshot_name(offset)}" for offset in (3, 7))


@pytest.fixture
def replicas(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(node: FakeNode, directory: str) -> Any:
        return SimpleNamespace(files=[path.partition("/")[2] for path in node.files], log_dir=".")

    monkeypatch.setattr(damaging, "read_replica", read)


@pytest.mark.usefixtures("replicas")
class TestSnapshots:
    def test_they_are_told_by_offset(self, tape: LiveTape) -> None:
        assert disk(tape, FakeNode(*SNAPSHOTS, EPOCH_FILE)).snapshots().offsets == (3, 7)

    @pytest.mark.parametrize(("above", "left"), [(-1, ()), (3, (3,)), (2, ())])
    def test_lost_are_all_or_the_newer_ones(self, tape: LiveTape, above: int, left: tuple[int, ...]) -> None:
        damaged = disk(tape, FakeNode(*SNAPSHOTS))
        damaged.remove_snapshots(above=above)
        assert damaged.snapshots().offsets == left
        assert phases(tape) == [("remove-rebuilt-file", "inject"), ("remove-rebuilt-file", "witness")]

    def test_none_can_be_lost_where_there_are_none(self, tape: LiveTape) -> None:
        with pytest.raises(NothingToDamage, match="has not written a producer snapshot above 7"):
            disk(tape, FakeNode(*SNAPSHOTS)).remove_snapshots(above=7)
        with pytest.raises(NothingToDamage, match=f"has not written topic-0/{snapshot_name(8)}"):
            disk(tape, FakeNode(*SNAPSHOTS)).tear_snapshot(8)

    def test_a_torn_one_is_no_longer_whole(self, tape: LiveTape) -> None:
        disk(tape, FakeNode(*SNAPSHOTS)).tear_snapshot(7)
        assert phases(tape) == [("torn-producer-snapshot", "inject"), ("torn-producer-snapshot", "witness")]

    def test_one_that_is_whole_was_not_torn(self, tape: LiveTape) -> None:
        node = FakeNode(*SNAPSHOTS, obeys=False)
        node.files[SNAPSHOTS[1]] = producer_snapshot()
        with pytest.raises(KitError, match="does not show on its disk"):
            disk(tape, node).tear_snapshot(7)
