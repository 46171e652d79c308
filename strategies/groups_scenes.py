"""Scenes of the group machine: lists of steps about a group that rarely come together by chance."""

from hypothesis.strategies import DrawFn, composite, sampled_from

from fixtures.faults.base.fault import Fault
from fixtures.faults.kinds import elections, process
from strategies import groups as do
from strategies import steps
from strategies.episodes import About

LOSSES: tuple[Fault, ...] = (process.Kill(role="leader"), process.Stop(role="leader"), process.Freeze(role="leader"))
A: do.Slot = "member-1"
B: do.Slot = "member-2"
C: do.Slot = "member-3"
INSTANCE: do.Slot = "static-1"
CLASSIC: do.Slot = "eager-1"
SAME_INSTANCE: do.Slot = "eager-static-1"
"""A classic member with the instance id of `INSTANCE`."""


def _loss(draw: DrawFn, on: do.GroupName) -> steps.Step:
    """Draw the loss of the coordinator: mostly a clean move, else a fault that is healed at the end of the scene."""
    fault = draw(sampled_from([None, None, None, *LOSSES]))
    if fault is None:
        return steps.DisturbBriefly(on=on, fault=elections.MoveLeader())
    return steps.Disturb(on=on, fault=fault)


def _joined(on: do.GroupName, *members: do.Slot) -> list[steps.Step]:
    """Return steps after which members share the partitions of two topics."""
    return [*(do.JoinGroup(on=on, member=one, reads_from="both") for one in members), do.Settle(on=on)]


@composite
def half_given_up(draw: DrawFn, subject: str) -> list[steps.Step]:
    """Draw scenes of a revocation that is told and not acknowledged when the coordinator is lost; then the member gives up,
    leaves, keeps the partitions, or gets them back since another one leaves."""
    on = do.group_named(subject)
    after: list[steps.Step] = [
        do.Beat(on=on, member=A),
        do.LeaveGroup(on=on, member=A),
        do.Subscribe(on=on, member=A, reads_from="narrow"),
        do.BeatKeeping(on=on, member=A),
        do.LeaveGroup(on=on, member=B),
    ]
    return [
        *_joined(on, A),
        do.JoinGroup(on=on, member=B, reads_from="both"),
        do.BeatQuietly(on=on, member=A),
        _loss(draw, on),
        do.Commit(on=on, member=A, of="to-give-up"),
        draw(sampled_from(after)),
        do.JoinGroup(on=on, member=C, reads_from="both"),
        do.Round(on=on),
        steps.Heal(),
        do.Settle(on=on),
    ]


@composite
def there_and_back(draw: DrawFn, subject: str) -> list[steps.Step]:
    """Draw scenes of partitions that one member has, another, and the first one again, with a commit of each ownership
    held back."""
    on = do.group_named(subject)
    pick = draw(sampled_from([0, 1, 2]))
    released = draw(sampled_from([0, 1]))
    return [
        *_joined(on, A),
        do.Commit(on=on, member=A, held_back=True, partitions=3, pick=pick),
        do.Subscribe(on=on, member=A, reads_from="nowhere"),
        do.Round(on=on),
        *_joined(on, B),
        do.Commit(on=on, member=B, held_back=True, partitions=3, pick=pick),
        do.Subscribe(on=on, member=B, reads_from="nowhere"),
        do.Subscribe(on=on, member=A, reads_from="both"),
        _loss(draw, on),
        do.Settle(on=on),
        do.Commit(on=on, member=A, partitions=3, pick=pick),
        do.ReleaseCommit(on=on, back=released),
        do.ReleaseCommit(on=on, back=1 - released),
        do.FetchOffsets(on=on, member=A),
        steps.Heal(),
    ]


@composite
def instance_away(draw: DrawFn, subject: str) -> list[steps.Step]:
    """Draw scenes of an instance that is away, mostly with a revocation pending, while another member joins and the
    coordinator is lost."""
    on = do.group_named(subject)
    leaving = do.LeaveToReturn(on=on, member=INSTANCE, keeps_id=draw(sampled_from([False, True])))
    pending: list[steps.Step] = [
        do.JoinGroup(on=on, member=B, reads_from="both"),
        do.BeatQuietly(on=on, member=INSTANCE),
    ]
    return [
        *_joined(on, INSTANCE, A),
        do.Commit(on=on, member=INSTANCE, held_back=True),
        *draw(sampled_from([pending, [], pending])),
        leaving,
        do.JoinGroup(on=on, member=C, reads_from="both"),
        do.Round(on=on),
        _loss(draw, on),
        do.Round(on=on),
        do.ReleaseCommit(on=on),
        do.Beat(on=on, member=INSTANCE),
        do.Commit(on=on, member=INSTANCE, epoch=draw(sampled_from(["zero", "current", "beyond"]))),
        steps.Heal(),
        do.Settle(on=on),
    ]


