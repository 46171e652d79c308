"""A leader whose followers are all played by the kit, and the records that it commits (KIP-595)."""

import struct
from collections.abc import Generator

import msgspec
from hypothesis.strategies import integers, sampled_from

from conformance.core.checks import Claim, Claims, held_if, premise, probe
from conformance.rigs.quorum.candidates import other_peer
from conformance.rigs.quorum.expendable import EXPENDABLE, Expendable
from conformance.rigs.quorum.fetching import own_end
from conformance.rigs.quorum.frozen import FROZEN, PEERS, Frozen, LogEnd, candidate_epoch
from conformance.rigs.quorum.quorum import GHOSTS, leader_in
from fixtures.wire import ConnectionClosed, NodeClient, Unanswered
from history.readings import Received
from protocol.codes import Error
from protocol.log import CONSUMER, FetchOptions, FetchPartition, LeaderAndEpoch
from protocol.messages import PendingRequest
from protocol.quorum import METADATA, QuorumAnswer
from protocol.records import Batch, ControlType
from protocol.words import say
from strategies.inputs import NEAR_EPOCHS_AHEAD, versions_back

VOTERS = sampled_from(PEERS)
DESCRIBED = ("KIP595-DQ-01", "leader")
"""The row and case that promise a leader's description of the quorum."""
SERVED = ("KIP595-FETCH-04", "matching")
"""The row and case that promise no diverging epoch in answer to a fetch that matches the leader's log."""


def describe(frozen: Frozen) -> QuorumAnswer:
    return frozen.client.describe_quorum()


class VoterId(msgspec.Struct, frozen=True):
    voter_id: int


class LeaderChange(msgspec.Struct, frozen=True):
    """The fields of a LeaderChange record that all versions have."""

    leader_id: int
    voters: tuple[VoterId, ...]
    granting_voters: tuple[VoterId, ...]


@probe("KIP595-LOG-01", "KIP595-INV-16", rig=FROZEN, cases=["first-batch", "granting-voters"], examples=3, leader=VOTERS,
       ahead=NEAR_EPOCHS_AHEAD)  # fmt: skip
def leader_change_names_those_who_voted(frozen: Frozen, leader: int, ahead: int) -> Claims:
    """The first record of a new leader's epoch names it, all voters, and those that voted for it: itself and one peer."""
    asked = frozen.candidate(leader, ahead)
    epoch = frozen.win(asked)
    first = frozen.bench.eventually(
        lambda: next((batch for batch in frozen.log_on_disk() if batch.leader_epoch == epoch), None),
        f"a batch of epoch {epoch} in the log of {frozen.name}",
        due="epoch in the log",
    )
    change = leader_change_in(frozen, first)
    named = change is not None and change.leader_id == frozen.id and _ids(change.voters) == {frozen.id, *PEERS}
    shown = f"epoch {epoch}, in which {asked.peer} alone voted for {frozen.id}, begins with {say(change or first)}"
    yield held_if(named, case="first-batch", detail=shown)
    granted = change is not None and _ids(change.granting_voters) == {frozen.id, asked.peer}
    yield held_if(granted, case="granting-voters", detail=shown)
    yield held_if(granted, row="KIP595-INV-16", case="log", detail=shown)


def leader_change_in(frozen: Frozen, first: Batch) -> LeaderChange | None:
    """Return the LeaderChange record with which a batch begins; None if it begins with another record."""
    record = next(iter(first.records), None)
    if record is None or record.control_type is not ControlType.LEADER_CHANGE or record.value is None:
        return None
    [version] = struct.unpack_from(">h", record.value)
    return frozen.bench.decode(("kafka-clients",), "LeaderChangeMessage", record.value, LeaderChange, version)


def _ids(voters: tuple[VoterId, ...]) -> set[int]:
    return {one.voter_id for one in voters}


