"""Steps of the log machine beside the shared ones: plain data, aimed by role, and the strategies that draw them."""

from __future__ import annotations

from typing import Literal

from hypothesis.strategies import SearchStrategy, builds, integers, one_of, sampled_from

from fixtures.faults.kinds.disk import CutTailAbove, CutTailBelow, RemoveEpochCheckpoint
from fixtures.faults.kinds.elections import MoveLeader, PreferredElection, Reassign
from fixtures.faults.kinds.logs import RetentionBySize, RetentionByTime, RollBySize
from fixtures.faults.kinds.process import Kill, PausePastFencing, RollingRestart, Stop
from fixtures.faults.kinds.shapes import Isolate
from fixtures.faults.kinds.unclean import UncleanElection, UncleanElectionByConfig
from fixtures.faults.kinds.zombies import CutOffFromControllers, PausedZombie
from strategies.steps import (
    Disturb,
    DisturbBriefly,
    Heal,
    ReadEverything,
    Step,
    SubjectStep,
    brief_disturbances,
    disturbances,
)

PartitionName = Literal["strict-0", "strict-1", "loose-0", "compacted-0", "lone-0"]
"""`strict` has min.insync.replicas=2. `loose` has 1, so that an unclean election can lose what was acknowledged by a leader
that was alone in the ISR; `compacted` is cleaned while the machine works; `lone` has one replica, and no leader while the
broker of that is down."""

ReplicaRole = Literal["leader", "follower", "former-leader"]
"""`former-leader` is the replica that led before the current leader, as long as it can be reached; else the leader."""

LogFault = (
    CutOffFromControllers
    | CutTailAbove
    | CutTailBelow
    | Isolate
    | Kill
    | PausedZombie
    | PausePastFencing
    | RemoveEpochCheckpoint
    | Stop
    | UncleanElection
    | UncleanElectionByConfig
)
"""Faults that stand until they are healed, while clients go on."""

BriefLogFault = (
    MoveLeader | PreferredElection | Reassign | RetentionBySize | RetentionByTime | RollBySize | RollingRestart
)
"""Faults that need a healthy cluster, or are over once they show."""


class PartitionStep(SubjectStep, frozen=True, kw_only=True):
    on: PartitionName = "strict-0"


# --- producers


class Produce(PartitionStep, frozen=True, kw_only=True, tag="produce"):
    """Produce: one batch of `records` records."""

    records: int = 1
    acks: Literal[-1, 0, 1] = -1
    to: ReplicaRole = "leader"


class ProduceToAll(Step, frozen=True, kw_only=True, tag="produce-to-all"):
    """Produce: one batch of `records` records to each partition."""

    records: int = 1
    acks: Literal[-1, 1] = -1
    to: ReplicaRole = "leader"


# --- raw fetchers


class Read(PartitionStep, frozen=True, kw_only=True, tag="read"):
    """Fetch from the log start: up to the high watermark as a consumer, or the full log with its uncommitted suffix. The
    request names as current the leader epoch `current_back` before the current one (-1: the next one)."""

    role: ReplicaRole = "leader"
    full_log: bool = False
    current_back: int = 0


class FetchAt(PartitionStep, frozen=True, kw_only=True, tag="fetch-at"):
    """Fetch `before_end` offsets before the highest end seen. The request names as last fetched the leader epoch
    `last_fetched_back` before the current one, and as current the one `current_back` before it."""

    role: ReplicaRole = "leader"
    before_end: int = 0
    last_fetched_back: int = 0
    current_back: int = 0


class RevisitPosition(PartitionStep, frozen=True, kw_only=True, tag="revisit-position"):
    """Return to a record that was read before, the `back`-th before the latest: Fetch the offset after it with its leader
    epoch as last fetched, and ask for the end of that epoch."""

    role: ReplicaRole = "leader"
    back: int = 0


class OffsetForLeaderEpoch(PartitionStep, frozen=True, kw_only=True, tag="offset-for-leader-epoch"):
    """OffsetForLeaderEpoch for the epoch `epochs_back` before the current one. The request names as current the one
    `current_back` before it (-1: the next one)."""

    role: ReplicaRole = "leader"
    epochs_back: int = 0
    current_back: int = 0


class ListOffsets(PartitionStep, frozen=True, kw_only=True, tag="list-offsets"):
    """ListOffsets, earliest and latest. The request names as current the leader epoch `current_back` before the current one."""

    role: ReplicaRole = "leader"
    current_back: int = 0


class DeleteRecords(PartitionStep, frozen=True, kw_only=True, tag="delete-records"):
    """DeleteRecords up to `keep` offsets below the high watermark."""

    keep: int = 1


class ProbeLeaders(Step, frozen=True, kw_only=True, tag="probe-leaders"):
    """Probe the leader and the former leader of each partition: write to both, perhaps with too few replicas in the ISR, and
    see which high watermark advances and which leader epochs each of them serves."""


# --- consumers of kafka-python


class Consume(Step, frozen=True, kw_only=True, tag="consume"):
    """A consumer without a group polls all partitions from its positions; the first time, from the log starts."""


