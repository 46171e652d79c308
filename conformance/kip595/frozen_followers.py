"""The Fetch and Vote requests that a voter sends to others, and its reaction to the answers (KIP-595)."""

import base64
from itertools import pairwise
from uuid import UUID

from hypothesis.strategies import integers, sampled_from

from conformance.core.checks import Claims, excuse, held_if, premise, probe
from conformance.judging.excuses import GIVEN_UP
from conformance.judging.facts.quorum import Stored
from conformance.rigs.quorum.candidates import other_peer
from conformance.rigs.quorum.durable import arrival_ms, durable_if
from conformance.rigs.quorum.frozen import (
    A_WHILE,
    FROZEN,
    PEERS,
    REQUEST_TIMEOUT,
    SOON,
    Frozen,
    LogEnd,
    candidate_epoch,
    epoch_of,
    given_up,
    log_end_of,
    no_ops,
)
from conformance.rigs.quorum.quorum import stored_or_not
from fixtures.wire.records import read_batches
from history.readings import Received
from protocol.codes import Error
from protocol.log import EpochAndOffset, LeaderAndEpoch
from protocol.words import say
from strategies.inputs import NEAR_EPOCHS_AHEAD

LEADERS = sampled_from(PEERS)
COUNT = integers(1, 20)
RETRY_BACKOFF = 20
"""controller.quorum.retry.backoff.ms, at its default."""
CLOCK_STEP = 2
"""Milliseconds by which a pause may look shorter, since the voter reckons in whole ones."""


@probe("KIP595-FETCH-10", rig=FROZEN, leader=LEADERS, ahead=NEAR_EPOCHS_AHEAD, count=COUNT)
def follower_identifies_itself_in_fetches(frozen: Frozen, expected: str, leader: int, ahead: int, count: int) -> Claims:
    """A follower fetches with its own id, from the end of its log on disk, one request at a time."""
    first = frozen.follow(leader, ahead)
    start, epoch = log_end_of(first).offset, epoch_of(first)
    fetch = frozen.feed(first, no_ops(count, start, epoch), high_watermark=start)
    yield held_if(_identity(frozen, fetch, expected, epoch), detail=f"{say(fetch)}", case="identity")
    arrived, segment = arrival_ms(frozen.bench, fetch), frozen.segment_file()
    on_disk = read_batches(segment.content)[-1]
    durable = LogEnd(on_disk.leader_epoch, on_disk.last_offset + 1)
    right = log_end_of(fetch) == durable == LogEnd(epoch, start + count)
    yield from durable_if(right, segment, arrived, detail=f"{say(fetch)}: up to {say(durable)}", case="position")
    more = frozen.peers.receive("Fetch", within=REQUEST_TIMEOUT / 2000)
    if more is not None and sole_in_flight(fetch, more):
        yield excuse(GIVEN_UP, case="one-in-flight")
    yield held_if(
        sole_in_flight(fetch, more) and fetch.body["max_wait_ms"] == 500,
        detail=f"{say(fetch)}; {say(more)}",
        case="one-in-flight",
    )
    if frozen.version("Vote") >= 1:
        sent = fetch.partition["replica_directory_id"]
        yield held_if(sent == str(_directory_id(frozen)), detail=f"{sent}", case="directory-id")
    if frozen.version("Fetch") >= 18:
        yield held_if(fetch.partition["high_watermark"] == start, detail=f"{say(fetch)}", case="high-watermark")


def sole_in_flight(fetch: Received, more: Received | None) -> bool:
    """True if the fetch was abandoned before the next one arrived."""
    return more is None or given_up(fetch, more)


def _identity(frozen: Frozen, fetch: Received, expected: str, epoch: int) -> bool:
    own = fetch.body["replica_id"] if expected == "REPLICA_ID" else fetch.body["replica_state"]["replica_id"]
    return bool(own == frozen.id and fetch.body["cluster_id"] == frozen.cluster_id and epoch_of(fetch) == epoch)


def _directory_id(frozen: Frozen) -> UUID:
    """Return the directory id in meta.properties, which is in base64 without padding."""
    lines = frozen.bench.read_file(frozen.name, "meta.properties").text.splitlines()
    text = next(line.removeprefix("directory.id=") for line in lines if line.startswith("directory.id="))
    return UUID(bytes=base64.urlsafe_b64decode(text.replace("\\", "") + "=="))


