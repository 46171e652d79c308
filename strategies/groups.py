"""The group machine's own steps: what members of groups send, honest and hostile, aimed by role."""

from typing import ClassVar, Literal, TypeAlias

from strategies import steps

GroupName = Literal["group-1", "group-2", "group-3"]
"""The first two groups have the same coordinator, and the third one another at first."""
GROUPS: tuple[GroupName, ...] = ("group-1", "group-2", "group-3")


def group_named(name: str) -> GroupName:
    """Return the group of this name."""
    return next(group for group in GROUPS if group == name)


Slot = Literal["member-1", "member-2", "member-3", "static-1", "static-2", "eager-1", "cooperative-1", "eager-static-1"]
"""A place for one member of a group at a time. Those of `static` slots have an instance id, those of `eager` and
`cooperative` slots speak the classic protocol; `eager-static-1` has the instance id of `static-1`."""
DYNAMIC: tuple[Slot, ...] = ("member-1", "member-2", "member-3")
STATIC: tuple[Slot, ...] = ("static-1", "static-2")
CONSUMERS: tuple[Slot, ...] = (*DYNAMIC, *STATIC)
CLASSIC: tuple[Slot, ...] = ("eager-1", "cooperative-1", "eager-static-1")

TopicName = Literal["wide", "narrow", "passing"]
"""The topics that groups read: five partitions, three, and one that is created by a step."""
TOPICS: tuple[TopicName, ...] = ("wide", "narrow", "passing")
PARTITIONS: dict[TopicName, int] = {"wide": 5, "narrow": 3, "passing": 1}
ONE_REPLICA = {"min.insync.replicas": "1"}
"""The configuration of these topics, which have one replica and no records."""

Subscription = Literal["wide", "narrow", "both", "both-and-none", "all", "pattern-of-two", "pattern-of-all", "nowhere"]
"""The topics that a member reads, by name or by a regular expression; `nowhere` and `none` are topics that do not exist."""

Producer = Literal["producer-1", "producer-2"]
ClientName = Literal["client-1", "client-2"]
CLIENTS: tuple[ClientName, ...] = ("client-1", "client-2")
GroupProtocol = Literal["classic", "consumer"]

Hold = Literal["kept", "to-give-up", "lost", "never-owned"]
"""Partitions by what a member's client knows about them: it owns them, has been told to give them up and has not
acknowledged that, owned them once, or never owned them. A member without any of the kind takes those that it owns."""
Epoch = Literal["current", "first-owned", "before-owned", "previous", "older", "beyond", "zero", "none"]
"""A member epoch, as the member's client knows it. `first-owned` is the one with which it was assigned the partition,
`older` the first one that it ever had."""


class OfGroup(steps.SubjectStep, frozen=True, kw_only=True):
    """A step about one group."""

    on: GroupName = "group-1"


class OfMember(OfGroup, frozen=True, kw_only=True):
    """A step of one member; if its place is empty, a new member joins first."""

    member: Slot = "member-1"


# --- membership


class JoinGroup(OfMember, frozen=True, kw_only=True, tag="join-group"):
    """The first heartbeat of a new member, or JoinGroup and SyncGroup of a classic one, in place of the former one.

    `known_id`: with the id that members of this place have in all groups, in place of a new one. `hasty`: it has to give up
    partitions within two seconds.
    """

    reads_from: Subscription = "wide"
    assignor: Literal["default", "uniform", "range"] = "default"
    known_id: bool = False
    hasty: bool = False


class LeaveGroup(OfMember, frozen=True, kw_only=True, tag="leave-group"):
    """The last heartbeat of a member, or LeaveGroup of a classic one."""


class Disband(OfGroup, frozen=True, kw_only=True, tag="disband"):
    """All members of the group leave."""


class LeaveToReturn(OfMember, frozen=True, kw_only=True, tag="leave-to-return"):
    """A static member leaves temporarily (epoch -2); its next heartbeat joins under the same instance id."""

    member: Slot = "static-1"
    keeps_id: bool = False


class TakeInstance(OfMember, frozen=True, kw_only=True, tag="take-instance"):
    """Another member joins with the instance id of one that lives: it must be refused."""

    member: Slot = "static-1"


