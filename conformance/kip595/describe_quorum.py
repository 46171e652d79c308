"""DescribeQuorum (KIP-595, KIP-836, KIP-853), and the values its fields must agree with."""

from hypothesis.strategies import integers, sampled_from

from conformance.core.checks import Claims, held_if, premise, probe
from conformance.rigs.quorum.fetching import majority_has, own_end
from conformance.rigs.quorum.quorum import GHOSTS, LISTENER, QUORUM, Quorum
from fixtures.wire import NodeClient
from fixtures.wire.schemas import SchemaError
from protocol.codes import Error
from protocol.quorum import METADATA_TOPIC, Listener, QuorumAnswer, QuorumNode, QuorumReplica
from protocol.topics import NewTopic
from protocol.words import say
from strategies.inputs import CONTROLLERS, versions_back

READS = 8
"""The number of DescribeQuorum requests in one example."""


def is_led(described: QuorumAnswer) -> bool:
    return described.error is Error.NONE and described.top_level_error is Error.NONE


@probe("KIP595-DQ-01", "KIP595-HW-02", rig=QUORUM)
def leader_describes_the_quorum(quorum: Quorum) -> Claims:
    """The leader names itself, its epoch and high watermark, all voters and all live brokers."""
    for _ in range(READS):
        before = quorum.agreed_leader()
        answer = quorum.client(quorum.bench.name_of(before.leader_id)).describe_quorum()
        yield premise(quorum.agreed_leader() == before, f"still {say(before)}")
        leader = (answer.leader_id, answer.leader_epoch) == (before.leader_id, before.leader_epoch)
        yield held_if(is_led(answer) and leader and answer.high_watermark >= 0, answer, case="leader")
        yield held_if(_voters_are_correct(quorum, answer), answer, case="voters")
        observers = {o.replica_id for o in answer.observers if o.replica_id not in GHOSTS}
        brokers = {quorum.bench.id_of(name) for name in quorum.bench.brokers}
        yield held_if(is_led(answer) and observers == brokers, answer, case="observers")
        yield held_if(majority_has(answer), answer, row="KIP595-HW-02", case="majority")


def _voters_are_correct(quorum: Quorum, answer: QuorumAnswer) -> bool:
    ids = [voter.replica_id for voter in answer.current_voters]
    if not is_led(answer) or sorted(ids) != sorted(quorum.bench.id_of(name) for name in quorum.controllers):
        return False
    own = own_end(answer.leader_id, answer)
    return own >= answer.high_watermark and all(own >= voter.log_end_offset for voter in answer.current_voters)


@probe("KIP595-DQ-02", rig=QUORUM, cases=["non-leader"], follower=integers(0, 1), older=versions_back(2))
def non_leader_does_not_describe_the_quorum(quorum: Quorum, follower: int, older: int) -> Claims:
    """A controller that is not the leader returns an error and no replicas."""
    before = quorum.agreed_leader()
    answer = quorum.client(quorum.followers()[follower]).describe_quorum(
        version=quorum.version("DescribeQuorum", older)
    )
    yield premise(quorum.agreed_leader() == before, f"still {say(before)}")
    refused = answer.error is Error.NOT_LEADER_OR_FOLLOWER and answer.top_level_error is Error.NONE
    yield held_if(refused and not answer.current_voters and not answer.observers, answer)


@probe("KIP595-DQ-03", rig=QUORUM, cases=["broker"], broker=CONTROLLERS)
def broker_forwards_describe_quorum(quorum: Quorum, broker: int) -> Claims:
    """A broker returns the leader's answer as it is after a write: leader and epoch, and offsets between those read before
    and after."""
    node = quorum.bench.node(quorum.bench.brokers[broker])
    former = quorum.describe_by_leader()
    cached = node.describe_quorum()
    yield premise(write_metadata(quorum, node), "a topic that was created and deleted")
    earlier = quorum.describe_by_leader()
    answer = node.describe_quorum()
    later = quorum.describe_by_leader()
    led_by = {(described.leader_id, described.leader_epoch) for described in (earlier, later)}
    yield premise(len(led_by) == 1, "one leader and epoch before and after")
    moved = former.high_watermark < earlier.high_watermark
    yield premise(moved, f"a high watermark beyond {former.high_watermark} after a write: {earlier.high_watermark}")
    yield held_if(lies_between(earlier, answer, later), cached, earlier, answer, later)


def write_metadata(quorum: Quorum, node: NodeClient) -> bool:
    """Create and delete a topic, which takes records in the metadata log; return whether both are acknowledged."""
    name = quorum.bench.fresh_name("described")
    created = node.create_topics([NewTopic(name, num_partitions=1, replication_factor=1)])
    deleted = node.delete_topics([name])
    return all(one.error is Error.NONE for one in created.topics) and all(
        one.error is Error.NONE for one in deleted.topics
    )