@probe("KIP595-FETCH-11", rig=FROZEN, leader=LEADERS, first=COUNT, second=COUNT, cut=integers(1, 20),
       size=integers(1, 3))  # fmt: skip
def follower_truncates(frozen: Frozen, case: str, leader: int, first: int, second: int, cut: int, size: int) -> Claims:
    """A follower whose log diverges truncates to the leader's end of that epoch, or to its own end of it if that is lower.

    Batches of the earlier epoch have `size` records: the first batch to leave the disk holds the first offset to
    truncate. If an earlier truncation removed a whole batch for the sake of its last records, the disk ends before the
    log end offset.
    """
    fetch = frozen.follow(leader, ahead=5)
    start, epoch = log_end_of(fetch).offset, epoch_of(fetch)
    middle = start + first
    ends = [min(offset + size, middle) for offset in range(start, middle, size)]
    older = [no_ops(end - begin, begin, epoch - 4) for begin, end in pairwise([start, *ends])]
    fetch = frozen.feed(fetch, *older, no_ops(second, middle, epoch - 1))
    taken = log_end_of(fetch) == LogEnd(epoch - 1, middle + second)
    yield premise(taken, f"the records of two epochs: {say(fetch)}", promised=("KIP595-FETCH-10", "position"))
    if case == "leader-end-smaller":
        diverging, end = EpochAndOffset(epoch - 4, middle - cut % first), middle - cut % first
    else:
        diverging, end = EpochAndOffset(epoch - 2, middle + 1 + cut), middle
    before = [batch.last_offset + 1 for batch in frozen.log_on_disk()]
    following = frozen.diverge(fetch, diverging)
    kept = frozen.log_on_disk()[-1].last_offset + 1
    exact = kept == max(one for one in before if one <= end)
    right = following is not None and log_end_of(following) == LogEnd(epoch - 4, end) and exact
    yield held_if(
        right,
        detail=f"{say(diverging)} at {middle + second}: {say(following)}, on disk up to {kept}, batches up to {say(before[-9:])}",
    )


@probe("KIP595-FETCH-15", rig=FROZEN, smoke=False, leader=LEADERS, ahead=NEAR_EPOCHS_AHEAD, good=COUNT, later=COUNT)
def follower_appends_no_later_epoch(
    frozen: Frozen, case: str, leader: int, ahead: int, good: int, later: int
) -> Claims:
    """A follower drops batches of a later epoch than the one that it fetches in, and keeps those before them."""
    fetch = frozen.follow(leader)
    before, epoch = log_end_of(fetch), epoch_of(fetch)
    count = good if case == "after-others" else 0
    end = LogEnd(epoch, before.offset + count) if count else before
    earlier = [no_ops(count, before.offset, epoch)] if count else []
    following = frozen.offer(fetch, *earlier, no_ops(later, end.offset, epoch + ahead))
    last = frozen.log_on_disk()[-1]
    right = log_end_of(following) == end and last.leader_epoch <= epoch
    shown = (
        f"it went on from {say(log_end_of(following))}, with epoch {last.leader_epoch} up to {last.last_offset} on disk"
    )
    yield held_if(
        right, detail=f"in epoch {epoch} it was given a batch of epoch {epoch + ahead} at {end.offset}: {shown}"
    )
    if log_end_of(following).epoch > epoch:
        frozen.diverge(frozen.follow(leader, ahead + 1), EpochAndOffset(*end))


@probe("KIP595-FETCH-13", rig=FROZEN, cases=["leader-named", "leader-unknown"], leader=LEADERS, ahead=NEAR_EPOCHS_AHEAD,
       error=sampled_from(["FENCED_LEADER_EPOCH", "NOT_LEADER_OR_FOLLOWER"]))  # fmt: skip
