"""Requests that must have no effect, at a voter whose own requests all go to the kit (KIP-595)."""

from collections.abc import Callable
from typing import NamedTuple

from hypothesis.strategies import integers, sampled_from

from conformance.core.checks import Claims, held_if, probe
from conformance.judging.facts.quorum import Stored
from conformance.rigs.quorum.frozen import A_WHILE, FROZEN, OUTSIDER, PEERS, Frozen, LogEnd, epoch_of
from history.readings import Received
from protocol.codes import Error
from protocol.log import LeaderAndEpoch
from protocol.messages import PartitionAnswer
from protocol.words import say, say_change
from strategies.inputs import EPOCHS_AHEAD

LEADERS = sampled_from(PEERS)
BACK = integers(1, 4)
NEGATIVE = sampled_from([-1, -2, -(1 << 31)])
STANDS = ("Vote", "BeginQuorumEpoch", "EndQuorumEpoch")


class VoterCondition(NamedTuple):
    """A voter's leader and epoch as it reports them, and its stored quorum-state."""

    reported: LeaderAndEpoch
    stored: Stored


class WatchedFollower(NamedTuple):
    """A follower's condition before and after a request, its open fetch, and all that it sent after the request."""

    answer: PartitionAnswer
    before: VoterCondition
    after: VoterCondition
    fetch: Received
    sent: list[Received]

    @property
    def is_unmoved(self) -> bool:
        """True if its condition is the same, it requests no votes, and its open fetch goes on."""
        fetches = [one for one in self.sent if one.api == "Fetch"]
        same = all(one.body == self.fetch.body for one in fetches)
        stands = any(one.api in STANDS for one in self.sent)
        return self.before == self.after and bool(fetches) and same and not stands

    @property
    def text(self) -> str:
        goes_on = all(one.body == self.fetch.body for one in self.sent if one.api == "Fetch")
        sent = f"it sent {say([one.api for one in self.sent])}, with the same fetch: {say(goes_on)}"
        return f"of leader and quorum-state, {say_change(self.before, self.after)}; {sent}"


def watch(frozen: Frozen, leader: int, ask: Callable[[int], PartitionAnswer]) -> WatchedFollower:
    """Send a request to a leader's follower (`ask` gets the epoch), and watch for a while the follower's own
    requests."""
    fetch = frozen.follow(leader)
    before = VoterCondition(frozen.reported_leader(), frozen.quorum_state())
    began = frozen.bench.now().seconds
    answer = ask(epoch_of(fetch))
    sent = frozen.sent_since(began, A_WHILE)
    if not any(one.api == "Fetch" for one in sent):
        again = frozen.fetch_in(epoch_of(fetch), leader)
        sent += [again] if again is not None else []
    return WatchedFollower(answer, before, VoterCondition(frozen.reported_leader(), frozen.quorum_state()), fetch, sent)


def is_undisturbed(seen: WatchedFollower, error: Error) -> bool:
    right = seen.answer.error is error and seen.answer.top_level_error is Error.NONE
    return right and seen.is_unmoved


@probe("KIP595-END-01", rig=FROZEN, cases=["older-epoch"], leader=LEADERS, former=LEADERS, back=BACK)
def late_end_moves_no_follower(frozen: Frozen, leader: int, former: int, back: int) -> Claims:
    """A follower does not become a candidate for an EndQuorumEpoch of an older epoch, even if it is the first
    successor."""
    seen = watch(frozen, leader, lambda epoch: frozen.end(former, epoch - back, [frozen.id]))
    yield held_if(is_undisturbed(seen, Error.FENCED_LEADER_EPOCH), seen.answer, detail=seen.text)


@probe("KIP595-END-01", rig=FROZEN, cases=["negative-id"], leader=LEADERS, ahead=EPOCHS_AHEAD, id=NEGATIVE)
def end_of_no_leader_moves_no_follower(frozen: Frozen, leader: int, ahead: int, id: int) -> Claims:
    """A follower does not become a candidate for an EndQuorumEpoch with a negative leader id."""

    def ask(epoch: int) -> PartitionAnswer:
        with frozen.bench.malformed_requests("a negative id"):
            return frozen.end(id, epoch + ahead, [frozen.id])

    seen = watch(frozen, leader, ask)
    yield held_if(is_undisturbed(seen, Error.INVALID_REQUEST), seen.answer, detail=seen.text)


@probe("KIP595-BEGIN-04", rig=FROZEN, cases=["repeat"], leader=LEADERS, times=integers(1, 3))
def repeated_begin_resets_nothing(frozen: Frozen, leader: int, times: int) -> Claims:
    """A follower that gets its leader's BeginQuorumEpoch again goes on with the same fetch."""

    def ask(epoch: int) -> PartitionAnswer:
        return [frozen.begin(leader, epoch) for _ in range(times)][-1]

    seen = watch(frozen, leader, ask)
    yield held_if(is_undisturbed(seen, Error.NONE), seen.answer, detail=seen.text)


@probe("KIP595-BEGIN-04", rig=FROZEN, cases=["negative-id"], leader=LEADERS, ahead=EPOCHS_AHEAD, id=NEGATIVE)
def begin_of_no_leader_moves_no_follower(frozen: Frozen, leader: int, ahead: int, id: int) -> Claims:
    """A follower that gets BeginQuorumEpoch with a negative leader id goes on with the same fetch."""

    def ask(epoch: int) -> PartitionAnswer:
        with frozen.bench.malformed_requests("a negative id"):
            return frozen.begin(id, epoch + ahead)

    seen = watch(frozen, leader, ask)
    yield held_if(is_undisturbed(seen, Error.INVALID_REQUEST), seen.answer, detail=seen.text)


@probe(
    "KIP595-API-03",
    rig=FROZEN,
    cases=["vote", "begin"],
    leader=LEADERS,
    ahead=EPOCHS_AHEAD,
    number=integers(0, 1 << 30),
)
def foreign_cluster_moves_no_follower(frozen: Frozen, case: str, leader: int, ahead: int, number: int) -> Claims:
    """A follower that gets a request with another cluster id, in any later epoch, goes on with the same fetch."""
    foreign = f"another-{number}"

    def ask(epoch: int) -> PartitionAnswer:
        if case == "begin":
            return frozen.begin(leader, epoch + ahead, cluster_id=foreign)
        return frozen.vote(OUTSIDER, epoch + ahead, LogEnd(epoch, 1 << 40), cluster_id=foreign)

    seen = watch(frozen, leader, ask)
    held = seen.answer.top_level_error is Error.INCONSISTENT_CLUSTER_ID and seen.is_unmoved
    yield held_if(held, seen.answer, detail=seen.text)
