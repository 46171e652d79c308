"""Faults in checks: through the tape, healed after each example, and a cluster that does not heal is replaced."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis.stateful import rule
from hypothesis.strategies import integers

from conformance.core.bench import Bench
from conformance.core.checks import Claims, Rig, held_if
from conformance.core.faulting import Faults
from conformance.core.machines import KafkaMachine
from conformance.core.model import FaultModel
from conformance.core.waiting import HOST_NOTE
from conformance.judging.judge import Finding, judge
from conformance.judging.pooling import judge_shards
from conformance.running import lab as lab_module
from conformance.running.lab import MANY_EXAMPLES, Lab
from conformance.running.probe.run import ProbeRun
from conformance.running.settings import Settings
from conformance.running.standing import REPLACED_NOTE, Standing
from fixtures.cluster import NotReady, Topology
from fixtures.cluster.cpu import CpuTime
from fixtures.errors import EngineTrouble
from fixtures.faults.base.fault import Unavailable
from fixtures.faults.base.injector import Injected, Unhealed, Unwitnessed
from fixtures.runs import Run
from fixtures.tape import LiveTape, StoredTape
from fixtures.waiting import Overdue
from history import events
from history.due import Due
from history.events import AnyEvent, End, Example, Fault, History, Note, ProcessEnd
from history.shards import CheckLine, ExampleLine, Footer, ObservationLine, read_shards
from history.store import HistoryWriter, read_histories
from protocol.codes import Error
from protocol.errors import KitError
from protocol.log import ProducedPartition
from protocol.records import batch
from strategies.steps import Step
from tests.support.fake_checks import ROW, TOPIC, Data, check_of, handle
from tests.support.fake_cluster import TOPOLOGY, FakeCluster
from tests.support.fake_faults import Recorded
from tests.support.fake_lab import IMAGE, FakeLab, FakeWatch, JudgedMachine, Play, faults_on, of

# --- through the tape


@pytest.fixture
def tape(tmp_path: Path) -> Iterator[LiveTape]:
    with HistoryWriter(tmp_path / "gw0.jsonl.zst") as writer:
        yield LiveTape(writer, Example(example="e-1", check="kip.check", column="4.3.1"))


def stored(tape: LiveTape) -> Faults:
    """The faults that a check meets when its history is judged again: no cluster, no target."""
    tape.end(End(example="e-1", outcome="judged"))
    [history] = read_histories(tape._writer.path)
    return Faults(StoredTape(history), None)


def twice(faults: Faults) -> list[Injected]:
    with faults.standing_fault(Recorded()) as first:
        pass
    second = Recorded(on="broker-2")
    return [first, faults.inject(second), faults.heal(second)]


def test_a_stored_tape_needs_no_cluster_for_a_fault(tape: LiveTape) -> None:
    assert [one.nodes for one in twice(faults_on(tape))] == [["broker-1"], ["broker-2"], ["broker-2"]]
    again = twice(stored(tape))
    assert [(one.nodes, one.witness) for one in again] == [
        (["broker-1"], {"seen": "broker-1"}),
        (["broker-2"], {"seen": "broker-2"}),
        (["broker-2"], {"seen": "broker-2"}),
    ]
    assert again[-1].heal_seconds > 0


def test_the_tape_is_the_log_of_faults(tape: LiveTape) -> None:
    twice(faults_on(tape))
    phases = [(event.node, event.phase) for event in tape.events if isinstance(event, Fault)]
    assert phases == [(node, phase) for node in ("broker-1", "broker-2") for phase in ("inject", "witness", "heal")]


@pytest.mark.parametrize(
    ("fault", "error"),
    [(Recorded(shows=False), Unwitnessed), (Recorded(heals=False), Unhealed), (Recorded(possible=False), Unavailable)],
)
def test_trouble_with_a_fault_is_raised_again_as_it_was(tape: LiveTape, fault: Recorded, error: type[KitError]) -> None:
    def tried(faults: Faults) -> str:
        with pytest.raises(error) as raised, faults.standing_fault(fault.fresh()):
            pass
        return str(raised.value)

    assert tried(faults_on(tape)) == tried(stored(tape))


# --- after an example


@pytest.fixture
def play(tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch) -> Play:
    monkeypatch.setattr(lab_module, "HEALTHY_AGAIN_TIMEOUT", 0.05)
    return Play(tmp_path)


def holds(bench: Bench) -> Claims:
    """Breaks nothing."""
    yield held_if(True, bench.node("broker-1").list_offsets("topic", 0))


def takes_a_while(bench: Bench) -> Claims:
    """Waits for a moment."""
    until = time.monotonic() + 0.05
    bench.eventually(lambda: time.monotonic() > until, "the moment is over")
    yield from holds(bench)


def waits_in_vain(bench: Bench) -> Claims:
    """Waits for what never comes."""
    yield from holds(bench)
    bench.eventually(lambda: False, "what never comes", within=60.0)


def is_interrupted(_: Bench) -> Claims:
    """A probe that a signal interrupts."""
    raise KeyboardInterrupt
    yield


def leaves_a_fault(bench: Bench) -> Claims:
    """Ends while its fault is active."""
    bench.faults(TOPIC).inject(Recorded())
    yield from holds(bench)


def leaves_a_node_down(bench: Bench) -> Claims:
    """Kills and never starts."""
    bench.processes.kill("broker-2")
    raise KitError("no answer")
    yield


def shows_nothing(bench: Bench) -> Claims:
    """A fault without a witness, on which the row would be broken."""
    with bench.faults(TOPIC).standing_fault(Recorded(shows=False)):
        yield held_if(False)


def does_not_heal(bench: Bench) -> Claims:
    """A fault that stays."""
    with bench.faults(TOPIC).standing_fault(Recorded(heals=False)):
        yield from holds(bench)


def leaves_what_does_not_heal(bench: Bench) -> Claims:
    bench.faults(TOPIC).inject(Recorded(heals=False))
    yield from holds(bench)


def test_without_faults_and_trouble_nothing_is_looked_at(play: Play) -> None:
    lab, shard, _ = play(check_of(holds), [["broker-3 is exited"]])
    assert (lab.watches[0].asked, of(shard, CheckLine)[0].outcome) == (0, "done")


def test_a_fault_that_was_left_is_healed(play: Play) -> None:
    lab, shard, histories = play(check_of(leaves_a_fault), [[]])
    [example, *_] = of(shard, ExampleLine)
    assert (example.outcome, example.faults["recorded"].healed, example.detail) == ("judged", 1, "")
    assert len(lab.booted) == 1
    assert [event.phase for event in histories[0].events if isinstance(event, Fault)] == ["inject", "witness", "heal"]


def test_a_node_that_was_left_down_is_started(play: Play) -> None:
    lab, shard, _ = play(check_of(leaves_a_node_down), [[]])
    examples = of(shard, ExampleLine)
    assert [(example.outcome, example.faults["kill"].healed) for example in examples] == [("error", 1)] * 3
    assert (lab.booted[0].node("broker-2").starts, len(lab.booted)) == (4, 1)


def test_a_fault_without_a_witness_is_an_error_and_never_violated(play: Play) -> None:
    lab, shard, _ = play(check_of(shows_nothing, examples=3), [[]])
    assert [line.outcome for line in of(shard, ExampleLine)] == ["error"] * 3
    assert of(shard, ExampleLine)[0].detail.startswith("Unwitnessed: recorded of the leader shows")
    assert of(shard, ObservationLine) == play.run.violations == []
    assert (of(shard, CheckLine)[0].outcome, len(lab.booted)) == ("error", 1)


def test_a_fault_that_does_not_heal_is_an_error_and_never_violated(play: Play) -> None:
    """The cluster looks whole all the same, so it stays."""
    lab, shard, _ = play(check_of(does_not_heal), [[]])
    example, *_ = of(shard, ExampleLine)
    assert (example.outcome, len(lab.booted), play.run.violations) == ("error", 1, [])
    assert example.detail.startswith("Unhealed: recorded of the leader healed")


REASON = "broker-3 is exited"


@pytest.mark.parametrize(
    ("body", "outcome"), [(leaves_a_fault, "judged"), (shows_nothing, "error"), (does_not_heal, "error")]
)
def test_a_cluster_that_is_not_whole_is_replaced_and_the_reason_reported(play: Play, body: Any, outcome: str) -> None:
    """An example without trouble was judged; that the cluster did not become whole is a separate observation."""
    lab, shard, histories = play(check_of(body, examples=2), [[REASON], []])
    assert len(lab.booted) == 2
    assert (lab.booted[0].closed, of(shard, ExampleLine)[0].outcome) == (True, outcome)
    assert REASON in of(shard, ExampleLine)[0].detail
    assert REASON in of(shard, CheckLine)[0].detail
    assert f"{REPLACED_NOTE}: Overdue" in of(shard, CheckLine)[0].detail
    end = histories[0].end
    assert end is not None
    assert (end.outcome, REASON in end.detail) == (outcome, True)
    notes = [event for event in histories[0].events if isinstance(event, Note) and event.text != HOST_NOTE]
    assert [(note.text, REASON in note.data["reason"]) for note in notes] == [(REPLACED_NOTE, True)]


@pytest.mark.parametrize(("due", "within", "boots"), [("quorum", 60.0, 2), ("quorum", 1.0, 1), ("step", 60.0, 1)])
def test_a_state_of_the_whole_cluster_that_never_comes_costs_the_cluster(
    play: Play, due: Due, within: float, boots: int
) -> None:
    """Not if the wait was shorter than the bound, nor what only the example's own topics lack."""

    def waits_in_vain(bench: Bench) -> Claims:
        bench.tape.overdue(due, "it is not there", within, 0.0)
        yield from holds(bench)

    lab, _, histories = play(check_of(waits_in_vain, examples=2), [[], []])
    assert (len(lab.booted) > 1) is (boots > 1)
    assert any(isinstance(one, Note) and one.text == REPLACED_NOTE for one in histories[0].events) is (boots > 1)