@composite
def ladder(draw: DrawFn, subject: str) -> list[steps.Step]:
    """Draw scenes of a group that is upgraded, downgraded and upgraded again, and loaded at one rung."""
    on = do.group_named(subject)
    rungs: list[list[steps.Step]] = [
        [*_joined(on, CLASSIC), do.Commit(on=on, member=CLASSIC, held_back=True)],
        [do.JoinGroup(on=on, member=A, reads_from="both"), do.Round(on=on), do.Settle(on=on)],
        [
            do.Commit(on=on, member=CLASSIC, epoch="previous"),
            do.LeaveGroup(on=on, member=A),
            do.Beat(on=on, member=CLASSIC),
        ],
        [do.JoinGroup(on=on, member=B, reads_from="both"), do.Settle(on=on), do.ReleaseCommit(on=on)],
    ]
    rungs.insert(draw(sampled_from([1, 2, 3, 4])), [_loss(draw, on)])
    return [*(step for rung in rungs for step in rung), do.FetchOffsets(on=on, member=B), steps.Heal()]


@composite
def replace_by_other_protocol(draw: DrawFn, subject: str) -> list[steps.Step]:
    """Draw scenes of an instance whose member of one protocol is replaced by one of the other, mostly the only member of the
    group, and back."""
    on = do.group_named(subject)
    beside: list[steps.Step] = draw(sampled_from([[], [], _joined(on, A)]))
    return [
        *beside,
        *_joined(on, INSTANCE),
        do.Commit(on=on, member=INSTANCE),
        do.LeaveToReturn(on=on, member=INSTANCE),
        do.JoinGroup(on=on, member=SAME_INSTANCE, reads_from="both"),
        do.Settle(on=on),
        _loss(draw, on),
        do.Commit(on=on, member=SAME_INSTANCE),
        do.FetchOffsets(on=on, member=SAME_INSTANCE),
        do.Beat(on=on, member=INSTANCE),
        do.Beat(on=on, member=SAME_INSTANCE),
        steps.Heal(),
        do.Settle(on=on),
    ]


@composite
def open_offsets(draw: DrawFn, subject: str) -> list[steps.Step]:
    """Draw scenes of offsets in a transaction whose partition is lost to another member, and whose coordinator is lost,
    before the transaction ends; some of a group that has nothing else."""
    on = do.group_named(subject)
    alone = draw(sampled_from([False, False, True]))
    moves: list[steps.Step] = [do.LeaveGroup(on=on, member=A)] if alone else [*_joined(on, B), do.Settle(on=on)]
    return [
        *_joined(on, A),
        do.CommitInTransaction(on=on, member=A),
        *moves,
        _loss(draw, on),
        do.FetchOffsets(on=on, member=B, stable=True),
        do.Commit(on=on, member=B),
        do.EndOpenTransaction(commit=draw(sampled_from([True, True, False]))),
        do.FetchOffsets(on=on, member=B, stable=True),
        steps.Heal(),
    ]


@composite
def compacted_meanwhile(draw: DrawFn, subject: str) -> list[steps.Step]:
    """Draw scenes of a log that is compacted while partitions move and members leave; then another broker loads it."""
    on = do.group_named(subject)
    return [
        *_joined(on, A, INSTANCE),
        do.CompactLog(),
        do.JoinGroup(on=on, member=B, reads_from="both"),
        do.BeatQuietly(on=on, member=A),
        do.Commit(on=on, member=A, partitions=3),
        do.LeaveGroup(on=on, member=draw(sampled_from([INSTANCE, B]))),
        do.Round(on=on),
        do.Commit(on=on, member=A, partitions=3),
        do.DescribeGroups(),
        _loss(draw, on),
        do.Round(on=on),
        do.FetchOffsets(on=on, member=A),
        do.CompactLog(stop=True),
        steps.Heal(),
    ]


@composite
def repeated_join(draw: DrawFn, subject: str) -> list[steps.Step]:
    """Draw scenes of a static member that joins, and repeats that because the answer is lost."""
    on = do.group_named(subject)
    return [
        *_joined(on, A),
        do.LoseAnswers(on=on, member="static-2", times=draw(sampled_from([1, 2]))),
        _loss(draw, on),
        do.Beat(on=on, member="static-2"),
        steps.Heal(),
        do.Settle(on=on),
    ]


@composite
def topic_created_again(draw: DrawFn, subject: str) -> list[steps.Step]:
    """Draw scenes of a topic that is deleted and created again while its members are silent or away."""
    on = do.group_named(subject)
    again = steps.RecreateTopic(
        on="narrow", partitions=do.PARTITIONS["narrow"], replication_factor=1, configs=do.ONE_REPLICA
    )
    return [
        *_joined(on, INSTANCE, A),
        do.Commit(on=on, member=A, held_back=True),
        do.FallSilent(on=on, member=A),
        do.LeaveToReturn(on=on, member=INSTANCE),
        again,
        _loss(draw, on),
        do.Wake(on=on, member=A),
        do.ReleaseCommit(on=on),
        do.Beat(on=on, member=INSTANCE),
        steps.Heal(),
        do.Settle(on=on),
    ]


SCENES: dict[str, About] = {
    "half-given-up": half_given_up,
    "there-and-back": there_and_back,
    "instance-away": instance_away,
    "ladder": ladder,
    "replaced": replace_by_other_protocol,
    "open-offsets": open_offsets,
    "compacted-meanwhile": compacted_meanwhile,
    "repeated-join": repeated_join,
    "topic-created-again": topic_created_again,
}
