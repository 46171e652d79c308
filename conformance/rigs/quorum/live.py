"""A real voter with short timeouts, which stands for election by itself. The kit plays the other voters of its quorum."""

from collections.abc import Callable, Collection, Iterator
from typing import ClassVar

from conformance.core.bench import Bench
from conformance.core.checks import Rig
from conformance.core.topologies import (
    DEFAULT_FETCH_TIMEOUT,
    LIVE,
    LIVE_VOTER,
    LIVE_VOTER_AT_DEFAULTS,
    LIVE_VOTER_OF_FIVE,
)
from conformance.core.waiting import WITHIN, Settled
from conformance.rigs.quorum import frozen
from conformance.rigs.quorum.fetching import own_end
from conformance.rigs.quorum.quorum import cluster_id_of, leader_in
from fixtures.cluster.config import CONTROLLER_PORT
from fixtures.wire.quorum import VOTER_KEYS_FROM
from history.readings import Received
from protocol.codes import Error
from protocol.log import FetchedPartition, LeaderAndEpoch
from protocol.quorum import QuorumAnswer

ELECTION_TIMEOUT = int(LIVE["controller.quorum.election.timeout.ms"])
"""The least milliseconds of an election; the most are twice that."""
BACKOFF_MAX = int(LIVE["controller.quorum.election.backoff.max.ms"])
FETCH_TIMEOUT = int(LIVE["controller.quorum.fetch.timeout.ms"])
"""Milliseconds without a fetch that was served after which a follower stands for election."""
RESIGNS_AFTER = 1.5
"""The fetch timeouts without fetches of a majority after which a leader resigns (KIP595-LEAD-01)."""
CHECK_QUORUM = RESIGNS_AFTER * FETCH_TIMEOUT
"""Milliseconds without fetches of a majority after which a leader resigns (KIP595-LEAD-01)."""
CLOCK = 2.0
"""Milliseconds by which a wait can look too short, since the voter's clock has whole milliseconds."""
SLACK = 1000.0
"""Milliseconds that a voter may take for a step besides the timeout that it waits for."""

AHEAD = 10
"""The epochs by which a new epoch is ahead of the one that the voter reported: it may go on by itself meanwhile."""
TRIES = 3
"""The most times that the voter is told of a leader, if it goes on by itself instead."""
NOT_LED = -1
"""The epoch of a voter that did not become leader."""
ATTEMPTS = 2
"""The most times that a step is awaited while the kit wakes too late."""
OFTEN = 0.05
"""The longest time in seconds between two looks at the voter."""

React = Callable[[Received], object]
"""An answer to a request of the voter, or none."""