def test_the_next_example_has_a_good_cluster(play: Play) -> None:
    lab, shard, _ = play(check_of(leaves_a_fault, examples=5), [[REASON], []])
    assert [line.outcome for line in of(shard, ExampleLine)][:5] == ["judged"] * 5
    assert (len(lab.booted), of(shard, CheckLine)[0].outcome) == (2, "done")


def test_what_was_left_and_does_not_heal_costs_the_cluster(play: Play) -> None:
    lab, shard, _ = play(check_of(leaves_what_does_not_heal, examples=2), [[], [], []])
    assert f"{REPLACED_NOTE}: Unhealed" in of(shard, ExampleLine)[0].detail
    assert len(lab.booted) > 1


def test_what_was_observed_before_the_cluster_was_lost_is_filed(play: Play) -> None:
    """The outcome is that of judging the history again."""
    _, shard, _ = play(check_of(leaves_a_fault), [[REASON], []])
    assert of(shard, ObservationLine)[0].result == "held"


def test_when_no_cluster_comes_up_again_the_check_says_so(play: Play) -> None:
    _, shard, _ = play(check_of(leaves_a_fault, examples=2), [[REASON]])
    [line] = of(shard, CheckLine)
    assert (line.outcome, "no cluster came up" in line.detail, REASON in line.detail) == ("error", True, True)


