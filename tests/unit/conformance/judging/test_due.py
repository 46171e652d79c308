"""Steps that the tested system owes: violated once a bound has passed, unless the machine or the kit was to blame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

import msgspec
import pytest

from conformance.catalogue import shipped_rows
from conformance.judging.due import LEADS, OWED_STEPS, PROMISES, hindrance
from conformance.judging.judge import judge_all, judge_history
from history.due import Due, is_starved
from history.effects import Effects
from history.events import Answer, AnyEvent, Call, Ended, Example, Fault, History, Overdue

CONTROLLERS = [{"name": f"controller-{id}", "id": id, "role": "controller"} for id in (101, 102, 103)]
BROKERS = [{"name": f"broker-{id}", "id": id, "role": "broker"} for id in (1, 2, 3)]
DOWN = Effects(process="down", abrupt=True)
HALTED = "[..] ERROR Shutdown broker because all log dirs in /data have failed (kafka.log.LogManager)"


def history_of(*events: AnyEvent) -> History:
    """The events in this order; an answer is that to the call right before."""
    example = Example(example="e", check="c", column="4.3.1", members=[*CONTROLLERS, *BROKERS])
    return History(example=example, events=numbered([*events]))


def numbered(events: list[AnyEvent]) -> list[AnyEvent]:
    """The events, an answer being that to the call right before, with their numbers."""
    return [
        msgspec.structs.replace(event, n=n, **({"call": n - 1} if isinstance(event, Answer) else {}))
        for n, event in enumerate(events)
    ]


def overdue(due: Due = "leader", within: float = 30.0, late: float = 0.0, n: int = 0) -> Overdue:
    return Overdue(n=n, t=30.0, due=due, what=f"{due}: not within {within:g} s", within=within, late=late)


def ended(node: str = "broker-2", **fields: Any) -> Ended:
    return Ended(n=5, t=3.0, node=node, exit_code=1, **fields)


def fault(n: int, phase: Any, *, effects: Effects | None = None, node: str = "broker-2", **detail: Any) -> Fault:
    return Fault(
        n=n, t=0.0, fault="some", phase=phase, role="active controller", node=node, detail=detail, effects=effects
    )


def seen(*events: AnyEvent) -> list[tuple[str, str]]:
    return [(one.requirement, one.result) for one in judge_all(PROMISES, history_of(*events))]


def cases(*events: AnyEvent) -> list[str]:
    """The cases that the nodes that came back show."""
    return [one.case for one in judge_all(PROMISES, history_of(*events)) if one.result == "held"]


def excused(*events: AnyEvent) -> list[tuple[str, str]]:
    return [(one.requirement, one.excuse) for one in judge_history(PROMISES, history_of(*events)).excuses]


# --- bounds that passed


@pytest.mark.parametrize("due", get_args(Due))
def test_a_bound_that_passed_breaks_the_row_that_promises_it(due: Due) -> None:
    rows = {OWED_STEPS[due].row} | ({LEADS.row} if due == "quorum" else set())
    passed = overdue(due, max(30.0, OWED_STEPS[due].within))
    assert sorted(seen(passed)) == [(row, "violated") for row in sorted(rows)]
    assert hindrance(history_of(passed)).startswith(OWED_STEPS[due].row)


def case_of(due: Due, effects: Effects, *described: AnyEvent) -> str:
    """The case of a bound that passed after such a fault hit broker 2."""
    [found] = judge_all(PROMISES, history_of(fault(0, "inject", effects=effects), *described, never_came(due)))
    return found.case


REPLACED = Effects(disk=("log-dir",))


def test_a_leader_is_a_case_of_its_own_where_only_a_replaced_disk_may_lead() -> None:
    assert case_of("leader", REPLACED, *described([2])) == "disk-replaced"
    assert case_of("leader", REPLACED, *described([]), *eligible(2)) == "disk-replaced"
    assert case_of("leader", REPLACED, *described([]), *eligible(known=[2])) == "disk-replaced"


def test_a_leader_is_missing_though_later_answers_are_about_other_topics() -> None:
    leading = {"error_code": 0, "partition_index": 0, "leader_id": 1, "isr_nodes": [1], "replica_nodes": [1]}
    value = {
        "version": 9,
        "brokers": [broker(1)],
        "topics": [{"error_code": 0, "name": "other", "partitions": [leading]}],
    }
    [asked, answer] = described([2])
    assert isinstance(answer, Answer)
    later = [asked, msgspec.structs.replace(answer, value=value)]
    assert case_of("leader", REPLACED, *described([2]), *later) == "disk-replaced"
    assert case_of("leader", REPLACED, *described([2, 1]), *later) == "clean"


def test_no_other_leader_is_forgiven_for_a_replaced_disk() -> None:
    assert case_of("leader", REPLACED, *described([2, 1])) == "clean"
    assert case_of("leader", REPLACED, *described([])) == "clean"
    assert case_of("leader", REPLACED) == "clean"
    assert case_of("leader", Effects(disk=("replica",)), *described([2])) == "clean"
    assert case_of("coordinator", REPLACED, *described([2])) == "coordinator"


@pytest.mark.parametrize("owed", [*OWED_STEPS.values(), LEADS])
def test_each_row_and_case_that_promises_a_step_is_in_the_catalogue(owed: Any) -> None:
    assert owed.case in {case.id for case in shipped_rows()[owed.row].cases}


def test_a_shorter_wait_breaks_nothing_and_blames_nobody() -> None:
    assert seen(overdue(within=20.0)) == excused(overdue(within=20.0)) == []
    assert hindrance(history_of(overdue(within=20.0))) == "", "it is trouble of the kit, which is told"
    assert "woke 9.0 s late" in hindrance(history_of(overdue(within=20.0, late=9.0)))


def test_a_bound_that_passed_while_the_kit_starved_breaks_nothing_and_tells_the_figure() -> None:
    assert seen(overdue(late=7.4)) == [("GEN-08", "violated")]
    assert seen(overdue(late=7.6)) == excused(overdue(late=7.4)) == []
    assert excused(overdue(late=7.6)) == [("GEN-08", "kit-starved")]
    assert hindrance(history_of(overdue(late=7.6))).startswith("the kit itself woke 7.6 s late")


@pytest.mark.parametrize(("late", "result"), [(7.4, False), (7.5, True), (20.0, True)])
def test_a_quarter_of_the_bound_is_starvation(late: float, result: bool) -> None:
    assert is_starved(late, 30.0) is result


def test_what_is_due_at_once_was_not_waited_for() -> None:
    assert not is_starved(0.0, 0.0)
    assert seen(overdue("assignment in the log", within=0.0)) == [("KIP1251-AE-04", "violated")]


def broker(id: int) -> dict[str, Any]:
    return {"node_id": id, "host": "h", "port": 9092}


def described(isr: list[int]) -> list[AnyEvent]:
    """Broker 2 describes a partition without a leader, broker 3 being fenced."""
    partition = {"error_code": 0, "partition_index": 0, "leader_id": -1, "isr_nodes": isr, "replica_nodes": [3, 2]}
    value = {
        "version": 9,
        "brokers": [broker(1), broker(2)],
        "topics": [{"error_code": 0, "name": "t", "partitions": [partition]}],
    }
    asked = Call(n=0, t=0.0, op="metadata", node="broker-2", request={})
    return [asked, Answer(n=1, t=0.1, call=0, outcome="ok", value=value)]


def eligible(*replicas: int, known: Sequence[int] = ()) -> list[AnyEvent]:
    partition = {
        "error_code": 0,
        "partition_index": 0,
        "leader_id": -1,
        "replica_nodes": [],
        "isr_nodes": [],
        "eligible_leader_replicas": list(replicas),
        "last_known_elr": list(known),
    }
    value = {"version": 0, "topics": [{"error_code": 0, "name": "t", "partitions": [partition]}]}
    asked = Call(n=2, t=0.2, op="describe_topic_partitions", node="broker-2", request={})
    return [asked, Answer(n=3, t=0.3, call=2, outcome="ok", value=value)]


def never_came(due: Due = "leader") -> Overdue:
    return Overdue(n=9, t=31.0, due=due, what="it did not come within 60 s", within=60.0)


@pytest.mark.parametrize("events", [described([3]), [*described([]), *eligible(3)]])
def test_nothing_is_due_from_a_partition_without_a_replica_that_may_lead(events: list[AnyEvent]) -> None:
    assert seen(fault(0, "inject", effects=DOWN, node="broker-3"), *events, never_came()) == []


@pytest.mark.parametrize("events", [described([3]), [*described([]), *eligible(3)]])
def test_a_leader_is_due_where_a_broker_that_runs_stays_fenced(events: list[AnyEvent]) -> None:
    assert seen(*events, never_came()) == [("GEN-08", "violated")]


@pytest.mark.parametrize("events", [described([2, 3]), described([]), [*described([]), *eligible(2, 3)]])
def test_a_leader_is_due_unless_all_replicas_that_may_lead_are_known_to_be_away(events: list[AnyEvent]) -> None:
    assert seen(*events, never_came()) == [("GEN-08", "violated")]


def elected(error: int) -> list[AnyEvent]:
    """The election of the preferred leader, and a description of a partition that 2 leads."""
    value = {"version": 2, "partitions": [{"version": 2, "topic": "t", "partition": 0, "error_code": error}]}
    asked = Call(n=2, t=0.2, op="elect_leaders", node="broker-2", request={"election_type": 0})
    return [asked, Answer(n=3, t=0.3, call=2, outcome="ok", value=value)]


def led_by_2(isr: list[int], alive: tuple[int, ...] = (2, 3)) -> list[AnyEvent]:
    partition = {"error_code": 0, "partition_index": 0, "leader_id": 2, "isr_nodes": isr, "replica_nodes": [3, 2]}
    brokers = [broker(id) for id in alive]
    value = {"version": 9, "brokers": brokers, "topics": [{"error_code": 0, "name": "t", "partitions": [partition]}]}
    asked = Call(n=4, t=0.4, op="metadata", node="broker-2", request={})
    return [asked, Answer(n=5, t=0.5, call=4, outcome="ok", value=value)]


@pytest.mark.parametrize("events", [[*elected(80), *led_by_2([2])], [*elected(80), *led_by_2([2, 3], alive=(2,))]])
def test_a_preferred_leader_that_is_out_of_sync_is_not_due(events: list[AnyEvent]) -> None:
    assert seen(*events, never_came("step")) == []


@pytest.mark.parametrize(
    "events",
    [[*elected(0), *led_by_2([2])], [*elected(80), *led_by_2([2, 3])], [*elected(80), *elected(0), *led_by_2([2])]],
)
def test_a_preferred_leader_is_due_where_it_was_elected_or_is_in_sync(events: list[AnyEvent]) -> None:
    assert seen(*events, never_came("step")) == [("GEN-21", "violated")]


def test_a_description_from_before_a_node_came_back_excuses_nothing() -> None:
    came_back = [fault(2, "inject", effects=DOWN), fault(3, "heal", seconds=3.0)]
    assert ("GEN-08", "violated") in seen(*described([3]), *came_back, never_came())
    down = fault(0, "inject", effects=DOWN, node="broker-3")
    assert ("GEN-08", "violated") not in seen(down, *described([3]), *came_back, *described([3]), never_came())


def unanswered(asked: int, answered: int) -> list[AnyEvent]:
    call = Call(n=asked, t=0.0, op="produce", node="broker-1", request={})
    lost = Answer(n=answered, t=10.0, call=asked, outcome="info", error="no answer", kind="Unanswered")
    return [call, lost, overdue("answer", 10.0, n=9)]


def test_no_answer_is_due_while_a_fault_stands() -> None:
    """The fault may have been healed by the time that the wait ends."""
    stood = [
        fault(0, "inject", effects=DOWN, node="broker-1"),
        *unanswered(1, 2)[:2],
        fault(3, "heal", node="broker-1"),
        *unanswered(1, 2)[2:],
    ]
    assert seen(*stood) == []
    assert (excused(*stood), hindrance(history_of(*stood))) == ([("GEN-21", "fault-standing")], "")


@pytest.mark.parametrize(("healed", "expected"), [(-21.0, []), (-19.0, [("GEN-21", "fault-standing")])])
def test_the_consequences_of_a_fault_last_for_30_s(healed: float, expected: list[tuple[str, str]]) -> None:
    """The answer is due 10 s after time 0, at which it is asked for."""
    hit = [fault(0, "inject", effects=DOWN, node="broker-1"), fault(1, "heal", node="broker-1")]
    history = [*(msgspec.structs.replace(one, t=healed) for one in hit), *unanswered(2, 3)]
    assert excused(*history) == expected
    assert seen(*history) == ([] if expected else [("GEN-21", "violated")])


def test_a_transaction_coordinator_waits_for_brokers_that_replicate_its_log() -> None:
    asked, *rest = unanswered(1, 2)
    hit = fault(0, "inject", effects=DOWN)
    assert seen(hit, msgspec.structs.replace(asked, op="end_txn"), *rest) == []
    assert seen(hit, msgspec.structs.replace(asked, op="offset_commit"), *rest) == [("GEN-21", "violated")]


def test_a_fault_on_another_node_keeps_nobody_from_answering() -> None:
    for other, result in ("broker-2", [("GEN-21", "violated")]), ("controller-101", [("GEN-21", "violated")]):
        assert seen(fault(0, "inject", effects=DOWN, node=other), *unanswered(1, 2)) == result


def test_a_fault_on_a_controller_keeps_a_broker_from_answering_what_that_serves() -> None:
    asked, *rest = unanswered(1, 2)
    asked = msgspec.structs.replace(asked, op="create_topics")
    assert seen(fault(0, "inject", effects=DOWN, node="controller-101"), asked, *rest) == []
    assert seen(fault(0, "inject", effects=DOWN), asked, *rest) == [("GEN-21", "violated")]


def test_a_node_is_due_even_if_partitions_lack_a_leader() -> None:
    assert seen(*described([3]), never_came("node")) == [("GEN-10", "violated")]


# --- processes that ended


def test_a_process_that_ends_by_itself_breaks_the_law() -> None:
    assert seen(ended()) == [("GEN-10", "violated")]
    assert hindrance(history_of(ended())) == "GEN-10: broker-2 ended by itself with exit code 1"


def test_the_machine_is_to_blame_for_a_process_killed_for_lack_of_memory() -> None:
    assert seen(ended(out_of_memory=True), overdue()) == []
    assert excused(ended(out_of_memory=True), overdue()) == [("GEN-08", "out-of-memory"), ("GEN-10", "out-of-memory")]
    assert hindrance(history_of(ended(out_of_memory=True), overdue())) == ""


@pytest.mark.parametrize(
    ("effects", "node", "result"),
    [
        (Effects(process="may-restart"), "broker-2", [("GEN-10", "violated")]),
        (Effects(disk=("log-dir",)), "broker-2", []),
        (Effects(process="restarts", fails_writes=True), "broker-2", []),
        (Effects(process="restarts", fails_writes=True), "broker-1", [("GEN-10", "violated")]),
        (Effects(process="restarts"), "broker-2", [("GEN-10", "violated")]),
        (Effects(disk=("log-dir",)), "broker-1,broker-3", [("GEN-10", "violated")]),
        (Effects(disk=("log-tail",)), "broker-2", [("GEN-10", "violated")]),
    ],
)
def test_a_fault_may_end_a_process_where_its_effects_say_so(effects: Effects, node: str, result: Any) -> None:
    events = (fault(1, "inject", effects=effects, node=node), ended(log=HALTED))
    assert seen(*events) == result
    assert excused(*events) == ([] if result else [("GEN-10", "ended-by-fault")])


@pytest.mark.parametrize(
    "log",
    [
        "[2026-11-26 21:50:36,123] ERROR Shutdown broker because all log dirs in /data have failed (kafka.log.LogManager)",
        "[..] FATAL Shutdown broker because none of the specified log dirs from /data can be created or validated",
        "[..] ERROR Shutdown broker because the metadata log dir /data has failed (kafka.server.ReplicaManager)",
        "[..] ERROR Shutting down because couldn't communicate offline log dir 5NTo with controllers",
        "[..] ERROR Encountered fatal fault: in the raft IO thread\nKafkaStorageException: append\nCaused by: IOException",
    ],
)
def test_a_fault_ended_a_process_that_tells_of_its_log_directories(log: str) -> None:
    assert excused(fault(0, "inject", effects=REPLACED), ended(log=log)) == [("GEN-10", "ended-by-fault")]


@pytest.mark.parametrize(
    "log", ["", "[..] ERROR Encountered fatal fault: NullPointerException", "KafkaStorageException"]
)
def test_a_process_on_a_replaced_disk_that_ends_for_another_reason_breaks_the_law(log: str) -> None:
    assert seen(fault(0, "inject", effects=REPLACED), ended(log=log)) == [("GEN-10", "violated")]


def test_a_broker_with_another_log_directory_ends_only_by_a_further_fault() -> None:
    failed = fault(
        0, "inject", effects=Effects(process="restarts-when-healed", abrupt=True, fails_writes=True), node="broker-2"
    )
    assert seen(failed, ended(log=HALTED)) == [("GEN-10", "violated")]
    assert excused(failed, fault(1, "inject", effects=DOWN, node="controller-101"), ended(log=HALTED)) == [
        ("GEN-10", "ended-by-fault")
    ]


def test_a_fault_that_is_over_ends_no_process() -> None:
    over = [fault(0, "inject", effects=REPLACED), fault(1, "heal")]
    asked = Call(n=2, t=0.0, op="metadata", node="broker-2", request={})
    answered = Answer(n=3, t=0.1, call=2, outcome="ok", value={"version": 9, "brokers": [], "topics": []})
    assert seen(*over, ended(log=HALTED)) == []
    assert seen(*over, asked, answered, ended(log=HALTED)) == [("GEN-10", "violated")]


# --- nodes that come back


def test_each_node_that_was_started_again_counts_once_the_cluster_is_whole() -> None:
    both = "broker-1,broker-2"
    assert cases(fault(0, "inject", effects=DOWN, node=both), fault(1, "heal", node=both, seconds=3.0)) == [
        "start", "killed", "start", "killed"]  # fmt: skip


@pytest.mark.parametrize(
    ("effects", "case"),
    [
        (Effects(process="down"), "stopped"),
        (Effects(process="restarts"), "stopped"),
        (Effects(process="restarts-when-healed", abrupt=True, fails_writes=True), "killed"),
        (Effects(process="frozen"), "frozen"),
        (Effects(process="down", abrupt=True, disk=("log-tail",)), "tail"),
        (Effects(process="down", disk=("epoch-checkpoint",)), "file"),
    ],
)
def test_a_node_that_came_back_counts_for_what_happened_to_it(effects: Effects, case: str) -> None:
    started = [] if effects.process == "frozen" else ["start"]
    assert cases(fault(0, "inject", effects=effects), fault(1, "heal", seconds=3.0)) == [*started, case]


def test_a_process_that_merely_runs_or_never_ended_is_no_observation() -> None:
    assert seen(fault(0, "inject", effects=DOWN), fault(1, "heal", started_at="now")) == []
    assert seen(fault(0, "inject", effects=Effects()), fault(1, "heal", seconds=3.0)) == []


# --- reactions


def reaction(role: str, *, met: bool = True, effects: Effects = DOWN, **shown: Any) -> list[AnyEvent]:
    detail = {"met": met, "seconds": 31.0, **shown}
    hit = fault(0, "inject", effects=effects)
    return [hit, Fault(n=1, t=0.0, fault="some", phase="consequence", role=role, node="broker-2", detail=detail)]


@pytest.mark.parametrize(
    ("role", "shown", "row", "case"),
    [
        ("leader", {"leader": [2, 1]}, "GEN-08", "clean"),
        ("group coordinator", {"coordinator": [2, 1]}, "GEN-08", "coordinator"),
        ("follower", {"ISR": [[1, 2], [1]]}, "GEN-21", "step"),
        ("broker", {"fenced": ["broker-2"]}, "GEN-21", "step"),
    ],
)
def test_a_reaction_in_time_counts_for_its_row_and_a_missing_one_is_not_judged_here(
    role: str, shown: dict[str, Any], row: str, case: str
) -> None:
    [found] = judge_all(PROMISES, history_of(*reaction(role, **shown)))
    assert (found.requirement, found.case, found.result, found.lived) == (row, case, "held", ["some"])
    assert seen(*reaction(role, met=False, **shown)) == []


@pytest.mark.parametrize(
    ("effects", "shown"),
    [
        (Effects(appends=True, spares_nodes=True), {"segments": [1, 2]}),
        (Effects(election="clean", spares_nodes=True), {"leader": [2, 1]}),
        (Effects(process="may-restart", election="unclean"), {"leader": [2, 1]}),
        (DOWN, {"leader": [2, 2]}),
        (Effects(), {"leader": 1}),
    ],
    ids=["a new segment", "a leader that was moved", "an unclean election", "the same leader", "a reassignment"],
)
def test_what_is_no_election_after_the_loss_of_a_leader_is_only_a_step(effects: Effects, shown: dict[str, Any]) -> None:
    assert seen(*reaction("leader", effects=effects, **shown)) == [("GEN-21", "held")]


# --- the quorum


def test_a_successor_in_time_holds_and_none_in_thirty_seconds_breaks() -> None:
    rows = ("KIP595-LIVE-01", "GEN-08")
    found = fault(1, "consequence", met=True, seconds=2.0, controller=[101, 102])
    assert seen(found) == [(row, "held") for row in rows]
    assert seen(fault(1, "consequence", met=False, seconds=30.1)) == [(row, "violated") for row in rows]


@pytest.mark.parametrize(
    ("detail", "excuses"),
    [
        ({"seconds": 20.0}, []),
        ({"seconds": 30.1, "late": 8.0}, ["kit-starved"]),
        ({"seconds": 30.1, "trouble": "x"}, ["state-not-read"]),
    ],
)
def test_an_election_that_was_not_watched_for_long_enough_says_nothing(detail: Any, excuses: list[str]) -> None:
    event = fault(1, "consequence", met=False, **detail)
    assert seen(event) == []
    assert excused(event) == [(row, excuse) for row in ("GEN-08", "KIP595-LIVE-01") for excuse in excuses]


# --- sentences


CRASHED = """[2026-11-27 03:53:16,158] INFO Awaiting socket connections on 0.0.0.0:9093. (kafka.network.DataPlaneAcceptor)
[2026-11-27 03:53:16,191] ERROR Encountered fatal fault: Unexpected error in raft IO thread (org.apache.kafka.server.Handler)
java.lang.IllegalStateException: Received request to become follower of 102
\tat org.apache.kafka.raft.QuorumState.transition(QuorumState.java:1)
[2026-11-27 03:53:16,201] INFO shutting down (kafka.server.ControllerServer)"""


def sentences(*events: AnyEvent) -> list[str]:
    return [one.detail.partition(" Promised")[0] for one in judge_all(PROMISES, history_of(*events))]


def test_a_wait_in_vain_is_told_with_the_fault_before_it() -> None:
    assert sentences(overdue()) == ["The kit waited in vain for leader: not within 30 s."]
    hit = fault(0, "inject", effects=DOWN)
    assert sentences(hit, fault(1, "witness"), overdue())[0].endswith("30 s, after some of broker-2.")
    assert sentences(hit, fault(1, "heal"), overdue())[0].endswith("30 s, after some of broker-2 was healed.")


def test_an_end_is_told_with_the_error_that_the_process_logged() -> None:
    hit = fault(0, "inject", node="broker-1", effects=DOWN)
    assert sentences(hit, ended(log=CRASHED)) == [
        "broker-2 ended by itself with exit code 1; it logged: Encountered fatal fault: Unexpected error in raft IO thread: "
        "java.lang.IllegalStateException: Received request to become follower of 102."
    ]
    assert sentences(ended(log="first\nlast")) == ["broker-2 ended by itself with exit code 1; it logged: last."]
    assert sentences(ended()) == ["broker-2 ended by itself with exit code 1."]
    assert "1, after some of broker-2; it" in sentences(fault(0, "inject", effects=DOWN), ended(log=CRASHED))[0]
