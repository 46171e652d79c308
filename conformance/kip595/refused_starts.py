"""Starts with a damaged or lost quorum-state, other voters, or wrong settings, which a voter may refuse (KIP-595)."""

import json
from typing import Any

from hypothesis.strategies import integers, sampled_from

from conformance.core.checks import Claims, held_if, kept_if, premise, probe, record_only
from conformance.judging.facts.quorum import QUORUM_STATE, Stored
from conformance.rigs.quorum.expendable import BARE, ENDS, EXPENDABLE, RUNS_ON, Expendable
from conformance.rigs.quorum.frozen import PEERS, epoch_of
from fixtures.cluster.config import BROKER_PORT, CONTROLLER_PORT, Settings, peer_host, peer_port
from history.due import START_TIMEOUT
from history.readings import Received
from protocol.codes import Error
from protocol.log import LeaderAndEpoch
from protocol.words import say

LEADERS = sampled_from(PEERS)
VOTERS = "controller.quorum.voters"
ASKS_NONE = "asks no voter for a leader"


def last_epoch(voter: Expendable) -> int:
    """Return the epoch of the last record in the voter's log; 0 for an empty log."""
    batches = voter.log_on_disk()
    return batches[-1].leader_epoch if batches else 0


@probe("KIP595-QS-05", rig=EXPENDABLE, cases=["deleted"], examples=2, smoke=False, leader=LEADERS)
def peer_names_the_leader_that_forgot(voter: Expendable, leader: int) -> Claims:
    """A leader comes back without quorum-state, and a peer whom it asks names it as the leader of its epoch: recorded."""
    led = LeaderAndEpoch(voter.id, voter.lead(leader))
    voter.give_up(down=True)
    voter.bench.processes.remove_file(voter.name, QUORUM_STATE)
    yield premise(voter.try_start(), "a start that ends, or is answered")
    known, stored, logged = voter.known_leader(), voter.quorum_state(), last_epoch(voter)
    forgot = known == LeaderAndEpoch(-1, logged) and stored.voted_id == -1
    detail = f"{say(led)} came back with {say(known)}, its log ends in epoch {logged}, on disk {say(stored)}"
    yield record_only(detail=detail, variant="the log's epoch" if forgot else "another state")
    delivered: list[bool] = []
    seen = voter.watch(answer=lambda asked: delivered.append(names_leader(voter, asked, led)))
    if not any(one.api == "Fetch" for one in seen.sent):
        yield record_only(detail=f"{voter.name} {ASKS_NONE}", variant=ASKS_NONE)
        return
    yield premise(any(delivered), "an answer that reached the voter in time")
    code = f" with exit code {seen.end.exit_code}" if seen.end is not None else ""
    variant = RUNS_ON if seen.end is None else ENDS
    yield record_only(detail=f"{voter.name}, told that it is {say(led)}, {variant}{code}", variant=variant)


def names_leader(voter: Expendable, asked: Received, led: LeaderAndEpoch) -> bool:
    """Answer a fetch as a voter that does not lead and still knows `led`, and nothing else. Return True if the voter had
    not given the fetch up."""
    return asked.api == "Fetch" and voter.serve(asked, error=Error.NOT_LEADER_OR_FOLLOWER, leader=led)


DAMAGED = {"empty": ["", "\n"], "garbled": ["{", "leader 2", '{"leaderId":'], "unknown-version": [""]}
"""Contents of a damaged quorum-state, by case; one of an unknown version is made for the voter."""


@probe(
    "KIP595-QS-06", rig=EXPENDABLE, examples=2, smoke=False, leader=LEADERS, which=integers(0, 5), ahead=integers(1, 9)
)
def damaged_quorum_state(voter: Expendable, case: str, leader: int, which: int, ahead: int) -> Claims:
    """A voter whose quorum-state is damaged refuses to start, or has the epoch of its log, no vote and no leader."""
    epoch = epoch_of(voter.follow(leader))
    voter.give_up(down=True)
    logged = last_epoch(voter)
    contents = DAMAGED[case]
    content = contents[which % len(contents)] or (unknown_version(epoch + ahead) if case == "unknown-version" else "")
    voter.bench.processes.write_file(voter.name, QUORUM_STATE, content.encode())
    decided = voter.try_start()
    yield premise(decided, f"a start with {content!r} that ends, or is answered", promised=("KIP595-QS-06", case))
    if voter.has_refused():
        yield held_if(True, detail=f"it ended with {content!r}", variant="refuses to start")
        return
    known, stored = voter.known_leader(), voter.quorum_state()
    clean = known == LeaderAndEpoch(-1, logged) and stored == Stored(-1, logged, -1)
    detail = f"with {content!r}, and a log up to epoch {logged}, it has {say(known)}, and {say(stored)} on disk"
    yield held_if(clean, detail=detail, variant="discards the file")


def unknown_version(epoch: int) -> str:
    """Return a quorum-state with a vote in that epoch, in a version that no release has."""
    state: dict[str, Any] = {"leaderId": -1, "leaderEpoch": epoch, "votedId": PEERS[0], "appliedOffset": 0}
    return json.dumps({"clusterId": "", **state, "currentVoters": [], "data_version": 9})


def voters_of(voter: Expendable, *others: int, own: bool = True) -> str:
    """Return the setting of a quorum of the voter and others, whose requests the kit gets as its first peers'."""
    listed = [f"{voter.id}@{voter.name}:{CONTROLLER_PORT}"] * own
    places = zip(others, PEERS, strict=False)
    return ",".join(listed + [f"{id}@{peer_host(peer)}:{peer_port(peer)}" for id, peer in places])


