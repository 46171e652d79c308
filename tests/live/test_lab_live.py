"""Checks with faults on real brokers: what they leave is healed, what stays broken costs the cluster, no history needs one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.core.bench import Bench
from conformance.core.checks import Body, Check, Claims, Rig, held_if
from conformance.core.evaluate import ExampleOutcome, evaluate_check
from conformance.rigs.log.partition import Partition, PartitionData, new_partition
from conformance.running import lab as lab_module
from conformance.running.lab import Lab
from conformance.running.probe.run import ProbeRun
from conformance.running.settings import Settings
from conformance.running.standing import REPLACED_NOTE
from fixtures.engine import connect
from fixtures.faults.kinds.process import Kill, PausePastFencing
from fixtures.faults.lab import LAB
from fixtures.images import obtain_image
from fixtures.runs import Run
from fixtures.tape import StoredTape
from history.shards import CheckLine, ExampleLine, read_shards
from history.store import read_histories
from protocol.errors import KitError

pytestmark = pytest.mark.docker


def prepared(bench: Bench) -> PartitionData:
    return new_partition(bench, min_insync_replicas="1").data


RIG: Rig[PartitionData, Partition] = Rig(LAB, prepared, Partition)


def leaves_a_follower_dead(partition: Partition) -> Claims:
    """A frozen leader is succeeded; then the check ends while a follower is down."""
    before, bench = partition.wait_until_whole(), partition.bench
    faults = bench.faults(partition.topic)
    with faults.standing_fault(PausePastFencing()) as frozen:
        after = partition.await_agreement([name for name in bench.brokers if name not in frozen.nodes])
    faults.inject(Kill(role="follower"))
    yield held_if(after.leader_epoch > before.leader_epoch, before, after)


broken: list[str] = []


def freezes_a_broker_once(partition: Partition) -> Claims:
    """The first example does so behind the kit's back."""
    state = partition.wait_until_whole()
    if not broken:
        broken.append(partition.bench.brokers[0])
        partition.bench._require_cluster().node(broken[0]).pause()
        raise KitError("a broker does not answer any more")
    yield held_if(state.leader >= 0, state)


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    with Run.begin() as run:
        yield run
        assert run.end(connect()) == []


class Checked:
    """A check that ran in a lab of its own, and what it left on disk."""

    def __init__(self, body: Body, run: Run, out: Path) -> None:
        self.check = Check(own_rows=("KIP320-FETCH-02",), rig=RIG, cases=("consumer",), examples=1, body=body)
        lab = Lab(Settings(versions=["4.3.1"], out=str(out)), run, "gw0", {"4.3.1": obtain_image("4.3.1")})
        ProbeRun(self.check, lab, "4.3.1").run()
        lab.close()
        [self.shard] = read_shards(out / "shards")
        self.histories = list(read_histories(out / lab.history_path))
        self.examples = [line for line in self.shard.lines if isinstance(line, ExampleLine)]
        [self.line] = [line for line in self.shard.lines if isinstance(line, CheckLine)]

    def again(self, number: int) -> ExampleOutcome:
        """Judge the stored example again, with no cluster."""
        history, header = self.histories[number], self.shard.header
        assert header is not None
        bench = Bench(StoredTape(history), header.column, Bench.members_of(history.example.members), None)
        return evaluate_check(self.check, bench, {}, history.example.context)


def test_what_a_check_leaves_broken_is_healed_and_its_history_needs_no_cluster(run: Run, tmp_path: Path) -> None:
    done = Checked(leaves_a_follower_dead, run, tmp_path)
    assert [example.outcome for example in done.examples] == ["judged"] * 3, done.line
    assert {name: count.healed for name, count in done.examples[0].faults.items()} == {
        "kill": 1,
        "pause-past-fencing": 1,
    }
    assert (done.line.outcome, done.line.detail) == ("done", "")
    outcome = done.again(0)
    own = [seen.result for seen in outcome.observations if seen.requirement in done.check.rows]
    assert (outcome.end, own) == ("judged", ["held"])


def test_a_cluster_that_stays_broken_is_replaced(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab_module, "READY_AGAIN_TIMEOUT", 3.0)
    done = Checked(freezes_a_broker_once, run, tmp_path)
    assert [example.outcome for example in done.examples] == ["error", "judged", "judged"], done.line
    assert f"{REPLACED_NOTE}: KitError: {broken[0]} is paused" in done.line.detail
