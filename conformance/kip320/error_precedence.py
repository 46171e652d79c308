"""Order of the checks in a broker: first the epoch, then leadership, then replica membership (KIP-320)."""

from hypothesis.strategies import booleans, integers, permutations, sampled_from

from conformance.core.bench import Bench
from conformance.core.checks import Claims, held_if, premise, probe
from conformance.rigs.log.epoch_histories import LED_APART, ON_TWO_BROKERS, OppositeLeaders
from conformance.rigs.log.epoch_requests import (
    APIS,
    DIVERGES_FROM,
    FENCED_APIS_FROM,
    FENCED_FROM,
    FOLLOWERS_SERVE_FROM,
    AnyAnswer,
    ends_epoch,
    is_refusal,
    same_leader_and_epoch,
)
from conformance.rigs.log.partition import Partition, fresh_partition, partition_at_epoch, recreate
from conformance.rigs.log.replica_log import replica_log
from conformance.rigs.versions import BACK, choose_version
from fixtures.wire import NodeClient
from fixtures.wire.log import FETCH_BY_ID_FROM
from protocol.codes import Error
from protocol.log import EpochEnd, EpochQuery, FetchOptions, FetchPartition
from protocol.messages import Topic
from strategies.inputs import EPOCHS_AHEAD, EPOCHS_BACK, PAST_END, near_or_far


def ask(node: NodeClient, api: str, topic: Topic, current_leader_epoch: int, version: int) -> AnyAnswer:
    """Send one of the three requests that have a current leader epoch, at offset or epoch 0."""
    if api == "fetch":
        return node.fetch(FetchPartition(topic, 0, 0, current_leader_epoch=current_leader_epoch), version=version)
    if api == "list-offsets":
        return node.list_offsets(topic.name, 0, current_leader_epoch=current_leader_epoch, version=version)
    return node.offset_for_leader_epoch(topic.name, 0, 0, current_leader_epoch=current_leader_epoch, version=version)


@probe(
    "KIP320-FETCH-05",
    rig=partition_at_epoch(3),
    cases=list(APIS),
    epochs_back=EPOCHS_BACK,
    epochs_ahead=EPOCHS_AHEAD,
    back=BACK,
)
def epoch_is_checked_before_leadership(
    partition: Partition, case: str, epochs_back: int, epochs_ahead: int, back: int
) -> Claims:
    """A follower distinguishes a stale and an unknown epoch; with its own epoch it answers NOT_LEADER_OR_FOLLOWER."""
    state = partition.await_agreement()
    follower = partition.followers()[0]
    high = FOLLOWERS_SERVE_FROM - 1 if case == "fetch" else None
    version = choose_version(partition.bench, APIS[case], back, low=FENCED_APIS_FROM[case], high=high)
    own = state.leader_epoch
    older = ask(follower, case, partition.topic, own - epochs_back, version)
    equal = ask(follower, case, partition.topic, own, version)
    newer = ask(follower, case, partition.topic, own + epochs_ahead, version)
    yield same_leader_and_epoch(partition, state)
    yield held_if(is_refusal(older, Error.FENCED_LEADER_EPOCH), older)
    yield held_if(is_refusal(equal, Error.NOT_LEADER_OR_FOLLOWER), equal)
    yield held_if(is_refusal(newer, Error.UNKNOWN_LEADER_EPOCH), newer)


