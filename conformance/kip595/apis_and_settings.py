"""The APIs that listeners offer, and what configuration and storage declare (KIP-595, KIP-631)."""

import json
from itertools import permutations
from typing import Any

from hypothesis.strategies import integers

from conformance.core.checks import Claim, Claims, held_if, premise, probe
from conformance.judging.facts.quorum import QUORUM_STATE
from conformance.rigs.quorum.quorum import FAR, QUORUM, Quorum
from fixtures.wire import ConnectionClosed
from protocol.codes import Error
from protocol.configs import ResourceType
from protocol.messages import Versions
from protocol.words import say

CONTROLLER_ONLY = {"Vote", "BeginQuorumEpoch", "EndQuorumEpoch", "FetchSnapshot"}
EVERYWHERE = "DescribeQuorum"
DEFAULT = 5
"""The config source of a default value."""


@probe("KIP595-API-01", rig=QUORUM)
def raft_apis_are_on_controller_listeners_only(quorum: Quorum, case: str) -> Claims:
    """Controller listeners offer the raft requests; broker listeners neither offer nor answer them."""
    for name in quorum.controllers if case == "controller" else quorum.bench.brokers:
        if case == "vote-at-broker":
            yield _is_unanswered(quorum, name)
            continue
        client = quorum.client(name) if case == "controller" else quorum.bench.node(name)
        answer = client.api_versions()
        offered = set(answer.ranges)
        right = offered >= CONTROLLER_ONLY if case == "controller" else not offered & CONTROLLER_ONLY
        detail = f"{name} offers {say(sorted(offered & {*CONTROLLER_ONLY, EVERYWHERE}))}"
        yield held_if(answer.error is Error.NONE and right and EVERYWHERE in offered, answer, detail=detail)


def _is_unanswered(quorum: Quorum, broker: str) -> Claim:
    client = quorum.bench.node(broker, purpose="vote")
    try:
        answer = client.vote(
            quorum.bench.id_of(quorum.controllers[0]), 0, last_offset=-1, last_offset_epoch=0,
            cluster_id=quorum.cluster_id, version=0,
        )  # fmt: skip
    except ConnectionClosed as error:
        return held_if(True, detail=f"Vote at {broker}: {error}")
    return held_if(False, answer)


def _declared_versions(vote: int, fetch: Versions) -> dict[str, Versions]:
    """Return the version ranges that come with the highest version of Vote; the other raft APIs stay at 1."""
    highest = min(vote, 1)
    others = {name: Versions(0, highest) for name in CONTROLLER_ONLY}
    return {**others, "Vote": Versions(0, vote), "DescribeQuorum": Versions(0, highest + 1), "Fetch": fetch}


RANGES = {
    "VOTE_0_FETCH_0_13": _declared_versions(0, Versions(0, 13)),
    "VOTE_0_FETCH_0_15": _declared_versions(0, Versions(0, 15)),
    "VOTE_0_FETCH_0_16": _declared_versions(0, Versions(0, 16)),
    "VOTE_1_FETCH_0_17": _declared_versions(1, Versions(0, 17)),
    "VOTE_2_FETCH_4_17": _declared_versions(2, Versions(4, 17)),
    "VOTE_2_FETCH_4_18": _declared_versions(2, Versions(4, 18)),
}
CASES = {"raft": CONTROLLER_ONLY, "describe-quorum": {"DescribeQuorum"}, "fetch": {"Fetch"}}


@probe("KIP595-API-02", rig=QUORUM)
def api_versions_match_the_release(quorum: Quorum, case: str, expected: str) -> Claims:
    """Every controller offers exactly the versions that its release declares."""
    for name in quorum.controllers:
        answer = quorum.client(name).api_versions()
        found = {api: str(answer.ranges.get(api)) for api in sorted(CASES[case])}
        right = found == {api: str(RANGES[expected][api]) for api in CASES[case]}
        yield held_if(right, answer, detail=f"{name} offers {say(found)}")