class Live(frozen.Frozen):
    """The real voter of three. It acts by itself once the kit is silent for long enough; each example brings it to a new
    epoch."""

    others: ClassVar[tuple[int, ...]] = LIVE_VOTER.scripted
    fetch_timeout: ClassVar[int] = FETCH_TIMEOUT
    """The voter's own, in milliseconds."""

    def __init__(self, bench: Bench, data: frozen.FrozenData) -> None:
        super().__init__(bench, data)
        self.heard: list[Received] = []
        """The requests of this example that were answered by a rule, or left open by one."""
        while self.peers.receive(within=0.0) is not None:
            pass  # It gives up what earlier examples left open.

    def now(self) -> float:
        """Return the time of the kit's clock in milliseconds."""
        return self.bench.now().seconds * 1000

    # --- bringing it into a state

    def follow(self, leader: int = LIVE_VOTER.scripted[0], ahead: int = AHEAD) -> Received:
        for _ in range(TRIES):
            epoch = self.next_epoch(ahead)
            answer = self.begin(leader, epoch)
            followed = answer.error is Error.NONE and leader_in(answer) == LeaderAndEpoch(leader, epoch)
            if followed and (fetch := self._early_fetch_in(epoch, leader)):
                return fetch
        raise self.bench.wait.overdue("following", f"{self.name} does not follow and fetch from {leader}", frozen.SOON)

    def _early_fetch_in(self, epoch: int, leader: int) -> Received | None:
        """Return the first fetch in a new epoch; None if it does not come within the fetch timeout."""
        until = self.now() + self.fetch_timeout
        while (asked := self.peers.receive(within=(until - self.now()) / 1000)) is not None:
            if asked.api == "Fetch" and asked.peer == leader and frozen.epoch_of(asked) == epoch:
                return asked
            self.dismiss(asked)
        return None

    def stand(self, ahead: int = AHEAD) -> int:
        """Make the voter stand for election at once, as the successor of a leader that resigns. Return that leader's
        epoch."""
        leader = self.others[0]
        fetch = self.follow(leader, ahead)
        self.end(leader, frozen.epoch_of(fetch), [self.id])
        self.dismiss(fetch)  # A voter has one request in flight to each peer.
        return frozen.epoch_of(fetch)

    def lead_by(self, *voters: int, silent: Collection[int] = ()) -> int:
        """Make the voter leader by the votes of these peers. All others refuse but the silent, which answer nothing. Return
        its epoch; NOT_LED if its requests time out on a busy machine, again and again."""
        former = self.stand()
        led = self.answer_while_waiting(
            self.leads, self.granting(voters, silent), f"{self.name} leads after {former}", WITHIN
        )
        return self.reported_leader().leader_epoch if led.outcome else NOT_LED

    # --- answering it by a rule

    def answer_while_waiting(self, done: Callable[[], bool], react: React, what: str, within: float) -> Settled:
        """Answer the voter's requests by a rule until a condition holds, for at most `within` seconds."""

        def answer_and_look() -> bool:
            if (asked := self.peers.receive(within=OFTEN)) is not None:
                self.heard.append(asked)
                react(asked)
            return done()

        return self.bench.wait.becomes_true(answer_and_look, what, within)

    def granting(self, voters: Collection[int], silent: Collection[int] = ()) -> React:
        """Return the rule of peers that vote for the voter, of others that refuse, and of silent ones."""

        def react(asked: Received) -> None:
            if asked.peer in silent:
                return
            if asked.api != "Vote":
                self.dismiss(asked)
            elif asked.peer in voters:
                frozen.grant_vote(self.peers, asked)
            else:
                frozen.refuse_vote(self.peers, asked)

        return react

    # --- what it sent

    def requests(self, api: str, epoch: int, peer: int | None = None) -> list[Received]:
        """Return the requests of the voter that a rule has heard, as leader of an epoch or as its candidate."""
        return [one for one in self.heard if one.api == api and peer in (None, one.peer) and sent_in(one) == epoch]

    def sent_as_leader(self, asked: Received) -> bool:
        """True if a request names the voter as its leader, and its cluster; a BeginQuorumEpoch, from version 1 on, also its own
        controller listener."""
        own: bool = asked.partition["leader_id"] == self.id and asked.body["cluster_id"] == self.cluster_id
        if asked.api != "BeginQuorumEpoch" or asked.version < VOTER_KEYS_FROM:
            return own
        listeners = [(one["host"], one["port"]) for one in asked.body["leader_endpoints"]]
        return own and listeners == [(self.name, CONTROLLER_PORT)]

    def elections(self) -> Iterator[tuple[int, bool]]:
        """Yield the epoch of each Vote that a rule has heard, and whether it was a pre-vote."""
        for one in self.heard:
            if one.api == "Vote":
                yield frozen.candidate_epoch(one), is_pre_vote(one)

    # --- its leadership

    def leads(self) -> bool:
        """True if the voter names itself as leader."""
        return self.reported_leader().leader_id == self.id

    def describe(self) -> QuorumAnswer:
        return self.client.describe_quorum()

    def fetch_to_end(self, voter: int, epoch: int) -> FetchedPartition:
        """Fetch from the log end of the leader, as a voter that has all records before it."""
        return self.fetch_as(voter, epoch, frozen.LogEnd(epoch, own_end(self.id, self.describe())))


def first_on_time(attempt: Callable[[], Settled]) -> Settled:
    """Return the end of the first of a few attempts in which the kit was on time, else that of the last."""
    for _ in range(ATTEMPTS):
        settled = attempt()
        if settled.outcome is not None:
            break
    return settled


class LiveOfFive(Live):
    """The real voter of five."""

    others: ClassVar[tuple[int, ...]] = LIVE_VOTER_OF_FIVE.scripted


class LiveAtDefaults(Live):
    """The real voter of three with Kafka's own timeouts."""

    fetch_timeout = int(DEFAULT_FETCH_TIMEOUT * 1000)


def is_pre_vote(asked: Received) -> bool:
    return bool(asked.partition.get("pre_vote"))


def sent_in(asked: Received) -> int:
    """Return the sender's epoch in a request."""
    if asked.api == "Vote":
        return frozen.candidate_epoch(asked)
    if asked.api == "Fetch":
        return frozen.epoch_of(asked)
    epoch: int = asked.partition["leader_epoch"]
    return epoch


def prepare_live(bench: Bench) -> frozen.FrozenData:
    """Wait until the voter takes a leader."""
    return _following(bench, Live)


def _following(bench: Bench, kind: type[Live]) -> frozen.FrozenData:
    data = frozen.FrozenData(cluster_id_of(bench))
    kind(bench, data).follow()
    return data


LIVE_RIG = Rig(LIVE_VOTER, prepare_live, Live, shared=True)
"""A voter of three that acts by itself."""


def prepare_live_of_five(bench: Bench) -> frozen.FrozenData:
    """Wait until the voter takes a leader."""
    return _following(bench, LiveOfFive)


LIVE_RIG_OF_FIVE = Rig(LIVE_VOTER_OF_FIVE, prepare_live_of_five, LiveOfFive, shared=True)
"""The same of five."""


def prepare_live_at_defaults(bench: Bench) -> frozen.FrozenData:
    """Wait until the voter takes a leader."""
    return _following(bench, LiveAtDefaults)


LIVE_RIG_AT_DEFAULTS = Rig(LIVE_VOTER_AT_DEFAULTS, prepare_live_at_defaults, LiveAtDefaults, shared=True)
"""The same of three with Kafka's own timeouts."""
