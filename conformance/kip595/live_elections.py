"""Elections of a voter whose leader falls silent or whose votes are refused, by its timeouts (KIP-595, KIP-996)."""

from math import inf
from statistics import quantiles

from hypothesis.strategies import booleans, integers, lists, sampled_from

from conformance.core.checks import Claims, held_if, kept_if, premise, probe, record_only
from conformance.rigs.quorum.bounds import AT_ONCE, RequestWait, judge_waits, measure_waits
from conformance.rigs.quorum.candidates import BEHIND, other_peer
from conformance.rigs.quorum.frozen import (
    PEERS,
    REQUEST_TIMEOUT,
    SOON,
    candidate_epoch,
    epoch_of,
    refuse_vote,
)
from conformance.rigs.quorum.live import (
    AHEAD,
    BACKOFF_MAX,
    CLOCK,
    ELECTION_TIMEOUT,
    FETCH_TIMEOUT,
    LIVE_RIG,
    LIVE_RIG_AT_DEFAULTS,
    SLACK,
    Live,
    is_pre_vote,
)
from history.readings import Received
from protocol.codes import Error
from protocol.log import LeaderAndEpoch
from protocol.words import say

LEADERS = sampled_from(PEERS)
HELD_FOR = 0.1
"""Seconds for which a leader holds a fetch before it answers, less than the voter's request timeout."""
SURELY = 0.8 * REQUEST_TIMEOUT
"""Milliseconds within which a voter has certainly not given up a request."""

IN_TIME = "answers before the voter's request timeout"


class Following:
    """The voter as the follower of a peer. `served` is when it was last served a fetch, in milliseconds and before the answer
    left; `longest_gap` is the longest time from before one such answer to after the next, or to its request for votes."""

    def __init__(self, live: Live, leader: int) -> None:
        self.live = live
        self.leader = leader
        self.served = live.now()
        self.longest_gap = 0.0
        self.in_time = True
        """True if no answer may have come after the voter's request timeout, which counts from before a request arrives: once
        it is served, the voter fetches from the leader again, and otherwise from the other peer."""
        self._served: Received | None = None
        """The fetch that was answered last, if it was served."""
        self._fetch: Received | None = live.follow(leader)
        self.epoch = epoch_of(self._fetch)
        self.vote: Received | None = None
        """The voter's first request for votes, if it came while the leader was there."""

    def serve(self) -> None:
        """Hold the voter's next fetch for a while, and answer it."""
        fetch = self._next_fetch()
        self.vote = self.vote or self.live.peers.receive("Vote", within=HELD_FOR)
        if fetch is not None:
            before, delivered = self.live.now(), self.live.serve(fetch)
            after = self.live.now()
            self.in_time &= delivered and after - fetch.at * 1000 < SURELY
            self._served = fetch
            self.longest_gap = max(self.longest_gap, after - self.served)
            self.served = before
        elif self.vote is not None:
            self.longest_gap = max(self.longest_gap, self.vote.at * 1000 - self.served)

    def lose(self) -> None:
        """Leave the voter's next fetch without an answer."""
        self._next_fetch()

    def refuse(self) -> None:
        """Answer the voter's next fetch as a peer that knows of no leader."""
        if (fetch := self._next_fetch()) is not None:
            self.live.serve(fetch, error=Error.NOT_LEADER_OR_FOLLOWER, leader=LeaderAndEpoch(-1, self.epoch))

    def refuse_until_it_stands(self) -> None:
        """Hold the voter's fetches for a while each, and refuse them, until it asks for votes."""
        until = self.live.now() + SOON * 1000
        while self.vote is None and self.live.now() < until:
            fetch = self._next_fetch()
            self.vote = self.vote or self.live.peers.receive("Vote", within=HELD_FOR)
            if fetch is not None:
                self.live.left_open.append(fetch)
                self.live.serve(fetch, error=Error.NOT_LEADER_OR_FOLLOWER, leader=LeaderAndEpoch(-1, self.epoch))

    def _next_fetch(self) -> Received | None:
        """Return the voter's next fetch from its leader, to which the other peer refers it; None once it asks for votes."""
        while self.vote is None:
            asked, self._fetch = self._fetch or self.live.peers.receive(within=SOON), None
            if asked is None:
                raise self.live.bench.wait.overdue("next fetch", f"{self.live.name} sends no request", SOON)
            self._look_where_it_fetches(asked)
            if asked.api == "Vote":
                self.vote = asked
            elif asked.api == "Fetch" and asked.peer == self.leader:
                return asked
            elif asked.api == "Fetch":
                known = LeaderAndEpoch(self.leader, self.epoch)
                self.live.serve(asked, error=Error.NOT_LEADER_OR_FOLLOWER, leader=known)
            else:
                self.live.dismiss(asked)
        return None

    def _look_where_it_fetches(self, asked: Received) -> None:
        self.in_time &= self._served is None or asked.api != "Fetch" or asked.peer == self.leader
        self._served = None

    def wait_for(self, asked: Received | None) -> RequestWait:
        """Return the time from the last fetch that was served to a request for votes, and to the next fetch."""
        lasted = asked.at * 1000 - self.served if asked else inf
        late = (
            0.0
            if lasted < self.live.fetch_timeout + AT_ONCE
            else self.live.bench.wait.recorded_late(min(lasted / 1000, SOON))
        )
        later = [one for one in self.live.left_open if self._served is None or one.at > self._served.at]
        if later:
            self._look_where_it_fetches(later[0])
        following = next((one.at * 1000 for one in later if one.at * 1000 > self.served), self.served)
        return RequestWait(lasted, following - self.served, late)