def refused_follower_moves_on(frozen: Frozen, case: str, leader: int, ahead: int, error: str) -> Claims:
    """A follower that is refused with a newer epoch follows the leader of that epoch, or none if the answer names
    none."""
    fetch = frozen.follow(leader)
    newer = LeaderAndEpoch(other_peer(leader) if case == "leader-named" else -1, epoch_of(fetch) + ahead)

    def refuse(asked: Received) -> None:
        frozen.serve(asked, error=Error[error], leader=newer)

    refuse(fetch)
    frozen.answer_until(
        lambda: frozen.reported_leader().leader_epoch != epoch_of(fetch),
        fetch,
        refuse,
        "an epoch after the refusal",
        within=SOON,
        due="epoch after a refusal",
    )
    found = frozen.condition()
    reached = case == "leader-unknown" or frozen.fetch_in(newer.leader_epoch, newer.leader_id) is not None
    yield held_if(
        found.reported == found.stored.leader == newer and reached,
        detail=f"{say(newer)}: {say(found)}, fetched: {say(reached)}",
    )


@probe("KIP595-FETCH-13", rig=FROZEN, cases=["unknown-epoch", "not-available"], leader=LEADERS, ahead=NEAR_EPOCHS_AHEAD,
       times=integers(1, 3), known=sampled_from([-1, *PEERS]))  # fmt: skip
def refused_follower_tries_again(frozen: Frozen, case: str, leader: int, ahead: int, times: int, known: int) -> Claims:
    """A follower whose leader is unavailable or does not know its epoch yet, but an older one, fetches from the same leader
    again; in the former case not at once."""
    first = frozen.follow(leader, ahead)
    epoch = epoch_of(first)
    error = Error.UNKNOWN_LEADER_EPOCH if case == "unknown-epoch" else Error.BROKER_NOT_AVAILABLE
    current = LeaderAndEpoch(known, epoch - ahead) if case == "unknown-epoch" else None
    fetches, pauses = [first], list[float]()
    for _ in range(times):
        served = frozen.bench.now().seconds
        frozen.serve(fetches[-1], error=error, leader=current)
        following = frozen.fetch_in(epoch, leader)
        if following is None:
            break
        fetches.append(following)
        pauses.append((following.at - served) * 1000)
    again = len(fetches) == times + 1 and all(log_end_of(fetch) == log_end_of(first) for fetch in fetches)
    backs_off = case == "unknown-epoch" or all(pause >= RETRY_BACKOFF - CLOCK_STEP for pause in pauses)
    same = frozen.reported_leader() == LeaderAndEpoch(leader, epoch)
    shown = ", ".join(f"{pause:.0f} ms" for pause in pauses)
    yield held_if(again and same and backs_off, detail=f"{say(fetches[1:])}, each {shown} after the refusal")


@probe("KIP595-FETCH-13", rig=FROZEN, cases=["voter-asks-others"], examples=2, leader=LEADERS)
def voter_asks_others_when_its_leader_does_not_answer(frozen: Frozen, leader: int) -> Claims:
    """A voter whose leader does not answer asks another voter for the leader."""
    fetch = frozen.follow(leader)
    asked = frozen.request_or_none(
        frozen.peers.receive("Fetch", peer=other_peer(leader), within=SOON), "step", "a fetch from another voter"
    )
    yield held_if(
        asked is not None and frozen.reported_leader().leader_epoch == epoch_of(fetch), detail=f"{say(asked)}"
    )


@probe("KIP595-VOTE-14", rig=FROZEN, leader=LEADERS, ahead=NEAR_EPOCHS_AHEAD, count=COUNT)
def candidate_names_its_own_log_end(frozen: Frozen, leader: int, ahead: int, count: int) -> Claims:
    """A candidate writes its next epoch and its vote for itself to disk before it asks for votes, and names its own log
    end."""
    fetch = frozen.follow(leader, ahead)
    start, epoch = log_end_of(fetch).offset, epoch_of(fetch)
    frozen.feed(fetch, no_ops(count, start, epoch))
    frozen.end(leader, epoch, [frozen.id])
    first = frozen.await_vote(epoch)
    asked = frozen.vote_of(first)
    arrived, file = arrival_ms(frozen.bench, asked), frozen.quorum_state_file()
    stored = stored_or_not(file)
    right = stored == Stored(-1, epoch + 1, frozen.id) and candidate_epoch(asked) == epoch + 1
    yield from durable_if(right, file, arrived, detail=f"{say(asked)}: it has {say(stored)}", case="stored-first")
    end = LogEnd(epoch, start + count)
    for one in [first] if first is asked else [first, asked]:
        yield held_if(names_itself(frozen, one, end), detail=f"{say(one)}", case="log-end")
    if asked.version >= 1:
        yield held_if(asked.body["voter_id"] == asked.peer, detail=f"{say(asked)}", case="receiver")


