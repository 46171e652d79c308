"""A quorum leader that is cut off from the other voters resigns (KIP-595, Leader Progress Timeout)."""

from typing import Any, Literal, NamedTuple

from hypothesis.strategies import sampled_from

from conformance.core.bench import Bench
from conformance.core.checks import Claim, Claims, Rig, excuse, held_if, probe
from conformance.core.topologies import CONTROLLERS, DEFAULT_FETCH_TIMEOUT
from conformance.judging.excuses import STARVED
from conformance.judging.facts.quorum import Stored
from conformance.rigs.log.partition import PartitionData, new_partition
from conformance.rigs.quorum.candidates import is_vote
from conformance.rigs.quorum.frozen import OUTSIDER
from conformance.rigs.quorum.live import RESIGNS_AFTER
from conformance.rigs.quorum.quorum import (
    FAR,
    ControllerCondition,
    Quorum,
    QuorumData,
    cluster_id_of,
)
from conformance.rigs.quorum.successors import successor_leads
from fixtures.faults.kinds.zombies import IsolatedControllerLeader
from fixtures.wire import ConnectionClosed, Unanswered
from history.due import is_starved
from protocol.codes import Error
from protocol.quorum import QuorumAnswer, VoteAnswer
from protocol.since import since
from protocol.topics import CreateTopicsAnswer, NewTopic
from protocol.words import say

PRE_VOTE_FROM = since("VoteRequest", "PreVote")


class ResignedVoter(NamedTuple):
    """The answers of a voter in the epoch that it led to a Vote and, from 4.0 on, to a pre-vote, and its condition before and
    after them."""

    before: ControllerCondition
    vote: VoteAnswer
    pre_vote: VoteAnswer | None
    after: ControllerCondition


class Isolated:
    """Three real controllers whose leader is cut off from the others, while brokers and clients still reach it.

    Faults are aimed with a partition that these controllers manage.
    """

    def __init__(self, bench: Bench, data: PartitionData) -> None:
        self.bench = bench
        self.faults = bench.faults(data.topic, data.partition)

    def describe(self, name: str) -> QuorumAnswer:
        """Return the controller's own answer to DescribeQuorum."""
        return self.bench.node(name, controller=True).describe_quorum()

    def write_at(self, name: str) -> CreateTopicsAnswer | None:
        """Ask the controller itself to create a topic. Return its answer, None if none came. Raises NotSent."""
        topic = NewTopic(self.bench.fresh_name("zombie"), num_partitions=1, replication_factor=1)
        client = self.bench.node(name, controller=True, purpose="write")
        try:
            return client.create_topics([topic], timeout_ms=WRITE_MS)
        except (Unanswered, ConnectionClosed):
            return None

    def ask_resigned(self, name: str) -> ResignedVoter | None:
        """Ask the controller for its vote in the epoch that it led; None if it does not know itself as that leader any more.

        The candidate is no voter, so that no request is forged in a real voter's name.
        """
        quorum = Quorum(self.bench, QuorumData(cluster_id_of(self.bench)))
        before = quorum.condition(name)
        led, epoch = before.reported.leader_id == self.bench.id_of(name), before.reported.leader_epoch
        if not led:
            return None
        vote, pre_vote = self._vote_of(quorum, name, epoch, epoch - 1), None
        if quorum.version("Vote") >= PRE_VOTE_FROM:
            pre_vote = self._vote_of(quorum, name, epoch, epoch, pre_vote=True)
        return ResignedVoter(before, vote, pre_vote, quorum.condition(name))

    def _vote_of(self, quorum: Quorum, name: str, epoch: int, log_epoch: int, **more: Any) -> VoteAnswer:
        return quorum.client(name).vote(
            OUTSIDER, epoch, last_offset=FAR, last_offset_epoch=log_epoch, cluster_id=quorum.cluster_id, **more
        )  # fmt: skip


def _prepare(bench: Bench) -> PartitionData:
    return new_partition(bench).data


ISOLATED = Rig(CONTROLLERS, _prepare, Isolated)


GIVES_UP_WITHIN = RESIGNS_AFTER * DEFAULT_FETCH_TIMEOUT + 2.0
WRITE_MS = 1000
"""The timeout of a write that must fail, in milliseconds."""