@probe("KIP595-ELEC-01", "KIP595-ELEC-01-L", rig=LIVE_RIG, cases=["silent-leader"], examples=2, leader=LEADERS,
       fetches=integers(1, 9), refuses=booleans())  # fmt: skip
def silent_leader_is_given_up_after_the_fetch_timeout(
    live: Live, expected: str, leader: int, fetches: int, refuses: bool
) -> Claims:
    """A follower asks for votes one fetch timeout after its leader last served it, whether that is silent or refuses fetches:
    by a Vote in the next epoch up to 3.9, by a pre-vote in its own epoch from 4.0."""
    yield from _given_up_in_time(live, expected, leader, fetches, refuses)


@probe("KIP595-ELEC-01", "KIP595-ELEC-01-L", rig=LIVE_RIG_AT_DEFAULTS, cases=["silent-leader"], examples=1, smoke=False,
       leader=LEADERS, fetches=integers(1, 9), refuses=booleans())  # fmt: skip
def silent_leader_is_given_up_after_the_default_timeout(
    live: Live, expected: str, leader: int, fetches: int, refuses: bool
) -> Claims:
    """A follower with Kafka's own timeouts asks for votes one fetch timeout after its leader last served it."""
    yield from _given_up_in_time(live, expected, leader, fetches, refuses)


def _given_up_in_time(live: Live, expected: str, leader: int, fetches: int, refuses: bool) -> Claims:
    found: list[tuple[int, Received]] = []
    in_time: list[bool] = []

    def wait() -> RequestWait:
        following = Following(live, leader)
        for _ in range(fetches):
            following.serve()
        if refuses:
            following.refuse_until_it_stands()
        asked = following.vote or (None if refuses else live.vote_after(following.epoch))
        found.extend([(following.epoch, asked)] if asked else [])
        waited = following.wait_for(asked)
        in_time.append(following.in_time)
        return waited

    due = live.fetch_timeout - CLOCK
    waits = measure_waits(wait, due + AT_ONCE)
    yield premise(all(in_time), IN_TIME)
    asked = [(is_pre_vote(one), candidate_epoch(one) - epoch) for epoch, one in found]
    right = {(True, 0)} if expected == "PRE_VOTE" else {(False, 1)}
    detail = f"; pre-vote, and epochs after the leader's: {say(asked)}"
    yield from judge_waits(waits, due, right={*asked} <= right, detail=detail)
    yield kept_if("KIP595-ELEC-01-L", {*asked} == {(True, 0)})


@probe("KIP595-ELEC-01", rig=LIVE_RIG, cases=["lost-request"], examples=2, leader=LEADERS,
       troubles=lists(sampled_from(["lost", "refused"]), min_size=2, max_size=5))  # fmt: skip
