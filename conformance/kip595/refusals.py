"""Requests that all raft APIs refuse in the same way, and fields that all their answers have (KIP-595)."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from hypothesis.strategies import integers, sampled_from, text

from conformance.core.checks import Claim, Claims, held_if, premise, probe
from conformance.rigs.quorum.fetching import endpoint_of_leader
from conformance.rigs.quorum.quorum import FAR, QUORUM, Quorum, Tried, leader_in
from conformance.rigs.quorum.raft_requests import API, ASK, fetch
from protocol.codes import Error
from protocol.log import FetchedPartition, FetchOptions, FetchPartition, LeaderAndEpoch
from protocol.messages import PartitionAnswer, Topic
from protocol.quorum import METADATA, METADATA_TOPIC, RaftAnswer
from strategies.inputs import CONTROLLERS, EPOCHS_AHEAD, versions_back

IDS = text("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", min_size=1, max_size=22)
FETCH_BY_ID, FETCH_WITH_ENDPOINTS = 13, 17


@probe("KIP595-API-03", rig=QUORUM, member=CONTROLLERS, ahead=EPOCHS_AHEAD, cluster_id=IDS)
def foreign_cluster_is_refused(quorum: Quorum, case: str, member: int, ahead: int, cluster_id: str) -> Claims:
    """A request with another cluster id is refused and changes nothing, however far ahead its epoch is."""
    yield premise(cluster_id != quorum.cluster_id, "another cluster id")
    name = quorum.any(member)

    def ask(settled: LeaderAndEpoch) -> PartitionAnswer:
        answer: PartitionAnswer = ASK[case](quorum, name, settled.leader_epoch + ahead, cluster_id=cluster_id)
        return answer

    tried = quorum.attempt(name, ask)
    yield held_if(tried.answer.top_level_error is Error.INCONSISTENT_CLUSTER_ID and tried.is_unchanged, tried.answer)


@probe(
    "KIP595-API-04",
    rig=QUORUM,
    cases=["vote", "begin", "end", "fetch"],
    member=CONTROLLERS,
    by=integers(1, 4),
    older=versions_back(1),
)
def absent_cluster_id_is_not_checked(quorum: Quorum, case: str, member: int, by: int, older: int) -> Claims:
    """A request without a cluster id is handled like the same request with the right one."""
    name = quorum.any(member)
    version = quorum.version(API[case], older, FETCH_BY_ID if case == "fetch" else 0)

    def ask(settled: LeaderAndEpoch) -> list[PartitionAnswer]:
        epoch = settled.leader_epoch - by
        return [ASK[case](quorum, name, epoch, cluster_id=id, version=version) for id in (None, quorum.cluster_id)]

    tried = quorum.attempt(name, ask)
    without, with_id = tried.answer
    judged = without.top_level_error is not Error.INCONSISTENT_CLUSTER_ID
    # Two fetches that are served, which breaks KIP595-FETCH-01, return what the log has by then.
    same = without == with_id or (case == "fetch" and without.error is with_id.error is Error.NONE)
    yield held_if(judged and same and tried.is_unchanged, without, with_id)


WRONG_PLACES: Mapping[str, Mapping[str, Any]] = {
    "topic": {"topics": ["__cluster_metadata_2"]},
    "second topic": {"topics": [METADATA_TOPIC, "other"]},
    "partition": {"partition": 1},
    "negative partition": {"partition": -1},
}


@probe("KIP595-API-05", rig=QUORUM, cases=["vote", "begin", "end"], member=CONTROLLERS, ahead=EPOCHS_AHEAD,
       where=sampled_from(sorted(WRONG_PLACES)))  # fmt: skip
def wrong_partition_is_refused(quorum: Quorum, case: str, member: int, ahead: int, where: str) -> Claims:
    """A request that names anything but the metadata partition is refused as a whole and changes nothing."""
    name = quorum.any(member)

    def ask(settled: LeaderAndEpoch) -> RaftAnswer:
        wrong = WRONG_PLACES[where]
        answer: RaftAnswer = ASK[case](
            quorum, name, settled.leader_epoch + ahead, cluster_id=quorum.cluster_id, **wrong
        )
        return answer

    yield refused_as_a_whole(quorum.attempt(name, ask))


@probe("KIP595-API-05", rig=QUORUM, cases=["fetch-topic-id", "fetch-by-name"], member=CONTROLLERS, older=versions_back(4),
       topic_id=integers(2, (1 << 128) - 1))  # fmt: skip
def fetch_of_another_topic_is_refused(quorum: Quorum, case: str, member: int, older: int, topic_id: int) -> Claims:
    """A fetch without the metadata topic's id is refused as a whole."""
    name = quorum.any(member)
    foreign = Topic(METADATA_TOPIC, UUID(int=topic_id))
    version = quorum.version("Fetch", older, FETCH_BY_ID)
    asked: dict[str, Any] = {"topic": foreign, "version": version, "cluster_id": quorum.cluster_id}
    if case == "fetch-by-name":
        # Version 12 is the last that names topics, and the first with a cluster id and LastFetchedEpoch.
        asked = {"topic": Topic(METADATA_TOPIC), "version": FETCH_BY_ID - 1, "cluster_id": quorum.cluster_id}
        asked["max_wait_ms"] = older

    def ask(settled: LeaderAndEpoch) -> FetchedPartition:
        return fetch(quorum, name, settled.leader_epoch, **asked)

    yield refused_as_a_whole(quorum.attempt(name, ask))


