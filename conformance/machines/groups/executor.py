"""The execution of the group machine's own steps: members, offsets and coordinators of three groups."""

from contextlib import suppress
from functools import singledispatchmethod

from conformance.core.administration import TopicAdministration
from conformance.core.bench import Bench
from conformance.core.executor import UNANSWERED
from conformance.core.roles import Absent
from conformance.core.sweeping import SweepTargets, turn_of
from conformance.machines.groups.classic import ClassicSlot
from conformance.machines.groups.clients import Clients
from conformance.machines.groups.coordinators import Coordinators
from conformance.machines.groups.ground import OFFSETS_TOPIC, Ground, new_topics
from conformance.machines.groups.members import ConsumerSlot
from conformance.machines.groups.offsets import Offsets, Transactions
from conformance.machines.groups.rest import Rest
from conformance.machines.groups.slots import Slot
from conformance.rigs.log.partition import Partition, PartitionData
from conformance.rigs.log.quiescence import at_rest
from protocol.messages import Topic
from strategies import groups as do
from strategies.steps import AddPartitions, Step, Sweep

ROUNDS = 8
"""The rounds after which a step no longer waits for members to share their partitions."""
Members = dict[do.GroupName, dict[do.Slot, Slot]]


class GroupsExecutor(TopicAdministration[do.GroupStep]):
    """The executor of group steps on fresh topics and groups; faults are around the groups' partitions of the offsets topic."""

    def __init__(self, bench: Bench) -> None:
        topics = new_topics(bench)
        self._ground = ground = Ground(bench, topics)
        offsets = bench.node(bench.brokers[0]).metadata([OFFSETS_TOPIC]).topic(OFFSETS_TOPIC)
        self._log = Topic(OFFSETS_TOPIC, offsets.topic_id)
        faults = bench.faults(self._log, ground.log_partition("group-1"), group=ground.names["group-1"])
        super().__init__(bench, faults)
        self.topics = topics
        ground.topics = self.topics
        self._anchor = Partition(bench, PartitionData(topics["anchor"], 0))
        ground.await_coordinators()
        ground.count_partitions()  # judges know by the answer what members can be assigned
        self._members: Members = {on: _new_slots(ground, on) for on in do.GROUPS}
        self._offsets, self._transactions = Offsets(ground), Transactions(ground)
        self._coordinators = Coordinators(ground)
        self._clients = Clients(ground)
        self._rest = Rest(ground, self._members, self._clients)
        self.delegate(do.CommitAsStranger, self._offsets.commit_as_stranger)
        self.delegate(do.ReleaseCommit, self._offsets.release)
        self.delegate(do.EndOpenTransaction, self._transactions.end)
        self.delegate(do.AlterGroup, self._coordinators.alter_group)
        self.delegate(do.CompactLog, self._coordinators.compact_log)
        self.delegate(do.StartClient, self._clients.start)
        self.delegate(do.PollClients, lambda step: self._clients.share(step.on))
        self.delegate(do.CommitByClient, self._clients.commit)
        self.delegate(do.CloseClient, self._clients.close)
        self.delegate(do.DescribeGroups, lambda step: self._coordinators.describe())

    def _slot(self, step: do.OfMember) -> Slot:
        return self._members[step.on][step.member]

    def _others(self, step: do.OfMember) -> list[Slot]:
        return [one for one in self._active(step.on) if one is not self._slot(step)]

    def _active(self, on: do.GroupName) -> list[Slot]:
        return [one for one in self._members[on].values() if one.is_taken and not (one.silent or one.is_away)]

    def _beat_others(self, step: do.OfMember) -> None:
        for other in self._others(step):
            other.beat()

    @singledispatchmethod
    def run(self, step: Step) -> None:
        super().run(step)

    # --- membership

    @run.register
    def _join(self, step: do.JoinGroup) -> None:
        self._slot(step).join(step)

    @run.register
    def _leave(self, step: do.LeaveGroup) -> None:
        self._slot(step).leave()

    @run.register
    def _disband(self, step: do.Disband) -> None:
        self._clients.close_all(step.on)
        for slot in self._members[step.on].values():
            with suppress(*UNANSWERED, Absent):
                slot.leave()

    @run.register
    def _leave_to_return(self, step: do.LeaveToReturn) -> None:
        self._slot(step).leave_to_return(keeps_id=step.keeps_id)

    @run.register
    def _take_instance(self, step: do.TakeInstance) -> None:
        self._slot(step).take_instance()

    @run.register
    def _fall_silent(self, step: do.FallSilent) -> None:
        self._slot(step).silent = self._slot(step).is_taken

    @run.register
    def _wake(self, step: do.Wake) -> None:
        self._slot(step).silent = False
        self._slot(step).beat()

    @run.register
    def _rejoin(self, step: do.Rejoin) -> None:
        self._slot(step).rejoin()

    @run.register
    def _subscribe(self, step: do.Subscribe) -> None:
        self._slot(step).subscribe(step.reads_from)

    # --- heartbeats

    @run.register
    def _beat(self, step: do.Beat) -> None:
        self._slot(step).beat()

    @run.register
    def _beat_quietly(self, step: do.BeatQuietly) -> None:
        self._slot(step).beat_quietly()

    @run.register
    def _beat_keeping(self, step: do.BeatKeeping) -> None:
        self._slot(step).beat_keeping()

    @run.register
    def _lose_answers(self, step: do.LoseAnswers) -> None:
        self._slot(step).lose_answers(step.times)

    @run.register
    def _beat_at(self, step: do.BeatAt) -> None:
        self._slot(step).beat_at(step.epoch)

    @run.register
    def _beat_owning(self, step: do.BeatOwning) -> None:
        self._slot(step).beat_owning(step.owned)

    @run.register
    def _round(self, step: do.Round) -> None:
        for slot in self._active(step.on):
            with suppress(Absent):
                slot.beat()

    @run.register
    def _settle(self, step: do.Settle) -> None:
        for _ in range(ROUNDS):
            rested = [_is_at_rest(slot) for slot in self._active(step.on)]
            if all(rested) or self._ground.serves_nothing:
                return

    @run.register
    def _await_balance(self, step: do.AwaitBalance) -> None:
        if self.standing:
            raise Absent("a fault stands")
        self._rest.settle(step.on)

    @run.register
    def _lose_sync(self, step: do.LoseSync) -> None:
        self._slot(step).lose_sync()

    @run.register
    def _sync_late(self, step: do.SyncLate) -> None:
        self._slot(step).sync_late()

    # --- offsets

    @run.register
    def _commit(self, step: do.Commit) -> None:
        self._offsets.commit(step, self._slot(step))

    @run.register
    def _commit_in_transaction(self, step: do.CommitInTransaction) -> None:
        self._transactions.commit(step, self._slot(step))

    @run.register
    def _fetch_offsets(self, step: do.FetchOffsets) -> None:
        self._offsets.fetch(step, self._slot(step))

    # --- time and coordinators

    @run.register
    def _outlast_session(self, step: do.OutlastSession) -> None:
        if not self._coordinators.has_short_sessions(step.on):
            raise Absent(f"{step.on} has no short sessions")
        slot = self._slot(step)
        slot.beat()  # a session gets its length with a heartbeat
        self._coordinators.outlast(step.on, slot.id, lambda: self._beat_others(step))
        slot.silent = True

    @run.register
    def _outlast_rebalance(self, step: do.OutlastRebalance) -> None:
        slot = self._slot(step)
        if not slot.is_hasty or not slot.partitions("to-give-up"):
            raise Absent(f"{step.member} is not hasty, or has nothing to give up")

        def beat_all() -> None:
            slot.beat_quietly()
            self._beat_others(step)

        self._coordinators.outlast(step.on, slot.id, beat_all)

    @run.register
    def _ask_former(self, step: do.AskFormer) -> None:
        slot, former = self._slot(step), self._ground.roles.node(step.on, "former-leader")
        match step.request:
            case "beat":
                slot.beat_to(former)
            case "commit":
                self._offsets.commit_at(former, step.on, slot)
            case "fetch":
                self._offsets.fetch_all(step.on, former)

    # --- topics

    @run.register
    def _add_partitions(self, step: AddPartitions) -> None:
        super().run(step)
        if not self.standing:
            self._ground.await_partitions(step.on, step.total)

    # --- faults

    def partition_for_fault(self, on: str) -> tuple[Topic, int]:
        return self._log, self._ground.log_partition(on)  # type: ignore[arg-type]

    def before_fault(self) -> None:
        self._ground.roles.remember_leaders()

    def after_fault(self) -> None:
        self._ground.refresh()

    # --- reading and rest

    def read_everything(self) -> None:
        self._coordinators.describe()
        for on in do.GROUPS:
            with suppress(*UNANSWERED, Absent):
                self._offsets.fetch_all(on, self._ground.coordinator(on))

    def sweep_targets(self) -> SweepTargets:
        return SweepTargets([(self.topics[on], 0) for on in ("anchor", "wide")], self._ground.names["group-1"])

    def before_rest(self, *, healed: bool) -> None:
        """End what is unfinished: transactions, compaction, groups' own configurations, and clients."""
        self._transactions.end_all()
        with suppress(*UNANSWERED, Absent):
            self._coordinators.reset()
        self._clients.close_all(*do.GROUPS)

    def agrees(self) -> bool:
        return at_rest(self._anchor) and self._ground.await_coordinators()

    def at_rest(self) -> None:
        self._transactions.await_ends()
        self._rest.settle(*do.GROUPS)
        self.read_everything()
        self.attempt(Sweep(turn=turn_of(self.bench.tape.example.example)))
        self._rest.read_log()


def _is_at_rest(slot: Slot) -> bool:
    """Let the member heartbeat. True if nothing changes by that, or if it cannot."""
    with suppress(Absent):
        return slot.beat_at_rest()
    return True


def _new_slots(ground: Ground, on: do.GroupName) -> dict[do.Slot, Slot]:
    """Return all places of a group, which are empty."""
    peers: list[ClassicSlot] = []
    for slot in do.CLASSIC:
        peers.append(ClassicSlot(ground, on, slot, peers))
    return {**{slot: ConsumerSlot(ground, on, slot) for slot in do.CONSUMERS}, **{one.slot: one for one in peers}}
