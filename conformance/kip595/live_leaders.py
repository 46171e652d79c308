"""A leader with short timeouts whose followers are all played by the kit: how it begins, and what keeps it (KIP-595)."""

from collections.abc import Callable
from typing import NamedTuple

from hypothesis.strategies import integers, permutations, sampled_from

from conformance.core.checks import Claims, held_if, kept_if, premise, probe
from conformance.core.waiting import Settled
from conformance.rigs.quorum.bounds import AT_ONCE
from conformance.rigs.quorum.candidates import other_peer
from conformance.rigs.quorum.frozen import PEERS, REQUEST_TIMEOUT, SOON, LogEnd, candidate_epoch
from conformance.rigs.quorum.live import (
    CHECK_QUORUM,
    CLOCK,
    ELECTION_TIMEOUT,
    FETCH_TIMEOUT,
    LIVE_RIG,
    LIVE_RIG_AT_DEFAULTS,
    LIVE_RIG_OF_FIVE,
    NOT_LED,
    RESIGNS_AFTER,
    SLACK,
    Live,
    LiveOfFive,
    first_on_time,
    is_pre_vote,
)
from conformance.rigs.quorum.quorum import GHOSTS
from conformance.rigs.quorum.voter_restarts import kill_and_restart
from history.readings import Received
from protocol.codes import Error
from protocol.log import CONSUMER, EpochAndOffset, FetchedPartition, LeaderAndEpoch
from protocol.quorum import QuorumAnswer, SnapshotPiece
from protocol.words import say

VOTERS = sampled_from(PEERS)
GHOST = sampled_from(GHOSTS)
ORDER = permutations(LiveOfFive.others)


def has_resigned(answer: QuorumAnswer) -> bool:
    """True if this answer says that the node does not lead; any other error leaves it open."""
    return answer.error is Error.NOT_LEADER_OR_FOLLOWER and answer.top_level_error is Error.NONE


def is_served(answer: FetchedPartition) -> bool:
    """True if a leader answers this fetch as one that matches its log."""
    return answer.error is Error.NONE and answer.diverging_epoch is None


class Tenure:
    """The voter as a leader by the votes of some voters, of whose valid fetches the last was `served`; `last` is its latest
    description of the quorum."""

    def __init__(self, live: Live, *voters: int, fetches: int = 1) -> None:
        self.live = live
        self.voter = voters[-1]
        self.epoch = live.lead_by(*voters)
        self.served = [live.fetch_to_end(voter, self.epoch) for voter in voters * fetches][-1]
        self.fetched = live.now()
        self.last = live.describe()

    @property
    def is_led(self) -> bool:
        """True if the voter led and served the fetch."""
        return self.epoch != NOT_LED and is_served(self.served)

    @property
    def resigns_within(self) -> float:
        """Milliseconds after the last fetch of a majority within which the leader has resigned."""
        return RESIGNS_AFTER * self.live.fetch_timeout + SLACK

    @property
    def deadline(self) -> str:
        """The time within which the leader has to resign, and the fetch from which it counts."""
        within = f"{self.resigns_within:.0f} ms"
        return f"it has to resign {within} after the last valid fetch of a voter, which was voter {self.voter}'s"

    def await_resignation(self, also: Callable[[], object] | None = None) -> Settled:
        """Wait until the leader has resigned, in the time left since that fetch. Whenever it still leads, do something else
        `also`."""

        def look() -> bool:
            self.last = self.live.describe()
            if also is not None and not has_resigned(self.last):
                also()
            return has_resigned(self.last)

        left = (self.resigns_within - (self.live.now() - self.fetched)) / 1000
        return self.live.answer_while_waiting(look, self.live.granting(()), f"{self.live.name} resigns", left)


def lead_and_resign(live: Live, voter: int, fetches: int) -> tuple[Settled, Tenure]:
    """Make the voter a leader that serves another voter these fetches; return whether it resigns in time without more."""
    tenures: list[Tenure] = []

    def attempt() -> Settled:
        tenures.append(Tenure(live, voter, fetches=fetches))
        return tenures[-1].await_resignation()

    return first_on_time(attempt), tenures[-1]


@probe("KIP595-LEAD-01", rig=LIVE_RIG, cases=["describe-quorum", "fetch", "end-sent"], examples=2, voter=VOTERS,
       fetches=integers(1, 5))  # fmt: skip
