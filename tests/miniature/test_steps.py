"""The machines' shared steps on the miniature, run by an executor without others."""

from __future__ import annotations

import dataclasses
from functools import singledispatchmethod

import msgspec
import pytest

from conformance.core.administration import TopicAdministration
from conformance.core.bench import Bench
from conformance.core.echoing import ECHOED, echo_request
from conformance.core.executor import UNANSWERED
from conformance.core.roles import Absent, Roles
from fixtures.faults.base.injector import Unhealed
from fixtures.faults.kinds.elections import MoveLeader
from fixtures.faults.kinds.process import Kill
from fixtures.faults.kinds.zombies import CutOffFromControllers
from fixtures.views.partition import PartitionView
from fixtures.waiting import OutOfTime
from fixtures.wire import NodeClient
from history.events import Answer, Call, Fault, Note
from history.steps import LEFT_OUT_NOTE
from protocol.codes import Error
from protocol.configs import ResourceType
from protocol.errors import KitError
from protocol.messages import Topic
from protocol.operations import OPERATIONS
from protocol.records import NewBatch, NewRecord
from protocol.topics import NewTopic, Reassignment
from strategies import steps
from tests.miniature.bench import mini_bench
from tests.miniature.core.cluster import MiniCluster


class Write(steps.Step, frozen=True, tag="write"):
    """A step of the machine's own."""

    timestamp: int | None = 1
    unanswered: str = ""


class Executor(TopicAdministration[steps.Step]):
    """An executor with one partition, written to by hand."""

    def __init__(self, bench: Bench) -> None:
        [made] = bench.node(bench.brokers[0]).create_topics([NewTopic("anchor", ((1, 2, 3),))]).topics
        self.anchor = Topic(made.name, made.topic_id)
        super().__init__(bench, bench.faults(self.anchor))
        self.roles = Roles(bench, {"anchor-0": ("anchor", 0)})
        self.rested: list[str] = []
        self.agreement = True

    @singledispatchmethod
    def run(self, step: steps.Step) -> None:
        super().run(step)

    @run.register
    def _(self, step: Write) -> None:
        if step.unanswered:
            raise next(kind for kind in UNANSWERED if kind.__name__ == step.unanswered)("no answer came")
        batch = NewBatch((NewRecord(b"value"),), timestamp=step.timestamp)
        self.roles.node("anchor-0", "leader").produce(self.anchor, 0, batch)

    def partition_for_fault(self, on: str) -> tuple[Topic, int]:
        return self.anchor, 0

    def before_fault(self) -> None:
        self.roles.remember_leaders()

    def after_fault(self) -> None:
        self.roles.refresh()

    def read_everything(self) -> None:
        self.roles.partition_state("anchor-0")

    def before_rest(self, *, healed: bool) -> None:
        self.rested.append("healed" if healed else "unhealed")

    def agrees(self) -> bool:
        self.rested.append("asked")
        return self.agreement

    def at_rest(self) -> None:
        self.rested.append("at rest")


@dataclasses.dataclass
class Example:
    executor: Executor

    def take(self, *taken: steps.Step) -> Example:
        for step in taken:
            self.executor.step(step)
        return self

    @property
    def events(self) -> list[object]:
        return list(self.executor.bench.tape.history.events)

    def calls(self, op: str) -> list[Call]:
        return [event for event in self.events if isinstance(event, Call) and event.op == op]

    def answers(self, op: str) -> list[Answer]:
        calls = {call.n for call in self.calls(op)}
        return [event for event in self.events if isinstance(event, Answer) and event.call in calls]

    def faults(self, phase: str) -> list[tuple[str, str]]:
        return [(e.fault, e.node) for e in self.events if isinstance(e, Fault) and e.phase == phase]

    @property
    def left_out(self) -> list[str]:
        return [e.data["reason"] for e in self.events if isinstance(e, Note) and e.text == LEFT_OUT_NOTE]


@pytest.fixture
def example() -> Example:
    return Example(Executor(mini_bench(MiniCluster())))


KILL_LEADER = steps.Disturb(on="anchor-0", fault=Kill(role="leader"))
KILL_FOLLOWER = steps.Disturb(on="anchor-0", fault=Kill(role="follower"))


