"""Topics and configurations of the miniature: what each broker describes, what is refused, and what a switched-on bug changes."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import pytest

from conformance.core.bench import Bench
from fixtures.faults.kinds.process import Kill
from protocol.codes import Error
from protocol.configs import Config, ResourceType
from protocol.messages import Topic
from protocol.records import batch
from protocol.topics import NewTopic
from tests.miniature.bench import mini_bench
from tests.miniature.core.cluster import MiniCluster
from tests.miniature.topics.bugs import ADMINISTRATION, BUGS

TOPIC, BROKER, GROUP = ResourceType.TOPIC, ResourceType.BROKER, ResourceType.GROUP
IDS = (1, 2, 3)


def a_bench(*bugs: str) -> Bench:
    return mini_bench(MiniCluster(bugs))


@pytest.fixture
def bench() -> Bench:
    return a_bench()


def created(bench: Bench, name: str = "t", **fields: object) -> Error:
    return bench.node(1).create_topics([NewTopic(name, **fields)]).topics[0].error  # type: ignore[arg-type]


def altered(bench: Bench, changes: dict[str, str | None], kind: ResourceType = TOPIC, name: str = "t") -> Error:
    return bench.node(1).incremental_alter_configs(kind, name, changes).error


def at_rest(bench: Bench, looked_at: Callable[[int], object]) -> object:
    """Return the value on which all brokers agree in time, or else each one's value."""
    seen: list[object] = []

    def agreed() -> bool:
        seen[:] = [looked_at(id) for id in IDS]
        return all(one == seen[0] for one in seen)

    bench.wait.becomes_true(lambda: False, "a while passes", 2.0)
    return seen[0] if agreed() else list(seen)


def partitions(bench: Bench, name: str = "t") -> object:
    """Return the number of partitions, or the error."""

    def described(id: int) -> object:
        topic = bench.node(id).metadata([name]).topic(name)
        return len(topic.partitions) or topic.error

    return at_rest(bench, described)


def value(bench: Bench, key: str, kind: ResourceType = TOPIC, name: str = "t") -> object:
    def described(id: int) -> object:
        answer = bench.node(id).describe_configs(kind, name, [key])
        return (
            answer.error
            if answer.error is not Error.NONE
            else (answer.configs[0].value, answer.configs[0].config_source)
        )

    return at_rest(bench, described)


# --- topics


def test_each_broker_learns_of_a_new_topic_in_its_turn(bench: Bench) -> None:
    assert created(bench, num_partitions=2, replication_factor=3) is Error.NONE
    first = [bench.node(id).metadata(["t"]).topic("t").error for id in IDS]
    assert Error.UNKNOWN_TOPIC_OR_PARTITION in first, "the controller decides before brokers hear of it"
    assert partitions(bench) == 2


def test_defaults_take_the_place_of_counts_that_are_not_given(bench: Bench) -> None:
    answer = bench.node(1).create_topics([NewTopic("t")]).topics[0]
    assert (answer.num_partitions, answer.replication_factor) == (1, 3)


@pytest.mark.parametrize(
    ("topic", "error"),
    [
        (NewTopic("a b"), Error.INVALID_TOPIC_EXCEPTION),
        (NewTopic(".."), Error.INVALID_TOPIC_EXCEPTION),
        (NewTopic("taken"), Error.TOPIC_ALREADY_EXISTS),
        (NewTopic("ta_ken"), Error.INVALID_TOPIC_EXCEPTION),
        (NewTopic("t", num_partitions=0), Error.INVALID_PARTITIONS),
        (NewTopic("t", replication_factor=4), Error.INVALID_REPLICATION_FACTOR),
        (NewTopic("t", ((1, 1),)), Error.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("t", ((1, 9),)), Error.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("t", ((1, 2), (3,))), Error.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("t", ((1, 2),), num_partitions=1), Error.INVALID_REQUEST),
        (NewTopic("t", configs={"retention.ms": "-2"}), Error.INVALID_CONFIG),
        (NewTopic("t", configs={"no.such.thing": "1"}), Error.INVALID_CONFIG),
    ],
)
def test_a_refused_creation_leaves_no_trace(bench: Bench, topic: NewTopic, error: Error) -> None:
    assert created(bench, "taken") is created(bench, "ta.ken") is Error.NONE
    before = at_rest(bench, lambda id: sorted(str(one.name) for one in bench.node(id).metadata().topics))
    assert bench.node(2).create_topics([topic]).topics[0].error is error
    assert at_rest(bench, lambda id: sorted(str(one.name) for one in bench.node(id).metadata().topics)) == before


