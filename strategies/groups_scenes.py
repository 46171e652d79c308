"""Scenes of the group machine: lists of steps about a group that rarely come together by chance."""

from hypothesis.strategies import DrawFn, booleans, composite, integers, sampled_from

from fixtures.faults.base.fault import Fault
from fixtures.faults.kinds import elections, process, shapes, zombies
from strategies import groups as do
from strategies import steps
from strategies.episodes import About

LOSSES: tuple[Fault, ...] = (process.Kill(role="leader"), process.Stop(role="leader"), process.Freeze(role="leader"))
MOVES = 12
"""One in this many losses of a coordinator is a fault, which takes seconds to heal; the others are clean moves."""
CUTS: tuple[Fault, ...] = (
    shapes.Isolate(role="leader", clients_too=False),
    zombies.CutOffFromControllers(role="leader"),
)
A: do.Slot = "member-1"
B: do.Slot = "member-2"
C: do.Slot = "member-3"
INSTANCE: do.Slot = "static-1"
CLASSIC: do.Slot = "eager-1"
SAME_INSTANCE: do.Slot = "eager-static-1"
"""A classic member with the instance id of `INSTANCE`."""


def _loss(draw: DrawFn, on: do.GroupName) -> steps.Step:
    """Draw the loss of the coordinator: mostly a clean move, else a fault that is healed at the end of the scene."""
    if draw(integers(1, MOVES)) < MOVES:
        return steps.DisturbBriefly(on=on, fault=elections.MoveLeader())
    return steps.Disturb(on=on, fault=draw(sampled_from(LOSSES)))


def _emptied(draw: DrawFn, on: do.GroupName) -> list[steps.Step]:
    """Draw the beginning of a scene: mostly without the members that the group had before."""
    return draw(sampled_from([[do.Disband(on=on)], [do.Disband(on=on)], []]))


def _joined(on: do.GroupName, *members: do.Slot) -> list[steps.Step]:
    """Return steps after which members share the partitions of two topics."""
    return [*(do.JoinGroup(on=on, member=one, reads_from="both") for one in members), do.Settle(on=on)]


@composite
def half_given_up(draw: DrawFn, subject: str) -> list[steps.Step]:
    """Draw scenes of a revocation that is told and not acknowledged when the coordinator is lost; then the member gives up,
    leaves, keeps the partitions, or gets them back since another one leaves or it changes its mind."""
    on = do.group_named(subject)
    narrow, both = (do.Subscribe(on=on, member=A, reads_from=to) for to in ("narrow", "both"))
    gives_up, other_leaves = do.Beat(on=on, member=A), do.LeaveGroup(on=on, member=B)
    after: list[list[steps.Step]] = [
        [gives_up],
        [other_leaves, gives_up],
        [do.LeaveGroup(on=on, member=A)],
        [narrow],
        [narrow, both, gives_up],
        [do.BeatKeeping(on=on, member=A)],
        [other_leaves],
    ]
    return [
        *_emptied(draw, on),
        *_joined(on, A),
        do.JoinGroup(on=on, member=B, reads_from="both"),
        do.BeatQuietly(on=on, member=A),
        _loss(draw, on),
        do.Commit(on=on, member=A, of="to-give-up"),
        *draw(sampled_from(after)),
        do.JoinGroup(on=on, member=C, reads_from="both"),
        do.Round(on=on),
        steps.Heal(),
        do.AwaitBalance(on=on),
    ]


@composite
def there_and_back(draw: DrawFn, subject: str) -> list[steps.Step]:
    """Draw scenes of partitions that one member has, another, and the first one again, with a commit of each ownership
    held back."""
    on = do.group_named(subject)
    pick = draw(sampled_from([0, 1, 2]))
    released = draw(sampled_from([0, 1]))
    return [
        *_emptied(draw, on),
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
        *_emptied(draw, on),
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
        do.AwaitBalance(on=on),
    ]