BASE = {
    "controller.quorum.append.linger.ms": "25",
    "controller.quorum.election.backoff.max.ms": "1000",
    "controller.quorum.election.timeout.ms": "1000",
    "controller.quorum.fetch.timeout.ms": "2000",
    "controller.quorum.request.timeout.ms": "2000",
    "controller.quorum.retry.backoff.ms": "20",
}
VOTERS = "controller.quorum.voters"
BOOTSTRAP_SERVERS = BASE | {"controller.quorum.bootstrap.servers": ""}
AUTO_JOIN = BOOTSTRAP_SERVERS | {"controller.quorum.auto.join.enable": "false"}
MEBIBYTE = str(1 << 20)
FETCH_BYTES = AUTO_JOIN | {
    "controller.quorum.fetch.max.bytes": MEBIBYTE,
    "controller.quorum.fetch.snapshot.max.bytes": MEBIBYTE,
}
SETTINGS = {"BASE": BASE, "BOOTSTRAP_SERVERS": BOOTSTRAP_SERVERS, "AUTO_JOIN": AUTO_JOIN, "FETCH_BYTES": FETCH_BYTES}


@probe("KIP595-CONF-01", rig=QUORUM, cases=["defaults"])
def settings_have_their_defaults(quorum: Quorum, expected: str) -> Claims:
    """A broker shows the quorum's settings as read-only, with the defaults of its release."""
    for name in quorum.bench.brokers:
        answer = quorum.bench.node(name).describe_configs(ResourceType.BROKER, str(quorum.bench.id_of(name)))
        yield premise(answer.error is Error.NONE, "a description of the broker")
        found = {config.name: config for config in answer.configs if config.name.startswith("controller.quorum.")}
        voters = found.pop(VOTERS, None)
        values = {config.name: config.value for config in found.values() if config.config_source == DEFAULT}
        read_only = all(config.read_only for config in found.values())
        right = values == SETTINGS[expected] and read_only and voters is not None and voters.read_only
        yield held_if(right, answer, detail=f"its defaults are {say(values)}; {VOTERS}: {say(voters)}")


@probe("KIP595-BOOT-02", rig=QUORUM, cases=["apis"])
def cluster_id_is_the_formatted_one(quorum: Quorum) -> Claims:
    """Every node's meta.properties has the cluster id that Metadata and DescribeCluster return."""
    for name in quorum.bench.members:
        file = quorum.bench.read_file(name, "meta.properties")
        on_disk = [line for line in file.text.splitlines() if line.startswith("cluster.id=")]
        broker = quorum.bench.node(quorum.bench.brokers[0])
        metadata, described = broker.metadata([]), broker.describe_cluster()
        ids = {f"cluster.id={metadata.cluster_id}", f"cluster.id={described.cluster_id}"}
        yield held_if(
            set(on_disk) == ids and len(on_disk) == 1,
            metadata,
            described,
            detail=f"the file of {name} has {say(on_disk)}",
        )


@probe("KIP595-BOOT-02", rig=QUORUM, cases=["raft"], member=integers(0, 2))
def raft_accepts_the_formatted_cluster_id(quorum: Quorum, member: int) -> Claims:
    """A raft request with the cluster id that Metadata returns is not refused for its cluster id."""
    shown = quorum.bench.node(quorum.bench.brokers[0]).metadata([]).cluster_id
    name = quorum.any(member)
    answer = quorum.client(name).vote(quorum.peer_of(name), 1, last_offset=FAR, last_offset_epoch=0, cluster_id=shown)
    yield held_if(answer.top_level_error is Error.NONE and answer.error is Error.FENCED_LEADER_EPOCH, answer)


def _json(content: bytes) -> dict[str, Any]:
    """Return the JSON object in `content`; an empty one for anything else."""
    try:
        found = json.loads(content)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


STATE = {"clusterId", "leaderId", "leaderEpoch", "votedId", "appliedOffset", "currentVoters", "data_version"}


@probe("KIP595-QS-01", rig=QUORUM, cases=["controller", "broker"])
def quorum_state_has_the_documented_form(quorum: Quorum, case: str) -> Claims:
    """The quorum-state of controllers and brokers is one line of JSON with the fields of version 0; a broker never
    votes."""
    voters = sorted(quorum.bench.id_of(name) for name in quorum.controllers)
    for name in quorum.controllers if case == "controller" else quorum.bench.brokers:
        file = quorum.bench.read_file(name, QUORUM_STATE)
        state = _json(file.content or b"")
        fixed = (state.get("clusterId"), state.get("appliedOffset"), state.get("data_version")) == ("", 0, 0)
        listed = state.get("currentVoters") in [[{"voterId": id} for id in order] for order in permutations(voters)]
        form = (file.content or b"").count(b"\n") < 2 and state.keys() == STATE and fixed and listed
        yield held_if(form and (case == "controller" or state["votedId"] == -1), file)