class FallSilent(OfMember, frozen=True, kw_only=True, tag="fall-silent"):
    """The member sends nothing more in rounds, until it wakes."""


class Wake(OfMember, frozen=True, kw_only=True, tag="wake"):
    """A silent member sends its next heartbeat."""


class Rejoin(OfMember, frozen=True, kw_only=True, tag="rejoin"):
    """The member joins again with its id at epoch 0, as after an answer that fenced it."""


class Subscribe(OfMember, frozen=True, kw_only=True, tag="subscribe"):
    """A changed subscription, in a heartbeat that acknowledges nothing: a pending revocation stays pending."""

    reads_from: Subscription = "both"


# --- heartbeats


class Beat(OfMember, frozen=True, kw_only=True, tag="beat"):
    """An honest heartbeat, which acknowledges what the member was assigned. A classic member that is told to rejoins."""


class BeatQuietly(OfMember, frozen=True, kw_only=True, tag="beat-quietly"):
    """A heartbeat of a member that is still giving up partitions: it names none."""


class BeatKeeping(OfMember, frozen=True, kw_only=True, tag="beat-keeping"):
    """A heartbeat that still names the partitions which the member should have given up."""


class LoseAnswers(OfMember, frozen=True, kw_only=True, tag="lose-answers"):
    """Honest heartbeats whose answers the member does not receive."""

    times: int = 1


class BeatAt(OfMember, frozen=True, kw_only=True, tag="beat-at"):
    """A heartbeat at another epoch than the member's, with its partitions; the member does not receive the answer."""

    epoch: Epoch = "previous"


class BeatOwning(OfMember, frozen=True, kw_only=True, tag="beat-owning"):
    """A heartbeat that names other partitions than the member owns; the member does not receive the answer."""

    owned: Literal["fewer", "more", "unknown"] = "fewer"


class Round(OfGroup, frozen=True, kw_only=True, tag="round"):
    """An honest heartbeat of each member that is neither silent nor away."""


class Settle(OfGroup, frozen=True, kw_only=True, tag="settle"):
    """Rounds until no answer assigns anything new, but not many."""


class AwaitBalance(OfGroup, frozen=True, kw_only=True, tag="await-balance"):
    """All members wake or return, and heartbeat until the group is stable, with each partition of their topics assigned, as long
    as that may take (KIP1251-BASE-09). Skipped while a fault stands."""


# --- the classic protocol


class LoseSync(OfMember, frozen=True, kw_only=True, tag="lose-sync"):
    """JoinGroup of a classic member, and a SyncGroup whose answer it does not receive."""

    member: Slot = "eager-1"


class SyncLate(OfMember, frozen=True, kw_only=True, tag="sync-late"):
    """SyncGroup at the generation before the member's."""

    member: Slot = "eager-1"


# --- offsets


class Commit(OfMember, frozen=True, kw_only=True, tag="commit"):
    """OffsetCommit of an offset that no other commit has, for up to `partitions` partitions of one kind and topic; `across`:
    for one of another topic, too, and `mixed`: for one that the member never owned. `held_back`: it is sent by a later
    step. `pick` selects the first partition, modulo their number."""

    epoch: Epoch = "current"
    of: Hold = "kept"
    partitions: int = 1
    across: bool = False
    mixed: bool = False
    version: int | None = None
    held_back: bool = False
    pick: int = 0


class CommitAsStranger(OfGroup, frozen=True, kw_only=True, tag="commit-as-stranger"):
    """OffsetCommit without a member, or of a member that the group does not have."""

    named: bool = False


class ReleaseCommit(OfGroup, frozen=True, kw_only=True, tag="release-commit"):
    """The OffsetCommit held back `back` before the latest one, as it was built then."""

    back: int = 0


class CommitInTransaction(OfMember, frozen=True, kw_only=True, tag="commit-in-transaction"):
    """TxnOffsetCommit of a member's partition, in a producer's transaction, which begins if none is open."""

    producer: Producer = "producer-1"
    epoch: Epoch = "current"
    of: Hold = "kept"


