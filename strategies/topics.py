"""Steps of the topics machine: topics and configurations, created, altered and deleted; some requests must be refused.

Requests that must be refused use values that no other request uses, so that any trace of them is recognizable.
"""

from typing import TypeAlias

from hypothesis.strategies import SearchStrategy, builds, integers, none, one_of, sampled_from

from fixtures.faults.kinds.elections import MoveLeader
from fixtures.faults.kinds.process import Kill, PausePastFencing
from fixtures.faults.kinds.zombies import CutOffFromControllers
from strategies import steps

ANCHOR = "anchor"
"""The topic around which faults are injected: it has three replicas, and no step changes it."""
TOPICS = ("topic-1", "topic-2", "topic-3")
OWNERS = ("cluster-default", "broker-1", "broker-2", "broker-3", "group")
"""The owners, besides topics, of configurations that are altered."""
LIMIT, RETENTION = "max.message.bytes", "retention.ms"
CLEANER_BACKOFF = "log.cleaner.backoff.ms"
"""A setting that is dynamic, for one broker or all of them, and disturbs nothing."""
SESSION_TIMEOUT = "consumer.session.timeout.ms"
LEAST = {LIMIT: 2_000, RETENTION: 2_000, CLEANER_BACKOFF: 15_000, SESSION_TIMEOUT: 45_000}
"""Each key's smallest drawn value."""
INVALID_LIMIT = "-5"
"""A value of max.message.bytes that the validator refuses."""


class AlterOwnerConfig(steps.SubjectStep, frozen=True, kw_only=True, tag="alter-owner-config"):
    """IncrementalAlterConfigs of one key of an owner in `OWNERS`: its new number, None to delete the key."""

    key: str
    value: int | None = None


class RefusedAlteration(steps.SubjectStep, frozen=True, kw_only=True, tag="refused-alteration"):
    """IncrementalAlterConfigs of a topic or owner, with a valid value and one for which the request must be refused."""

    key: str
    value: int


class MisassignPartitions(steps.SubjectStep, frozen=True, kw_only=True, tag="misassign-partitions"):
    """CreatePartitions up to `total` partitions, all assigned to a broker that does not exist: it must be refused."""

    total: int


class ProduceSized(steps.SubjectStep, frozen=True, kw_only=True, tag="produce-sized"):
    """Produce of one record with a value of `size` bytes to partition 0 of a topic, with acks=all."""

    size: int


TopicsStep: TypeAlias = (
    steps.CreateTopic
    | steps.DeleteTopic
    | steps.RecreateTopic
    | steps.AddPartitions
    | steps.AlterConfig
    | AlterOwnerConfig
    | steps.ElectPreferredLeader
    | RefusedAlteration
    | MisassignPartitions
    | ProduceSized
    | steps.Disturb
    | steps.DisturbBriefly
    | steps.Heal
    | steps.HealPartly
    | steps.Echo
    | steps.ReadEverything
)


def creations() -> SearchStrategy[steps.CreateTopic]:
    """Draw creations that can succeed: one to three partitions and replicas, with or without settings."""
    return builds(
        steps.CreateTopic,
        on=sampled_from(TOPICS),
        partitions=integers(1, 3),
        replication_factor=integers(1, 3),
        configs=one_of(
            sampled_from([{}, {RETENTION: "700000"}]),
            builds(lambda hundreds: {LIMIT: str(100 * hundreds)}, integers(20, 40)),
        ),
    )


def refused_creations() -> SearchStrategy[steps.CreateTopic]:
    """Draw creations that must be refused: too many replicas, no partitions, or an invalid value."""
    on = sampled_from(TOPICS)
    return one_of(
        builds(steps.CreateTopic, on=on, partitions=integers(7, 9), replication_factor=sampled_from([4, 5])),
        builds(steps.CreateTopic, on=on, partitions=sampled_from([0, -2]), replication_factor=integers(1, 3)),
        builds(
            steps.CreateTopic,
            on=on,
            partitions=integers(7, 9),
            replication_factor=integers(1, 3),
            configs=builds(lambda hundreds: {RETENTION: str(100 * hundreds), LIMIT: INVALID_LIMIT}, integers(41, 60)),
        ),
    )