class Join(Step, frozen=True, kw_only=True, tag="join"):
    """Another member joins the group, subscribed to all topics: a rebalance."""


class PollGroup(Step, frozen=True, kw_only=True, tag="poll-group"):
    """Every member polls, and commits its positions with their leader epochs."""

    commit: bool = True


class Leave(Step, frozen=True, kw_only=True, tag="leave"):
    """The member that joined last leaves: a rebalance."""


class OffsetFetch(Step, frozen=True, kw_only=True, tag="offset-fetch"):
    """OffsetFetch of the group's committed offsets of all partitions."""


ConsumerStep = Consume | Join | Leave


LogStep = (
    Produce
    | ProduceToAll
    | ReadEverything
    | ProbeLeaders
    | Read
    | FetchAt
    | RevisitPosition
    | OffsetForLeaderEpoch
    | ListOffsets
    | DeleteRecords
    | Consume
    | Join
    | PollGroup
    | Leave
    | OffsetFetch
    | Disturb[LogFault]
    | DisturbBriefly[BriefLogFault]
    | Heal
)

PARTITIONS: tuple[PartitionName, ...] = ("strict-0", "strict-1", "loose-0", "compacted-0")
"""Those with a replica on every broker."""
EVERY_PARTITION: tuple[PartitionName, ...] = (*PARTITIONS, "lone-0")
UNCOMPACTED = PARTITIONS[:3]
UNCLEAN_ON: tuple[PartitionName, ...] = ("loose-0",)
ROLES: tuple[ReplicaRole, ...] = ("leader", "follower", "former-leader")

# Most invariants apply to strict-0 and loose-0, which are drawn twice as often.
_ON = sampled_from([*PARTITIONS, "strict-0", "loose-0", "lone-0"])
_ROLE = sampled_from(ROLES)
_BACK = integers(-1, 2)
_HIT = sampled_from(["leader", "follower"])


def produces() -> SearchStrategy[Produce]:
    return builds(Produce, on=_ON, records=integers(1, 4), acks=sampled_from([-1, 1, 0]), to=_ROLE)


def produces_to_all() -> SearchStrategy[ProduceToAll]:
    return builds(ProduceToAll, records=integers(1, 3), acks=sampled_from([-1, 1]), to=_ROLE)


def reads() -> SearchStrategy[Read]:
    return builds(Read, on=_ON, role=_ROLE, full_log=sampled_from([True, False]), current_back=_BACK)


def fetches() -> SearchStrategy[FetchAt]:
    return builds(FetchAt, on=_ON, role=_ROLE, before_end=integers(-1, 4), last_fetched_back=_BACK, current_back=_BACK)


def revisits() -> SearchStrategy[RevisitPosition]:
    return builds(RevisitPosition, on=_ON, role=_ROLE, back=integers(0, 9))


def epoch_requests() -> SearchStrategy[OffsetForLeaderEpoch]:
    return builds(OffsetForLeaderEpoch, on=_ON, role=_ROLE, epochs_back=integers(0, 3), current_back=_BACK)


def offset_requests() -> SearchStrategy[ListOffsets]:
    return builds(ListOffsets, on=_ON, role=_ROLE, current_back=_BACK)


def deletions() -> SearchStrategy[DeleteRecords]:
    return builds(DeleteRecords, on=sampled_from(UNCOMPACTED), keep=integers(0, 3))


def consumer_steps() -> SearchStrategy[ConsumerStep]:
    return sampled_from([Consume(), Join(), Leave()])


def first_consumers() -> SearchStrategy[Consume | Join]:
    return sampled_from([Join(), Consume()])


def commits_and_offset_fetches() -> SearchStrategy[PollGroup | OffsetFetch]:
    return sampled_from([PollGroup(), OffsetFetch()])


def standing_faults() -> SearchStrategy[Disturb[LogFault]]:
    anywhere = (CutOffFromControllers, Isolate, Kill, PausePastFencing, PausedZombie, Stop)
    disks = (CutTailAbove, CutTailBelow, RemoveEpochCheckpoint)
    unclean = (UncleanElection, UncleanElectionByConfig)
    stale = disturbances(CutOffFromControllers, PARTITIONS, role=sampled_from(["leader"]))
    return one_of(
        # Drawn more often, since it is the hardest to get right: a leader that goes on without knowing of its successor.
        *[stale] * 4,
        *(disturbances(kind, PARTITIONS, role=_HIT) for kind in anywhere),
        # Those write records without a key, which a compacted topic refuses, to have something to damage.
        *(disturbances(kind, UNCOMPACTED, role=_HIT) for kind in disks),
        # On the machine's own partition, which the judges follow.
        *(disturbances(kind, UNCLEAN_ON, own_topic=sampled_from([False])) for kind in unclean),
    )


def transient_faults() -> SearchStrategy[DisturbBriefly[BriefLogFault]]:
    return one_of(
        *(brief_disturbances(kind, PARTITIONS) for kind in (MoveLeader, PreferredElection, Reassign, RollingRestart)),
        *(brief_disturbances(kind, UNCOMPACTED) for kind in (RetentionBySize, RetentionByTime, RollBySize)),
    )