def test_a_name_given_twice_in_one_request_is_refused_and_the_others_are_created(bench: Bench) -> None:
    answer = bench.node(1).create_topics([NewTopic("t"), NewTopic("u"), NewTopic("t")])
    assert {one.name: one.error for one in answer.topics} == {"t": Error.INVALID_REQUEST, "u": Error.NONE}
    assert (partitions(bench, "t"), partitions(bench, "u")) == (Error.UNKNOWN_TOPIC_OR_PARTITION, 1)


def test_what_is_only_validated_is_not_created(bench: Bench) -> None:
    assert bench.node(1).create_topics([NewTopic("t")], validate_only=True).topics[0].error is Error.NONE
    assert partitions(bench) is Error.UNKNOWN_TOPIC_OR_PARTITION


def test_a_deleted_topic_is_forgotten_with_its_replicas(bench: Bench) -> None:
    created(bench)
    partitions(bench)
    node = bench.node(1)
    node.produce(Topic("t"), 0, batch(b"a"))
    assert node.delete_topics(["t"]).topics[0].error is Error.NONE
    assert partitions(bench) is Error.UNKNOWN_TOPIC_OR_PARTITION
    assert node.produce(Topic("t"), 0, batch(b"a")).error is Error.UNKNOWN_TOPIC_OR_PARTITION
    assert node.delete_topics(["t"]).topics[0].error is Error.UNKNOWN_TOPIC_OR_PARTITION
    assert value(bench, "retention.ms") is Error.UNKNOWN_TOPIC_OR_PARTITION


def test_a_topic_created_again_has_another_id_an_empty_log_and_no_configuration_of_the_former(bench: Bench) -> None:
    created(bench, configs={"retention.ms": "7"})
    partitions(bench)
    node = bench.node(1)
    node.produce(Topic("t"), 0, batch(b"a", b"b"))
    before = node.metadata(["t"]).topic("t").topic_id
    node.delete_topics(["t"])
    assert created(bench) is Error.NONE
    assert partitions(bench) == 1
    after = node.metadata(["t"]).topic("t").topic_id
    assert after != before
    assert isinstance(after, UUID)
    assert node.produce(Topic("t"), 0, batch(b"c")).base_offset == 0
    assert value(bench, "retention.ms") == ("604800000", 5)


def test_topics_go_by_their_id_too(bench: Bench) -> None:
    created(bench)
    partitions(bench)
    id = bench.node(2).metadata(["t"]).topic("t").topic_id
    assert bench.node(3).metadata([Topic("", id)]).topics[0].name == "t"
    assert bench.node(1).delete_topics([Topic("", id)]).topics[0].name == "t"
    partitions(bench)
    assert bench.node(3).metadata([Topic("", id)]).topics[0].error is Error.UNKNOWN_TOPIC_ID
    assert bench.node(1).delete_topics([Topic("", id)]).topics[0].error is Error.UNKNOWN_TOPIC_ID