def lost_fetches_start_no_election(live: Live, leader: int, troubles: list[str]) -> Claims:
    """A follower asks for no votes while single fetches are lost or refused, and one is served in each fetch timeout."""
    following = Following(live, leader)
    began = live.now()
    while following.vote is None and (troubles or live.now() - began < 2 * FETCH_TIMEOUT):
        following.serve()
        if troubles:
            (following.lose if troubles.pop() == "lost" else following.refuse)()
    following.serve()
    lasted = live.now() - began
    yield premise(following.in_time, IN_TIME)
    yield premise(following.longest_gap < 0.8 * FETCH_TIMEOUT, "a fetch that was served in each fetch timeout")
    after = (
        f"asked for votes {following.vote.at * 1000 - began:.0f} ms after the first" if following.vote else "did not"
    )
    yield held_if(following.vote is None, detail=f"in {lasted:.0f} ms of fetches in epoch {following.epoch} it {after}")


RETRIES = 6
"""The elections in a row that the voter loses."""
RETRIES_WITHIN = 2 * ELECTION_TIMEOUT + BACKOFF_MAX + SLACK
"""Milliseconds after a lost election within which the next one begins."""
TIGHT = 100.0
"""Milliseconds that RETRIES waits take together at least: up to 4.0 single ones may be 0."""


class LostElections:
    """The rule of peers that grant pre-votes and refuse votes, and the waits between the elections that are lost so."""

    def __init__(self, live: Live) -> None:
        self.live = live
        self.refused: dict[int, dict[int, float]] = {}
        """When each peer first refused its vote, in milliseconds, by epoch and peer."""
        self.waits: list[float] = []
        """The milliseconds from the second refusal in an epoch to the first request of the next election."""
        self._judged: set[int] = set()

    def answer(self, asked: Received) -> None:
        if asked.api != "Vote":
            self.live.dismiss(asked)
            return
        self._measure(asked)
        if is_pre_vote(asked):
            self.live.grant(asked)
        elif refuse_vote(self.live.peers, asked):
            self.refused.setdefault(candidate_epoch(asked), {}).setdefault(asked.peer, self.live.now())

    def _measure(self, asked: Received) -> None:
        """Note the wait before a request if it is the first after a lost election."""
        for epoch, moments in self.refused.items():
            later = is_pre_vote(asked) or candidate_epoch(asked) > epoch
            if (
                later
                and len(moments) == len(PEERS)
                and epoch not in self._judged
                and asked.at * 1000 > max(moments.values())
            ):
                self._judged.add(epoch)
                self.waits.append(asked.at * 1000 - max(moments.values()))


@probe("KIP595-ELEC-03", rig=LIVE_RIG, cases=["refused"], examples=2, ahead=integers(10, 20))
def refused_candidate_waits_and_tries_again(live: Live, ahead: int) -> Claims:
    """A candidate that all voters refuse tries again, after waits that are together more than a tight loop takes, and each
    at most twice the election timeout and the maximum backoff."""
    live.stand(ahead)
    lost = LostElections(live)
    enough = RETRIES * RETRIES_WITHIN / 1000
    ended = live.answer_while_waiting(
        lambda: len(lost.waits) >= RETRIES, lost.answer, "elections that are lost", enough
    )
    longest = max(lost.waits, default=enough * 1000) if ended.outcome else enough * 1000
    right = longest < RETRIES_WITHIN and sum(lost.waits) >= TIGHT
    bound = live.bench.wait.end_of_wait(right, RETRIES_WITHIN / 1000, longest / 1000)
    waits = ", ".join(f"{one:.0f} ms" for one in lost.waits)
    yield held_if(
        bound, detail=f"the waits after lost elections were {waits or 'none'}; at most {RETRIES_WITHIN:.0f} ms"
    )
    yield record_only(detail=f"the waits after lost elections: {waits}")


ELECTIONS = 3
"""The elections without a second Vote to a silent voter that show that there is none: on a busy machine some are too short."""