class NeverReady(FakeLab):
    """Boots no cluster, for a reason that the test gives."""

    reason: KitError

    def _boot(self, key: tuple[str, str], topology: Topology) -> Standing:
        raise self.reason


CRASH = ProcessEnd(exit_code=1, log="FATAL: NullPointerException in BrokerServer.startup")


def not_ready(*, late: float = 0.0, **shows: Any) -> NotReady:
    error = NotReady("the cluster is not ready: a quorum with a leader: not within 90 s\nthe log of node-1", **shows)
    error.__cause__ = Overdue("a quorum with a leader", within=90.0, late=late)
    return error


def boots_never(out: Path, reason: KitError, **settings: Any) -> tuple[list[CheckLine], list[ObservationLine]]:
    """Two checks that need the same cluster."""
    with Run.begin() as run:
        lab = NeverReady(out, run, [], "smoke")
        lab.reason = reason
        lab.settings = msgspec.structs.replace(lab.settings, **settings)
        for _ in range(2):
            ProbeRun(check_of(holds), lab, "4.3.1").run()
        lab.close()
    shard = Play(out).shard()
    return of(shard, CheckLine), of(shard, ObservationLine)


@pytest.mark.parametrize(
    ("reason", "broken", "hindrance"),
    [
        (not_ready(ends={"node-1": CRASH}), {("GEN-10", "start")}, "GEN-10: node-1 ended by itself with exit code 1"),
        (
            not_ready(disagrees=True),
            {("GEN-08", "quorum"), ("KIP595-LIVE-01", "leader")},
            "KIP595-LIVE-01: the cluster is not ready: a quorum with a leader: not within 90 s",
        ),
    ],
    ids=["a process ended", "no leader of the quorum"],
)
def test_a_cluster_that_kafka_itself_keeps_from_coming_up_is_a_violation_told_once(
    tmp_path: Path, state: Path, reason: NotReady, broken: set[tuple[str, str]], hindrance: str
) -> None:
    lines, seen = boots_never(tmp_path, reason)
    assert {(one.requirement, one.case) for one in seen} == broken
    assert {one.result for one in seen} == {"violated"}
    assert len(seen) == len(broken)
    assert all(("NullPointerException" if reason.ends else "the log of node-1") in one.detail for one in seen)
    assert [(line.outcome, line.examples, line.hindrance) for line in lines] == [("done", 0, hindrance)] * 2
    assert not any("NullPointer" in line.detail or "the log of" in line.detail for line in lines)
    cells = {cell.requirement: cell for cell in judge_shards([Play(tmp_path).shard()])}
    assert {cells[row].verdict for row, _ in broken} == {"violated"}
    assert cells[ROW].verdict == "inconclusive"
    assert cells[ROW].reason.endswith(f"kept its checks from going on: {hindrance}")


