"""Steps of the log machine: pure data, addressed by role, and the strategies that draw them."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from hypothesis.strategies import SearchStrategy, builds, integers, one_of, sampled_from

from fixtures.faults.kinds.disk import CutTailAbove, CutTailBelow, RemoveEpochCheckpoint
from fixtures.faults.kinds.elections import MoveLeader, PreferredElection, Reassign
from fixtures.faults.kinds.logs import RetentionBySize, RetentionByTime, RollBySize
from fixtures.faults.kinds.process import Kill, PausePastFencing, RollingRestart, Stop
from fixtures.faults.kinds.shapes import Isolate
from fixtures.faults.kinds.unclean import UncleanElection, UncleanElectionByConfig
from fixtures.faults.kinds.zombies import CutOffFromControllers, PausedZombie
from strategies.faults import parameters

PartitionName = Literal["strict-0", "strict-1", "loose-0", "compacted-0", "lone-0"]
"""`strict` has min.insync.replicas=2. `loose` has 1, so that what a lone leader acknowledged can be lost by an unclean
election; `compacted` is cleaned while the machine works; `lone` has one replica, and no leader while that is down."""

ReplicaRole = Literal["leader", "follower", "deposed"]
"""`deposed` is who led before the leader of the moment, while it can be reached; else the leader."""

StandingFault = (
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

PassingFault = (
    MoveLeader | PreferredElection | Reassign | RetentionBySize | RetentionByTime | RollBySize | RollingRestart
)
"""What needs the cluster whole, or is over when it shows."""


class Step(msgspec.Struct, frozen=True, kw_only=True, tag_field="do"):
    """One action. `disturbs` tells faults from operations: a shrinker drops faults first."""

    @property
    def disturbs(self) -> bool:
        return False


class OnPartition(Step, frozen=True, kw_only=True):
    on: PartitionName = "strict-0"


# --- producers


class Produce(OnPartition, frozen=True, kw_only=True, tag="produce"):
    """One batch of so many records."""

    records: int = 1
    acks: Literal[-1, 0, 1] = -1
    to: ReplicaRole = "leader"


class Fill(Step, frozen=True, kw_only=True, tag="fill"):
    """One batch to every partition."""

    records: int = 1
    acks: Literal[-1, 1] = -1
    to: ReplicaRole = "leader"


# --- raw fetchers


class Survey(Step, frozen=True, kw_only=True, tag="survey"):
    """The whole log of every replica that answers, and what it shows to consumers."""


class Read(OnPartition, frozen=True, kw_only=True, tag="read"):
    """Fetch all from the log start, as a consumer or with the whole log in view, naming the epoch `epochs_back` ago (-1: the
    next one)."""

    role: ReplicaRole = "leader"
    whole: bool = False
    epochs_back: int = 0


class FetchAt(OnPartition, frozen=True, kw_only=True, tag="fetch-at"):
    """Fetch `before_end` records before the end of what has been seen, having fetched the epoch `last_back` ago up to there."""

    role: ReplicaRole = "leader"
    before_end: int = 0
    last_back: int = 0
    epochs_back: int = 0


class Recall(OnPartition, frozen=True, kw_only=True, tag="recall"):
    """Go back to a record that was read once, the `back`-th before the latest: Fetch behind it with its epoch, and look the
    epoch up."""

    role: ReplicaRole = "leader"
    back: int = 0


class AskEpoch(OnPartition, frozen=True, kw_only=True, tag="ask-epoch"):
    """OffsetForLeaderEpoch for the epoch `epochs_back` ago, claiming the one `claimed_back` ago to be current (-1: the next)."""

    role: ReplicaRole = "leader"
    epochs_back: int = 0
    claimed_back: int = 0


class AskOffsets(OnPartition, frozen=True, kw_only=True, tag="ask-offsets"):
    """ListOffsets, earliest and latest, claiming the epoch `claimed_back` ago to be current."""

    role: ReplicaRole = "leader"
    claimed_back: int = 0


class Trim(OnPartition, frozen=True, kw_only=True, tag="trim"):
    """DeleteRecords, keeping so many records below the high watermark."""

    keep: int = 1


class Confront(Step, frozen=True, kw_only=True, tag="confront"):
    """Hold every leader and whoever it deposed to what they may do now: write to both, with too few in the ISR perhaps, and
    see whose high watermark moves and which epochs they serve."""


# --- consumers of kafka-python


class Consume(Step, frozen=True, kw_only=True, tag="consume"):
    """A consumer by itself reads all partitions on; its first time, from their beginning."""


class Join(Step, frozen=True, kw_only=True, tag="join"):
    """Another member subscribes to all topics: a rebalance."""


class PollGroup(Step, frozen=True, kw_only=True, tag="poll-group"):
    """Every member polls, and commits its positions with their epochs."""

    commit: bool = True


class Leave(Step, frozen=True, kw_only=True, tag="leave"):
    """The member that joined last leaves: a rebalance."""


class AskCommitted(Step, frozen=True, kw_only=True, tag="ask-committed"):
    """OffsetFetch of all that the group has committed."""


ConsumerStep = Consume | Join | Leave


# --- faults


class Disturb(OnPartition, frozen=True, kw_only=True, tag="disturb"):
    """A fault around the partition, that stands until it is healed."""

    fault: StandingFault

    @property
    def disturbs(self) -> bool:
        return True


class Shake(OnPartition, frozen=True, kw_only=True, tag="shake"):
    """A fault around the partition, that is over with the step."""

    fault: PassingFault

    @property
    def disturbs(self) -> bool:
        return True


class Heal(Step, frozen=True, kw_only=True, tag="heal"):
    """Take back what stands; the step ends when the cluster is whole."""


LogStep = (
    Produce
    | Fill
    | Survey
    | Confront
    | Read
    | FetchAt
    | Recall
    | AskEpoch
    | AskOffsets
    | Trim
    | Consume
    | Join
    | PollGroup
    | Leave
    | AskCommitted
    | Disturb
    | Shake
    | Heal
)

PARTITIONS: tuple[PartitionName, ...] = ("strict-0", "strict-1", "loose-0", "compacted-0")
"""Those that are on all brokers."""
UNCOMPACTED = PARTITIONS[:3]
UNCLEAN_ON: tuple[PartitionName, ...] = ("loose-0",)
ROLES: tuple[ReplicaRole, ...] = ("leader", "follower", "deposed")

# The first two are where most invariants hold, so that they are drawn more often.
_ON = sampled_from([*PARTITIONS, "strict-0", "loose-0", "lone-0"])
_ROLE = sampled_from(ROLES)
_BACK = integers(-1, 2)
_HIT = sampled_from(["leader", "follower"])


def produces() -> SearchStrategy[Produce]:
    return builds(Produce, on=_ON, records=integers(1, 4), acks=sampled_from([-1, 1, 0]), to=_ROLE)


def fills() -> SearchStrategy[Fill]:
    return builds(Fill, records=integers(1, 3), acks=sampled_from([-1, 1]), to=_ROLE)


def reads() -> SearchStrategy[Read]:
    return builds(Read, on=_ON, role=_ROLE, whole=sampled_from([True, False]), epochs_back=_BACK)


def fetches() -> SearchStrategy[FetchAt]:
    return builds(FetchAt, on=_ON, role=_ROLE, before_end=integers(-1, 4), last_back=_BACK, epochs_back=_BACK)


def recalls() -> SearchStrategy[Recall]:
    return builds(Recall, on=_ON, role=_ROLE, back=integers(0, 9))


def epoch_questions() -> SearchStrategy[AskEpoch]:
    return builds(AskEpoch, on=_ON, role=_ROLE, epochs_back=integers(0, 3), claimed_back=_BACK)


def offset_questions() -> SearchStrategy[AskOffsets]:
    return builds(AskOffsets, on=_ON, role=_ROLE, claimed_back=_BACK)


def trims() -> SearchStrategy[Trim]:
    return builds(Trim, on=sampled_from(UNCOMPACTED), keep=integers(0, 3))


def consumer_steps() -> SearchStrategy[ConsumerStep]:
    return sampled_from([Consume(), Join(), Leave()])


def first_consumers() -> SearchStrategy[Consume | Join]:
    return sampled_from([Join(), Consume()])


def group_questions() -> SearchStrategy[PollGroup | AskCommitted]:
    return sampled_from([PollGroup(), AskCommitted()])


def disturbances() -> SearchStrategy[Disturb]:
    anywhere = (CutOffFromControllers, Isolate, Kill, PausePastFencing, PausedZombie, Stop)
    disks = (CutTailAbove, CutTailBelow, RemoveEpochCheckpoint)
    unclean = (UncleanElection, UncleanElectionByConfig)
    stale = _standing(CutOffFromControllers, PARTITIONS, role=sampled_from(["leader"]))
    return one_of(
        # More of those that are the hardest to be right about: a leader that goes on without knowing of its successor.
        *[stale] * 4,
        *(_standing(kind, PARTITIONS, role=_HIT) for kind in anywhere),
        # Those write something to damage, without a key.
        *(_standing(kind, UNCOMPACTED, role=_HIT) for kind in disks),
        # On the machine's own partition: that is what the others are compared with.
        *(_standing(kind, UNCLEAN_ON, own_topic=sampled_from([False])) for kind in unclean),
    )


def _standing(kind: Any, on: tuple[PartitionName, ...], **drawn: SearchStrategy[Any]) -> SearchStrategy[Disturb]:
    return builds(Disturb, on=sampled_from(on), fault=builds(kind, **{**parameters(kind), **drawn}))


def shakes() -> SearchStrategy[Shake]:
    return one_of(
        *(_passing(kind, PARTITIONS) for kind in (MoveLeader, PreferredElection, Reassign, RollingRestart)),
        *(_passing(kind, UNCOMPACTED) for kind in (RetentionBySize, RetentionByTime, RollBySize)),
    )


def _passing(kind: Any, on: tuple[PartitionName, ...]) -> SearchStrategy[Shake]:
    return builds(Shake, on=sampled_from(on), fault=builds(kind, **parameters(kind)))
