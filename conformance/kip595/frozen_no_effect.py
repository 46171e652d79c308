"""Requests that must have no effect, at a voter whose own requests all go to the kit (KIP-595)."""

from collections.abc import Callable
from typing import Any, NamedTuple

from hypothesis.strategies import integers, sampled_from

from conformance.core.checks import Claim, Claims, held_if, probe
from conformance.rigs.quorum.candidates import NONSENSE, other_peer
from conformance.rigs.quorum.frozen import FROZEN, OUTSIDER, PEERS, Frozen, LogEnd, epoch_of
from conformance.rigs.quorum.quorum import FAR, VoterCondition
from history.readings import Received
from protocol.codes import Error
from protocol.log import EpochAndOffset, FetchedPartition, FetchOptions, FetchPartition
from protocol.messages import PartitionAnswer
from protocol.quorum import METADATA, VoteAnswer
from protocol.words import say, say_change
from strategies.inputs import EPOCHS_AHEAD, near_or_far

LEADERS = sampled_from(PEERS)
BACK = integers(1, 4)
NEGATIVE = sampled_from([-1, -2, -(1 << 31)])
STANDS = ("Vote", "BeginQuorumEpoch", "EndQuorumEpoch")


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
    """Send a request to a leader's follower (`ask` gets the epoch), and watch for a while the follower's own requests."""
    fetch = frozen.follow(leader)
    before = frozen.condition()
    began = frozen.bench.now().seconds
    answer = ask(epoch_of(fetch))
    sent = [one for one in frozen.sent_since(began) if not is_late(one, fetch)]
    if not any(one.api == "Fetch" for one in sent):
        again = frozen.fetch_in(epoch_of(fetch), leader)
        sent += [again] if again is not None else []
    return WatchedFollower(answer, before, frozen.condition(), fetch, sent)


def is_late(sent: Received, fetch: Received) -> bool:
    """True for a fetch of an earlier epoch than the open one's: it was on its way before."""
    return sent.api == "Fetch" and epoch_of(sent) < epoch_of(fetch)


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
    examples=3,
    leader=LEADERS,
    ahead=EPOCHS_AHEAD,
    number=integers(0, 1 << 30),
)
def foreign_cluster_moves_no_follower(frozen: Frozen, case: str, leader: int, ahead: int, number: int) -> Claims:
    """A follower that gets a request with another cluster id, in any later epoch, goes on with the same fetch."""
    foreign = f"another-{number}"

    def ask(epoch: int) -> PartitionAnswer:
        later = epoch + ahead
        ways: dict[str, Callable[[], PartitionAnswer]] = {
            "vote": lambda: frozen.vote(OUTSIDER, later, LogEnd(epoch, FAR), cluster_id=foreign),
            "begin": lambda: frozen.begin(leader, later, cluster_id=foreign),
            "end": lambda: frozen.end(leader, later, [frozen.id], cluster_id=foreign),
            "fetch": lambda: frozen.client.fetch(
                FetchPartition(METADATA, 0, 0, later, 0), FetchOptions(cluster_id=foreign)
            ),
            "fetch-snapshot": lambda: frozen.client.fetch_snapshot(
                EpochAndOffset(1, 1), current_leader_epoch=later, cluster_id=foreign
            ),
        }
        return ways[case]()

    seen = watch(frozen, leader, ask)
    held = seen.answer.top_level_error is Error.INCONSISTENT_CLUSTER_ID and seen.is_unmoved
    yield held_if(held, seen.answer, detail=seen.text)


@probe("KIP595-VOTE-07", rig=FROZEN, cases=list(NONSENSE), examples=2, smoke=False, leader=LEADERS, ahead=EPOCHS_AHEAD,
       by=near_or_far(1000))  # fmt: skip
def impossible_log_position_moves_no_follower(frozen: Frozen, case: str, leader: int, ahead: int, by: int) -> Claims:
    """A follower that gets a Vote for an impossible log position, in whatever later epoch, goes on with the same fetch."""
    more: dict[str, Any] = {"pre_vote": True} if case == "pre-vote-above" else {}

    def ask(epoch: int) -> VoteAnswer:
        log = LogEnd(NONSENSE[case](epoch + ahead, by), -by if case == "offset-negative" else FAR)
        with frozen.bench.malformed_requests("an impossible log position"):
            return frozen.vote(other_peer(leader), epoch + ahead, log, **more)

    seen = watch(frozen, leader, ask)
    yield held_if(is_undisturbed(seen, Error.INVALID_REQUEST), seen.answer, detail=seen.text)


