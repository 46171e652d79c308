"""The contract of every fault, including future ones: each is picked up from the catalogue automatically.

On brokers each is injected and sabotaged in tests/live; here what it declares, and what the miniature makes of it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conformance.core.bench import Bench
from conformance.rigs.log.partition import Partition, new_partition
from conformance.rigs.log.quiescence import at_rest
from fixtures.faults.base.fault import Fault, Unavailable
from fixtures.faults.base.injector import Unwitnessed
from fixtures.faults.base.overlaps import clash
from fixtures.faults.base.roles import ROLES
from fixtures.faults.catalogue import FAULTS
from fixtures.faults.kinds.unclean import UncleanElection, UncleanElectionByConfig
from fixtures.faults.plans import AnyFault
from history.effects import Effects
from history.events import Fault as FaultEvent
from strategies.faults import faults_of
from tests.miniature.bench import mini_bench
from tests.miniature.core.cluster import MiniCluster
from tests.miniature.faults.effects import players
from tests.miniature.faults.injector import PLAYED_BY

NOT_PLAYED = {
    "bridge": "the miniature's brokers reach each other or not, and no other shape has been needed",
    "clock-shift": "one logical clock for all",
    "compaction": "compaction goes on by itself",
    "cut-at-request": "no bytes on a wire",
    "cut-epoch-checkpoint": "a checkpoint is there or not, and never half of it",
    "delay": "no bytes on a wire",
    "drop": "links are cut, not packets dropped",
    "drop-answer": "no bytes on a wire",
    "failed-directory": "one log directory, which never fails",
    "failed-disk": "one log directory, which never fails",
    "fenced-producer": "no producer ids",
    "flip-bytes": "no files",
    "freeze": "a pause of another length is `pause-past-fencing`",
    "full-disk": "disks without bounds",
    "halves": "the miniature's brokers reach each other or not, and no other shape has been needed",
    "hold": "no bytes on a wire",
    "isolated-controller-leader": "one controller, which never fails",
    "late-consumer": "consumers of the machine only",
    "late-member": "consumers of the machine only",
    "lose-quorum-state": "one controller, which never fails",
    "loss": "links are cut, not packets lost",
    "move-coordinator": "the coordinator is the first broker that is not fenced",
    "old-epoch-checkpoint": "a checkpoint is there or not, and never an older one",
    "one-link": "the miniature's brokers reach each other or not, and no other shape has been needed",
    "recreate-topic": "topics are created again by the steps of a machine",
    "reject": "links are cut, not packets rejected",
    "remove-index-files": "no files",
    "remove-rebuilt-file": "no files",
    "remove-replica": "a replica is lost with its whole disk (`wipe-disk`)",
    "remove-watermark-checkpoint": "a high watermark is never read from a file",
    "ring": "the miniature's brokers reach each other or not, and no other shape has been needed",
    "roll-by-time": "no segments",
    "torn-producer-snapshot": "no files",
}
"""Faults that the miniature does not have, by name, and why. A fault is played or stands here."""

PLAYED = sorted(PLAYED_BY, key=lambda kind: str(kind.__struct_config__.tag))


def name_of(kind: type[Fault]) -> str:
    return str(kind.__struct_config__.tag)


every_fault = pytest.mark.parametrize("kind", FAULTS, ids=name_of)


# --- what it declares


@every_fault
def test_it_has_a_name_of_its_own_and_says_what_it_is(kind: type[Fault]) -> None:
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", name_of(kind))
    assert [one for one in FAULTS if name_of(one) == name_of(kind)] == [kind]
    assert inspect.getdoc(kind) not in (None, inspect.getdoc(Fault)), "no docstring"


@every_fault
def test_it_is_aimed_at_roles_that_there_are(kind: type[Fault]) -> None:
    assert kind.roles
    assert set(kind.roles) <= ROLES.keys()
    assert len(set(kind.roles)) == len(kind.roles)


@every_fault
@pytest.mark.parametrize("act", ["availability", "prepare", "inject", "witness", "consequence", "heal", "restoration"])
def test_its_acts_take_what_those_of_every_fault_take(kind: type[Fault], act: str) -> None:
    own, of_all = (list(inspect.signature(getattr(one, act)).parameters) for one in (kind, Fault))
    assert own == of_all


@every_fault
def test_it_breaks_shows_and_heals(kind: type[Fault]) -> None:
    for act in ("inject", "witness", "heal", "effects"):
        assert not getattr(getattr(kind, act), "__isabstractmethod__", False), f"{act} is not there"
        assert getattr(kind, act) is not getattr(Fault, act)


@every_fault
@settings(max_examples=25, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_its_parameters_and_effects_are_data_known_before_it_is_aimed(kind: type[Fault], data: st.DataObject) -> None:
    fault = data.draw(faults_of(kind))
    again = msgspec.json.decode(msgspec.json.encode(fault), type=AnyFault)
    assert (type(again), again) == (kind, fault)
    assert isinstance(fault.effects, Effects)
    assert msgspec.json.decode(msgspec.json.encode(fault.effects), type=Effects) == again.effects


@every_fault
def test_a_fresh_one_has_the_parameters_and_nothing_of_the_life_of_the_other(kind: type[Fault]) -> None:
    used = kind(role=kind.roles[-1], pick=1)
    vars(used)["nodes"] = ["broker-1"]
    assert used.fresh() == used
    assert vars(used.fresh()) == {}


@every_fault
def test_it_never_stands_beside_one_that_needs_the_cluster_to_itself(kind: type[Fault]) -> None:
    for other in FAULTS:
        if other.alone:
            assert clash(other, kind), f"{name_of(other)} and {name_of(kind)}"
            assert clash(kind, other), f"{name_of(kind)} and {name_of(other)}"


# --- on the miniature


def test_the_miniature_plays_a_fault_or_says_why_not() -> None:
    assert {name_of(kind) for kind in FAULTS} == {*map(name_of, PLAYED_BY), *NOT_PLAYED}
    assert not NOT_PLAYED.keys() & set(map(name_of, PLAYED_BY))


def playable(kind: type[Fault]) -> Iterator[Fault]:
    """The fault in each role that it has on the miniature."""
    cluster = MiniCluster()
    topic = cluster.controller.create_topic("t", [tuple(cluster.brokers)])
    state = cluster.state((topic.name, 0))
    for role in kind.roles:
        if players(cluster, state, role, 0):
            own = {"own_topic": False} if issubclass(kind, UncleanElection | UncleanElectionByConfig) else {}
            yield kind(role=role, **own)


in_each_role = pytest.mark.parametrize(
    "fault",
    [pytest.param(fault, id=f"{fault.name} of the {fault.role}") for kind in PLAYED for fault in playable(kind)],
)


def laid_out(fault: Fault, cluster: MiniCluster | None = None) -> tuple[Bench, Partition]:
    bench = mini_bench(cluster or MiniCluster())
    unclean = isinstance(fault, UncleanElection | UncleanElectionByConfig)
    partition = new_partition(bench, (), min_insync_replicas="1" if unclean else "2")
    partition.write(b"a", b"b")
    return bench, partition


@contextmanager
def sabotaged(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing is done to the cluster, and everybody believes it was."""
    with monkeypatch.context() as patched:
        patched.setattr(PLAYED_BY[type(fault)], "inject", lambda effect: None)
        yield