@probe(
    "KIP595-LIVE-06",
    "KIP595-LIVE-01",
    "KIP595-VOTE-11",
    "KIP595-VOTE-18",
    "GEN-08",
    rig=ISOLATED,
    cases=["cut", "no-acknowledgement"],
    examples=2,
    smoke=False,
    verdict=sampled_from(["drop", "reject"]),
)
def isolated_leader_gives_up(isolated: Isolated, verdict: Literal["drop", "reject"]) -> Claims:
    """A leader that is cut off from both followers resigns in time, and then neither votes nor acknowledges a write.

    Judges look at the election that follows.
    """
    with isolated.faults.standing_fault(IsolatedControllerLeader(verdict=verdict)) as injected:
        cut = isolated.bench.now().seconds - injected.consequence_seconds - injected.witness_seconds
        yield from gives_up(isolated, injected.nodes[0], cut)
        yield from successor_leads(isolated.bench, injected.nodes[0])


class OwnDescription(NamedTuple):
    """A controller's own answer to DescribeQuorum, asked `seconds` after it was cut off."""

    seconds: float
    answer: QuorumAnswer

    @property
    def steps_down(self) -> bool:
        """True if this is the answer of a controller that does not lead; any other error leaves it open."""
        return self.answer.error is Error.NOT_LEADER_OR_FOLLOWER and self.answer.top_level_error is Error.NONE


def gives_up(isolated: Isolated, leader: str, cut: float) -> Claims:
    """Check LIVE-06: the leader resigns in time. Yield no claim if a late first look finds that it has resigned."""
    looks = list[OwnDescription]()

    def over() -> bool:
        seconds = isolated.bench.now().seconds - cut
        looks.append(OwnDescription(seconds, isolated.describe(leader)))
        return looks[-1].steps_down or seconds > GIVES_UP_WITHIN

    isolated.bench.wait.becomes_true(over, f"{leader} gives up", 2 * GIVES_UP_WITHIN)
    if led := [look for look in looks if not look.steps_down]:
        yield _in_time(isolated, leader, led[-1])
    elif looks[0].seconds <= GIVES_UP_WITHIN:
        yield held_if(True, looks[0].answer, case="cut")
    if looks[-1].steps_down:
        yield from promises_nothing(isolated, leader)


def _in_time(isolated: Isolated, leader: str, last: OwnDescription) -> Claim:
    """Judge the last look at which the leader had not stepped down."""
    late = last.seconds > GIVES_UP_WITHIN
    if late and is_starved(isolated.bench.wait.recorded_late(GIVES_UP_WITHIN), GIVES_UP_WITHIN):
        return excuse(STARVED, case="cut")
    detail = f"{leader} had not stepped down {last.seconds:.1f} s after it was cut off"
    return held_if(not late, last.answer, case="cut", detail=detail)


def promises_nothing(isolated: Isolated, leader: str) -> Claims:
    """Check that a leader that has resigned keeps its vote in its epoch (VOTE-11, VOTE-18), and acknowledges no write."""
    if asked := isolated.ask_resigned(leader):
        yield from resigned_keeps_its_vote(asked)
    written = isolated.write_at(leader)
    refused = written is None or all(topic.error is not Error.NONE for topic in written.topics)
    yield held_if(refused, written, case="no-acknowledgement")


def resigned_keeps_its_vote(asked: ResignedVoter) -> Claims:
    """Judge the answers of a resigned leader, as its quorum-state shows it; yield no claim if it left its epoch meanwhile."""
    known = asked.before.reported
    if asked.vote.error is Error.INCONSISTENT_VOTER_SET:  # up to 3.7: see KIP595-VOTE-09
        return
    if asked.after.reported != known or asked.before.stored != Stored(known.leader_id, known.leader_epoch, -1):
        return
    refused = is_vote(asked.vote, granted=False)
    same = asked.before == asked.after
    yield held_if(
        refused and same, asked.vote, row="KIP595-VOTE-11", case="resigned", detail=f"then {say(asked.after)}"
    )
    if asked.pre_vote is not None:
        granted = asked.pre_vote.error is Error.NONE and asked.pre_vote.vote_granted
        yield held_if(
            granted and same, asked.pre_vote, row="KIP595-VOTE-18", case="resigned", detail=f"then {say(asked.after)}"
        )
