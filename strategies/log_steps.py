"""Steps of the log machine: pure data, addressed by role, and the strategies that draw them."""

from __future__ import annotations

from typing import Literal

import msgspec
from hypothesis.strategies import SearchStrategy, builds, integers, sampled_from

ReplicaRole = Literal["leader", "follower"]


class Step(msgspec.Struct, frozen=True, kw_only=True, tag_field="do"):
    """One action. `disturbs` tells faults from operations: a shrinker drops faults first."""

    @property
    def disturbs(self) -> bool:
        return False


class Produce(Step, frozen=True, kw_only=True, tag="produce"):
    """One batch of so many records to the leader."""

    records: int
    acks: Literal[-1, 1]


class Read(Step, frozen=True, kw_only=True, tag="read"):
    """Fetch everything, as a consumer or with the whole log in view, naming the epoch `epochs_back` ago."""

    role: ReplicaRole
    whole: bool
    epochs_back: int = 0


class AskEpoch(Step, frozen=True, kw_only=True, tag="ask-epoch"):
    """OffsetForLeaderEpoch for the epoch `epochs_back` ago, claiming the one `claimed_back` ago to be current (-1: the next)."""

    role: ReplicaRole
    epochs_back: int
    claimed_back: int = 0


class AskOffsets(Step, frozen=True, kw_only=True, tag="ask-offsets"):
    """ListOffsets: earliest, then latest, at the leader."""


class Trim(Step, frozen=True, kw_only=True, tag="trim"):
    """DeleteRecords, keeping so many records below the high watermark."""

    keep: int


class Kill(Step, frozen=True, kw_only=True, tag="kill"):
    """SIGKILL the replica in that role; the step ends when the others see another leader, or the ISR without it."""

    role: ReplicaRole

    @property
    def disturbs(self) -> bool:
        return True


class Restart(Step, frozen=True, kw_only=True, tag="restart"):
    """Start what is down; the step ends when the ISR is full again."""


class MoveLeader(Step, frozen=True, kw_only=True, tag="move-leader"):
    """Reassign so that a follower is preferred, and elect it."""

    @property
    def disturbs(self) -> bool:
        return True


class PreferredElection(Step, frozen=True, kw_only=True, tag="preferred-election"):
    """Elect the first replica, if it does not lead already."""


LogStep = Produce | Read | AskEpoch | AskOffsets | Trim | Kill | Restart | MoveLeader | PreferredElection

ROLES: tuple[ReplicaRole, ...] = ("leader", "follower")


def produces() -> SearchStrategy[Produce]:
    return builds(Produce, records=integers(1, 4), acks=sampled_from([-1, 1]))


def reads() -> SearchStrategy[Read]:
    return builds(Read, role=sampled_from(ROLES), whole=sampled_from([True, False]), epochs_back=integers(0, 2))


def epoch_questions() -> SearchStrategy[AskEpoch]:
    return builds(AskEpoch, role=sampled_from(ROLES), epochs_back=integers(0, 3), claimed_back=integers(-1, 1))


def trims() -> SearchStrategy[Trim]:
    return builds(Trim, keep=integers(0, 3))


def kills() -> SearchStrategy[Kill]:
    return builds(Kill, role=sampled_from(ROLES))
