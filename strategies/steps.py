"""Steps that every machine shares: plain data, so that a schedule can be recorded, shrunk and replayed.

A machine's steps are a union of these and its own, e.g. ``Produce | Disturb | Heal``. Steps name their subject (a
partition, topic or group) by the machine's own name, and never a node: they are aimed by role when they are taken.
"""

from typing import Any, ClassVar, Literal, TypeAlias

import msgspec
from hypothesis.strategies import SearchStrategy, builds, integers, sampled_from

from fixtures.faults.base.fault import Fault
from fixtures.faults.plans import AnyFault
from history.subjects import Kind
from strategies.faults import faults_of


class Step(msgspec.Struct, frozen=True, kw_only=True, tag_field="do"):
    """One action of a machine; its tag is the name of its kind.

    `disturbs` is true for faults, which a shrinker drops first. `reads`: it changes nothing in the cluster, so that a
    violation that other steps show seldom needs it.
    """

    disturbs: ClassVar[bool] = False
    reads: ClassVar[bool] = False


class SubjectStep(Step, frozen=True, kw_only=True):
    """A step about one subject. `on` is the machine's own name for it; a shrinker first tries the steps on the same
    one."""

    on: str


# --- faults


class Disturb(SubjectStep, frozen=True, kw_only=True, tag="disturb"):
    """A fault around the subject that lasts until it is healed. With `follow` the next step waits for the cluster's
    reaction; without it that step meets the election or recovery under way."""

    disturbs: ClassVar[bool] = True
    fault: AnyFault
    follow: bool = True


class DisturbBriefly(SubjectStep, frozen=True, kw_only=True, tag="disturb-briefly"):
    """A transient fault around the subject, injected and healed within the step. Skipped while another is active."""

    disturbs: ClassVar[bool] = True
    fault: AnyFault


class Heal(Step, frozen=True, kw_only=True, tag="heal"):
    """Heal all standing faults, the latest first; the step ends once the cluster is healthy."""


class HealPartly(Step, frozen=True, kw_only=True, tag="heal-partly"):
    """Heal one of the standing faults, counted from the earliest, modulo their number; the others go on."""

    which: int = 0


# --- administration of topics


class Administer(SubjectStep, frozen=True, kw_only=True):
    """An administrator's request about the topic `on`, sent to a running broker."""

    subject: ClassVar[Kind] = "topic"


class CreateTopic(Administer, frozen=True, kw_only=True, tag="create-topic"):
    """CreateTopics, with the subject's name in the example. -1 is the broker's default."""

    partitions: int = 1
    replication_factor: int = -1
    configs: dict[str, str] = msgspec.field(default_factory=dict)


class DeleteTopic(Administer, frozen=True, kw_only=True, tag="delete-topic"):
    """DeleteTopics, by topic id if known, else by name."""


class RecreateTopic(Administer, frozen=True, kw_only=True, tag="recreate-topic"):
    """DeleteTopics and at once CreateTopics under the same name."""

    partitions: int = 1
    replication_factor: int = -1
    configs: dict[str, str] = msgspec.field(default_factory=dict)


class AddPartitions(Administer, frozen=True, kw_only=True, tag="add-partitions"):
    """CreatePartitions, up to `total` partitions; refused if the topic has that many."""

    total: int = 2


class AlterConfig(Administer, frozen=True, kw_only=True, tag="alter-config"):
    """IncrementalAlterConfigs of one key of the topic; None deletes it, so that the default applies."""

    key: str
    value: str | None = None


class AlterClusterDefault(Step, frozen=True, kw_only=True, tag="alter-cluster-default"):
    """IncrementalAlterConfigs of one key of the cluster default; None deletes it. The end of the example deletes it,
    too."""

    key: str
    value: str | None = None


class ElectPreferredLeader(Administer, frozen=True, kw_only=True, tag="elect-preferred-leader"):
    """ElectLeaders for the preferred replica of one partition."""

    partition: int = 0


class ElectUncleanly(Administer, frozen=True, kw_only=True, tag="elect-uncleanly"):
    """ElectLeaders of type unclean for one partition; refused while it has a leader."""

    partition: int = 0


Change: TypeAlias = Literal["grow", "shrink", "swap", "reorder"]
"""A reassignment's change: one more replica, one fewer, one replaced, or another preferred leader."""


class ReassignPartition(Administer, frozen=True, kw_only=True, tag="reassign-partition"):
    """AlterPartitionReassignments of one partition, from its current replicas. `pick` selects the replica that goes or
    comes first, modulo their number. Skipped if no broker is free, or only one replica is left."""

    partition: int = 0
    change: Change = "reorder"
    pick: int = 0


class CancelReassignment(Administer, frozen=True, kw_only=True, tag="cancel-reassignment"):
    """AlterPartitionReassignments of one partition without replicas; refused if it is not being reassigned."""

    partition: int = 0


AdministrationStep: TypeAlias = (
    CreateTopic
    | DeleteTopic
    | RecreateTopic
    | AddPartitions
    | AlterConfig
    | ElectPreferredLeader
    | ElectUncleanly
    | ReassignPartition
    | CancelReassignment
)


# --- the example as a whole


class Echo(Step, frozen=True, kw_only=True, tag="echo"):
    """Send an earlier request of the example again to the same node, byte for byte: the `back`-th before the latest
    that changes something, modulo their number."""

    back: int = 0


class Sweep(Step, frozen=True, kw_only=True, tag="sweep"):
    """Ask a right and a wrong broker the same questions, in several versions, about all items and single ones; the turn
    selects which. Skipped while a fault is active."""

    reads: ClassVar[bool] = True
    turn: int = 0


class ReadEverything(Step, frozen=True, kw_only=True, tag="read-everything"):
    """Read everything that the machine's judges look at, from every running node."""

    reads: ClassVar[bool] = True


# --- subjects


def topic_of(on: str) -> str:
    """Return a partition's topic, both by the machine's own names: `strict` for `strict-0`."""
    return on.rpartition("-")[0]


def index_of(on: str) -> int:
    """Return the index of a partition by the machine's own name: 0 for `strict-0`."""
    return int(on.rpartition("-")[2])


# --- strategies


def disturbances(kind: type[Fault], on: tuple[str, ...], **drawn: SearchStrategy[Any]) -> SearchStrategy[Disturb]:
    """Draw standing faults of one kind around any of these subjects; `drawn` overrides the parameters' own
    strategies."""
    return builds(Disturb, on=sampled_from(on), fault=faults_of(kind, **drawn))


def brief_disturbances(
    kind: type[Fault], on: tuple[str, ...], **drawn: SearchStrategy[Any]
) -> SearchStrategy[DisturbBriefly]:
    """Draw transient faults of one kind around any of these subjects; `drawn` is as in `disturbances`."""
    return builds(DisturbBriefly, on=sampled_from(on), fault=faults_of(kind, **drawn))


def partial_heals(most: int) -> SearchStrategy[HealPartly]:
    """Draw steps that heal any one of up to `most` faults."""
    return builds(HealPartly, which=integers(0, most - 1))


def echoes(most: int = 10) -> SearchStrategy[Echo]:
    """Draw echoes of any of the last `most` requests that change something."""
    return builds(Echo, back=integers(0, most - 1))


def sweeps(turns: int = 60) -> SearchStrategy[Sweep]:
    """Draw sweeps of any of the first `turns`, over which each version of each API is asked for each item singly."""
    return builds(Sweep, turn=integers(0, turns - 1))
