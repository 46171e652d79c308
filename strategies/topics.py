"""Steps of the topics machine: topics and configurations, created, altered and deleted; some requests must be refused.

A request that must be refused asks for values that no other request asks for, so that a trace of it can be told from the rest.
"""

from __future__ import annotations

from typing import TypeAlias

from hypothesis.strategies import SearchStrategy, builds, integers, none, one_of, sampled_from

from fixtures.faults.kinds.elections import MoveLeader
from fixtures.faults.kinds.process import Kill, PausePastFencing
from fixtures.faults.kinds.zombies import CutOffFromControllers
from strategies.steps import (
    AddPartitions,
    CreateTopic,
    DeleteTopic,
    Disturb,
    DisturbBriefly,
    Echo,
    Heal,
    HealPartly,
    ReadEverything,
    RecreateTopic,
    SubjectStep,
    brief_disturbances,
    disturbances,
)

ANCHOR = "anchor"
"""The topic that faults are aimed around: it has three replicas, and no step changes it."""
TOPICS = ("topic-1", "topic-2", "topic-3")
OWNERS = ("cluster-default", "broker-1", "broker-2", "broker-3", "group")
"""Whose configuration is altered beside that of topics."""
LIMIT, RETENTION = "max.message.bytes", "retention.ms"
CLEANER_BACKOFF = "log.cleaner.backoff.ms"
"""A broker's value that can be altered while it runs, for one broker and for all of them, and that disturbs nothing."""
SESSION_TIMEOUT = "consumer.session.timeout.ms"
INVALID_LIMIT = "-5"
"""A value that the validator refuses."""


class AlterConfigs(SubjectStep, frozen=True, kw_only=True, tag="alter-configs"):
    """IncrementalAlterConfigs of one key, of a topic or of another owner of `OWNERS`.

    `value` is the number that it is set to, None to delete the key. `refused` adds a key or value that cannot be had, so that
    the whole alteration must be refused.
    """

    key: str
    value: int | None = None
    refused: bool = False


class MisassignPartitions(SubjectStep, frozen=True, kw_only=True, tag="misassign-partitions"):
    """CreatePartitions up to `total` partitions, each assigned to a broker that does not exist: it must be refused."""

    total: int


class ProduceSized(SubjectStep, frozen=True, kw_only=True, tag="produce-sized"):
    """Produce of one record with a value of `size` bytes to partition 0 of a topic, with acks=all."""

    size: int


TopicsFault: TypeAlias = Kill | PausePastFencing | CutOffFromControllers
TopicsStep: TypeAlias = (
    CreateTopic
    | DeleteTopic
    | RecreateTopic
    | AddPartitions
    | AlterConfigs
    | MisassignPartitions
    | ProduceSized
    | Disturb[TopicsFault]
    | DisturbBriefly[MoveLeader]
    | Heal
    | HealPartly
    | Echo
    | ReadEverything
)


def creations() -> SearchStrategy[CreateTopic]:
    """Creations that can succeed: one to three partitions and replicas, values of their own or none."""
    return builds(
        CreateTopic,
        on=sampled_from(TOPICS),
        partitions=integers(1, 3),
        replication_factor=integers(1, 3),
        configs=one_of(sampled_from([{}, {RETENTION: "700000"}]), builds(_limited, integers(20, 40))),
    )


def refused_creations() -> SearchStrategy[CreateTopic]:
    """Creations that must be refused: too many replicas, no partitions, or a value that a validator refuses."""
    on = sampled_from(TOPICS)
    return one_of(
        builds(CreateTopic, on=on, partitions=integers(7, 9), replication_factor=sampled_from([4, 5])),
        builds(CreateTopic, on=on, partitions=sampled_from([0, -2]), replication_factor=integers(1, 3)),
        builds(
            CreateTopic,
            on=on,
            partitions=integers(7, 9),
            replication_factor=integers(1, 3),
            configs=builds(_half_valid, integers(41, 60)),
        ),
    )


def _limited(hundreds: int) -> dict[str, str]:
    return {LIMIT: str(100 * hundreds)}


def _half_valid(hundreds: int) -> dict[str, str]:
    return {RETENTION: str(100 * hundreds), LIMIT: INVALID_LIMIT}


def deletions() -> SearchStrategy[DeleteTopic | RecreateTopic]:
    on = sampled_from(TOPICS)
    recreated = builds(RecreateTopic, on=on, partitions=integers(1, 3), replication_factor=integers(1, 3))
    return one_of(builds(DeleteTopic, on=on), recreated)


def more_partitions() -> SearchStrategy[AddPartitions]:
    """CreatePartitions; refused where the topic has as many or more."""
    return builds(AddPartitions, on=sampled_from(TOPICS), total=integers(1, 6))


def refused_partitions() -> SearchStrategy[MisassignPartitions]:
    """More partitions than any other request asks for."""
    return builds(MisassignPartitions, on=sampled_from(TOPICS), total=integers(10, 12))


def topic_alterations() -> SearchStrategy[AlterConfigs]:
    """Of a topic; the values of a refused alteration end in 50, all others in 00."""
    on, key = sampled_from(TOPICS), sampled_from([LIMIT, RETENTION])
    hundreds = integers(20, 40)
    return one_of(
        builds(AlterConfigs, on=on, key=key, value=one_of(hundreds.map(lambda n: 100 * n), none())),
        builds(AlterConfigs, on=on, key=key, value=hundreds.map(lambda n: 100 * n + 50), refused=sampled_from([True])),
    )


def other_alterations() -> SearchStrategy[AlterConfigs]:
    """Of the cluster default, of one broker, and of a consumer group."""
    return one_of(_altered(OWNERS[:-1], CLEANER_BACKOFF, 15_000), _altered(OWNERS[-1:], SESSION_TIMEOUT, 45_000))


def _altered(owners: tuple[str, ...], key: str, least: int) -> SearchStrategy[AlterConfigs]:
    on, steps = sampled_from(owners), integers(1, 50)
    return one_of(
        builds(
            AlterConfigs, on=on, key=sampled_from([key]), value=one_of(steps.map(lambda n: least + 100 * n), none())
        ),
        builds(
            AlterConfigs,
            on=on,
            key=sampled_from([key]),
            value=steps.map(lambda n: least + 100 * n + 50),
            refused=sampled_from([True]),
        ),
    )


def sized_produces() -> SearchStrategy[ProduceSized]:
    """Around the limits that are drawn, some well below and some well above."""
    return builds(ProduceSized, on=sampled_from(TOPICS), size=sampled_from([100, 1_000, 5_000]))


# --- faults


def standing_faults() -> SearchStrategy[Disturb[TopicsFault]]:
    """Around the one topic that no step deletes."""
    drawn: list[SearchStrategy[Disturb[TopicsFault]]] = [
        disturbances(Kill, (ANCHOR,)),
        disturbances(PausePastFencing, (ANCHOR,)),
        disturbances(CutOffFromControllers, (ANCHOR,)),
    ]
    return one_of(drawn)


def transient_faults() -> SearchStrategy[DisturbBriefly[MoveLeader]]:
    return brief_disturbances(MoveLeader, (ANCHOR,))
