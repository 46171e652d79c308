"""Rights without which epoch lookups and reads are refused (KIP-320, ACL Changes)."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import msgspec

from conformance.core.bench import Bench
from conformance.core.checks import Claims, Rig, held_if, probe
from conformance.core.topologies import ADMINISTRATOR, BYSTANDER, NODE, READER, SECURED
from conformance.rigs.log.epoch_requests import APIS, FENCED_APIS_FROM, AnyAnswer, is_refusal
from conformance.rigs.log.partition import Partition, PartitionData, new_partition
from conformance.rigs.rights import CLUSTER_ACTION, DESCRIBE, READ, give_rights, right_on_cluster, right_on_topic
from conformance.rigs.versions import BACK, choose_version
from fixtures.wire import NodeClient
from protocol.codes import Error
from protocol.log import LATEST, FetchOptions
from protocol.messages import Topic
from protocol.words import say

RECORDS_EACH = 3
GHOST = 7000
"""An id that no replica has."""


class SecuredTopics(msgspec.Struct, frozen=True):
    """Topics of one partition with records: a bystander may describe the first one and read the second one. The last one is
    closed to all users but the administrator."""

    described: Topic
    readable: Topic
    closed: Topic


class TopicsOfUsers:
    """The topics, as users ask for them."""

    def __init__(self, bench: Bench, data: SecuredTopics) -> None:
        self.bench = bench
        self._topics = {**msgspec.structs.asdict(data), "absent": Topic(bench.fresh_name("absent"))}

    def partition(self, topic: str) -> Partition:
        return Partition(self.bench, PartitionData(self._topics[topic], 0))

    def asked_by(self, user: str) -> NodeClient:
        return self.bench.node(self.bench.brokers[0], user=user)


def prepare_topics(bench: Bench) -> SecuredTopics:
    """Create the topics, and give users their rights."""
    described, readable, closed = (new_partition(bench) for _ in range(3))
    for one in (described, readable, closed):
        one.write(*[b"secret"] * RECORDS_EACH)
    give_rights(
        bench,
        [
            right_on_topic(BYSTANDER, DESCRIBE, described.name),
            right_on_topic(BYSTANDER, READ, readable.name),
            right_on_cluster(NODE, CLUSTER_ACTION),
            right_on_cluster(READER, DESCRIBE),
        ],
    )
    return SecuredTopics(described.topic, readable.topic, closed.topic)


TOPICS_OF_USERS = Rig(SECURED, prepare_topics, TopicsOfUsers, shared=True)
"""A broker with an authorizer, topics, and users with one right or none on each."""


class Try(NamedTuple):
    """A user who asks for a topic."""

    user: str
    topic: str


class Tries(NamedTuple):
    """A try that is allowed, and its twins that are refused for want of the right."""

    allowed: Try
    refused: tuple[Try, ...]


TRIES: Mapping[str, Tries] = {
    "describe": Tries(Try(BYSTANDER, "described"), (Try(BYSTANDER, "closed"),)),
    "cluster-action": Tries(Try(NODE, "closed"), (Try(READER, "closed"),)),
    "denied": Tries(Try(ADMINISTRATOR, "closed"), (Try(BYSTANDER, "closed"), Try(BYSTANDER, "absent"))),
    "replica-fetch": Tries(Try(NODE, "closed"), (Try(BYSTANDER, "readable"), Try(READER, "closed"))),
    "consumer-fetch": Tries(Try(BYSTANDER, "readable"), (Try(BYSTANDER, "described"), Try(NODE, "closed"))),
    "list-offsets": Tries(Try(BYSTANDER, "described"), (Try(BYSTANDER, "closed"), Try(NODE, "closed"))),
}
"""The tries of each case."""


def look_up(node: NodeClient, partition: Partition, version: int) -> AnyAnswer:
    return node.offset_for_leader_epoch(partition.name, 0, 0, version=version)


def fetch(node: NodeClient, partition: Partition, version: int) -> AnyAnswer:
    return node.fetch(partition.fetch_from(0), version=version)


def fetch_as_replica(node: NodeClient, partition: Partition, version: int) -> AnyAnswer:
    return node.fetch(partition.fetch_from(0), FetchOptions(replica_id=GHOST), version=version)


def list_latest(node: NodeClient, partition: Partition, version: int) -> AnyAnswer:
    return node.list_offsets(partition.name, 0, LATEST, version=version)


class Request(NamedTuple):
    """The request of a case; `api` is a key of APIS."""

    api: str
    ask: Callable[[NodeClient, Partition, int], AnyAnswer]


LOOKUP = Request("offset-for-leader-epoch", look_up)
REQUESTS: Mapping[str, Request] = {
    "describe": LOOKUP,
    "cluster-action": LOOKUP,
    "denied": LOOKUP,
    "replica-fetch": Request("fetch", fetch_as_replica),
    "consumer-fetch": Request("fetch", fetch),
    "list-offsets": Request("list-offsets", list_latest),
}


def is_allowed(case: str, answer: AnyAnswer) -> bool:
    """True if the request was served. No replica has the ghost's id, so its fetch is refused for that."""
    wrong = Error.TOPIC_AUTHORIZATION_FAILED
    return answer.error is not wrong if case == "replica-fetch" else answer.error is Error.NONE


@probe("KIP320-ACL-01", rig=TOPICS_OF_USERS, smoke=False, back=BACK)
def request_needs_its_right(topics: TopicsOfUsers, case: str, back: int) -> Claims:
    """A request is served for a user with its right, and refused with no data for users with other rights or none."""
    api, ask = REQUESTS[case]
    version = choose_version(topics.bench, APIS[api], back, low=FENCED_APIS_FROM[api])

    def answer_to(one: Try) -> AnyAnswer:
        return ask(topics.asked_by(one.user), topics.partition(one.topic), version)

    allowed, refused = answer_to(TRIES[case].allowed), [answer_to(one) for one in TRIES[case].refused]
    all_refused = all(is_refusal(one, Error.TOPIC_AUTHORIZATION_FAILED) for one in refused)
    detail = f"{APIS[api]} v{version}; allowed {say(TRIES[case].allowed)}, refused {say(TRIES[case].refused)}"
    yield held_if(is_allowed(case, allowed) and all_refused, allowed, *refused, detail=detail)
