"""Controllers that fail while a leader dies and returns; the leader epoch must still increase (KIP101-SC-10)."""

from typing import NamedTuple

from hypothesis.strategies import booleans, integers

from conformance.core.bench import Bench
from conformance.core.checks import Claims, Rig, held_if, premise
from conformance.core.topologies import CONTROLLERS, QUICK_CLUSTER
from conformance.rigs.log.partition import Partition, PartitionData, new_partition
from conformance.rigs.log.quiescence import at_rest, read_whole
from conformance.rigs.log.scenarios import log_scenario
from conformance.rigs.quorum.successors import other_leader, successor_leads
from fixtures.cluster import Topology
from fixtures.cluster.config import SMALL_SETTINGS
from fixtures.views.quorum import ActiveController, QuorumView
from history.due import START_TIMEOUT
from protocol.cluster import PartitionMetadata
from protocol.codes import Error
from protocol.records import batch

RECORDS = 3
FIRST = batch(b"first after the crash")
OFTEN = 0.1


def session_of(topology: Topology) -> float:
    """Return the seconds without a heartbeat after which a broker is fenced."""
    return int({**SMALL_SETTINGS, **topology.config}["broker.session.timeout.ms"]) / 1000


def single_replica(topology: Topology) -> Rig[PartitionData, Partition]:
    """Return a rig with a partition that only one broker can lead, with records of its first epoch."""

    def prepare(bench: Bench) -> PartitionData:
        partition = new_partition(bench, (bench.id_of(bench.brokers[0]),))
        partition.write(*[b"before the crash"] * RECORDS)
        return partition.data

    return Rig(topology, prepare, Partition, name=f"single_replica_{topology.name}")


class RestartedLeader(NamedTuple):
    """A restarted leader's state, and the leader epoch of the first batch written to it."""

    state: PartitionMetadata
    stamp: int


def wait_for_session_end(bench: Bench, since: float, seconds: float) -> None:
    """Wait until a broker session would have expired while no controller could notice."""
    bench.eventually(lambda: bench.now().seconds - since > seconds, f"the end of {seconds} s", every=OFTEN)


def await_leadership(partition: Partition, broker: int) -> RestartedLeader:
    """Wait until the broker leads again, at any epoch; return that state and the first new batch's epoch."""
    bench = partition.bench
    what = f"{broker} leading {partition.name}"
    state = bench.eventually(lambda: partition.acting_state(broker, leading=True), what, START_TIMEOUT)

    def write_accepted() -> int | None:
        written = bench.node(broker).produce(partition.topic, partition.index, FIRST)
        if written.error is not Error.NONE:
            return None
        read = read_whole(partition, bench.node(broker), partition.state_by(broker).leader_epoch)
        return next(batch.leader_epoch for batch in read.batches if batch.base_offset == written.base_offset)

    return RestartedLeader(state, bench.eventually(write_accepted, f"a write to {partition.name}"))


def never_at_its_epoch_again(
    partition: Partition, before: PartitionMetadata, back: RestartedLeader, case: str
) -> Claims:
    detail = (
        f"led at {before.leader_epoch} before the crash, now at {back.state.leader_epoch}, first stamp {back.stamp}"
    )
    rose = min(back.state.leader_epoch, back.stamp) > before.leader_epoch
    yield held_if(rose, case=case, detail=detail, label="epoch-regression")


# --- the schedules


@log_scenario(
    "KIP101-SC-10",
    "KIP101-EPOCH-04",
    rig=single_replica(QUICK_CLUSTER),
    tenths=integers(1, 15),
)
def only_controller_is_frozen(partition: Partition, tenths: int) -> Claims:
    """The only controller is frozen for longer than the session of a leader that is killed and restarted meanwhile."""
    bench, before, session = partition.bench, partition.wait_until_whole(), session_of(QUICK_CLUSTER)
    [controller], leader = bench.controllers, bench.name_of(before.leader)
    began = bench.now().seconds
    bench.processes.pause(controller, role="active controller")
    bench.processes.kill(leader, role="leader")
    bench.processes.start(leader)
    wait_for_session_end(bench, bench.now().seconds, session + tenths / 10)
    frozen_for = bench.now().seconds - began
    bench.processes.resume(controller)
    back = await_leadership(partition, before.leader)
    yield premise(frozen_for > session, f"{controller} frozen for {frozen_for:.1f} s, longer than a session")
    yield from never_at_its_epoch_again(partition, before, back, "controller-paused")
    at_rest(partition)


@log_scenario(
    "KIP101-SC-10",
    "KIP101-EPOCH-04",
    "KIP595-LIVE-01",
    rig=single_replica(CONTROLLERS),
    cases=["controller-paused", "controller-killed"],
    tenths=integers(1, 15),
)
def active_controller_is_replaced(partition: Partition, case: str, tenths: int) -> Claims:
    """The active controller of three is frozen or killed while a leader is killed and restarted: another one takes over."""
    bench, before, session = partition.bench, partition.wait_until_whole(), session_of(CONTROLLERS)
    leader = bench.name_of(before.leader)
    led = bench.eventually(lambda: other_leader(bench, ""), "an active controller", due="quorum")
    active = bench.name_of(led.leader_id)
    began, paused = bench.now().seconds, case == "controller-paused"
    (bench.processes.pause if paused else bench.processes.kill)(active, role="active controller")
    bench.processes.kill(leader, role="leader")
    bench.processes.start(leader)
    yield from successor_leads(bench, active)
    wait_for_session_end(bench, began, session + tenths / 10)
    (bench.processes.resume if paused else bench.processes.start)(active)
    back = await_leadership(partition, before.leader)
    yield from never_at_its_epoch_again(partition, before, back, case)
    at_rest(partition)


@log_scenario(
    "KIP101-SC-10",
    "KIP101-EPOCH-04",
    rig=single_replica(CONTROLLERS),
    cases=["broker-and-controller"],
    leader_first=booleans(),
)
def controllers_restart_with_the_leader(partition: Partition, leader_first: bool) -> Claims:
    """All controllers are killed together with a leader, and all are restarted; other brokers live on."""
    bench, before = partition.bench, partition.wait_until_whole()
    quorum, leader = QuorumView(bench), bench.name_of(before.leader)
    led = bench.eventually(quorum.active, "an active controller", due="quorum")
    bench.processes.crash(*bench.controllers, leader)
    for name in (leader, *bench.controllers) if leader_first else (*bench.controllers, leader):
        bench.processes.start(name)
    what = f"an active controller of an epoch above {led.epoch}"
    bench.eventually(lambda: _later(quorum, led), what, START_TIMEOUT, due="quorum")
    back = await_leadership(partition, before.leader)
    yield from never_at_its_epoch_again(partition, before, back, "broker-and-controller")
    at_rest(partition)


def _later(quorum: QuorumView, than: ActiveController) -> ActiveController | None:
    active = quorum.active()
    return active if active is not None and active.epoch > than.epoch else None