@probe("KIP595-HW-01", rig=FROZEN, voter=VOTERS, ahead=integers(1, 5))
def high_watermark_waits_for_a_record_of_the_epoch(frozen: Frozen, voter: int, ahead: int) -> Claims:
    """A new leader has no high watermark until a majority has the first record of its epoch."""
    end = frozen.log_end()
    epoch = frozen.lead(ahead=ahead)
    fresh = describe(frozen)
    as_consumer = frozen.fetch_as(CONSUMER, epoch, end)
    yield premise(fresh.error is Error.NONE, "a leader that describes the quorum", promised=DESCRIBED)
    yield premise(as_consumer.error is Error.NONE, "a leader that serves a fetch", promised=SERVED)
    unknown = fresh.high_watermark == as_consumer.high_watermark == -1
    yield held_if(unknown, fresh, as_consumer, case="fresh")
    before = frozen.fetch_as(voter, epoch, end)
    fetched = before.error is Error.NONE and bool(before.batches)
    yield premise(fetched, f"a voter that has fetched the log before the epoch: {before}", promised=SERVED)
    still = describe(frozen)
    yield held_if(still.high_watermark == before.high_watermark == -1, before, still, case="at-epoch-start")
    astray = frozen.fetch_as(voter, epoch, LogEnd(end.epoch, end.offset + 1))
    diverges = astray.error is Error.NONE and astray.diverging_epoch is not None
    yield premise(
        diverges, f"a voter that has another record there: {astray}", promised=("KIP595-FETCH-04", "past-epoch-end")
    )
    apart = describe(frozen)
    yield held_if(apart.high_watermark == astray.high_watermark == -1, astray, apart, case="at-epoch-start")
    past = frozen.fetch_as(voter, epoch, LogEnd(epoch, end.offset + 1))
    matches = past.error is Error.NONE and past.diverging_epoch is None
    yield premise(matches, f"a voter that has the epoch's first record: {past}", promised=SERVED)
    after = describe(frozen)
    yield held_if(after.high_watermark == end.offset + 1, past, after, case="past-epoch-start")


@probe("KIP595-HW-02", "KIP595-HW-04", rig=FROZEN, cases=["exact"], voter=VOTERS, ahead=integers(1, 5),
       back=integers(2, 6))  # fmt: skip
def high_watermark_is_the_voters_fetch_offset(frozen: Frozen, voter: int, ahead: int, back: int) -> Claims:
    """If only one of two followers fetches, the high watermark is its fetch offset; it stays if that follower goes back."""
    end = frozen.log_end()
    epoch = frozen.lead(ahead=ahead)
    first = LogEnd(epoch, end.offset + 1)
    now = yield from follows_the_fetch(frozen, voter, first)
    if now.high_watermark < 0:  # a leader that has committed nothing appends no more
        return
    starts = frozen.bench.eventually(lambda: _batches_after(frozen, first), f"{READS} batches of epoch {epoch}")
    for start in starts:
        now = yield from follows_the_fetch(frozen, voter, LogEnd(epoch, start))
    # A description from now on would show a voter whose log became shorter.
    again = frozen.fetch_as(voter, epoch, LogEnd(epoch, starts[-back]))
    yield premise(again.error is Error.NONE, f"a fetch further back that was served: {again}", promised=SERVED)
    yield held_if(again.high_watermark == now.high_watermark, now, again, row="KIP595-HW-04", case="leader")


def follows_the_fetch(frozen: Frozen, voter: int, log: LogEnd) -> Generator[Claim, None, QuorumAnswer]:
    """Fetch as the voter from `log`, and check that the high watermark is that offset. Return the description of the quorum."""
    fetch = frozen.fetch_as(voter, log.epoch, log)
    now = describe(frozen)
    matches = fetch.error is Error.NONE and fetch.diverging_epoch is None
    yield premise(matches, f"a fetch that was served: {fetch}", promised=SERVED)
    yield premise(now.error is Error.NONE, "a leader that describes the quorum", promised=DESCRIBED)
    yield held_if(now.high_watermark == log.offset, fetch, now)
    return now


def stands_again(asked: Received, epoch: int) -> bool:
    """True if a leader of that epoch becomes a candidate for a later one; Votes of its own election may arrive late."""
    return asked.api == "Vote" and (candidate_epoch(asked) > epoch or bool(asked.partition.get("pre_vote")))


READS = 7


def _batches_after(frozen: Frozen, first: LogEnd) -> list[int] | None:
    """Return the base offsets of the next batches, once there are enough: followers fetch at batch boundaries only."""
    read = frozen.fetch_as(CONSUMER, first.epoch, first)
    starts = [batch.base_offset for batch in read.batches]
    return starts if len(starts) >= READS else None