@composite
def ladder(draw: DrawFn, subject: str) -> list[steps.Step]:
    """Draw scenes of a group that is upgraded and downgraded twice, and loaded at one rung."""
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
        [do.LeaveGroup(on=on, member=B), do.Beat(on=on, member=CLASSIC), do.Commit(on=on, member=CLASSIC)],
    ]
    rungs.insert(draw(sampled_from([1, 2, 3, 4, 5])), [_loss(draw, on)])
    return [
        *_emptied(draw, on),
        *(step for rung in rungs for step in rung),
        do.FetchOffsets(on=on, member=CLASSIC),
        steps.Heal(),
    ]


@composite
def replace_by_other_protocol(draw: DrawFn, subject: str) -> list[steps.Step]:
    """Draw scenes of an instance whose member of one protocol is replaced by one of the other, mostly the only member of the
    group, and back."""
    on = do.group_named(subject)
    beside: list[steps.Step] = draw(sampled_from([[], [], _joined(on, A)]))
    return [
        *_emptied(draw, on),
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
        do.AwaitBalance(on=on),
    ]


@composite
def open_offsets(draw: DrawFn, subject: str) -> list[steps.Step]:
    """Draw scenes of offsets in a transaction whose partition is lost to another member, and whose coordinator is lost,
    before the transaction ends; some of a group that has nothing else."""
    on = do.group_named(subject)
    alone = draw(sampled_from([False, False, True]))
    moves: list[steps.Step] = [do.LeaveGroup(on=on, member=A)] if alone else [*_joined(on, B), do.Settle(on=on)]
    return [
        *_emptied(draw, on),
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
        *_emptied(draw, on),
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
        *_emptied(draw, on),
        *_joined(on, A),
        do.LoseAnswers(on=on, member="static-2", times=draw(sampled_from([1, 2]))),
        _loss(draw, on),
        do.Beat(on=on, member="static-2"),
        steps.Heal(),
        do.AwaitBalance(on=on),
    ]


@composite
def topic_created_again(draw: DrawFn, subject: str) -> list[steps.Step]:
    """Draw scenes of a topic that is deleted and created again while its members are silent or away."""
    on = do.group_named(subject)
    again = steps.RecreateTopic(
        on="narrow", partitions=do.PARTITIONS["narrow"], replication_factor=1, configs=do.ONE_REPLICA
    )
    return [
        *_emptied(draw, on),
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
        do.AwaitBalance(on=on),
    ]


@composite
def time_outs(draw: DrawFn, subject: str) -> list[steps.Step]:
    """Draw scenes of a member whose session ends while the others heartbeat, or which does not give up its partitions in time."""
    on = do.group_named(subject)
    silent: list[steps.Step] = [
        do.AlterGroup(on=on),
        *_joined(on, A, draw(sampled_from([INSTANCE, C]))),
        do.JoinGroup(on=on, member=B, reads_from="both"),
        _loss(draw, on),
        do.Round(on=on),
        do.OutlastSession(on=on, member=B),
        do.Round(on=on),
        do.AlterGroup(on=on, reset=True),
    ]
    slow: list[steps.Step] = [
        do.JoinGroup(on=on, member=A, reads_from="both", hasty=True),
        do.Settle(on=on),
        do.JoinGroup(on=on, member=B, reads_from="both"),
        do.BeatQuietly(on=on, member=A),
        _loss(draw, on),
        do.OutlastRebalance(on=on, member=A),
        do.Round(on=on),
    ]
    return [*_emptied(draw, on), *draw(sampled_from([silent, slow])), steps.Heal(), do.AwaitBalance(on=on)]


@composite
def cut_off(draw: DrawFn, subject: str) -> list[steps.Step]:
    """Draw scenes of a coordinator that is cut off while members change, and is lost then."""
    on = do.group_named(subject)
    return [
        *_emptied(draw, on),
        *_joined(on, A, B),
        steps.Disturb(on=on, fault=draw(sampled_from(CUTS)), follow=False),
        do.Subscribe(on=on, member=A, reads_from="narrow"),
        do.JoinGroup(on=on, member=C, reads_from="both"),
        do.Commit(on=on, member=B),
        steps.Disturb(on=on, fault=process.Kill(role="leader")),
        do.Round(on=on),
        do.DescribeGroups(),
        steps.Heal(),
        do.AwaitBalance(on=on),
    ]