@in_each_role
def test_it_is_witnessed_followed_and_healed(fault: Fault) -> None:
    bench, partition = laid_out(fault)
    with bench.faults(partition.topic).standing_fault(fault.fresh()) as injected:
        assert injected.met, "the miniature makes of it what Kafka does"
        assert injected.nodes
    partition.write(b"c")
    assert at_rest(partition)
    events = [event for event in bench.tape.history.events if isinstance(event, FaultEvent)]
    assert [event.phase for event in events if event.phase != "consequence"] == ["inject", "witness", "heal"]
    assert events[0].effects == fault.effects
    assert events[0].detail["partition"] == f"{partition.name}-0"
    assert events[0].detail["fault"] == fault.name


class Seen:
    """The miniature as it is now: all that effects speak of, around one partition."""

    def __init__(self, cluster: MiniCluster, partition: Partition) -> None:
        key = (partition.name, 0)
        state = cluster.state(key)
        logs = {broker.name: broker.replicas[key].log for broker in cluster.brokers.values() if key in broker.replicas}
        self.status = {broker.name: broker.status for broker in cluster.brokers.values()}
        self.starts = {broker.name: broker.starts for broker in cluster.brokers.values()}
        self.epoch, self.replicas = state.epoch, set(state.replicas)
        self.log_starts = {name: log.start for name, log in logs.items()}
        self.log_ends = {name: log.end for name, log in logs.items()}
        self.committed = max(log.watermark for log in logs.values())
        self.epochs = {name: list(log.epochs.entries) for name, log in logs.items()}

    def restarted_since(self, before: Seen) -> set[str]:
        return {name for name, starts in self.starts.items() if starts > before.starts[name]}

    def losses(self, name: str) -> set[str]:
        """The losses of that broker, beside what was committed."""
        if name not in self.log_ends:
            return {"log-dir"}
        lost = {"log-tail"} if self.log_ends[name] < self.committed else set()
        return lost | ({"epoch-checkpoint"} if not self.epochs[name] else set())


@in_each_role
def test_what_the_miniature_does_is_what_the_fault_declares(fault: Fault) -> None:
    cluster, declared = MiniCluster(), fault.effects
    bench, partition = laid_out(fault, cluster)
    before = Seen(cluster, partition)
    with bench.faults(partition.topic).standing_fault(fault.fresh()) as injected:
        during = Seen(cluster, partition)
    hit, healed = set(injected.nodes), Seen(cluster, partition)
    if declared.process != "may-restart":
        wanted = {"down": "exited", "frozen": "paused"}.get(declared.process, "running")
        assert {during.status[name] for name in hit} == {wanted}
        assert healed.restarted_since(before) == (hit if declared.certainly_restarts else set())
        assert hit == set(during.status) or not declared.every_broker
    assert (during.epoch > before.epoch) or declared.election == "none"
    assert (during.replicas != before.replicas) == declared.moves_replicas
    assert (
        any(during.log_starts[name] > before.log_starts[name] for name in during.log_starts) == declared.moves_log_start
    )
    for name in hit if declared.disk else ():
        assert during.losses(name) & {*declared.disk}
    if not declared.damages_log and not declared.elects_uncleanly and not declared.moves_replicas:
        assert all(during.log_ends[name] >= end for name, end in before.log_ends.items())


@in_each_role
def test_its_sabotage_is_noticed(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    bench, partition = laid_out(fault)
    faults = bench.faults(partition.topic)
    with sabotaged(fault, monkeypatch), pytest.raises(Unwitnessed, match=fault.name):
        faults.inject(fault)
    assert faults.blocking_rules() == []
    assert at_rest(partition), "nothing was done, and nothing is left"


@in_each_role
def test_it_cannot_be_aimed_at_what_is_no_role_of_its_own(fault: Fault) -> None:
    bench, partition = laid_out(fault)
    elsewhere = msgspec.structs.replace(fault, role="any passer-by")
    with pytest.raises(Unavailable, match="any passer-by"):
        bench.faults(partition.topic).inject(elsewhere)
