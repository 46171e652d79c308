"""The offer for the group machine's episodes: its steps, and faults around each group's coordinator."""

from hypothesis.strategies import SearchStrategy, booleans, builds, integers, just, lists, one_of, sampled_from

from fixtures.faults.kinds import elections, network, process, shapes, upgrade, zombies
from strategies import groups as do
from strategies import steps
from strategies.episodes import About, Offer, always, fault_kind
from strategies.groups_scenes import SCENES

SUBSCRIPTIONS: tuple[do.Subscription, ...] = (
    "wide",
    "both",
    "both",
    "both-and-none",
    "narrow",
    "all",
    "pattern-of-two",
    "pattern-of-all",
    "nowhere",
)
EPOCHS: tuple[do.Epoch, ...] = (
    "current",
    "current",
    "first-owned",
    "previous",
    "previous",
    "before-owned",
    "older",
    "beyond",
    "zero",
    "none",
)
HOLDS: tuple[do.Hold, ...] = ("kept", "kept", "to-give-up", "lost", "lost", "never-owned")

_MEMBER: SearchStrategy[do.Slot] = sampled_from((*do.DYNAMIC, *do.CONSUMERS, *do.CLASSIC))
_CONSUMER: SearchStrategy[do.Slot] = sampled_from((*do.DYNAMIC, *do.CONSUMERS))
_STATIC: SearchStrategy[do.Slot] = sampled_from(do.STATIC)
_CLASSIC: SearchStrategy[do.Slot] = sampled_from(do.CLASSIC)
_SUBSCRIPTION = sampled_from(SUBSCRIPTIONS)
_EPOCH = sampled_from(EPOCHS)
_HOLD = sampled_from(HOLDS)
_PRODUCER: SearchStrategy[do.Producer] = sampled_from(["producer-1", "producer-1", "producer-2"])


# --- members


def joins(on: str) -> SearchStrategy[do.JoinGroup]:
    """Draw members that join, mostly with new ids, and seldom hasty ones."""
    return builds(
        do.JoinGroup,
        on=just(on),
        member=_MEMBER,
        reads_from=_SUBSCRIPTION,
        assignor=sampled_from(["default", "default", "uniform", "range"]),
        known_id=sampled_from([False, False, False, True]),
        hasty=sampled_from([False, False, False, False, True]),
    )


def quick_joins(on: str) -> SearchStrategy[do.JoinGroup]:
    """Draw members that join by the consumer protocol, and so soon bring about a rebalance."""
    return builds(do.JoinGroup, on=just(on), member=_CONSUMER, reads_from=sampled_from(["both", "wide", "both"]))


def beats(on: str) -> SearchStrategy[do.Beat]:
    return builds(do.Beat, on=just(on), member=_MEMBER)


def rounds(on: str) -> SearchStrategy[steps.Step]:
    """Draw heartbeats of all members, once or until they share their partitions."""
    return one_of(
        just(do.Round(on=do.group_named(on))),
        just(do.Round(on=do.group_named(on))),
        just(do.Settle(on=do.group_named(on))),
    )


def unfinished_beats(on: str) -> SearchStrategy[steps.Step]:
    """Draw heartbeats that acknowledge nothing, or the wrong thing."""
    quiet = builds(do.BeatQuietly, on=just(on), member=_CONSUMER)
    return one_of(quiet, quiet, builds(do.BeatKeeping, on=just(on), member=_CONSUMER))


def lost_answers(on: str) -> SearchStrategy[do.LoseAnswers]:
    return builds(do.LoseAnswers, on=just(on), member=_CONSUMER, times=integers(1, 3))


def odd_beats(on: str) -> SearchStrategy[steps.Step]:
    """Draw heartbeats at other epochs, and with other partitions, than the member's."""
    owned = sampled_from(["fewer", "more", "unknown"])
    return one_of(
        builds(do.BeatAt, on=just(on), member=_CONSUMER, epoch=sampled_from(["previous", *EPOCHS])),
        builds(do.BeatOwning, on=just(on), member=_CONSUMER, owned=owned),
    )


def leavings(on: str) -> SearchStrategy[steps.Step]:
    """Draw members that leave for good, or to return."""
    for_good = builds(do.LeaveGroup, on=just(on), member=_MEMBER)
    return one_of(for_good, builds(do.LeaveToReturn, on=just(on), member=_STATIC, keeps_id=booleans()))


def instance_steps(on: str) -> SearchStrategy[steps.Step]:
    """Draw what static members do: leave to return, and join while the instance lives."""
    away = builds(do.LeaveToReturn, on=just(on), member=_STATIC, keeps_id=sampled_from([False, False, True]))
    return one_of(
        away, builds(do.Beat, on=just(on), member=_STATIC), builds(do.TakeInstance, on=just(on), member=_STATIC)
    )