def leader_without_fetches_resigns(live: Live, voter: int, fetches: int) -> Claims:
    """A leader without fetches of a majority is no leader after 1.5 fetch timeouts, and tells the voters so."""
    gone, tenure = lead_and_resign(live, voter, fetches)
    yield premise(tenure.is_led, f"a leader that serves a voter: {tenure.served}")
    yield held_if(gone, tenure.last, case="describe-quorum", detail=tenure.deadline)
    refused = live.fetch_as(other_peer(voter), tenure.epoch, LogEnd(tenure.epoch - 1, 0))
    is_refused = refused.error is Error.NOT_LEADER_OR_FOLLOWER
    yield held_if(gone.require_also(is_refused), refused, case="fetch")
    ends_sent = live.answer_while_waiting(
        lambda: all(live.requests("EndQuorumEpoch", tenure.epoch, peer) for peer in PEERS),
        live.granting(()),
        f"EndQuorumEpoch of epoch {tenure.epoch} at both peers",
        (REQUEST_TIMEOUT + SLACK) / 1000,
    )
    ends = live.requests("EndQuorumEpoch", tenure.epoch)
    in_its_name = ends_sent.require_also(all(map(live.sent_as_leader, ends)))
    shown = f"EndQuorumEpoch came to the peers {say([one.peer for one in ends])}; the voters are {say(PEERS)}"
    yield held_if(in_its_name, case="end-sent", detail=f"{shown}: {say(ends[:1])}")


@probe("KIP595-LEAD-01", rig=LIVE_RIG_AT_DEFAULTS, cases=["describe-quorum"], examples=1, smoke=False, voter=VOTERS,
       fetches=integers(1, 5))  # fmt: skip
def leader_without_fetches_resigns_by_default(live: Live, voter: int, fetches: int) -> Claims:
    """A leader with Kafka's own timeouts and without fetches of a majority is no leader after 1.5 fetch timeouts."""
    gone, tenure = lead_and_resign(live, voter, fetches)
    yield premise(tenure.is_led, f"a leader that serves a voter: {tenure.served}")
    yield held_if(gone, tenure.last, detail=tenure.deadline)


@probe("KIP595-LEAD-01", rig=LIVE_RIG_OF_FIVE, cases=["describe-quorum"], examples=2, order=ORDER)
def leader_with_fetches_of_a_minority_resigns(live: LiveOfFive, order: list[int]) -> Claims:
    """A leader of five is no leader after 1.5 fetch timeouts in which only one of the other four voters goes on fetching."""
    tenures: list[Tenure] = []
    served: list[FetchedPartition] = []

    def lead_and_resign() -> Settled:
        tenures.append(tenure := Tenure(live, *order[:2]))
        served.clear()
        return tenure.await_resignation(lambda: served.append(live.fetch_to_end(order[0], tenure.epoch)))

    gone = first_on_time(lead_and_resign)
    yield premise(tenures[-1].is_led, f"a leader that serves voters: {tenures[-1].served}")
    yield premise(bool(served) and is_served(served[0]), f"a voter that goes on fetching: {say(served[:1])}")
    detail = f"{tenures[-1].deadline}; voter {order[0]} alone fetched {len(served)} times meanwhile"
    yield held_if(gone, tenures[-1].last, detail=detail)


Traffic = Callable[[Live, int, int, int], FetchedPartition]
"""A fetch from the leader of an epoch that is no progress of a voter; the last argument is an id of no voter."""


TRAFFIC: dict[str, Traffic] = {
    "consumer": lambda live, epoch, voter, ghost: live.fetch_to_end(CONSUMER, epoch),
    "observer": lambda live, epoch, voter, ghost: live.fetch_to_end(ghost, epoch),
    "wrong-epoch": lambda live, epoch, voter, ghost: live.fetch_as(
        voter, epoch - 1 if ghost % 2 else epoch + 1, LogEnd(epoch - 1, 1)
    ),
    "diverging": lambda live, epoch, voter, ghost: live.fetch_as(voter, epoch, LogEnd(epoch - 1, 1 << 30)),
}


