"""Four bugs that keep the cluster from doing its part: each turns its row red, and none counts as an error of the
kit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conformance.core.bench import Bench
from conformance.core.checks import Check, Claims, Rig, held_if
from conformance.rigs.log.partition import Partition, PartitionData, new_partition
from conformance.running.probe.run import ProbeRun
from fixtures.faults.kinds.process import Kill
from fixtures.runs import Run
from history.shards import CheckLine, ExampleLine, ObservationLine, read_shard
from tests.miniature.lab import MiniLab
from tests.support.fake_cluster import TOPOLOGY

ROW, OTHER = "KIP101-EPOCH-01", "KIP101-CACHE-02"


def replicated(bench: Bench) -> PartitionData:
    return new_partition(bench, min_insync_replicas="2").data


RIG: Rig[PartitionData, Partition] = Rig(TOPOLOGY, replicated, Partition)


def loses_its_leader(partition: Partition) -> Claims:
    """Lose the leader, and let it return."""
    yield held_if(True, row=ROW, case="fetch")
    partition.write(b"a")
    with partition.bench.faults(partition.topic).standing_fault(Kill(role="leader")):
        after = partition.await_agreement(["broker-2", "broker-3"])
        yield held_if(after.leader_epoch > 0, row=ROW, case="fetch")
    partition.wait_until_whole()


def asks_for_the_end_of_an_epoch(partition: Partition) -> Claims:
    """Look up an epoch's end, as a client that validates its position."""
    found = partition.leader().offset_for_leader_epoch(partition.name, 0, 0)
    yield held_if(found.end_offset == 0, row=ROW, case="fetch")


def reads_the_checkpoint(partition: Partition) -> Claims:
    """Read the file on the leader's disk."""
    partition.write(b"a")
    file = partition.bench.read_file("broker-1", f"{partition.name}-0/leader-epoch-checkpoint")
    yield held_if(file.content == b"0\n1\n0 0\n", row=OTHER, case="leader")


class Shown:
    def __init__(self, body: Any, tmp_path: Path, *bugs: str) -> None:
        with Run.begin() as run:
            lab = MiniLab(tmp_path, run, bugs)
            check = Check(own_rows=(ROW, OTHER), rig=RIG, cases=None, examples=2, body=body)
            ProbeRun(check, lab, "4.3.1").run()
            lab.close()
        [path] = (tmp_path / "shards").glob("*.jsonl")
        lines = read_shard(path).lines
        self.violated = {
            line.requirement for line in lines if isinstance(line, ObservationLine) and line.result == "violated"
        }
        self.held = {line.requirement for line in lines if isinstance(line, ObservationLine) and line.result == "held"}
        self.endings = {line.outcome for line in lines if isinstance(line, ExampleLine)}
        [self.check] = [line for line in lines if isinstance(line, CheckLine)]


@pytest.mark.parametrize(
    ("bug", "body", "row", "ending"),
    [
        ("no-next-leader", loses_its_leader, "GEN-08", "premise lost"),
        ("never-let-in", loses_its_leader, "GEN-10", "premise lost"),
        ("ends-when-elected", loses_its_leader, "GEN-10", "premise lost"),
        ("epoch-ends-unanswered", asks_for_the_end_of_an_epoch, "GEN-21", "premise lost"),
        ("checkpoint-not-written", reads_the_checkpoint, OTHER, "judged"),
    ],
)
def test_a_bug_turns_its_row_red_and_is_no_error(
    bug: str, body: Any, row: str, ending: str, tmp_path: Path, state: Path
) -> None:
    shown = Shown(body, tmp_path, bug)
    assert (row in shown.violated, shown.endings) == (True, {ending})
    assert shown.check.outcome == "done"
    assert row in shown.check.detail or ending == "judged"


@pytest.mark.parametrize("body", [loses_its_leader, asks_for_the_end_of_an_epoch, reads_the_checkpoint])
def test_a_sound_cluster_breaks_nothing(body: Any, tmp_path: Path, state: Path) -> None:
    shown = Shown(body, tmp_path)
    assert (shown.violated, shown.endings, shown.check.outcome) == (set(), {"judged"}, "done")
    assert "GEN-10" in shown.held or body is not loses_its_leader
