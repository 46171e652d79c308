"""The checks that time cut off are named, with a command that runs it; and where the time went."""

from pathlib import Path

from conformance.core.registry import every_check
from conformance.running.recording.spent import spent_lines
from conformance.running.recording.unfinished import unfinished_lines
from history.shards import CheckLine, Footer, Shard
from tests.support.sample_shards import ShardBuilder

CHECK = every_check()["kip320.fencing.older_epoch_is_fenced"]


class Builder(ShardBuilder):
    def ends(self, outcome: str) -> Shard:
        self._add(CheckLine, check=CHECK.id, rows=list(CHECK.rows), outcome=outcome)
        return self.shard_of()

    def spends(self, **seconds: float) -> Shard:
        self._add(Footer, counts={}, spent=seconds)
        return self.shard_of()

    def shard_of(self) -> Shard:
        return Shard(path=self.shard, header=self.header, lines=self.lines, torn=0)


def test_what_was_cut_off_has_a_command_and_a_list(tmp_path: Path) -> None:
    selection = ["--kafka-version", "4.3.1", "--feature", "transaction.version=1"]
    shard = Builder("s-1", label="4.3.1+transaction.version=1", selection=selection).ends("cut-off")
    [text, command] = unfinished_lines([shard], every_check(), tmp_path)
    listed = tmp_path / "cut-off-4.3.1+transaction.version=1.txt"
    assert text == (
        f"time was up on 4.3.1+transaction.version=1 before 1 checks were at their floors; "
        f"{listed} lists them. To run just these:"
    )
    assert listed.read_text() == "conformance/kip320/fencing.py::older_epoch_is_fenced\n"
    assert command.split() == [
        "./kit", "pytest", "--kafka-version", "4.3.1", "--feature", "transaction.version=1", "--conformance-profile", "smoke",
        "--conformance-out", str(tmp_path), f"@{listed}",
    ]  # fmt: skip


def test_an_image_is_named_by_its_reference(tmp_path: Path) -> None:
    shard = Builder("s-1", label="4.3.1@mine").ends("cut-off")
    assert "--kafka-image kafka:4.3.1@mine" in unfinished_lines([shard], every_check(), tmp_path)[1]


def test_nothing_is_said_where_all_was_done() -> None:
    assert unfinished_lines([Builder("s-1").ends("done")], every_check(), Path("nowhere")) == []


def test_the_seconds_of_all_workers_are_added_up() -> None:
    shards = [Builder("s-1").spends(boot=20.0, act=30.0), Builder("s-2").spends(act=40.0, wait=10.0)]
    assert spent_lines(shards) == [
        "time  4.3.1      boot 20 s (20%), act 70 s (70%), wait 10 s (10%), of 100 s of all workers"
    ]