@pytest.mark.parametrize(
    ("reason", "settings"),
    [
        (KitError("the engine says no"), {}),
        (not_ready(), {}),
        (not_ready(disagrees=True, late=23.0), {}),
        (not_ready(ends={"node-1": msgspec.structs.replace(CRASH, out_of_memory=True)}), {}),
        (not_ready(ends={"node-1": CRASH}), {"properties": {"license": "none"}}),
    ],
    ids=["the engine", "a controller is silent", "a starved kit", "out of memory", "a setting of the user's"],
)
def test_a_cluster_that_fails_for_another_reason_is_an_error(
    tmp_path: Path, state: Path, reason: KitError, settings: dict[str, Any]
) -> None:
    lines, seen = boots_never(tmp_path, reason, **settings)
    assert [line.outcome for line in lines] == ["error"] * 2
    assert seen == []


def test_a_rig_that_breaks_the_cluster_costs_it(play: Play) -> None:
    def breaking(bench: Bench) -> Data:
        bench.processes.kill("broker-2")
        raise KitError("nothing to stand on")

    rig: Rig[Data, Bench] = Rig(TOPOLOGY, breaking, handle, shared=True)
    lab, shard, histories = play(check_of(holds, rig), [[REASON], []])
    [line] = of(shard, CheckLine)
    assert ("nothing to stand on" in line.detail, REASON in line.detail) == (True, True)
    assert (lab.booted[0].closed, histories[0].end.outcome if histories[0].end else "") == (True, "error")


UNACKNOWLEDGED = ProducedPartition(version=9, topic="topic", partition=0, error=Error.NONE, base_offset=-1)


def test_examples_on_a_shared_rig_know_what_was_sent_to_it_before(play: Play) -> None:
    def writes(bench: Bench, value: bytes) -> None:
        request = {"topic": "topic", "partition": 0, "acks": 0, "records": msgspec.to_builtins(batch(value))}
        bench.tape.call("broker-1", "produce", request, ProducedPartition, lambda: UNACKNOWLEDGED)

    def prepare(bench: Bench) -> Data:
        writes(bench, b"a")
        return Data()

    def writes_too(bench: Bench) -> Claims:
        writes(bench, b"b")
        yield held_if(True)

    shared: Rig[Data, Bench] = Rig(TOPOLOGY, prepare, handle, shared=True)
    _, _, [rig, first, second, *_] = play(check_of(writes_too, shared, examples=2), [[]])
    one, two = (base64.b64encode(value).decode() for value in (b"a", b"b"))
    assert (rig.example.sent, rig.example.scripted) == (None, ())
    assert first.example.sent == {"topic-0": {one: 1}}
    assert second.example.sent == {"topic-0": {one: 1, two: 1}}


# --- machines


class Blow(Step, frozen=True, tag="disturb"):
    shows: bool = True
    heals: bool = True
    left: bool = False


class Machine(KafkaMachine[FaultModel]):
    """Disturbs."""

    model_type = FaultModel

    @rule(number=integers(0, 9))
    def disturb(self, number: int) -> None:
        self.do(Blow())


class Executor:
    def __init__(self, bench: Bench) -> None:
        self._faults = bench.faults(TOPIC)

    def step(self, step: Blow) -> None:
        fault = Recorded(shows=step.shows, heals=step.heals)
        self._faults.inject(fault)
        if not step.left:
            self._faults.heal(fault)

    def bring_to_rest(self) -> None:
        pass


@judge(ROW)
def every_fault_is_injected(history: History) -> Iterator[Finding]:
    for event in history.events:
        if isinstance(event, Fault) and event.phase == "witness":
            yield Finding(True, "consumer", (event.n,))