@probe(
    "KIP320-FETCH-05",
    rig=ON_TWO_BROKERS,
    cases=["not-hosted", "unknown-name", "unknown-id"],
    api=sampled_from(list(APIS)),
    distance=near_or_far(1000, -2),
    back=BACK,
)
def epoch_is_irrelevant_without_a_replica(
    partition: Partition, case: str, api: str, distance: int, back: int
) -> Claims:
    """A broker that does not host the partition, or does not know the topic, says so whatever the epoch."""
    state, bench = partition.await_agreement(), partition.bench
    outside = next(name for name in bench.brokers if bench.id_of(name) not in state.replicas)
    api = "fetch" if case == "unknown-id" else api
    low = FETCH_BY_ID_FROM if case == "unknown-id" else FENCED_APIS_FROM[api]
    high = FETCH_BY_ID_FROM - 1 if case == "unknown-name" and api == "fetch" else None
    topic = partition.topic if case == "not-hosted" else unknown_topic(bench, partition.topic)
    epoch = max(-1, state.leader_epoch + distance)
    answer = ask(bench.node(outside), api, topic, epoch, choose_version(bench, APIS[api], back, low=low, high=high))
    expected = {
        "not-hosted": Error.NOT_LEADER_OR_FOLLOWER,
        "unknown-name": Error.UNKNOWN_TOPIC_OR_PARTITION,
        "unknown-id": Error.UNKNOWN_TOPIC_ID,
    }
    yield same_leader_and_epoch(partition, state)
    yield held_if(is_refusal(answer, expected[case]), answer)


STRANGER = 1000
"""The offset added to a broker id to get an id that no broker has."""


@probe(
    "KIP320-FETCH-05",
    rig=partition_at_epoch(3),
    cases=["epoch-before-membership", "epoch-before-offset", "membership-before-offset"],
    epochs_back=EPOCHS_BACK,
    past=PAST_END,
    back=BACK,
)
def refusals_come_in_their_order(partition: Partition, case: str, epochs_back: int, past: int, back: int) -> Claims:
    """The leader checks the epoch first, then that the replica is assigned, then offset and divergence."""
    state, node = partition.await_agreement(), partition.leader()
    beyond = replica_log(partition, node).end + past
    member = case == "epoch-before-offset"
    answer = node.fetch(
        partition.fetch_from(
            0 if case == "epoch-before-membership" else beyond,
            current_leader_epoch=state.leader_epoch - (0 if case == "membership-before-offset" else epochs_back),
            last_fetched_epoch=-1 if case == "epoch-before-membership" else 0,
        ),
        FetchOptions(replica_id=state.replicas[-1] if member else state.replicas[-1] + STRANGER),
        version=choose_version(partition.bench, "Fetch", back, low=DIVERGES_FROM),
    )
    yield same_leader_and_epoch(partition, state)
    fenced = case != "membership-before-offset"
    yield held_if(is_refusal(answer, Error.FENCED_LEADER_EPOCH if fenced else Error.UNKNOWN_LEADER_EPOCH), answer)


@probe("KIP320-FETCH-05", rig=fresh_partition(), cases=["deleted-id"], distance=near_or_far(1000, -2), back=BACK)
def former_topic_id_is_unknown(partition: Partition, case: str, distance: int, back: int) -> Claims:
    """A broker that serves a topic which was created again does not know its former id, whatever the epoch."""
    again = recreate(partition)
    leader, epoch = again.leader(), max(-1, again.epoch() + distance)
    version = choose_version(partition.bench, "Fetch", back, low=FETCH_BY_ID_FROM)
    answer = ask(leader, "fetch", partition.topic, epoch, version)
    served = ask(leader, "fetch", again.topic, again.epoch(), version)
    yield premise(served.error is Error.NONE, f"{leader.node} serves the new topic")
    yield held_if(is_refusal(answer, Error.UNKNOWN_TOPIC_ID), answer, case=case)


def unknown_topic(bench: Bench, topic: Topic) -> Topic:
    """Return a topic that does not exist: a new name, and an id next to an existing one."""
    assert topic.id is not None
    return Topic(bench.fresh_name("nowhere"), type(topic.id)(int=topic.id.int ^ 1))