@probe("KIP595-HW-03", rig=FROZEN, cases=["observers"], count=integers(3, 6), first=integers(0, 900))
def observers_commit_nothing(frozen: Frozen, count: int, first: int) -> Claims:
    """Observers do not count towards a commit, however many of them have a record."""
    end = frozen.log_end()
    epoch = frozen.lead()
    ids = [GHOSTS.start + first + number for number in range(count)]
    answers = [frozen.fetch_as(id, epoch, LogEnd(epoch, end.offset + 1)) for id in ids]
    after = describe(frozen)
    seen = {observer.replica_id for observer in after.observers if observer.log_end_offset == end.offset + 1}
    yield premise(seen >= set(ids), f"{count} observers at the log end")
    yield held_if(after.high_watermark == -1 and all(a.high_watermark == -1 for a in answers), *answers, after)


@probe(
    "KIP595-HW-03", rig=FROZEN, cases=["known-watermark"], voter=VOTERS, count=integers(3, 6), first=integers(0, 900)
)
def observers_move_no_high_watermark(frozen: Frozen, voter: int, count: int, first: int) -> Claims:
    """Observers that are ahead of all voters but the leader do not move the high watermark that one voter has reached."""
    end = frozen.log_end()
    epoch = frozen.lead()
    reached = end.offset + 1
    frozen.fetch_as(voter, epoch, LogEnd(epoch, reached))
    known = describe(frozen)
    yield premise(
        known.high_watermark == reached, f"a known high watermark: {known}", promised=("KIP595-HW-02", "exact")
    )
    ahead = frozen.bench.eventually(lambda: _end_beyond(frozen, reached), f"a log that ends after {reached}")
    ids = [GHOSTS.start + first + number for number in range(count)]
    answers = [frozen.fetch_as(id, epoch, LogEnd(epoch, ahead)) for id in ids]
    after = describe(frozen)
    seen = {observer.replica_id for observer in after.observers if observer.log_end_offset == ahead}
    yield premise(seen >= set(ids), f"{count} observers at {ahead}")
    unmoved = after.high_watermark == reached and all(answer.high_watermark == reached for answer in answers)
    yield held_if(unmoved, known, *answers, after)


def _end_beyond(frozen: Frozen, offset: int) -> int | None:
    """Return the leader's log end once it is beyond an offset."""
    end = own_end(frozen.id, describe(frozen))
    return end if end > offset else None


@probe(
    "KIP595-END-07",
    rig=FROZEN,
    cases=["leader"],
    successors=sampled_from([(), PEERS, PEERS[:1]]),
    older=versions_back(1),
)
def leader_ignores_its_own_end_quorum_epoch(frozen: Frozen, successors: tuple[int, ...], older: int) -> Claims:
    """A leader answers an EndQuorumEpoch of its own epoch without error and stays leader."""
    epoch = frozen.lead()
    began = frozen.bench.now().seconds
    answer = frozen.end(frozen.id, epoch, list(successors), version=frozen.version("EndQuorumEpoch", older))
    after = describe(frozen)
    leads = after.error is Error.NONE and (after.leader_id, after.leader_epoch) == (frozen.id, epoch)
    sent = frozen.sent_since(began)
    resigned = [one for one in sent if one.api == "EndQuorumEpoch" or stands_again(one, epoch)]
    still = frozen.reported_leader() == LeaderAndEpoch(frozen.id, epoch)
    held = answer.error is Error.NONE and leads and still and not resigned
    yield held_if(
        held,
        answer,
        after,
        detail=f"after an EndQuorumEpoch of its own epoch {epoch} it sent {say([one.api for one in resigned])}",
    )