def machine_of(*opening: Blow) -> JudgedMachine:
    return JudgedMachine(
        id="tests.machine",
        topology=TOPOLOGY,
        machine=Machine,
        executor=Executor,
        step=Blow,
        judges=[every_fault_is_injected],
        opening=opening,
    )


def test_a_machine_whose_next_cluster_does_not_come_up_names_the_row(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    boot = FakeLab._boot

    def once(lab: FakeLab, key: tuple[str, str], topology: Topology) -> Standing:
        if lab.booted:
            raise not_ready(ends={"node-1": CRASH})
        return boot(lab, key, topology)

    monkeypatch.setattr(FakeLab, "_boot", once)
    _, shard, _ = play(machine_of(Blow()), [[REASON]], "quick")
    [line] = of(shard, CheckLine)
    assert (line.outcome, line.hindrance) == ("done", "GEN-10: node-1 ended by itself with exit code 1")


@pytest.mark.parametrize(("step", "error"), [(Blow(shows=False), "Unwitnessed"), (Blow(heals=False), "Unhealed")])
def test_a_machine_whose_fault_fails_ends_in_error_and_the_next_example_goes_on(
    play: Play, step: Blow, error: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeWatch, "owes", "node")
    lab, shard, _ = play(machine_of(step), [[REASON], []], "quick")
    outcomes = [line.outcome for line in of(shard, ExampleLine)]
    assert outcomes == ["error", *["judged"] * (len(outcomes) - 1)]
    assert len(outcomes) > 1
    assert of(shard, ExampleLine)[0].detail.startswith(f"{error}: recorded of the leader")
    assert (len(lab.booted), lab.booted[0].closed, play.run.violations) == (2, True, [])
    [line] = of(shard, CheckLine)
    assert (line.outcome, REASON in line.detail) == ("done", True)


def test_what_a_machine_left_is_healed(play: Play) -> None:
    lab, shard, _ = play(machine_of(Blow(left=True), Blow(left=True)), [[]])
    [example] = of(shard, ExampleLine)
    assert (example.outcome, example.faults["recorded"].healed, len(lab.booted)) == ("judged", 2, 1)


def test_a_machine_without_a_cluster_says_so_once(play: Play) -> None:
    """Also when Hypothesis asks for another example again and again."""
    _, shard, _ = play(machine_of(Blow(shows=False)), [[REASON]], "quick")
    [line] = of(shard, CheckLine)
    assert (line.outcome, line.detail.count("no cluster came up")) == ("error", 1)


def test_time_is_looked_at_between_examples(play: Play) -> None:
    """Those of a schedule take minutes together: the second of five does not begin when the first took all there was."""
    _, shard, _ = play(check_of(takes_a_while, examples=5), [[]], seconds=0.01)
    [line] = of(shard, CheckLine)
    assert (line.outcome, line.examples) == ("cut-off", 1)


def test_a_wait_ends_with_the_time_of_its_check(play: Play) -> None:
    """It is no trouble of the kit then, and nothing was observed."""
    _, shard, _ = play(check_of(waits_in_vain, examples=5), [[]], seconds=0.2)
    [line] = of(shard, CheckLine)
    assert (line.outcome, line.examples) == ("cut-off", 1)
    assert ROW not in {seen.requirement for seen in of(shard, ObservationLine)}


def test_a_check_without_time_does_not_begin(play: Play) -> None:
    _, shard, histories = play(check_of(holds), [[]], seconds=0.0)
    [line] = of(shard, CheckLine)
    assert (line.outcome, line.examples, histories) == ("cut-off", 0, [])


def test_a_check_that_is_interrupted_is_filed(play: Play) -> None:
    with pytest.raises(KeyboardInterrupt):
        play(check_of(is_interrupted), [[]])
    play.lab.close()
    shard = play.shard()
    [line] = of(shard, CheckLine)
    assert (line.outcome, line.detail, shard.complete) == ("error", "the run was ended: KeyboardInterrupt", True)


def test_the_footer_says_where_time_went(play: Play) -> None:
    _, shard, _ = play(check_of(takes_a_while), [[]])
    [footer] = of(shard, Footer)
    assert footer.spent["wait"] >= 0.05


def test_the_line_of_a_check_says_what_it_used(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    used = iter([CpuTime(3.0, 1.0), *[CpuTime(5.0, 2.0)] * 50])
    monkeypatch.setattr(FakeCluster, "cpu_times", lambda self: {str(id(self)): next(used)})
    _, shard, _ = play(check_of(takes_a_while), [[]])
    [line] = of(shard, CheckLine)
    assert (line.boots, line.spent["wait"] >= 0.05, line.cpu["kit"] > 0) == (1, True, True)
    assert {cause: line.cpu[cause] for cause in ("boots", "nodes", "kernel")} == {
        "boots": 4.0,
        "nodes": 3.0,
        "kernel": 2.0,
    }


def test_a_boot_is_tried_again_after_trouble_of_the_engine_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    troubles: list[KitError] = []

    class Booting:
        def __init__(self, *_: object) -> None:
            pass

        def boot(self) -> Booting:
            if troubles:
                raise troubles.pop(0)
            return self

    monkeypatch.setattr(lab_module, "KRaftCluster", Booting)
    with Run.begin() as run:
        lab = Lab(Settings(versions=[], out=str(tmp_path)), run, "gw0", {"4.3.1": IMAGE})
        troubles += [EngineTrouble("the engine did not answer")]
        assert isinstance(lab._boot_patiently(IMAGE, TOPOLOGY), Booting)
        troubles += [KitError("a node ended"), KitError("never tried")]
        with pytest.raises(KitError, match="a node ended"):
            lab._boot_patiently(IMAGE, TOPOLOGY)
        troubles[:] = [EngineTrouble("busy"), EngineTrouble("busy forever")]
        with pytest.raises(EngineTrouble, match="busy forever") as found:
            lab._boot_patiently(IMAGE, TOPOLOGY)
        assert str(found.value.__context__) == "busy"
        lab.close()


def test_a_cluster_that_does_not_become_ready_again_owes_what_its_watch_says(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    def not_ready(*_: Any, **__: Any) -> None:
        raise KitError("the cluster is not ready") from Overdue("all brokers unfenced: not within 60 s", within=60.0)

    monkeypatch.setattr(FakeCluster, "wait_ready", not_ready)
    monkeypatch.setattr(FakeWatch, "owes", "node")
    _, shard, histories = play(check_of(leaves_a_fault, examples=2), [[REASON], []])
    [event] = [event for event in histories[0].events if isinstance(event, events.Overdue)]
    assert (event.due, event.within) == ("node", 60.0)
    assert ("GEN-10", "violated") in {(line.requirement, line.result) for line in of(shard, ObservationLine)}
    assert of(shard, ExampleLine)[0].outcome == "judged"


def history_of(id: str, *happened: AnyEvent) -> History:
    return History(example=Example(example=id, check="c", column="4.3.1"), events=[*happened])


def test_topics_of_examples_go_after_faults_unless_the_cluster_is_kept(tmp_path: Path, state: Path) -> None:
    killed = Fault(n=0, t=0.0, fault="kill", phase="inject", role="leader", node="broker-1")
    with Run.begin() as run:
        lab = FakeLab(tmp_path, run, [[]], "smoke")
        standing = lab.standing_cluster("4.3.1", TOPOLOGY)
        assert lab.clear(history_of("e-1")) == lab.clear(history_of("e-2", killed)) == ""
        lab.kept.append(standing.cluster)
        assert lab.clear(history_of("e-3", killed)) == ""
        assert lab.watches[0].deleted == ["-e-1-", "-e-2-"]
        lab.close()


def test_topics_of_calm_examples_are_deleted_together(tmp_path: Path, state: Path) -> None:
    with Run.begin() as run:
        lab = FakeLab(tmp_path, run, [[]], "smoke")
        lab.standing_cluster("4.3.1", TOPOLOGY)
        assert {lab.clear(history_of(f"e-{number}")) for number in range(2 * MANY_EXAMPLES + 1)} == {""}
        assert lab.watches[0].deleted == [f"-e-{number}-" for number in range(2 * MANY_EXAMPLES)]
        lab.close()


def test_a_run_that_ended_early_says_so_in_a_shard_of_each_column(tmp_path: Path, state: Path) -> None:
    """Also of one on which nothing was run yet."""
    with Run.begin() as run:
        lab = Lab(Settings(versions=[], out=str(tmp_path)), run, "master", {"one": IMAGE, "other": IMAGE})
        lab.close("interrupted")
    shards = list(read_shards(tmp_path / "shards"))
    assert sorted(shard.header.column.label for shard in shards if shard.header is not None) == ["one", "other"]
    early = [shard.lines[-1].ended_early for shard in shards if isinstance(shard.lines[-1], Footer)]
    assert early == ["interrupted"] * 2