FETCHES = {
    "consumer": "fetches of a consumer",
    "observer": "fetches of an observer",
    "wrong-epoch": "fetches of that voter in another epoch",
    "diverging": "fetches of that voter with another log",
}
"""Words for these fetches in an observation."""


def _promise_of(case: str, ghost: int) -> tuple[str, str]:
    """Return the row and case that promise the leader's answer to this fetch."""
    if case == "wrong-epoch":
        return ("KIP595-FETCH-01", "older-epoch" if ghost % 2 else "newer-epoch")
    return ("KIP595-FETCH-04", "past-log-end" if case == "diverging" else "matching")


def _is_of_its_kind(case: str, answer: FetchedPartition) -> bool:
    """True if a leader answers this fetch as one of its kind."""
    if case == "wrong-epoch":
        return answer.error in (Error.FENCED_LEADER_EPOCH, Error.UNKNOWN_LEADER_EPOCH)
    diverges = answer.diverging_epoch is not None or answer.snapshot_id is not None
    return answer.error is Error.NONE and diverges is (case == "diverging")


@probe("KIP595-LEAD-02", rig=LIVE_RIG, cases=[*TRAFFIC], examples=2, voter=VOTERS, ghost=GHOST)
def other_fetches_are_no_progress(live: Live, case: str, voter: int, ghost: int) -> Claims:
    """A leader resigns although consumers, observers, or voters with a wrong epoch or another log go on fetching."""
    tenures: list[Tenure] = []
    others: list[FetchedPartition] = []
    still_led: list[bool] = []
    """Whether the voter led on after the first of these fetches."""

    def lead_and_resign() -> Settled:
        tenures.append(tenure := Tenure(live, voter))
        others[:] = [TRAFFIC[case](live, tenure.epoch, voter, ghost)]
        still_led.append(live.describe().leader_epoch == tenure.epoch)
        return tenure.await_resignation(lambda: others.append(TRAFFIC[case](live, tenure.epoch, voter, ghost)))

    gone = first_on_time(lead_and_resign)
    yield premise(tenures[-1].is_led, f"a leader that serves a voter: {tenures[-1].served}")
    promised = _promise_of(case, ghost) if still_led[-1] else None
    yield premise(
        _is_of_its_kind(case, others[0]), f"a {case} fetch that is answered as such: {others[0]}", promised=promised
    )
    yield held_if(
        gone, tenures[-1].last, detail=f"{tenures[-1].deadline}; then there were {len(others)} {FETCHES[case]}"
    )


STAYS = 2 * CHECK_QUORUM
"""Milliseconds for which a leader must stay: twice the time after which it resigns without fetches."""
GAP = 0.6 * FETCH_TIMEOUT
"""The longest time in milliseconds between two signs of a voter that is certainly alive."""


class KeptLeader(NamedTuple):
    """A leader that a voter kept alive, as it described itself at last, and the longest time in milliseconds between two
    signs of that voter, from before one to after the next."""

    last: QuorumAnswer
    longest_gap: float


def keep_alive(live: Live, sign: Callable[[], object]) -> KeptLeader:
    """Give the leader a sign of a voter all the time, for as long as it leads and STAYS at most."""
    looks, gaps, began = [live.describe()], [0.0], live.now()
    given = began

    def give_and_look() -> bool:
        nonlocal given
        before = live.now()
        sign()
        gaps.append(live.now() - given)
        given = before
        looks.append(live.describe())
        return has_resigned(looks[-1]) or live.now() - began >= STAYS

    live.answer_while_waiting(give_and_look, live.granting(()), f"{live.name} stays leader", 2 * STAYS / 1000)
    return KeptLeader(looks[-1], max(gaps))


@probe("KIP595-LEAD-02", rig=LIVE_RIG, cases=["one-voter"], examples=2, voter=VOTERS)
def one_voter_of_two_keeps_the_leader(live: Live, voter: int) -> Claims:
    """A leader of three stays while one of the other two voters fetches."""
    epoch = live.lead_by(voter)
    yield premise(epoch != NOT_LED, "a leader")
    served: list[FetchedPartition] = []
    kept = keep_alive(live, lambda: served.append(live.fetch_to_end(voter, epoch)))
    yield premise(kept.longest_gap < GAP, "a voter that fetched all the time")
    leads_on = kept.last.error is Error.NONE and kept.last.leader_epoch == epoch and is_served(served[-1])
    yield held_if(leads_on, kept.last, served[-1], detail=f"after {len(served)} fetches in epoch {epoch}")