@composite
def growth(draw: DrawFn, subject: str) -> list[steps.Step]:
    """Draw scenes of a topic that gets partitions while members read it, by name or by a regular expression."""
    on = do.group_named(subject)
    by: do.Subscription = draw(sampled_from(["both", "pattern-of-two"]))
    return [
        *_emptied(draw, on),
        *(do.JoinGroup(on=on, member=one, reads_from=by) for one in (A, B)),
        do.Settle(on=on),
        do.Commit(on=on, member=A, partitions=3),
        steps.AddPartitions(on="narrow", total=draw(sampled_from([4, 5, 7]))),
        _loss(draw, on),
        do.Settle(on=on),
        do.Commit(on=on, member=A, partitions=3),
        steps.Heal(),
        do.AwaitBalance(on=on),
    ]


@composite
def nothing_new(draw: DrawFn, subject: str) -> list[steps.Step]:
    """Draw scenes of groups that are assigned again although their members read the same partitions as before."""
    on = do.group_named(subject)
    again: list[steps.Step] = [
        do.Subscribe(on=on, member=A, reads_from="both-and-none"),
        do.Subscribe(on=on, member=A, reads_from="both"),
        do.Subscribe(on=on, member=B, reads_from="both-and-none"),
        do.Subscribe(on=on, member=B, reads_from="pattern-of-two"),
        steps.ReassignPartition(on="wide", partition=0, change="swap"),
        do.Rejoin(on=on, member=A),
    ]
    return [
        *_emptied(draw, on),
        *_joined(on, A, B, C),
        do.DescribeGroups(),
        *(step for _ in range(2) for step in (draw(sampled_from(again)), do.Settle(on=on), do.DescribeGroups())),
        _loss(draw, on),
        do.Settle(on=on),
        do.DescribeGroups(),
        steps.Heal(),
    ]


@composite
def clients(draw: DrawFn, subject: str) -> list[steps.Step]:
    """Draw scenes of two clients of librdkafka that share a group, commit, some of them in transactions, and lose their
    coordinator. Some are static, and some read what a regular expression matches."""
    on = do.group_named(subject)
    protocol: do.GroupProtocol = draw(sampled_from(["consumer", "consumer", "classic"]))
    # A static client of the classic protocol closes without leaving, and others would wait for its session to end.
    static = protocol == "consumer" and draw(sampled_from([False, False, True]))
    transactional = draw(booleans())
    reads_from: do.Subscription = draw(sampled_from(["both", "both", "pattern-of-two"]))
    commits: list[steps.Step] = [
        do.CommitByClient(on=on, client="client-1", in_transaction=transactional),
        do.CommitByClient(on=on, client="client-2", pick=1),
    ]
    starts = [
        do.StartClient(on=on, client=one, protocol=protocol, reads_from=reads_from, static=static) for one in do.CLIENTS
    ]
    return [
        do.Disband(on=on),
        starts[0],
        do.CommitByClient(on=on, client="client-1"),
        starts[1],
        *draw(sampled_from([[], commits])),
        _loss(draw, on),
        do.PollClients(on=on),
        *commits,
        do.CloseClient(on=on, client="client-1"),
        do.PollClients(on=on),
        do.CommitByClient(on=on, client="client-2", in_transaction=transactional),
        do.CloseClient(on=on, client="client-2"),
        do.FetchOffsets(on=on, anonymous=True),
        steps.Heal(),
        do.AwaitBalance(on=on),
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
    "time-outs": time_outs,
    "cut-off": cut_off,
    "growth": growth,
    "nothing-new": nothing_new,
    "clients": clients,
}