# --- outcomes


@pytest.mark.parametrize("kind", UNANSWERED)
def test_a_step_without_an_answer_is_no_trouble(example: Example, kind: type[KitError]) -> None:
    example.take(Write(unanswered=kind.__name__), Write())
    assert len(example.answers("produce")) == 1


def test_a_step_that_the_executor_does_not_know_is_a_bug(example: Example) -> None:
    class Unknown(steps.Step, frozen=True, tag="unknown"):
        pass

    with pytest.raises(TypeError, match="does not know the step"):
        example.take(Unknown())


def test_executors_do_not_share_their_own_steps() -> None:
    class Another(Executor):
        @singledispatchmethod
        def run(self, step: steps.Step) -> None:
            super().run(step)

        @run.register
        def _(self, step: Write) -> None:
            self.rested.append("written elsewhere")

    elsewhere, here = Another(mini_bench(MiniCluster())), Executor(mini_bench(MiniCluster()))
    for executor in (elsewhere, here):
        executor.step(Write())
    assert (elsewhere.rested, here.rested) == (["written elsewhere"], [])


# --- faults


def test_a_standing_fault_stands_until_it_is_healed(example: Example) -> None:
    example.take(KILL_LEADER, Write())
    [(_, killed)] = example.faults("witness")
    assert example.executor.roles.down == {killed}
    assert example.executor.roles.node("anchor-0", "leader").node != killed
    assert example.take(steps.Heal()).faults("heal") == [("kill", killed)]
    assert example.executor.roles.down == set()
    assert example.executor.roles.node("anchor-0", "former-leader").node == killed


@pytest.mark.parametrize("which", [0, 1, 3])
def test_one_of_two_faults_is_healed_and_the_other_goes_on(example: Example, which: int) -> None:
    example.take(KILL_LEADER, KILL_FOLLOWER)
    first, second = (node for _, node in example.faults("witness"))
    example.take(steps.HealPartly(which=which))
    assert example.executor.roles.down == {second if which == 0 else first}
    example.take(steps.Heal())
    assert {node for _, node in example.faults("heal")} == {first, second}


def test_a_transient_fault_is_over_with_its_step(example: Example) -> None:
    example.take(steps.DisturbBriefly(on="anchor-0", fault=MoveLeader()))
    assert [fault for fault, _ in example.faults("heal")] == ["move-leader"]
    assert example.left_out == []


def test_what_cannot_be_done_is_left_out_and_says_why(example: Example) -> None:
    example.take(steps.HealPartly(), KILL_LEADER, steps.DisturbBriefly(on="anchor-0", fault=MoveLeader()))
    example.take(steps.Disturb(on="anchor-0", fault=Kill(role="no-such-role")))
    assert [reason.split(";")[0] for reason in example.left_out] == [
        "no fault stands",
        "another fault stands",
        "kill cannot be aimed at 'no-such-role'",
    ]


def test_after_a_fault_that_did_not_heal_no_step_is_run(example: Example, monkeypatch: pytest.MonkeyPatch) -> None:
    def unhealed(fault: object) -> None:
        raise Unhealed("it stays broken")

    monkeypatch.setattr(example.executor.faults, "heal", unhealed)
    example.take(KILL_FOLLOWER, steps.Heal(), Write())
    assert example.calls("produce") == []
    with pytest.raises(Unhealed, match="it stays broken"):
        example.executor.bring_to_rest()
    assert example.executor.rested == ["unhealed", "asked", "at rest"]
    # That the cluster does not agree is for the judges, whatever became of the fault.
    example.executor.agreement = False
    example.executor.bring_to_rest()