@probe(
    "KIP595-VOTE-08",
    rig=FROZEN,
    cases=["vote"],
    examples=2,
    smoke=False,
    leader=LEADERS,
    ahead=EPOCHS_AHEAD,
    id=NEGATIVE,
)
def vote_for_no_candidate_moves_no_follower(frozen: Frozen, leader: int, ahead: int, id: int) -> Claims:
    """A follower that gets a Vote with a negative candidate id, in whatever later epoch, goes on with the same fetch."""

    def ask(epoch: int) -> VoteAnswer:
        with frozen.bench.malformed_requests("a negative id"):
            return frozen.vote(id, epoch + ahead, LogEnd(epoch, FAR))

    seen = watch(frozen, leader, ask)
    yield held_if(is_undisturbed(seen, Error.INVALID_REQUEST), seen.answer, detail=seen.text)


class WrongFetch(NamedTuple):
    """A fetch that a follower must refuse: the error, the epoch's distance from its own, and what else is wrong."""

    error: Error
    ahead: int = 0
    offset: int = 0
    last_fetched_beyond: int | None = None
    last_fetched_epoch: int = 0
    max_wait_ms: int = 0

    def ask(self, frozen: Frozen, epoch: int) -> FetchedPartition:
        last = self.last_fetched_epoch
        if self.last_fetched_beyond is not None:
            last = epoch + self.last_fetched_beyond
        wanted = FetchPartition(METADATA, 0, self.offset, epoch + self.ahead, last)
        options = FetchOptions(max_wait_ms=self.max_wait_ms, cluster_id=frozen.cluster_id)
        with frozen.bench.malformed_requests("a negative field" if self.error is Error.INVALID_REQUEST else ""):
            return frozen.client.fetch(wanted, options)


def refused_fetch(frozen: Frozen, leader: int, wrong: WrongFetch) -> Claim:
    """Send a fetch to a follower, which must refuse it, name its leader and epoch, and go on with the same fetch."""
    seen = watch(frozen, leader, lambda epoch: wrong.ask(frozen, epoch))
    answer = seen.answer
    assert isinstance(answer, FetchedPartition)
    empty = not answer.batches and answer.high_watermark == -1 and answer.diverging_epoch is None
    named = answer.current_leader == seen.before.reported
    return held_if(is_undisturbed(seen, wrong.error) and empty and named, answer, detail=seen.text)


@probe("KIP595-FETCH-01", rig=FROZEN, examples=2, smoke=False, leader=LEADERS, by=EPOCHS_AHEAD)
def fetch_in_any_epoch_moves_no_follower(frozen: Frozen, case: str, leader: int, by: int) -> Claims:
    """A follower that gets a fetch, in its own epoch, an earlier or whatever later one, goes on with the same fetch."""
    wrong = {
        "older-epoch": WrongFetch(Error.FENCED_LEADER_EPOCH, ahead=-1),
        "newer-epoch": WrongFetch(Error.UNKNOWN_LEADER_EPOCH, ahead=by),
        "not-leader": WrongFetch(Error.NOT_LEADER_OR_FOLLOWER),
    }[case]
    yield refused_fetch(frozen, leader, wrong)


@probe("KIP595-FETCH-02", rig=FROZEN, examples=2, smoke=False, leader=LEADERS, by=near_or_far(1000, 1))
def invalid_fetch_moves_no_follower(frozen: Frozen, case: str, leader: int, by: int) -> Claims:
    """A follower that gets a fetch with impossible arguments goes on with the same fetch."""
    invalid = Error.INVALID_REQUEST
    wrong = {
        "offset-negative": WrongFetch(invalid, offset=-by),
        "epoch-negative": WrongFetch(invalid, last_fetched_epoch=-by),
        "epoch-above": WrongFetch(invalid, last_fetched_beyond=by),
        "wait-negative": WrongFetch(invalid, max_wait_ms=-by),
    }[case]
    yield refused_fetch(frozen, leader, wrong)