def test_a_broker_that_was_down_learns_of_deletion_and_creation_when_it_is_up_again(bench: Bench) -> None:
    created(bench)
    partitions(bench)
    bench.node(1).produce(Topic("t"), 0, batch(b"old"))
    with bench.faults(Topic("t")).standing_fault(Kill(role="follower")):
        bench.node(1).delete_topics(["t"])
        created(bench)
        bench.wait.becomes_true(lambda: False, "a while passes", 2.0)
        bench.node(1).produce(Topic("t"), 0, batch(b"new"), acks=1)
    assert partitions(bench) == 1
    held = [bench.replicas({"t-0": bench.brokers}).replicas[n].batches for n in range(3)]
    assert {len(one) for one in held} == {1}
    assert len({one[0].digest for one in held}) == 1


# --- partitions


def test_a_topic_grows_and_never_shrinks(bench: Bench) -> None:
    created(bench, num_partitions=2)
    grown = [bench.node(1).create_partitions("t", count).topics[0].error for count in (2, 1, 4)]
    assert grown == [Error.INVALID_PARTITIONS, Error.INVALID_PARTITIONS, Error.NONE]
    assert partitions(bench) == 4
    assert bench.node(1).create_partitions("u", 2).topics[0].error is Error.UNKNOWN_TOPIC_OR_PARTITION


def test_new_partitions_take_as_many_replicas_as_the_old_ones(bench: Bench) -> None:
    created(bench, assignment=((1, 2),))
    node = bench.node(1)
    assert node.create_partitions("t", 2, assignment=((3,),)).topics[0].error is Error.INVALID_REPLICA_ASSIGNMENT
    assert node.create_partitions("t", 3, assignment=((3, 1),)).topics[0].error is Error.INVALID_REPLICA_ASSIGNMENT
    assert partitions(bench) == 1
    assert node.create_partitions("t", 2, assignment=((3, 1),)).topics[0].error is Error.NONE
    assert partitions(bench) == 2
    assert node.metadata(["t"]).topic("t").partition(1).replicas == (3, 1)


# --- configuration


def test_an_alteration_is_described_by_every_broker_and_taken_back_by_its_deletion(bench: Bench) -> None:
    created(bench)
    assert altered(bench, {"retention.ms": "1000", "cleanup.policy": "compact"}) is Error.NONE
    assert (value(bench, "retention.ms"), value(bench, "cleanup.policy")) == (("1000", 1), ("compact", 1))
    assert altered(bench, {"retention.ms": None}) is Error.NONE
    assert value(bench, "retention.ms") == ("604800000", 5)


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"retention.ms": "9", "min.insync.replicas": "0"}, Error.INVALID_CONFIG),
        ({"retention.ms": "9", "segment.bytes": "many"}, Error.INVALID_CONFIG),
        ({"retention.ms": "9", "no.such.thing": "1"}, Error.INVALID_CONFIG),
        ({"retention.ms": "9", "cleanup.policy": "forget"}, Error.INVALID_CONFIG),
        ({"retention.ms": "9", "min.cleanable.dirty.ratio": "1.5"}, Error.INVALID_CONFIG),
    ],
)
def test_a_refused_alteration_applies_none_of_its_values(
    bench: Bench, changes: dict[str, str | None], error: Error
) -> None:
    created(bench)
    assert altered(bench, changes) is error
    assert value(bench, "retention.ms") == ("604800000", 5)


def test_a_topic_without_a_value_takes_the_brokers(bench: Bench) -> None:
    created(bench)
    assert altered(bench, {"message.max.bytes": "500"}, BROKER, "") is Error.NONE
    assert value(bench, "max.message.bytes") == ("500", 3)
    assert altered(bench, {"message.max.bytes": "600"}, BROKER, "1") is Error.NONE
    assert value(bench, "max.message.bytes") == [("600", 2), ("500", 3), ("500", 3)]
    assert altered(bench, {"max.message.bytes": "700"}) is Error.NONE
    assert value(bench, "max.message.bytes") == ("700", 1)


def test_a_brokers_own_configuration_is_described_by_that_broker_only(bench: Bench) -> None:
    assert altered(bench, {"background.threads": "3"}, BROKER, "2") is Error.NONE
    assert value(bench, "background.threads", BROKER, "2") == [Error.INVALID_REQUEST, ("3", 2), Error.INVALID_REQUEST]
    assert altered(bench, {"background.threads": "3"}, BROKER, "9") is Error.INVALID_REQUEST