@probe("KIP595-LEAD-03", rig=LIVE_RIG, cases=["fetch-snapshot"], examples=2, voter=VOTERS, piece=integers(1, 1000))
def snapshot_download_keeps_the_leader(live: Live, voter: int, piece: int) -> Claims:
    """A leader of three stays while one of the other two voters only downloads a snapshot."""
    epoch = live.lead_by(voter)
    yield premise(epoch != NOT_LED, "a leader")
    found: list[EpochAndOffset] = []

    def has_snapshot() -> bool:
        live.fetch_to_end(voter, epoch)
        named = live.fetch_as(CONSUMER, epoch, LogEnd(0, 1)).snapshot_id
        found.extend([named] if named is not None else [])
        return bool(found)

    there = live.answer_while_waiting(has_snapshot, live.granting(()), "a snapshot of the leader", SOON)
    yield premise(there, f"a snapshot that the leader names: {say(found)}")
    pieces: list[SnapshotPiece] = []

    def download() -> None:
        pieces.append(
            live.client.fetch_snapshot(
                found[0], current_leader_epoch=epoch, cluster_id=live.cluster_id, replica_id=voter, max_bytes=piece
            )
        )

    kept = keep_alive(live, download)
    yield premise(kept.longest_gap < GAP, "a voter that downloaded all the time")
    leads_on = kept.last.error is Error.NONE and kept.last.leader_epoch == epoch
    right = leads_on and pieces[-1].error is pieces[-1].top_level_error is Error.NONE
    yield held_if(right, kept.last, pieces[-1], detail=f"after {len(pieces)} pieces in epoch {epoch}")


REPEATS_WITHIN = FETCH_TIMEOUT + SLACK
"""Milliseconds within which a leader repeats an unanswered BeginQuorumEpoch: later, the voter would stand for election."""
AFTERWARDS = 2 * FETCH_TIMEOUT
"""Milliseconds for which a leader is watched whose voters have all answered and go on fetching."""


@probe("KIP595-BEGIN-07", rig=LIVE_RIG, cases=["each-voter", "unanswered", "afterwards"], examples=2, silent=VOTERS,
       ghost=GHOST)  # fmt: skip
def new_leader_announces_itself(live: Live, silent: int, ghost: int) -> Claims:
    """A new leader sends BeginQuorumEpoch to both voters, and again to the one that neither answers nor fetches."""
    voter = other_peer(silent)
    epoch = live.lead_by(voter, silent=[silent])
    yield premise(epoch != NOT_LED, "a leader")
    observed = live.fetch_to_end(ghost, epoch)
    yield premise(is_served(observed), f"an observer: {observed}")
    unanswered = live.granting((), silent=[silent])

    def begins(peer: int, times: int) -> bool:
        live.fetch_to_end(voter, epoch)
        return len(live.requests("BeginQuorumEpoch", epoch, peer)) >= times

    both = live.answer_while_waiting(
        lambda: begins(silent, 1) and begins(voter, 1),
        unanswered,
        f"BeginQuorumEpoch of epoch {epoch} at both peers",
        REPEATS_WITHIN / 1000,
    )
    begun = live.requests("BeginQuorumEpoch", epoch)
    addressed = {one.body.get("voter_id", one.peer) for one in begun}
    right = addressed <= set(PEERS) and all(map(live.sent_as_leader, begun))
    shown = f"it came to {say(sorted(addressed))}, voters are {say(PEERS)}: {say(begun[:1])}"
    yield held_if(both.require_also(right), case="each-voter", detail=shown)
    again = live.answer_while_waiting(
        lambda: begins(silent, 2),
        unanswered,
        f"BeginQuorumEpoch of epoch {epoch} at {silent} again",
        REPEATS_WITHIN / 1000,
    )
    count = len(live.requests("BeginQuorumEpoch", epoch, silent))
    yield held_if(again, case="unanswered", detail=f"it came to the silent voter {silent} so often: {count}")
    yield from _sends_little_afterwards(live, epoch)