@probe("KIP595-ELEC-04", rig=LIVE_RIG, cases=["unanswered", "answered"], examples=2, silent=LEADERS)
def vote_is_sent_again_to_a_silent_voter(live: Live, silent: int) -> Claims:
    """In one election a candidate sends its Vote again to the voter that did not answer, and not to the one that did."""
    elections: list[list[Received]] = []
    while len(elections) < ELECTIONS and not any(_votes_to(silent, votes) > 1 for votes in elections):
        votes = _votes_of_an_election(live, silent)
        yield premise(bool(votes), "an election of more than a request timeout, in which a voter refused in time")
        elections.append(votes)
    other = other_peer(silent)
    asked = [_votes_to(silent, votes) for votes in elections]
    again = [_votes_to(other, votes) for votes in elections]
    yield held_if(max(asked) > 1, case="unanswered", detail=f"Votes to the silent {silent}, by election: {say(asked)}")
    yield held_if(
        max(again) == 1, case="answered", detail=f"Votes to {other}, which refused, by election: {say(again)}"
    )


def _votes_to(peer: int, votes: list[Received]) -> int:
    return sum(one.peer == peer for one in votes)


def _votes_of_an_election(live: Live, silent: int) -> list[Received]:
    """Return the Votes of an election in which one voter refuses and the other is silent; empty if it ends too early for a
    second Vote, or if the refusal may have come too late."""
    live.heard.clear()
    live.stand()
    answers: list[Received] = []

    def answer(asked: Received) -> None:
        if asked.api != "Vote":
            live.dismiss(asked)
        elif is_pre_vote(asked) and not answers:
            live.grant(asked)
        elif not is_pre_vote(asked) and asked.peer != silent and refuse_vote(live.peers, asked):
            answers.extend([asked] if live.now() - asked.at * 1000 < SURELY else [])

    def votes() -> list[Received]:
        """Return the Votes of the first election."""
        asked = [one for one in live.heard if one.api == "Vote" and not is_pre_vote(one)]
        return [one for one in asked if candidate_epoch(one) == candidate_epoch(asked[0])]

    def ends() -> list[Received]:
        """Return the requests for votes after the first election."""
        first = votes()[:1]
        later = live.heard[live.heard.index(first[0]) :] if first else []
        return [one for one in later if one.api == "Vote" and (is_pre_vote(one) or one not in votes())]

    live.answer_while_waiting(lambda: bool(ends()), answer, "an election that ends", SOON)
    if not ends() or not answers or answers[0] not in votes():
        return []
    lasted = max([(ends()[0].at - one.at) * 1000 for one in votes() if one.peer == silent], default=0.0)
    return votes() if lasted >= REQUEST_TIMEOUT + AT_ONCE else []


SAMPLES = 20
NARROW = 0.1 * ELECTION_TIMEOUT
"""Milliseconds between the quartiles of waits that are not random: those of random ones are half an election timeout apart."""
PUNCTUAL = 50.0
"""Milliseconds by which the kit may wake late for a sample to count."""


@probe("KIP595-ELEC-02", rig=LIVE_RIG, cases=["spread"], examples=2, smoke=False, candidate=LEADERS)
def election_timeout_is_random(live: Live, candidate: int) -> Claims:
    """A voter without a leader asks for votes after one to two election timeouts, which differ from time to time."""
    samples = [one for one in (_time_to_candidacy(live, candidate) for _ in range(SAMPLES + SAMPLES // 2)) if one >= 0]
    yield premise(len(samples) >= SAMPLES, f"{SAMPLES} waits that were measured in time")
    first, _, third = quantiles(samples, n=4)
    in_range = min(samples) >= ELECTION_TIMEOUT - CLOCK and max(samples) < 2 * ELECTION_TIMEOUT + SLACK
    waits = ", ".join(f"{one:.0f} ms" for one in sorted(samples))
    yield held_if(in_range and third - first >= NARROW, detail=f"the waits were {waits}")


def _time_to_candidacy(live: Live, candidate: int) -> float:
    """Take the voter's leader away by a candidate that cannot win; return the milliseconds until it asks for votes. -1 if the
    kit woke late meanwhile."""
    live.follow(other_peer(candidate))
    epoch, began = live.next_epoch(AHEAD), live.now()
    live.vote(candidate, epoch, BEHIND)
    asked = live.vote_after(epoch)
    lasted = asked.at * 1000 - began if asked else inf
    late = live.bench.wait.recorded_late(min(lasted / 1000, SOON))
    return lasted if late * 1000 < PUNCTUAL else -1.0