def deletions() -> SearchStrategy[steps.DeleteTopic | steps.RecreateTopic]:
    """Draw deletions of topics; every other one creates the topic again at once."""
    on = sampled_from(TOPICS)
    recreated = builds(steps.RecreateTopic, on=on, partitions=integers(1, 3), replication_factor=integers(1, 3))
    return one_of(builds(steps.DeleteTopic, on=on), recreated)


def more_partitions() -> SearchStrategy[steps.AddPartitions]:
    """Draw CreatePartitions; refused if the topic has that many or more."""
    return builds(steps.AddPartitions, on=sampled_from(TOPICS), total=integers(1, 6))


def refused_partitions() -> SearchStrategy[MisassignPartitions]:
    """Draw CreatePartitions that must be refused, with more partitions than any other request."""
    return builds(MisassignPartitions, on=sampled_from(TOPICS), total=integers(10, 12))


def topic_alterations() -> SearchStrategy[steps.AlterConfig]:
    """Draw topic settings. Their values end in 00; those of alterations that must be refused end in 50."""
    values = integers(20, 40).map(lambda n: str(100 * n))
    return builds(
        steps.AlterConfig, on=sampled_from(TOPICS), key=sampled_from([LIMIT, RETENTION]), value=one_of(values, none())
    )


def owner_alterations() -> SearchStrategy[AlterOwnerConfig]:
    """Draw settings of the cluster default, of one broker, or of a consumer group."""
    return one_of(_owner_alterations(OWNERS[:-1], CLEANER_BACKOFF), _owner_alterations(OWNERS[-1:], SESSION_TIMEOUT))


def _owner_alterations(owners: tuple[str, ...], key: str) -> SearchStrategy[AlterOwnerConfig]:
    values = integers(1, 50).map(lambda n: LEAST[key] + 100 * n)
    return builds(AlterOwnerConfig, on=sampled_from(owners), key=sampled_from([key]), value=one_of(values, none()))


def refused_alterations() -> SearchStrategy[RefusedAlteration]:
    """Draw settings of any owner or topic, each with one for which the request must be refused."""
    return one_of(
        _refused_alterations(TOPICS, LIMIT),
        _refused_alterations(TOPICS, RETENTION),
        _refused_alterations(OWNERS[:-1], CLEANER_BACKOFF),
        _refused_alterations(OWNERS[-1:], SESSION_TIMEOUT),
    )


def _refused_alterations(on: tuple[str, ...], key: str) -> SearchStrategy[RefusedAlteration]:
    values = integers(1, 50).map(lambda n: LEAST[key] + 100 * n + 50)
    return builds(RefusedAlteration, on=sampled_from(on), key=sampled_from([key]), value=values)


def elections() -> SearchStrategy[steps.ElectPreferredLeader]:
    """Draw elections of preferred leaders."""
    return builds(steps.ElectPreferredLeader, on=sampled_from(TOPICS), partition=integers(0, 1))


def sized_produces() -> SearchStrategy[ProduceSized]:
    """Draw Produce with values around the drawn limits, some well below and some well above."""
    return builds(ProduceSized, on=sampled_from(TOPICS), size=sampled_from([100, 1_000, 5_000]))


# --- faults


STANDING = (Kill, PausePastFencing, CutOffFromControllers)


def standing_faults() -> SearchStrategy[steps.Disturb]:
    """Draw faults around the anchor topic, which no step deletes."""
    return one_of(*(steps.disturbances(kind, (ANCHOR,)) for kind in STANDING))


def transient_faults() -> SearchStrategy[steps.DisturbBriefly]:
    """Draw moves of the leader of the anchor topic, which no step deletes."""
    return steps.brief_disturbances(MoveLeader, (ANCHOR,))
