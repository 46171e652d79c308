"""Requests that any client may send: however large, odd or wrong they are, the metadata leader leads on in its epoch (GEN-18)."""

from collections.abc import Callable, Mapping
from typing import Any

from hypothesis.strategies import integers, sampled_from

from conformance.core.checks import Claims, excuse, held_if, premise, probe
from conformance.core.topologies import LONG_FETCH_TIMEOUT
from conformance.judging.excuses import STARVED
from conformance.rigs.quorum.lab import SLOW, WITHIN, QuorumLab
from fixtures.wire import NodeClient, NotSent, WireError
from history.due import is_starved
from protocol.codes import Error
from protocol.configs import ResourceType
from protocol.topics import NewTopic
from protocol.words import say

Send = Callable[[NodeClient, str, int], object]
"""The sending of a request to a node, with a name that is new in the cluster, and a number that varies it."""

OPERATION_LIMIT = 10_000
"""The records that a controller may write for one request: more are too many (KAFKA-14996)."""


def new_topic(name: str, partitions: int = 1, **more: Any) -> NewTopic:
    return NewTopic(name, num_partitions=partitions, replication_factor=1, **more)


def huge_topic(client: NodeClient, name: str, number: int) -> object:
    return client.create_topics([new_topic(name, OPERATION_LIMIT + number)])


def huge_in_sum(client: NodeClient, name: str, number: int) -> object:
    """Send a creation of several topics, each of which is small enough."""
    topics = 2 + number % 4
    return client.create_topics([new_topic(f"{name}-{n}", OPERATION_LIMIT // topics + 1) for n in range(topics)])


def huge_growth(client: NodeClient, name: str, number: int) -> object:
    """Send a growth of a topic by one partition too many, or by more. Some releases refuse it, and yet carry out a part, so that
    the topic is deleted, and the next example finds a cluster that is not busy with it."""
    answer = client.create_partitions(name, 1 + OPERATION_LIMIT + number)
    client.delete_topics([name])
    return answer


def same_name_twice(client: NodeClient, name: str, number: int) -> object:
    return client.create_topics([new_topic(name), new_topic(name, 1 + number)])


def existing_name(client: NodeClient, name: str, number: int) -> object:
    return client.create_topics([new_topic(name, 1 + number)])


def colliding_name(client: NodeClient, name: str, number: int) -> object:
    """Send a creation of two topics whose metrics have one name."""
    return client.create_topics([new_topic(f"{name}.{number}"), new_topic(f"{name}_{number}")])


def bad_name(client: NodeClient, name: str, number: int) -> object:
    names = ["", ".", "..", f"{name}/", f"{name} ", "x" * 250, f"{name}\0", "__cluster_metadata"]
    return client.create_topics([new_topic(names[number % len(names)])])


def bad_counts(client: NodeClient, name: str, number: int) -> object:
    counts = [(0, 1), (-2, 1), (1, 0), (1, -2), (1, 32767), (1, 2)]
    partitions, replicas = counts[number % len(counts)]
    return client.create_topics([NewTopic(name, num_partitions=partitions, replication_factor=replicas)])


def bad_assignment(client: NodeClient, name: str, number: int) -> object:
    assignments: list[tuple[tuple[int, ...], ...]] = [((),), ((-1,),), ((1, 1),), ((99,),), ((1,), (1, 99)), ((101,),)]
    return client.create_topics([NewTopic(name, assignments[number % len(assignments)])])


def bad_setting(client: NodeClient, name: str, number: int) -> object:
    configs = [{"no.such.setting": "1"}, {"retention.ms": "x"}, {"cleanup.policy": ""}, {"min.insync.replicas": "0"}]
    return client.create_topics([new_topic(name, configs=configs[number % len(configs)])])


def setting_of_nothing(client: NodeClient, name: str, number: int) -> object:
    kinds = [(ResourceType.TOPIC, name), (ResourceType.BROKER, "99"), (ResourceType.BROKER, name)]
    kind, resource = kinds[number % len(kinds)]
    return client.incremental_alter_configs(kind, resource, {"retention.ms": str(number)})


def deletion_of_nothing(client: NodeClient, name: str, number: int) -> object:
    return client.delete_topics([name] * (1 + number % 3))


REQUESTS: Mapping[str, tuple[Send, ...]] = {
    "large": (huge_topic, huge_in_sum, huge_growth),
    "colliding": (same_name_twice, existing_name, colliding_name),
    "refused": (bad_name, bad_counts, bad_assignment, bad_setting, setting_of_nothing, deletion_of_nothing),
}
ABOUT_A_TOPIC = (huge_growth, existing_name)
"""The requests that need a topic of the given name."""


@probe(
    "GEN-18",
    rig=SLOW,
    smoke=False,
    which=integers(0, 5),
    number=integers(1, 500),
    through=sampled_from(["broker", "leader"]),
)
def client_moves_no_quorum(lab: QuorumLab, case: str, which: int, number: int, through: str) -> Claims:
    """The leader and its epoch are the same after a request, whatever its answer, and a write that follows it."""
    led, began = lab.agreed_leader(), lab.bench.now().seconds
    leader = lab.bench.name_of(led.leader_id)
    sends = REQUESTS[case]
    send = sends[which % len(sends)]
    client = lab.bench.node(lab.broker if through == "broker" else leader, controller=through == "leader")
    name = lab.bench.fresh_name(case)
    if send in ABOUT_A_TOPIC:
        [created] = client.create_topics([new_topic(name)]).topics
        yield premise(created.error is Error.NONE, f"a topic, created before: {say(created)}")
    answer = answer_text(lambda: send(client, name, number))
    yield premise(answer is not None, "a request that is sent")
    # A leader that resigns writes no more: a write that is acknowledged shows it, if nothing does before.
    written = lab.await_write("", LONG_FETCH_TIMEOUT + WITHIN)
    yield premise(written, "a write after the request", promised=("KIP595-LIVE-02", "write"))
    now = lab.agreed_leader()
    if now != led and is_starved(lab.bench.wait.recorded_late(lab.bench.now().seconds - began), LONG_FETCH_TIMEOUT):
        yield excuse(STARVED, case=case)
        return
    what = f"{send.__name__.replace('_', ' ')} ({number}) sent to the {through}"
    yield held_if(now == led, detail=f"{what}: {say(led)}, then {say(now)}; answer: {say(answer)[:300]}")


def answer_text(ask: Callable[[], object]) -> str | None:
    """Return the answer to a request in words, also if there is none; None if the request was never sent."""
    try:
        return say(ask())
    except NotSent:
        return None
    except WireError as error:
        return f"none: {error}"