class EndOpenTransaction(steps.Step, frozen=True, kw_only=True, tag="end-open-transaction"):
    """EndTxn of a producer's open transaction."""

    producer: Producer = "producer-1"
    commit: bool = True


class FetchOffsets(OfMember, frozen=True, kw_only=True, tag="fetch-offsets"):
    """OffsetFetch of all partitions of the topics, by a member or with `anonymous` by anyone."""

    reads: ClassVar[bool] = True
    epoch: Epoch = "current"
    anonymous: bool = False
    stable: bool = True


# --- time


class AlterGroup(OfGroup, frozen=True, kw_only=True, tag="alter-group"):
    """IncrementalAlterConfigs of a group: short sessions, or a pause between assignments; with `reset` as before."""

    setting: Literal["session", "interval"] = "session"
    reset: bool = False


class OutlastSession(OfMember, frozen=True, kw_only=True, tag="outlast-session"):
    """Wait until the group has lost the silent member, while the others heartbeat. Skipped unless sessions are short."""


class OutlastRebalance(OfMember, frozen=True, kw_only=True, tag="outlast-rebalance"):
    """Heartbeat without giving up partitions until the member is fenced. Skipped unless it is hasty and has to."""


# --- coordinators


class CompactLog(steps.Step, frozen=True, kw_only=True, tag="compact-log"):
    """Have the offsets topic compacted at once and all the time; with `stop` no more."""

    stop: bool = False


class AskFormer(OfMember, frozen=True, kw_only=True, tag="ask-former"):
    """A request to the broker that coordinated the group before, if it runs: it may not know of its successor."""

    request: Literal["beat", "commit", "fetch"] = "beat"


class DescribeGroups(steps.Step, frozen=True, kw_only=True, tag="describe-groups"):
    """ConsumerGroupDescribe of each group at its coordinator."""

    reads: ClassVar[bool] = True


# --- clients of their own


class OfClient(OfGroup, frozen=True, kw_only=True):
    """A step of one client of librdkafka, which sends its heartbeats itself."""

    client: ClientName = "client-1"


class StartClient(OfClient, frozen=True, kw_only=True, tag="start-client"):
    """A consumer of librdkafka that joins the group, and polls until it has partitions, but not long.

    A static one has an instance id, which its place keeps.
    """

    protocol: GroupProtocol = "consumer"
    reads_from: Subscription = "both"
    static: bool = False


class PollClients(OfGroup, frozen=True, kw_only=True, tag="poll-clients"):
    """Polls of all clients of the group, until none is assigned anything new, but not many."""


class CommitByClient(OfClient, frozen=True, kw_only=True, tag="commit-by-client"):
    """A commit of one of the client's partitions, of an offset that no other commit has, perhaps in a transaction."""

    pick: int = 0
    in_transaction: bool = False


class CloseClient(OfClient, frozen=True, kw_only=True, tag="close-client"):
    """The client leaves the group."""


GroupStep: TypeAlias = (
    JoinGroup
    | LeaveGroup
    | Disband
    | LeaveToReturn
    | TakeInstance
    | FallSilent
    | Wake
    | Rejoin
    | Subscribe
    | Beat
    | BeatQuietly
    | BeatKeeping
    | LoseAnswers
    | BeatAt
    | BeatOwning
    | Round
    | Settle
    | AwaitBalance
    | LoseSync
    | SyncLate
    | Commit
    | CommitAsStranger
    | ReleaseCommit
    | CommitInTransaction
    | EndOpenTransaction
    | FetchOffsets
    | AlterGroup
    | OutlastSession
    | OutlastRebalance
    | CompactLog
    | AskFormer
    | DescribeGroups
    | StartClient
    | PollClients
    | CommitByClient
    | CloseClient
    | steps.CreateTopic
    | steps.DeleteTopic
    | steps.RecreateTopic
    | steps.AddPartitions
    | steps.ReassignPartition
    | steps.Disturb
    | steps.DisturbBriefly
    | steps.Heal
    | steps.HealPartly
    | steps.Echo
    | steps.Sweep
    | steps.ReadEverything
)