@probe("KIP595-QS-07", "KIP595-QS-07-L", rig=EXPENDABLE, cases=["changed"], examples=2, smoke=False, leader=LEADERS,
       other=integers(4, 99))  # fmt: skip
def voters_are_changed(voter: Expendable, expected: str, leader: int, other: int) -> Claims:
    """A voter restarted with other voters refuses to start up to 3.7; from 3.8 on it starts, and rewrites quorum-state."""
    epoch = epoch_of(voter.follow(leader))
    voter.give_up(down=True)
    before = voter.quorum_state_file()
    decided = voter.try_start({VOTERS: voters_of(voter, PEERS[0], other)})
    yield premise(decided, "a start that ends, or is answered", promised=("KIP595-QS-07", "changed"))
    after, known = voter.quorum_state_file(), voter.known_leader()
    starts = not voter.has_refused() and known is not None and known.leader_epoch >= epoch
    starts = starts and after.modified_ms != before.modified_ms
    refuses = voter.has_refused() and after.content == before.content
    detail = (
        f"in epoch {epoch}, then with voter {other} in place of {PEERS[1]}: {say(known)}, {say(voter.quorum_state())}"
    )
    yield held_if(refuses if expected == "REFUSED" else starts, detail=detail)
    yield kept_if("KIP595-QS-07-L", starts, detail=detail)


@probe("KIP595-CONF-02", rig=BARE, examples=2, smoke=False)
def wrong_voters_are_refused(voter: Expendable, case: str) -> Claims:
    """A node whose settings of voters are wrong refuses to start."""
    voter.give_up(down=True)
    if case == "broker-listed":
        voter.bench.processes.try_start(voter.name, as_broker(voter, voters_of(voter, *PEERS, own=False)))
        yield premise(voter.watch().end is None, "a broker that runs on while it is no voter")
        voter.bench.processes.kill_expended(voter.name)
    for settings in wrong_settings(voter, case):
        voter.bench.processes.try_start(voter.name, settings)
        ended = voter.bench.wait.becomes_true(
            voter.has_refused, f"{voter.name} refusing {say(settings)}", START_TIMEOUT
        )
        yield held_if(ended, detail=f"with {say(settings)} it did not end within {START_TIMEOUT:g} s")


def wrong_settings(voter: Expendable, case: str) -> list[Settings]:
    """Return settings of each kind that the case names."""
    own, others = f"{voter.id}@{voter.name}:{CONTROLLER_PORT}", voters_of(voter, *PEERS, own=False)
    wrong: dict[str, list[str]] = {
        "controller-absent": [others, f"{voter.id + 1}@{voter.name}:{CONTROLLER_PORT}", others.split(",")[0]],
        "broker-listed": [own, f"{own},{others}", f"{others},{own}"],
        "malformed": [own.partition(":")[0], own.partition("@")[2], f"{own},{others},x"],
    }
    if case == "no-voters":
        return [{VOTERS: None}] * 3
    return [as_broker(voter, voters) if case == "broker-listed" else {VOTERS: voters} for voters in wrong[case]]


def as_broker(voter: Expendable, voters: str) -> Settings:
    """Return the settings of a node that is a broker only."""
    return {
        VOTERS: voters,
        "process.roles": "broker",
        "listeners": f"INTERNAL://0.0.0.0:{BROKER_PORT}",
        "advertised.listeners": f"INTERNAL://{voter.name}:{BROKER_PORT}",
        "inter.broker.listener.name": "INTERNAL",
    }


LEADS_WITHIN = 1.0 + 4.0
"""Seconds after its first answer in which the only voter leads: the second of the row, and 4 for a busy machine."""
SHORT = 500
LONG = 600_000
LOOKS = 5


@probe("KIP595-ELEC-08", rig=BARE, examples=2, smoke=False, cases=["leads-at-once", "stays"])
def only_voter_leads(voter: Expendable) -> Claims:
    """The only voter of a quorum leads at once, whatever the timeouts are, and goes on without any fetch."""
    alone = {VOTERS: voters_of(voter), "controller.quorum.election.timeout.ms": f"{LONG}"}
    voter.give_up(down=True)
    for timeout in (LONG, SHORT):
        settings = {**alone, "controller.quorum.fetch.timeout.ms": f"{timeout}"}
        if timeout == LONG:
            voter.bench.processes.renew(voter.name, settings)
        else:
            voter.bench.processes.kill_expended(voter.name)
            voter.bench.processes.try_start(voter.name, settings)
        yield premise(voter.starts_or_ends(), "a start that is answered")
        leads = voter.bench.wait.becomes_true(lambda: is_led_by_itself(voter), f"{voter.name} leading", LEADS_WITHIN)
        yield held_if(leads, case="leads-at-once", detail=f"with a fetch timeout of {timeout} ms")
        yield premise(leads, "a voter that leads")
    led = voter.known_leader()
    for _ in range(LOOKS):
        voter.watch(SHORT / 1000)
        now = voter.known_leader()
        yield held_if(now == led, case="stays", detail=f"{say(led)} became {say(now)} after {SHORT} ms without a fetch")


def is_led_by_itself(voter: Expendable) -> bool:
    known = voter.known_leader()
    return known is not None and known.leader_id == voter.id