@probe("KIP595-FETCH-06", rig=FROZEN, cases=["uncommitted"], examples=2, smoke=False, voter=VOTERS)
def uncommitted_records_are_served(frozen: Frozen, voter: int) -> Claims:
    """A replica is served the records from the high watermark up to the log end; the answer's high watermark is before them."""
    end = frozen.log_end()
    epoch = frozen.lead()
    reached = end.offset + 1
    frozen.fetch_as(voter, epoch, LogEnd(epoch, reached))
    ahead = frozen.bench.eventually(lambda: _end_beyond(frozen, reached), f"a log that ends after {reached}")
    for replica in (other_peer(voter), GHOSTS.start):
        served = frozen.fetch_as(replica, epoch, LogEnd(end.epoch, end.offset))
        now = describe(frozen)
        yield premise(now.error is Error.NONE, "a leader that describes the quorum", promised=DESCRIBED)
        fetched = served.batches[-1].last_offset + 1 if served.batches else -1
        whole = served.error is Error.NONE and ahead <= fetched <= own_end(frozen.id, now)
        yield held_if(whole and served.high_watermark == reached, served, now)


SOON_AFTER = 5.0
"""Seconds within which a delayed fetch is answered once its node does not lead any more; the fetch allows 20."""
SHUT_DOWN_AFTER = 12.0
"""Seconds within which the process of a leader that shuts down has ended, or it has answered."""
DELAY = 20_000
NO_LEADER = (Error.NOT_LEADER_OR_FOLLOWER, Error.FENCED_LEADER_EPOCH, Error.UNKNOWN_LEADER_EPOCH)


def delay_fetch(frozen: Frozen, epoch: int) -> tuple[NodeClient, PendingRequest]:
    """Send a fetch at the log end of a leader that has committed nothing, and so appends no more records."""
    end = own_end(frozen.id, describe(frozen))
    client = frozen.bench.node(frozen.name, controller=True, purpose="delayed fetch")
    wanted = [FetchPartition(METADATA, 0, end, epoch, epoch)]
    options = FetchOptions(replica_id=GHOSTS.start, max_wait_ms=DELAY, cluster_id=frozen.cluster_id)
    return client, client.park_fetch(wanted, options)


@probe(
    "KIP595-FETCH-08",
    rig=FROZEN,
    cases=["deposed"],
    examples=2,
    smoke=False,
    successor=VOTERS,
    ahead=integers(1, 5),
)
def deposed_leader_answers_delayed_fetches(frozen: Frozen, successor: int, ahead: int) -> Claims:
    """A fetch that waits at a leader is answered soon after that follows the leader of a later epoch.

    A vote for a later epoch alone releases none, in any release that was looked at: what is promised is a new leader.
    """
    epoch = frozen.lead()
    client, delayed = delay_fetch(frozen, epoch)
    newer = LeaderAndEpoch(successor, epoch + ahead)
    begun = frozen.begin(newer.leader_id, newer.leader_epoch)
    yield premise(
        leader_in(begun) == newer, f"following {say(newer)}: {begun}", promised=("KIP595-BEGIN-01", "version-0")
    )
    yield from judge_release(frozen, client, delayed)


@probe("KIP595-FETCH-08", rig=EXPENDABLE, cases=["shutdown"], examples=2, smoke=False)
def leader_that_shuts_down_answers_delayed_fetches(voter: Expendable) -> Claims:
    """A fetch that waits at a leader is answered, or its connection ends, soon after the leader was told to shut down."""
    epoch = voter.lead()
    client, delayed = delay_fetch(voter, epoch)
    voter.give_up()
    voter.bench.processes.terminate(voter.name)
    yield from judge_release(voter, client, delayed, SHUT_DOWN_AFTER, ends=True)


def judge_release(
    frozen: Frozen, client: NodeClient, delayed: PendingRequest, within: float = SOON_AFTER, *, ends: bool = False
) -> Claims:
    """Judge the answer to a fetch that was delayed at a leader which leads no more. Its connection may end instead
    if the process of the leader ends, too."""
    began = frozen.bench.now().seconds
    try:
        answer = client.parked_fetch(delayed, within=within)
    except ConnectionClosed:
        yield held_if(ends, detail="its connection ended", variant="connection ended")
        return
    except Unanswered:
        took = frozen.bench.now().seconds - began
        late = frozen.bench.wait.end_of_wait(False, within)
        yield held_if(late, detail=f"not answered after {took:.1f} s, with a MaxWaitMs of {DELAY}")
        return
    [partition] = answer.partitions
    yield premise(not partition.batches, "a fetch that no append completed")
    yield held_if(partition.error in NO_LEADER, answer, variant=partition.error.name)
