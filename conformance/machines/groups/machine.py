"""The group machine: members, offsets and coordinators of consumer groups (KIP-848, KIP-1251).

Raw members of three groups join, heartbeat, give up partitions, fall silent, leave and return, honestly and not; they commit
offsets at every epoch, also in transactions, while topics come and go and coordinators are moved, killed, frozen and cut off.
Two groups have the same coordinator, so that each loss of it is a load for both. `executor` runs the steps.
"""

from conformance.core.machines import MachineCheck, machine
from conformance.core.model import FaultModel
from conformance.core.rules import EpisodeRules
from conformance.core.topologies import BATCHED_GROUPS, CONSUMER_GROUPS
from conformance.machines.groups.executor import GroupsExecutor
from fixtures.faults.kinds.elections import MoveCoordinator, MoveLeader
from fixtures.faults.kinds.process import Kill
from strategies import groups as do
from strategies import groups_offer, steps


class GroupMachine(EpisodeRules[FaultModel]):
    """Members of three groups, their offsets and transactions, while coordinators fail.

    Examples have more episodes than those of other machines, since steps without a fault take a few milliseconds.
    """

    model_type = FaultModel
    offer = groups_offer.OFFER
    steps_per_rule = 4


OPENING: list[do.GroupStep] = [
    do.JoinGroup(member="member-1", reads_from="both"),
    do.Settle(),
    do.Commit(member="member-1", partitions=2),
    do.Commit(member="member-1", held_back=True, pick=1),
    do.JoinGroup(member="member-2", reads_from="both"),
    do.BeatQuietly(member="member-1"),
    do.Commit(member="member-1", of="to-give-up"),
    do.BeatKeeping(member="member-1"),
    steps.DisturbBriefly(on="group-1", fault=MoveLeader()),
    do.Beat(member="member-1"),
    do.Round(),
    do.Settle(),
    do.ReleaseCommit(),
    do.Commit(member="member-1", of="lost", epoch="previous"),
    do.Commit(member="member-2", epoch="first-owned"),
    do.FetchOffsets(member="member-2"),
    do.FetchOffsets(member="member-2", anonymous=True),
    do.CommitAsStranger(named=True),
    do.LoseAnswers(member="member-1"),
    do.BeatAt(member="member-1", epoch="previous"),
    do.BeatAt(member="member-2", epoch="beyond"),
    do.BeatOwning(member="member-2", owned="unknown"),
    do.Subscribe(member="member-2", reads_from="narrow"),
    do.Round(),
    do.Rejoin(member="member-2"),
    do.DescribeGroups(),
    do.JoinGroup(on="group-2", member="static-1", reads_from="both"),
    do.Settle(on="group-2"),
    do.TakeInstance(on="group-2"),
    do.LeaveToReturn(on="group-2"),
    do.JoinGroup(on="group-2", member="member-1", reads_from="pattern-of-all"),
    do.JoinGroup(on="group-2", member="member-2", reads_from="both"),
    do.Round(on="group-2"),
    steps.CreateTopic(on="passing", partitions=1, replication_factor=1, configs=do.ONE_REPLICA),
    do.Beat(on="group-2", member="static-1"),
    do.Settle(on="group-2"),
    steps.AddPartitions(on="passing", total=3),
    do.CommitInTransaction(on="group-2", member="member-1"),
    steps.Disturb(on="group-2", fault=Kill(role="leader")),
    do.Round(on="group-2"),
    do.AskFormer(on="group-2"),
    do.EndOpenTransaction(commit=True),
    do.FallSilent(on="group-2", member="member-1"),
    steps.ReadEverything(),
    steps.HealPartly(),
    steps.Heal(),
    do.Wake(on="group-2", member="member-1"),
    steps.RecreateTopic(on="passing", partitions=1, replication_factor=1, configs=do.ONE_REPLICA),
    do.Settle(on="group-2"),
    steps.DeleteTopic(on="passing"),
    do.JoinGroup(on="group-3", member="eager-1", reads_from="both"),
    do.JoinGroup(on="group-3", member="cooperative-1", reads_from="both"),
    do.Commit(on="group-3", member="eager-1"),
    do.SyncLate(on="group-3", member="eager-1"),
    do.JoinGroup(on="group-3", member="member-1", reads_from="both", hasty=True),
    do.Settle(on="group-3"),
    steps.DisturbBriefly(on="group-3", fault=MoveLeader()),
    do.Round(on="group-3"),
    do.LoseSync(on="group-3", member="cooperative-1"),
    do.Commit(on="group-3", member="eager-1", epoch="previous"),
    do.AlterGroup(on="group-3"),
    do.LeaveGroup(on="group-3", member="eager-1"),
    do.LeaveGroup(on="group-3", member="cooperative-1"),
    do.Settle(on="group-3"),
    do.JoinGroup(on="group-3", member="member-2", reads_from="both"),
    do.BeatQuietly(on="group-3", member="member-1"),
    do.OutlastRebalance(on="group-3", member="member-1"),
    do.OutlastSession(on="group-3", member="member-2"),
    do.Disband(on="group-3"),
    do.StartClient(on="group-3"),
    do.CommitByClient(on="group-3", in_transaction=True),
    do.PollClients(on="group-3"),
    do.CloseClient(on="group-3"),
    steps.AddPartitions(on="narrow", total=5),
    do.AwaitBalance(),
    do.CompactLog(),
    do.Round(),
    steps.DisturbBriefly(on="group-1", fault=MoveCoordinator(role="group coordinator")),
    do.CompactLog(stop=True),
    steps.Echo(),
    steps.ReassignPartition(on="wide", partition=0, change="swap"),
    steps.Sweep(turn=1),
]

GROUP_MACHINE = machine(
    MachineCheck(
        id="machines.groups.GroupMachine",
        topology=CONSUMER_GROUPS,
        topologies=(BATCHED_GROUPS,),
        machine=GroupMachine,
        executor=GroupsExecutor,
        step=do.GroupStep,
        aims=("group", "description"),
        opening=OPENING,
        injects=(*(one.kind for one in groups_offer.FAULTS), *groups_offer.BRIEF, MoveCoordinator),
    )
)