def lies_between(earlier: QuorumAnswer, answer: QuorumAnswer, later: QuorumAnswer) -> bool:
    """True if an answer has the leader and epoch of the leader's own two answers, and offsets between theirs."""
    led_by = (earlier.leader_id, earlier.leader_epoch)
    same = is_led(answer) and led_by == (answer.leader_id, answer.leader_epoch)
    between = earlier.high_watermark <= answer.high_watermark <= later.high_watermark
    voters = [{v.replica_id: v.log_end_offset for v in asked.current_voters} for asked in (earlier, answer, later)]
    observers = [{o.replica_id: o.log_end_offset for o in asked.observers} for asked in (earlier, answer, later)]
    low, seen, high = voters
    return same and between and low.keys() == seen.keys() == high.keys() and _rise(voters) and _rise(observers)


def _rise(ends: list[dict[int, int]]) -> bool:
    """True if no replica that all three have goes back in its log. The kit's own observers come and go."""
    low, seen, high = ends
    return all(low[id] <= seen[id] <= high[id] for id in low.keys() & seen.keys() & high.keys())


@probe("KIP595-DQ-04", rig=QUORUM, member=CONTROLLERS, number=integers(1, 1 << 30), older=versions_back(2))
def unknown_partition_is_not_described(quorum: Quorum, case: str, member: int, number: int, older: int) -> Claims:
    """Another topic or partition is unknown, both to the leader and to a follower."""
    topic, partition = (METADATA_TOPIC, number) if case == "partition" else (f"topic-{number}", 0)
    client = quorum.client(quorum.any(member))
    answer = client.describe_quorum(topic, partition, version=quorum.version("DescribeQuorum", older))
    unknown = answer.error is Error.UNKNOWN_TOPIC_OR_PARTITION and answer.top_level_error is Error.NONE
    yield held_if(unknown and not answer.current_voters and not answer.observers, answer)


@probe("KIP595-DQ-06", rig=QUORUM, older=versions_back(1))
def timestamps_are_of_the_past(quorum: Quorum, older: int) -> Claims:
    """A replica's last caught-up time is at most its last fetch time, which is in the past; both of the leader's are
    now."""
    leader = quorum.client(quorum.one("leader"))
    version = quorum.version("DescribeQuorum", older, 1)
    for _ in range(READS):
        began = quorum.bench.now().unix_ms
        answer, bare = leader.describe_quorum(version=version), _in_version_0(leader)
        ended = quorum.bench.now().unix_ms
        yield held_if(bare is not None, bare, case="version-0")
        yield premise(is_led(answer) and bare is not None and is_led(bare), "an answer of the leader")
        yield premise(any(v.replica_id == answer.leader_id for v in answer.current_voters), f"the leader in {answer}",
                      promised=("KIP595-DQ-01", "voters"))  # fmt: skip
        replicas = [*answer.current_voters, *answer.observers]
        own = next(replica for replica in replicas if replica.replica_id == answer.leader_id)
        others = [replica for replica in replicas if replica is not own]
        yield held_if(all(_are_ordered(replica, ended) for replica in others), answer, case="replicas")
        times = (own.last_fetch_timestamp, own.last_caught_up_timestamp)
        yield held_if(all(began - CLOCK_STEP <= time <= ended for time in times), answer, case="leader")


CLOCK_STEP = 1
"""Milliseconds: both sides truncate their clock to whole milliseconds."""


def _are_ordered(replica: QuorumReplica, now: int) -> bool:
    return -1 <= replica.last_caught_up_timestamp <= replica.last_fetch_timestamp <= now


def _in_version_0(leader: NodeClient) -> QuorumAnswer | None:
    """Return the answer of version 0; None if its bytes are not exactly that version's fields."""
    try:
        return leader.describe_quorum(version=0)
    except SchemaError:
        return None


@probe("KIP595-DQ-07", rig=QUORUM, through=sampled_from(["leader", "broker"]))
def version_2_names_directories_and_nodes(quorum: Quorum, through: str) -> Claims:
    """Version 2 has directory ids (none for static voters), the voters' controller listeners, and an error message."""
    node = quorum.bench.node(quorum.bench.brokers[0]) if through == "broker" else quorum.client(quorum.one("leader"))
    answer = node.describe_quorum(version=2)
    yield premise(is_led(answer), "an answer of the leader")
    yield held_if(all(v.replica_directory_id is None for v in answer.current_voters), answer, case="directory-ids")
    wanted = {
        QuorumNode(quorum.bench.id_of(name), (Listener(LISTENER, *quorum.address(quorum.bench.id_of(name))),))
        for name in quorum.controllers
    }
    yield held_if(set(answer.nodes) == wanted and len(answer.nodes) == len(wanted), answer, case="nodes")
    refusal = quorum.client(quorum.one("follower")).describe_quorum(version=2)
    yield premise(refusal.error is not Error.NONE, "an error")
    yield held_if(bool(refusal.error_message), refusal, case="error-message")