def silences(on: str) -> SearchStrategy[steps.Step]:
    """Draw members that fall silent, and wake."""
    return one_of(builds(do.FallSilent, on=just(on), member=_MEMBER), builds(do.Wake, on=just(on), member=_MEMBER))


def subscriptions(on: str) -> SearchStrategy[do.Subscribe]:
    return builds(do.Subscribe, on=just(on), member=_MEMBER, reads_from=_SUBSCRIPTION)


def syncs(on: str) -> SearchStrategy[steps.Step]:
    """Draw SyncGroups whose answers are lost, and late ones."""
    return one_of(builds(do.LoseSync, on=just(on), member=_CLASSIC), builds(do.SyncLate, on=just(on), member=_CLASSIC))


# --- offsets


def commits(on: str) -> SearchStrategy[do.Commit]:
    """Draw commits of any member, at any epoch it knows, for any partitions; some are held back."""
    return builds(
        do.Commit,
        on=just(on),
        member=_MEMBER,
        epoch=_EPOCH,
        of=_HOLD,
        partitions=integers(1, 3),
        across=sampled_from([False, False, True]),
        mixed=sampled_from([False, False, False, True]),
        version=sampled_from([None, None, None, 9, 8]),
        held_back=sampled_from([False, False, True]),
        pick=integers(0, 2),
    )


def honest_commits(on: str) -> SearchStrategy[do.Commit]:
    """Draw commits of what a member owns, at its epoch."""
    some = {"partitions": integers(1, 2), "across": booleans(), "pick": integers(0, 2)}
    return builds(do.Commit, on=just(on), member=_MEMBER, **some)


def stale_commits(on: str) -> SearchStrategy[do.AskFormer]:
    """Draw requests to the former coordinator."""
    return builds(do.AskFormer, on=just(on), member=_CONSUMER, request=sampled_from(["commit", "beat", "fetch"]))


def released_commits(on: str) -> SearchStrategy[do.ReleaseCommit]:
    return builds(do.ReleaseCommit, on=just(on), back=integers(0, 3))


def strange_commits(on: str) -> SearchStrategy[do.CommitAsStranger]:
    return builds(do.CommitAsStranger, on=just(on), named=booleans())


def transactional_commits(on: str) -> SearchStrategy[steps.Step]:
    """Draw commits in transactions, and ends of transactions."""
    commit = builds(
        do.CommitInTransaction,
        on=just(on),
        member=_MEMBER,
        producer=_PRODUCER,
        epoch=sampled_from(["current", *EPOCHS]),
        of=sampled_from(["kept", *HOLDS]),
    )
    return one_of(commit, commit, commit, builds(do.EndOpenTransaction, producer=_PRODUCER, commit=booleans()))


def fetches(on: str) -> SearchStrategy[do.FetchOffsets]:
    return builds(do.FetchOffsets, on=just(on), member=_MEMBER, epoch=_EPOCH, anonymous=booleans(), stable=booleans())


# --- time and topics


def short_sessions(on: str) -> SearchStrategy[steps.Step]:
    """Draw what makes a member's time run out: short sessions, and waits for it."""
    outlast = one_of(
        builds(do.OutlastSession, on=just(on), member=_CONSUMER),
        builds(do.OutlastRebalance, on=just(on), member=_CONSUMER),
    )
    return one_of(alterations(on), outlast)


def alterations(on: str) -> SearchStrategy[do.AlterGroup]:
    return builds(do.AlterGroup, on=just(on), setting=sampled_from(["session", "interval"]), reset=booleans())


def compactions(on: str) -> SearchStrategy[do.CompactLog]:
    return builds(do.CompactLog, stop=sampled_from([False, False, True]))


def creations(on: str) -> SearchStrategy[steps.CreateTopic]:
    return just(
        steps.CreateTopic(
            on="passing", partitions=do.PARTITIONS["passing"], replication_factor=1, configs=do.ONE_REPLICA
        )
    )


def deletions(on: str) -> SearchStrategy[steps.DeleteTopic]:
    return just(steps.DeleteTopic(on="passing"))


def recreations(on: str) -> SearchStrategy[steps.RecreateTopic]:
    return builds(
        lambda topic: steps.RecreateTopic(
            on=topic, partitions=do.PARTITIONS[topic], replication_factor=1, configs=do.ONE_REPLICA
        ),
        sampled_from(["passing", "passing", "narrow"]),
    )


def growths(on: str) -> SearchStrategy[steps.AddPartitions]:
    return builds(steps.AddPartitions, on=sampled_from(["narrow", "passing"]), total=integers(2, 7))


