"""What disk faults do to files, and that their witness sees it and nothing else. The commands are run on files here."""

import subprocess
from pathlib import Path

import pytest

from fixtures.disk.replicas import Replica, replica_of
from fixtures.disk.volume import cut, overwrite, remove, write
from fixtures.errors import KitError
from fixtures.faults.damage import Damage
from fixtures.faults.disk import (
    CutEpochCheckpoint,
    CutTailAbove,
    CutTailBelow,
    FlipBytes,
    RemoveEpochCheckpoint,
    RemoveIndexFiles,
)
from fixtures.wire.records import batch

DIRECTORY = "a topic-0"
BATCHES = [batch(b"%d" % offset, base_offset=offset, leader_epoch=0, timestamp=1_000).encoded() for offset in range(6)]
FILES = {
    "00000000000000000000.log": b"".join(BATCHES[:3]),
    "00000000000000000000.index": b"",
    "00000000000000000000.timeindex": b"",
    "00000000000000000003.log": b"".join(BATCHES[3:]),
    "00000000000000000003.index": b"",
    "00000000000000000003.timeindex": b"",
    "leader-epoch-checkpoint": b"0\n1\n0 0\n",
}


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    """A data directory with a partition of two segments, and the mark of a clean shutdown."""
    (tmp_path / DIRECTORY).mkdir()
    for name, data in FILES.items():
        (tmp_path / DIRECTORY / name).write_bytes(data)
    (tmp_path / ".kafka_cleanshutdown").touch()
    return tmp_path


def read(disk: Path) -> Replica:
    return replica_of("broker-1", DIRECTORY, {path.name: path.read_bytes() for path in (disk / DIRECTORY).iterdir()})


def damaged(disk: Path, fault: Damage, point: int) -> Replica:
    run(disk, *fault.commands(read(disk), point))
    return read(disk)


def run(disk: Path, *commands: str) -> None:
    subprocess.run(["sh", "-euc", "\n".join(commands)], cwd=disk, check=True)


EVERY = [
    (CutTailAbove(), 0),
    (CutTailAbove(torn=False), 2),
    (CutTailAbove(lost=5), 0),
    (CutTailBelow(), 6),
    (CutTailBelow(lost=4, clean=False), 6),
    (RemoveEpochCheckpoint(), 6),
    (CutEpochCheckpoint(), 6),
    (RemoveIndexFiles(), 6),
    (FlipBytes(), 0),
    (FlipBytes(at=5), 0),
    (FlipBytes(below=True, at=1), 4),
]


@pytest.mark.parametrize(("fault", "point"), EVERY)
def test_the_damage_is_seen_where_it_was_done_and_only_there(disk: Path, fault: Damage, point: int) -> None:
    held = read(disk)
    assert fault.seen(held, point, held) is None
    assert fault.seen(held, point, damaged(disk, fault, point)) is not None


@pytest.mark.parametrize(("fault", "point"), EVERY)
def test_no_damage_passes_for_another(disk: Path, fault: Damage, point: int) -> None:
    held = read(disk)
    now = damaged(disk, fault, point)
    seen = {type(other) for other, at in EVERY if other.seen(held, at, now) is not None}
    # Cut tails look alike, and take with them what others change.
    alike: set[type[Damage]] = (
        {CutTailAbove, CutTailBelow} if isinstance(fault, CutTailAbove | CutTailBelow) else {type(fault)}
    )
    assert seen <= alike | ({RemoveIndexFiles} if isinstance(fault, CutTailBelow) else set())


class TestCutTail:
    def test_the_first_lost_batch_is_torn(self, disk: Path) -> None:
        now = damaged(disk, CutTailAbove(lost=2), 0)
        assert now.log_end == 4
        torn = now.segments[-1].torn
        assert torn is not None
        assert torn.cut_off
        assert torn.size == len(BATCHES[4]) // 2

    def test_nothing_below_the_recovery_point_is_lost(self, disk: Path) -> None:
        assert damaged(disk, CutTailAbove(lost=4), 5).log_end == 5

    def test_whole_segments_go(self, disk: Path) -> None:
        now = damaged(disk, CutTailAbove(lost=5, torn=False), 0)
        assert [one.base_offset for one in now.segments] == [0]
        assert now.log_end == 1

    def test_without_a_tail_nothing_is_cut(self, disk: Path) -> None:
        with pytest.raises(KitError, match="cut-tail-above finds no batch"):
            CutTailAbove().commands(read(disk), 6)

    @pytest.mark.parametrize("clean", [True, False])
    def test_below_the_indexes_go_too_and_the_mark_where_it_shall(self, disk: Path, clean: bool) -> None:
        now = damaged(disk, CutTailBelow(lost=2, clean=clean), 6)
        assert now.log_end == 4
        assert [name for name in now.files if "index" in name] == [
            "00000000000000000000.index",
            "00000000000000000000.timeindex",
        ]
        assert (disk / ".kafka_cleanshutdown").exists() is clean


class TestFlipBytes:
    @pytest.mark.parametrize(
        ("fault", "point", "offset"),
        [
            (FlipBytes(), 2, 5),
            (FlipBytes(at=9), 2, 2),
            (FlipBytes(below=True), 5, 4),
            (FlipBytes(below=True, at=2), 6, 3),
        ],
    )
    def test_one_batch_gets_a_wrong_crc(self, disk: Path, fault: FlipBytes, point: int, offset: int) -> None:
        wrong = [one.base_offset for one in damaged(disk, fault, point).batches() if not one.crc_valid]
        assert wrong == [offset]


class TestCommands:
    def test_a_file_that_is_not_there_is_not_made(self, disk: Path) -> None:
        with pytest.raises(subprocess.CalledProcessError):
            run(disk, cut("no such file", 0))
        assert not (disk / "no such file").exists()

    def test_bytes_are_written_as_they_are(self, disk: Path) -> None:
        run(disk, write("a 'file'", bytes(range(256))), overwrite("a 'file'", 10, b"\0\n'%\xff"))
        assert (disk / "a 'file'").read_bytes() == bytes(range(10)) + b"\0\n'%\xff" + bytes(range(15, 256))

    def test_what_is_gone_need_not_be_removed(self, disk: Path) -> None:
        run(disk, remove(DIRECTORY, "no such file"))
        assert not (disk / DIRECTORY).exists()
