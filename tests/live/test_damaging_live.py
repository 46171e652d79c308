"""A broker's disk is damaged just where it was said, by the word of the disk itself; the tape of it needs no cluster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.core.bench import Bench
from conformance.core.checks import Check, Claims, held_if
from conformance.core.evaluate import ExampleOutcome, evaluate_check
from conformance.rigs.log.crashes import PAIR, Crashing
from conformance.running.lab import Lab
from conformance.running.settings import Settings
from fixtures.images import obtain_image
from fixtures.runs import Run
from fixtures.tape import StoredTape
from history.events import End, Fault, History
from history.store import read_histories
from protocol.errors import KitError

pytestmark = pytest.mark.docker

EPOCHS = b"0\n2\n0 0\n1 2\n"


def refused(do: object) -> bool:
    try:
        do()  # type: ignore[operator]
    except KitError as error:
        return "while it is down" in str(error)
    return False


def damages(partition: Crashing) -> Claims:
    """A log is truncated, leader-epoch-checkpoint replaced and removed, a directory removed; the broker copies it again."""
    follower, leader = partition.replicas
    written = partition.write_acknowledged(b"one", b"two", b"three")
    disk, case = partition.disk(follower), "consumer"
    yield held_if(refused(disk.remove_epoch_checkpoint), case=case, detail="a running broker keeps its files")
    partition.kill(follower)
    cut, held = disk.cut_log(2), disk.read_replica()
    yield held_if((cut.before, cut.after, held.log_end) == (3, 2, 2), cut, case=case)
    put, epochs = disk.restore_epochs(EPOCHS), disk.read_replica().epochs or ()
    yield held_if(put.before and [(e.epoch, e.start_offset) for e in epochs] == [(0, 0), (1, 2)], put, case=case)
    gone = disk.remove_epoch_checkpoint()
    yield held_if(gone.before and not gone.after and disk.read_replica().epochs is None, gone, case=case)
    removed = disk.remove_replica()
    yield held_if(removed.before and not removed.after, removed, case=case)
    partition.wait_until(lambda: partition.state_with_isr(leader, leader), f"an ISR without {follower}")
    word = partition.bench.registration_on_disk(partition.bench.controllers[0], partition.topic, 0)
    yield held_if(word.leader == leader and leader in word.isr, word, case=case)
    partition.start(follower)
    partition.wait_until(lambda: partition.state_with_isr(leader, follower, leader), "both in sync")
    read = partition.read(follower)
    yield held_if(all(one.is_kept_in(read) for one in written), read, case=case)


CHECK = Check(own_rows=("KIP320-FETCH-02",), rig=PAIR, cases=("consumer",), examples=1, smoke=False, body=damages)


def own_results(outcome: ExampleOutcome) -> list[str]:
    """Those of the check's own rows, without the laws of every answer."""
    return [one.result for one in outcome.observations if one.requirement in CHECK.rows]


@pytest.fixture(scope="module")
def recorded(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[History, Lab]]:
    out: Path = tmp_path_factory.mktemp("out")
    lab = Lab(Settings(versions=["4.3.1"], out=str(out)), run, "gw0", {"4.3.1": obtain_image("4.3.1")})
    standing = lab.standing_cluster("4.3.1", PAIR.topology)
    tape = lab.tape(CHECK.id, standing)
    bench = lab.bench(tape, standing)
    outcome = evaluate_check(CHECK, bench, {}, {})
    assert outcome.detail == ""
    assert own_results(outcome) == ["held"] * 7
    assert lab.heal(bench, tape) == ""
    bench.close()
    tape.end(End(example=tape.example.example, outcome=outcome.end))
    [history] = read_histories(out / lab.history_path)
    yield history, lab
    lab.close()


def test_damage_is_told_as_a_fault_with_its_witness(recorded: tuple[History, Lab]) -> None:
    faults = [
        (e.fault, e.phase, e.node) for e in recorded[0].events if isinstance(e, Fault) and "partition" in e.detail
    ]
    kinds = ["cut-tail-above", "old-epoch-checkpoint", "remove-epoch-checkpoint", "remove-replica"]
    seen = [(fault, phase) for fault, phase, _ in faults]
    assert [kind for kind, phase in seen if phase == "witness"] == kinds
    assert len({node for *_, node in faults}) == 1


def test_the_tape_needs_no_cluster(recorded: tuple[History, Lab]) -> None:
    history, lab = recorded
    column = lab.standing_cluster("4.3.1", PAIR.topology).column
    again = evaluate_check(
        CHECK, Bench(StoredTape(history), column, Bench.members_of(history.example.members), None), {}, {}
    )
    assert again.detail == ""
    assert own_results(again) == ["held"] * 7