def reassignments(on: str) -> SearchStrategy[steps.ReassignPartition]:
    """Draw reassignments, which change the racks of partitions and nothing else that members see."""
    topic, change = sampled_from(["wide", "narrow"]), sampled_from(["swap", "grow"])
    return builds(steps.ReassignPartition, on=topic, partition=integers(0, 2), change=change)


# --- faults

_HIT = sampled_from(["leader", "leader", "follower"])
"""The role to hit around a group's partition of the offsets topic, whose leader coordinates the group."""
LINKED = ("follower", "leader", "active controller")
_USUAL = (
    fault_kind(process.Kill, do.GROUPS, role=_HIT),
    fault_kind(process.Stop, do.GROUPS, role=_HIT),
    fault_kind(process.Freeze, do.GROUPS, role=_HIT),
    fault_kind(process.PausePastFencing, do.GROUPS, role=_HIT),
    fault_kind(zombies.PausedZombie, do.GROUPS, role=_HIT),
    fault_kind(zombies.CutOffFromControllers, do.GROUPS, role=_HIT),
    fault_kind(shapes.Isolate, do.GROUPS, role=_HIT, clients_too=just(False)),
    fault_kind(shapes.OneLink, do.GROUPS, role=_HIT, peer=sampled_from(LINKED)),
    fault_kind(network.Drop, do.GROUPS, role=_HIT, peer=sampled_from(["brokers", "controllers"])),
    fault_kind(network.Loss, do.GROUPS, role=_HIT, peer=just("brokers")),
)
FAULTS = [*_USUAL, fault_kind(upgrade.Upgrade, do.GROUPS, role=_HIT)]
MAIN = ("kill", "stop", "pause-past-fencing", "cut-off-from-controllers", "isolate", "freeze")
"""The faults that should meet in pairs around one group, in either order."""
BRIEF = (elections.MoveLeader, elections.PreferredElection, process.RollingRestart)


def moves(on: str) -> SearchStrategy[steps.DisturbBriefly]:
    """Draw clean moves of the group's coordinator, in which another broker loads it."""
    there = (on,)
    usual = steps.brief_disturbances(elections.MoveLeader, there)
    rare = one_of(
        steps.brief_disturbances(elections.MoveCoordinator, there, role=just("group coordinator")),
        steps.brief_disturbances(elections.PreferredElection, there),
        steps.brief_disturbances(process.RollingRestart, there, role=just("all brokers")),
    )
    return one_of(usual, usual, usual, rare)


# --- the offer


def _first_steps() -> SearchStrategy[list[steps.Step]]:
    """Draw the first steps: two or three members join one group, and up to two another."""
    first = lists(quick_joins("group-1"), min_size=2, max_size=3)
    more = lists(quick_joins("group-2"), max_size=2)
    return builds(lambda one, other: [*one, do.Settle(), *other], first, more)


WORK: dict[str, About] = {
    "join-group": joins,
    "quick-join": quick_joins,
    "beat": beats,
    "round": rounds,
    "unfinished-beat": unfinished_beats,
    "lose-answers": lost_answers,
    "odd-beat": odd_beats,
    "leave": leavings,
    "instance": instance_steps,
    "silence": silences,
    "rejoin": lambda on: builds(do.Rejoin, on=just(on), member=_CONSUMER),
    "subscribe": subscriptions,
    "sync": syncs,
    "commit": commits,
    "honest-commit": honest_commits,
    "release-commit": released_commits,
    "commit-as-stranger": strange_commits,
    "commit-in-transaction": transactional_commits,
    "fetch-offsets": fetches,
    "ask-former": stale_commits,
    "time": short_sessions,
    "compact-log": compactions,
    "describe-groups": always(do.DescribeGroups()),
    "echo": lambda on: steps.echoes(),
    "sweep": lambda on: steps.sweeps(),
    "move": moves,
}
OFFER = Offer(
    subjects=("group-1", "group-1", "group-2", "group-1", "group-3"),
    begin=_first_steps(),
    faults={one.name: one for one in FAULTS},
    main=MAIN,
    behind=("one-link",),
    losing=("kill", "pause-past-fencing"),
    damaging=("stop",),
    cutting=("isolate", "cut-off-from-controllers"),
    work=WORK,
    writes=("quick-join", "round", "unfinished-beat", "subscribe", "commit", "honest-commit", "commit-in-transaction"),
    acknowledged=honest_commits,
    stale=stale_commits,
    administration={
        "create-topic": creations,
        "delete-topic": deletions,
        "recreate-topic": recreations,
        "add-partitions": growths,
        "reassign-partition": reassignments,
    },
    looks=lambda on: sampled_from([steps.ReadEverything(), do.DescribeGroups()]),
    scenes=SCENES,
    is_scene=(False, True, True, True),
    most_scenes=5,
)
"""All parts of the group machine's episodes."""