def _sends_little_afterwards(live: Live, epoch: int) -> Claims:
    """Check that voters that answer and fetch are sent BeginQuorumEpoch no more often than twice in a fetch timeout."""
    answering = live.granting(())

    def fetches_and_is_over(until: float) -> bool:
        for peer in PEERS:
            live.fetch_to_end(peer, epoch)
        return live.now() >= until

    settled = live.now() + REQUEST_TIMEOUT + AT_ONCE
    live.answer_while_waiting(lambda: fetches_and_is_over(settled), answering, "both voters answer and fetch", 10.0)
    began, before = live.now(), len(live.heard)
    live.answer_while_waiting(
        lambda: fetches_and_is_over(began + AFTERWARDS), answering, "two more fetch timeouts", 10.0
    )
    lasted = live.now() - began
    later = [one for one in live.heard[before:] if one.api == "BeginQuorumEpoch"]
    yield premise(live.leads(), f"still the leader of epoch {epoch}")
    most = max((sum(one.peer == peer for one in later) for peer in PEERS), default=0)
    allowed = int((lasted + CLOCK) // (FETCH_TIMEOUT / 2)) + 1
    detail = f"it came up to {most} times to one voter in {lasted:.0f} ms; at most {allowed} are right"
    yield held_if(most <= allowed, case="afterwards", detail=detail, variant="repeated" if most else "silent")


GOES_ON_WITHIN = 2 * ELECTION_TIMEOUT + SLACK
"""Milliseconds within which a resigned leader is in the next epoch."""


@probe("KIP595-LEAD-06", "KIP595-LEAD-06-L", rig=LIVE_RIG, cases=["check-quorum"], examples=2, voter=VOTERS)
def resigned_leader_enters_a_later_epoch(live: Live, expected: str, voter: int) -> Claims:
    """A leader that resigned for lack of fetches never leads its epoch again, and is in the next one in time: as a
    candidate up to 3.9, and pre-voting from 4.0."""
    tenure = Tenure(live, voter)
    yield premise(tenure.is_led, f"a leader that serves a voter: {tenure.served}")
    gone = tenure.await_resignation()
    yield premise(gone, "a leader that resigns", promised=("KIP595-LEAD-01", "describe-quorum"))
    yield from enters_a_later_epoch(live, tenure.epoch, expected)


@probe(
    "KIP595-LEAD-06", "KIP595-LEAD-06-L", rig=LIVE_RIG, cases=["restarted"], examples=2, smoke=False, voter=VOTERS
)  # fmt: skip
def restarted_leader_enters_a_later_epoch(live: Live, expected: str, voter: int) -> Claims:
    """The same of a leader that was killed and started again."""
    tenure = Tenure(live, voter)
    yield premise(tenure.is_led, f"a leader that serves a voter: {tenure.served}")
    kill_and_restart(live)
    yield from enters_a_later_epoch(live, tenure.epoch, expected)


def enters_a_later_epoch(live: Live, led: int, expected: str) -> Claims:
    """Check LEAD-06 for the voter that has resigned as leader of an epoch."""
    reported: list[LeaderAndEpoch] = []
    described: list[QuorumAnswer] = []

    def is_in_later_epoch() -> bool:
        described.append(live.describe())
        reported.append(live.reported_leader())
        return reported[-1].leader_epoch > led

    later = live.answer_while_waiting(is_in_later_epoch, live.granting(()), "a later epoch", GOES_ON_WITHIN / 1000)
    live.answer_while_waiting(lambda: bool(asked_after(live, led)), live.granting(()), "a request for votes", SOON)
    asked = [(is_pre_vote(one), candidate_epoch(one) - led) for one in asked_after(live, led)[:1]]
    right = asked == [(expected == "UNATTACHED", 1)] and all(has_resigned(one) for one in described)
    detail = f"it reported {say(reported[-1])} after leading {led}; pre-vote, and epochs after that: {say(asked)}"
    yield held_if(later.require_also(right), described[-1], detail=detail)
    yield kept_if("KIP595-LEAD-06-L", later.require_also(asked == [(True, 1)]), described[-1])


def asked_after(live: Live, led: int) -> list[Received]:
    """Return the voter's requests for votes in later epochs than one that it led."""
    return [one for one in live.heard if one.api == "Vote" and candidate_epoch(one) > led]