def refused_as_a_whole(tried: Tried[Any]) -> Claim:
    return held_if(tried.answer.top_level_error is Error.INVALID_REQUEST and tried.is_unchanged, tried.answer)


@probe("KIP595-API-06", rig=QUORUM, cases=["vote", "begin", "end"], member=CONTROLLERS, back=integers(1, 4),
       older=versions_back(2))  # fmt: skip
def answers_carry_leader_and_epoch(quorum: Quorum, case: str, member: int, back: int, older: int) -> Claims:
    """The answer to a request of an old epoch has the leader and epoch that the receiver has stored."""
    name = quorum.any(member)
    version = quorum.version(API[case], older)

    def ask(settled: LeaderAndEpoch) -> RaftAnswer:
        epoch = settled.leader_epoch - back
        answer: RaftAnswer = ASK[case](quorum, name, epoch, cluster_id=quorum.cluster_id, version=version)
        return answer

    tried = quorum.attempt(name, ask)
    yield held_if(leader_in(tried.answer) == tried.leader and tried.is_unchanged, tried.answer)


ERRORS = {"older": (-1, 0), "newer": (1, 0), "offset": (0, -1)}
"""The distances of the request's epoch from the current one, and its fetch offsets."""


@probe("KIP595-API-06", rig=QUORUM, cases=["fetch-error"], member=CONTROLLERS, older=versions_back(2),
       wrong=sampled_from(sorted(ERRORS)))  # fmt: skip
def refused_fetch_carries_leader_and_epoch(quorum: Quorum, member: int, older: int, wrong: str) -> Claims:
    """The answer to a fetch with a partition error has the receiver's leader and epoch in CurrentLeader."""
    name, (ahead, offset) = quorum.any(member), ERRORS[wrong]
    version = quorum.version("Fetch", older, FETCH_BY_ID)

    def ask(settled: LeaderAndEpoch) -> FetchedPartition:
        wanted = FetchPartition(METADATA, 0, offset, settled.leader_epoch + ahead, 0)
        return quorum.client(name).fetch(wanted, FetchOptions(cluster_id=quorum.cluster_id), version=version)

    tried = quorum.attempt(name, ask)
    yield premise(tried.answer.error is not Error.NONE, "a partition error")
    yield held_if(tried.answer.current_leader == tried.leader, tried.answer)


@probe("KIP595-API-06", rig=QUORUM, cases=["fetch"], offset=sampled_from([0, FAR]), older=versions_back(4))
def fetch_carries_leader_and_epoch(quorum: Quorum, offset: int, older: int) -> Claims:
    """The answer to a fetch with records or a diverging epoch has leader and epoch in CurrentLeader."""
    name = quorum.one("leader")
    version = quorum.version("Fetch", older, FETCH_BY_ID)

    def ask(settled: LeaderAndEpoch) -> FetchedPartition:
        wanted = FetchPartition(METADATA, 0, offset, settled.leader_epoch, 0, partition_max_bytes=1024)
        return quorum.client(name).fetch(wanted, FetchOptions(cluster_id=quorum.cluster_id), version=version)

    tried = quorum.attempt(name, ask)
    yield premise(tried.answer.error is Error.NONE, "no error")
    yield held_if(tried.answer.current_leader == tried.leader, tried.answer)


@probe("KIP595-API-07", rig=QUORUM, cases=["vote", "begin", "end"], member=CONTROLLERS, back=integers(1, 4),
       older=versions_back(1))  # fmt: skip
def answers_carry_the_leaders_endpoint(quorum: Quorum, case: str, member: int, back: int, older: int) -> Claims:
    """An answer names the host and port of the leader's controller listener."""
    name = quorum.any(member)
    version = quorum.version(API[case], older, 1)
    tried = _ask_in_old_epoch(quorum, name, case, back, version)
    yield held_if(tried.answer.node_endpoints == (endpoint_of_leader(tried),), tried.answer)


@probe("KIP595-API-07", rig=QUORUM, cases=["fetch"], member=CONTROLLERS, back=integers(0, 4), older=versions_back(1))
def fetch_carries_the_leaders_endpoint(quorum: Quorum, member: int, back: int, older: int) -> Claims:
    """The answer to a fetch names the host and port of the leader's controller listener."""
    name = quorum.any(member)
    tried = _ask_in_old_epoch(quorum, name, "fetch", back, quorum.version("Fetch", older, FETCH_WITH_ENDPOINTS))
    yield held_if(tried.answer.node_endpoints == (endpoint_of_leader(tried),), tried.answer)


@probe("KIP595-API-07", rig=QUORUM, cases=["older-version"], member=CONTROLLERS, back=integers(1, 4),
       api=sampled_from(["vote", "begin", "end", "fetch"]))  # fmt: skip
def older_versions_carry_no_endpoint(quorum: Quorum, member: int, back: int, api: str) -> Claims:
    """The answer in the last version without the field has no endpoints, even if the leader is known."""
    name = quorum.any(member)
    tried = _ask_in_old_epoch(quorum, name, api, back, FETCH_WITH_ENDPOINTS - 1 if api == "fetch" else 0)
    yield held_if(tried.answer.node_endpoints == (), tried.answer)


def _ask_in_old_epoch(quorum: Quorum, name: str, api: str, back: int, version: int) -> Tried[Any]:
    def ask(settled: LeaderAndEpoch) -> Any:
        epoch = settled.leader_epoch - back
        return ASK[api](quorum, name, epoch, cluster_id=quorum.cluster_id, version=version)

    return quorum.attempt(name, ask, disk=False)