@probe(
    "KIP320-FETCH-13",
    rig=ON_TWO_BROKERS,
    cases=["stranger-with-epoch", "stranger-without-epoch"],
    real=booleans(),
    id=integers(1000, 2**31 - 1),
    back=BACK,
)
def unassigned_replica_is_not_served(partition: Partition, case: str, real: bool, id: int, back: int) -> Claims:
    """A replica id outside the assignment, of a live broker or of none, is refused by the leader."""
    state, bench = partition.await_agreement(), partition.bench
    outside = next(bench.id_of(name) for name in bench.brokers if bench.id_of(name) not in state.replicas)
    known = case == "stranger-with-epoch"
    answer = partition.leader().fetch(
        partition.fetch_from(0, current_leader_epoch=state.leader_epoch if known else -1),
        FetchOptions(replica_id=outside if real else id),
        version=choose_version(bench, "Fetch", back, low=FENCED_FROM),
    )
    yield same_leader_and_epoch(partition, state)
    expected = Error.UNKNOWN_LEADER_EPOCH if known else Error.NOT_LEADER_OR_FOLLOWER
    yield held_if(is_refusal(answer, expected), answer)


@probe("KIP320-FETCH-13", rig=partition_at_epoch(3), cases=["non-leader"], with_epoch=booleans(), back=BACK)
def follower_does_not_serve_a_follower(partition: Partition, with_epoch: bool, back: int) -> Claims:
    """A follower refuses a fetch with an assigned follower's id, with the correct epoch or without."""
    state = partition.await_agreement()
    asked, other = partition.followers()
    answer = asked.fetch(
        partition.fetch_from(0, current_leader_epoch=state.leader_epoch if with_epoch else -1),
        FetchOptions(replica_id=partition.bench.id_of(other.node)),
        version=choose_version(partition.bench, "Fetch", back, low=FENCED_FROM),
    )
    yield same_leader_and_epoch(partition, state)
    yield held_if(is_refusal(answer, Error.NOT_LEADER_OR_FOLLOWER), answer)


@probe(
    "KIP320-OFLE-07",
    rig=LED_APART,
    cases=["follower", "unknown", "mixed"],
    order=permutations(["led", "followed", "no topic", "no partition"]),
    epoch=integers(0, 3),
    back=BACK,
)
def each_partition_is_answered_on_its_own(
    apart: OppositeLeaders, case: str, order: list[str], epoch: int, back: int
) -> Claims:
    """A request for several partitions is answered for the one that the broker leads, as if it were the only one, and refused for
    the others."""
    one, other = apart.one.await_agreement(), apart.other.await_agreement()
    yield premise(one.leader != other.leader, f"{apart.one.name} and {apart.other.name} have different leaders")
    version = choose_version(
        apart.bench, APIS["offset-for-leader-epoch"], back, low=FENCED_APIS_FROM["offset-for-leader-epoch"]
    )
    node = apart.bench.node(one.leader)
    alone = node.offset_for_leader_epoch(apart.one.name, 0, epoch, version=version)
    wanted = {"follower": ["followed"], "unknown": ["no topic", "no partition"], "mixed": order}[case]
    asked = [EpochQuery(*where_is(apart, kind), leader_epoch=epoch) for kind in order if kind in wanted]
    answer = node.offset_for_leader_epoch_many(asked, version=version)
    found = {(end.topic, end.partition): end for end in answer.partitions}
    yield same_leader_and_epoch(apart.one, one)
    yield same_leader_and_epoch(apart.other, other)
    as_expected = [is_answered(kind, found.get(where_is(apart, kind)), alone) for kind in wanted]
    yield held_if(len(found) == len(wanted) and all(as_expected), answer)


def where_is(apart: OppositeLeaders, kind: str) -> tuple[str, int]:
    """Return the topic and partition of this kind."""
    return {
        "led": (apart.one.name, 0),
        "followed": (apart.other.name, 0),
        "no topic": (f"{apart.one.name}-nowhere", 0),
        "no partition": (apart.one.name, 7),
    }[kind]


def is_answered(kind: str, answer: EpochEnd | None, alone: EpochEnd) -> bool:
    """True if the broker answers where it leads, as it does `alone`, and elsewhere with the error of this kind."""
    if answer is None:
        return False
    if kind == "led":
        return ends_epoch(answer, alone.leader_epoch, alone.end_offset)
    return is_refusal(answer, Error.NOT_LEADER_OR_FOLLOWER if kind == "followed" else Error.UNKNOWN_TOPIC_OR_PARTITION)