def test_where_there_was_no_time_left_to_heal_nothing_is_read(
    example: Example, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut_off(fault: object) -> None:
        try:
            raise Unhealed("kill healed: not within 3 s") from OutOfTime("time was up while waiting")
        except Unhealed as one_of_several:
            raise Unhealed("kill healed; stop healed") from one_of_several

    monkeypatch.setattr(example.executor.faults, "heal", cut_off)
    example.take(KILL_FOLLOWER, steps.Heal())
    with pytest.raises(Unhealed, match="stop healed"):
        example.executor.bring_to_rest()
    assert example.executor.rested == []


# --- rest


def test_at_rest_all_is_healed_before_the_cluster_has_to_agree(example: Example) -> None:
    example.take(KILL_LEADER).executor.bring_to_rest()
    assert len(example.faults("heal")) == 1
    assert example.executor.rested == ["healed", "asked", "at rest"]


def test_a_cluster_that_does_not_agree_is_asked_nothing_more(example: Example) -> None:
    example.executor.agreement = False
    example.executor.bring_to_rest()
    assert example.executor.rested == ["healed", "asked"]


def test_everything_is_read_when_a_schedule_says_so(example: Example) -> None:
    assert example.take(steps.ReadEverything()).calls("metadata")


# --- echoes


def test_an_echo_repeats_a_request_with_all_its_fields(example: Example) -> None:
    example.take(Write(timestamp=5), Write(timestamp=6), steps.Echo(back=1))
    first, _, echoed = example.calls("produce")
    assert (echoed.node, echoed.request | {"version": None}) == (first.node, first.request)
    spoken = [answer.value["version"] for answer in example.answers("produce")]
    assert len(set(spoken)) == 1


def test_only_requests_that_change_something_are_echoed(example: Example) -> None:
    example.take(Write(), steps.ReadEverything(), steps.Echo(back=0))
    assert len(example.calls("produce")) == 2


def test_a_batch_that_is_stamped_when_it_is_encoded_is_not_echoed(example: Example) -> None:
    """Its bytes would differ."""
    example.take(Write(timestamp=None), steps.Echo())
    assert len(example.calls("produce")) == 1


def test_what_prepares_the_log_of_a_coordinator_is_not_echoed() -> None:
    bench = mini_bench(MiniCluster())
    bench.node(1).alter_partition_reassignments([Reassignment("__transaction_state", 0, (1,))])
    bench.node(1).incremental_alter_configs(ResourceType.TOPIC, "__transaction_state", {"min.insync.replicas": "1"})
    with pytest.raises(Absent):
        echo_request(bench, 0)


def test_there_is_nothing_to_echo_before_the_first_request() -> None:
    with pytest.raises(Absent, match="no request of the example"):
        echo_request(mini_bench(MiniCluster()), 0)


@pytest.mark.parametrize("op", sorted(ECHOED))
def test_what_may_be_echoed_is_a_typed_call(op: str) -> None:
    assert op in OPERATIONS
    assert hasattr(NodeClient, op)


# --- administration


def test_requests_name_the_topic_of_the_example(example: Example) -> None:
    example.take(
        steps.CreateTopic(on="orders", partitions=2, replication_factor=3, configs={"min.insync.replicas": "2"}),
        steps.AlterConfig(on="orders", key="retention.ms", value="1000"),
        steps.AddPartitions(on="orders", total=3),
        steps.ElectPreferredLeader(on="orders", partition=1),
        steps.DeleteTopic(on="orders"),
    )
    name, id = example.executor.topic("orders").name, str(example.executor.topic("orders").id)
    [_, created] = example.calls("create_topics")
    [altered], [grown] = example.calls("incremental_alter_configs"), example.calls("create_partitions")
    [elected], [deleted] = example.calls("elect_leaders"), example.calls("delete_topics")
    [wanted] = created.request["topics"]
    assert (wanted["name"], wanted["num_partitions"], wanted["replication_factor"]) == (name, 2, 3)
    assert wanted["configs"] == {"min.insync.replicas": "2"}
    assert (altered.request["resource_name"], altered.request["changes"]) == (name, {"retention.ms": "1000"})
    assert (grown.request["topic"], grown.request["count"]) == (name, 3)
    assert elected.request["partitions"] == [(name, 1)]
    assert deleted.request["topics"] == [{"name": name, "id": id}]


def test_a_topic_is_created_again_under_its_name(example: Example) -> None:
    example.take(steps.CreateTopic(on="orders"), steps.CreateTopic(on="orders"))
    [_, first, second] = example.calls("create_topics")
    assert first.request["topics"] == second.request["topics"]
    assert example.answers("create_topics")[-1].value["topics"][0]["error_code"] == Error.TOPIC_ALREADY_EXISTS


def test_a_recreated_topic_is_first_deleted(example: Example) -> None:
    example.take(steps.CreateTopic(on="orders"), steps.RecreateTopic(on="orders"))
    [deleted] = example.calls("delete_topics")
    assert deleted.request["topics"] == [example.executor.topic("orders").name]


def test_topics_are_administered_while_a_broker_is_down(example: Example) -> None:
    example.take(KILL_LEADER, steps.CreateTopic(on="orders", replication_factor=2))
    [_, created] = example.answers("create_topics")
    assert created.outcome == "ok"


def test_a_topic_that_was_never_created_is_left_out(example: Example) -> None:
    example.take(steps.DeleteTopic(on="orders"), steps.AddPartitions(on="orders"))
    assert example.left_out == ["orders was not created yet"] * 2


def test_names_are_those_of_the_example(example: Example) -> None:
    example.take(steps.CreateTopic(on="orders"))
    assert example.executor.bench.tape.example.example in example.executor.topic("orders").name


def test_leaders_are_noted_before_a_fault_without_waiting_for_an_election(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = mini_bench(MiniCluster())
    bench.node("broker-1").create_topics([NewTopic("one", ((1, 2),))])
    roles = Roles(bench, {"one-0": ("one", 0)})
    roles.remember_leaders()
    roles.down = {"broker-1"}

    def waits(_: Bench, probe: object, what: str, **__: object) -> object:
        raise AssertionError(f"waits for {what}")

    monkeypatch.setattr(Bench, "eventually", waits)
    roles.remember_leaders()
    with pytest.raises(AssertionError, match="waits for a leader of one-0"):
        roles.partition_state("one-0")


def test_one_look_serves_all_roles(example: Example) -> None:
    roles = example.executor.roles
    with roles.shared_metadata():
        looked = len(example.calls("metadata"))
        for _ in range(3):
            assert roles.partition_state("anchor-0").leader == example.executor.bench.id_of(
                roles.node("anchor-0", "leader").node
            )
        assert len(example.calls("metadata")) == looked
    roles.partition_state("anchor-0")
    assert len(example.calls("metadata")) > looked


def test_elections_of_all_partitions_are_awaited_once_after_a_fault(example: Example) -> None:
    """Topics of one replica each, on the broker that is killed."""
    bench, roles = example.executor.bench, example.executor.roles
    leader = roles.partition_state("anchor-0").leader
    for name in ("one", "other"):
        bench.node(leader).create_topics([NewTopic(name, ((leader,),))])
        roles.add(f"{name}-0", name, 0)
    example.take(KILL_LEADER)

    def looks(on: str) -> int:
        before = len(example.calls("metadata"))
        with pytest.raises(Absent, match=f"{on} has no leader"):
            roles.partition_state(on)
        return len(example.calls("metadata")) - before

    assert looks("one-0") > 10 > looks("other-0") > 0
    assert roles.partition_state("anchor-0").leader != leader


def test_a_partition_is_leaderless_while_a_replica_runs_that_may_lead(monkeypatch: pytest.MonkeyPatch) -> None:
    roles = Executor(mini_bench(MiniCluster())).roles
    newest = roles.partition_state("anchor-0")

    def described(leader: int, isr: tuple[int, ...], *down: str) -> list[str]:
        state = msgspec.structs.replace(newest, leader=leader, isr=isr)
        monkeypatch.setattr(PartitionView, "newest_in", lambda view, answers: state)
        roles.down = {*down}
        return roles.leaderless_partitions()

    assert described(1, (1, 2)) == described(2, (1, 2), "broker-1") == []
    assert described(-1, (1, 2)) == described(1, (1, 2), "broker-1") == ["anchor-0"]
    assert described(-1, (1,), "broker-1") == described(-1, ()) == []


def test_administration_asks_a_broker_that_no_fault_has_hit_while_there_is_one(example: Example) -> None:
    asked = [example.executor.asked_broker().node]
    for role in ("leader", "follower", "broker"):
        example.take(steps.Disturb(on="anchor-0", fault=CutOffFromControllers(role=role), follow=False))
        asked.append(example.executor.asked_broker().node)
    assert asked[:2] == ["broker-1", "broker-2"]
    assert {*asked} <= {"broker-1", "broker-2", "broker-3"}