def names_itself(frozen: Frozen, asked: Received, end: LogEnd) -> bool:
    """True if a Vote or pre-vote has the voter's id and cluster id, and this log end."""
    position = LogEnd(asked.partition["last_offset_epoch"], asked.partition["last_offset"])
    own = {asked.partition.get("candidate_id"), asked.partition.get("replica_id")} & {frozen.id}
    return position == end and asked.body["cluster_id"] == frozen.cluster_id and bool(own)


@probe(
    "KIP595-ELEC-10", rig=FROZEN, smoke=False, cases=["unanswered", "refused"], leader=LEADERS, ahead=NEAR_EPOCHS_AHEAD
)
def epoch_waits_for_pre_votes(frozen: Frozen, case: str, leader: int, ahead: int) -> Claims:
    """While no peer grants its pre-vote a voter neither raises its epoch nor asks for a vote."""
    asked = frozen.make_candidate(leader, ahead)
    epoch, votes = candidate_epoch(asked), [asked]
    until = frozen.bench.now().seconds + A_WHILE
    while votes[-1].partition.get("pre_vote"):
        if case == "refused":
            frozen.refuse(votes[-1], LeaderAndEpoch(-1, epoch))
        again = frozen.peers.receive("Vote", within=until - frozen.bench.now().seconds)
        if again is None:
            break
        votes.append(again)
    found = frozen.condition()
    pre_votes = all(one.partition.get("pre_vote") and candidate_epoch(one) == epoch for one in votes)
    right = pre_votes and found.reported.leader_epoch == found.stored.leader_epoch == epoch
    yield held_if(right, detail=f"{say(votes[-1])} at epoch {epoch}: {say(found)}")


@probe("KIP595-ELEC-10", rig=FROZEN, smoke=False, cases=["granted"], leader=LEADERS, ahead=NEAR_EPOCHS_AHEAD)
def epoch_rises_by_one_after_a_granted_pre_vote(frozen: Frozen, leader: int, ahead: int) -> Claims:
    """Once a peer grants its pre-vote, which makes a majority, a voter raises its epoch by one and asks for votes."""
    asked = frozen.make_candidate(leader, ahead)
    epoch, first = candidate_epoch(asked), bool(asked.partition.get("pre_vote"))
    vote = frozen.vote_of(asked)
    stored = frozen.quorum_state()
    right = first and candidate_epoch(vote) == epoch + 1 == stored.leader_epoch
    yield held_if(right, detail=f"{say(asked)}, then {say(vote)}: {say(stored)}")


@probe("KIP595-VOTE-16", rig=FROZEN, leader=LEADERS, ahead=NEAR_EPOCHS_AHEAD)
def candidate_yields(frozen: Frozen, case: str, leader: int, ahead: int) -> Claims:
    """A candidate that learns of a later epoch adopts that epoch, and its leader if there is one."""
    asked = frozen.candidate(leader)
    epoch = candidate_epoch(asked)
    newer = LeaderAndEpoch(leader if case == "leader-named" else -1, epoch + ahead)
    frozen.answer_later_epoch(asked, newer)
    frozen.answer_until(
        lambda: frozen.reported_leader().leader_epoch != epoch,
        asked,
        lambda again: frozen.answer_later_epoch(again, newer),
        "an epoch after the candidacy",
        within=SOON,
        due="epoch after a candidacy",
    )
    found = frozen.condition()
    reached = case == "leader-unknown" or frozen.fetch_in(newer.leader_epoch, leader) is not None
    right = found.reported == newer and found.stored == Stored(newer.leader_id, newer.leader_epoch, -1)
    yield held_if(right and reached, detail=f"{say(newer)}: {say(found)}, fetched: {say(reached)}")