def test_a_groups_configuration_has_bounds(bench: Bench) -> None:
    assert altered(bench, {"consumer.session.timeout.ms": "50000"}, GROUP, "g") is Error.NONE
    assert altered(bench, {"consumer.session.timeout.ms": "1"}, GROUP, "g") is Error.INVALID_CONFIG
    assert value(bench, "consumer.session.timeout.ms", GROUP, "g") == ("50000", 8)


def test_a_larger_batch_than_the_topic_allows_is_refused(bench: Bench) -> None:
    created(bench, configs={"max.message.bytes": "100"})
    partitions(bench)
    assert bench.node(1).produce(Topic("t"), 0, batch(b"x" * 100)).error is Error.MESSAGE_TOO_LARGE
    assert bench.node(1).produce(Topic("t"), 0, batch(b"x")).error is Error.NONE


def test_all_configurations_are_described_unless_some_are_named(bench: Bench) -> None:
    created(bench)
    partitions(bench)
    everything = bench.node(1).describe_configs(TOPIC, "t").configs
    assert len(everything) > 15
    assert all(isinstance(config, Config) for config in everything)
    assert [
        config.name for config in bench.node(1).describe_configs(TOPIC, "t", ["segment.ms", "nothing"]).configs
    ] == ["segment.ms"]


# --- bugs


def shown(bench: Bench) -> dict[str, object]:
    """Return the values that a bug would change."""
    found: dict[str, object] = {}
    created(bench, num_partitions=2, configs={"retention.ms": "5"})
    found["partitions"] = partitions(bench)
    found["refused creation"] = (created(bench, "r", configs={"retention.ms": "-9"}), partitions(bench, "r"))
    assignment = ((1, 1, 1),)
    bench.node(1).create_partitions("t", 3, assignment=assignment)
    found["refused growth"] = partitions(bench)
    altered(bench, {"segment.ms": "70", "min.insync.replicas": "0"})
    found["refused alteration"] = value(bench, "segment.ms")
    altered(bench, {"max.message.bytes": "100"})
    found["alteration"] = value(bench, "max.message.bytes")
    found["large batch"] = bench.node(1).produce(Topic("t"), 0, batch(b"x" * 200)).error
    altered(bench, {"retention.ms": None})
    found["deleted value"] = value(bench, "retention.ms")
    bench.node(1).delete_topics(["t"])
    found["deleted"] = partitions(bench)
    found["created again"] = created(bench)
    found["answered topics"] = [topic.name for topic in bench.node(1).metadata(["t"]).topics]
    return found


@pytest.mark.parametrize(
    ("bug", "changes"),
    [
        ("refused-topic-created", {"refused creation"}),
        ("refused-alteration-half-applied", {"refused alteration"}),
        ("refused-growth-grows", {"refused growth"}),
        ("foreign-topic-answered", {"answered topics"}),
        ("internal-error-answered", {"refused creation"}),
        ("first-configuration-described", {"alteration", "deleted value"}),
        ("deleted-value-kept", {"deleted value"}),
        ("limit-not-in-force", {"large batch"}),
        ("deleted-topic-described", {"deleted"}),
        ("deleted-name-taken", {"created again"}),
        ("last-partition-unheard", {"partitions", "refused growth"}),
    ],
)
def test_a_bug_changes_what_it_says_and_nothing_else(bug: str, changes: set[str]) -> None:
    honest, broken = shown(a_bench()), shown(a_bench(bug))
    assert {what for what in honest if honest[what] != broken[what]} == changes


def test_each_bug_is_seen_to_change_something() -> None:
    [parameters] = [mark.args[1] for mark in test_a_bug_changes_what_it_says_and_nothing_else.pytestmark]  # type: ignore[attr-defined]
    assert {bug for bug, _ in parameters} == {*BUGS, *ADMINISTRATION}
