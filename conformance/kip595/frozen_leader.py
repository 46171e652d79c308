"""A leader whose followers are all played by the kit: what commits, and what does not (KIP-595)."""

from __future__ import annotations

from collections.abc import Generator

from hypothesis.strategies import integers, sampled_from

from conformance.core.checks import Claim, held_if, premise, probe
from conformance.rigs.quorum.frozen import FROZEN, PEERS, Frozen, LogEnd
from conformance.rigs.quorum.quorum import GHOSTS
from fixtures.wire import Error
from fixtures.wire.cluster import QuorumAnswer
from fixtures.wire.log import CONSUMER, LeaderAndEpoch
from strategies.requests import versions_back

VOTERS = sampled_from(PEERS)


def described(frozen: Frozen) -> QuorumAnswer:
    return frozen.client.describe_quorum()


@probe("KIP595-HW-01", rig=FROZEN, voter=VOTERS, ahead=integers(1, 5))
def high_watermark_waits_for_a_record_of_the_epoch(
    frozen: Frozen, voter: int, ahead: int
) -> Generator[Claim, None, None]:
    """A new leader has no high watermark until a majority has the first record of its epoch."""
    end = frozen.log_end()
    epoch = frozen.lead(ahead=ahead)
    fresh = described(frozen)
    as_consumer = frozen.fetch_as(CONSUMER, epoch, end)
    yield premise(fresh.error is as_consumer.error is Error.NONE, "a leader that answers")
    unknown = fresh.high_watermark == as_consumer.high_watermark == -1
    yield held_if(unknown, fresh, as_consumer, case="fresh")
    before = frozen.fetch_as(voter, epoch, end)
    yield premise(
        before.error is Error.NONE and bool(before.batches), "a voter that has fetched the log before the epoch"
    )
    still = described(frozen)
    yield held_if(still.high_watermark == before.high_watermark == -1, before, still, case="at-epoch-start")
    past = frozen.fetch_as(voter, epoch, LogEnd(epoch, end.offset + 1))
    yield premise(
        past.error is Error.NONE and past.diverging_epoch is None, "a voter that has the epoch's first record"
    )
    after = described(frozen)
    yield held_if(after.high_watermark == end.offset + 1, past, after, case="past-epoch-start")


@probe("KIP595-HW-02", rig=FROZEN, cases=["exact"], voter=VOTERS, ahead=integers(1, 5))
def high_watermark_is_the_voters_fetch_offset(frozen: Frozen, voter: int, ahead: int) -> Generator[Claim, None, None]:
    """With one fetching voter of three, the high watermark is that voter's fetch offset."""
    end = frozen.log_end()
    epoch = frozen.lead(ahead=ahead)
    first = LogEnd(epoch, end.offset + 1)
    frozen.fetch_as(voter, epoch, first)
    starts = frozen.bench.eventually(lambda: _batches_after(frozen, first), f"{READS} batches of epoch {epoch}")
    for start in starts:
        fetch = frozen.fetch_as(voter, epoch, LogEnd(epoch, start))
        now = described(frozen)
        yield premise(
            fetch.error is now.error is Error.NONE and fetch.diverging_epoch is None, "a fetch that was served"
        )
        yield held_if(now.high_watermark == start, fetch, now)


READS = 7


def _batches_after(frozen: Frozen, first: LogEnd) -> list[int] | None:
    """Base offsets of the batches that follow, once there are enough: a follower fetches at batch boundaries only."""
    read = frozen.fetch_as(CONSUMER, first.epoch, first)
    starts = [batch.base_offset for batch in read.batches]
    return starts if len(starts) >= READS else None


@probe("KIP595-HW-03", rig=FROZEN, cases=["observers"], count=integers(3, 6), first=integers(0, 900))
def observers_commit_nothing(frozen: Frozen, count: int, first: int) -> Generator[Claim, None, None]:
    """Observers do not count towards a commit, however many of them have a record."""
    end = frozen.log_end()
    epoch = frozen.lead()
    ids = [GHOSTS.start + first + number for number in range(count)]
    answers = [frozen.fetch_as(id, epoch, LogEnd(epoch, end.offset + 1)) for id in ids]
    after = described(frozen)
    seen = {observer.replica_id for observer in after.observers if observer.log_end_offset == end.offset + 1}
    yield premise(seen >= set(ids), f"{count} observers at the log end")
    yield held_if(after.high_watermark == -1 and all(a.high_watermark == -1 for a in answers), *answers, after)


@probe(
    "KIP595-END-07",
    rig=FROZEN,
    cases=["leader"],
    successors=sampled_from([(), PEERS, PEERS[:1]]),
    older=versions_back(1),
)
def leader_ignores_its_own_end_quorum_epoch(
    frozen: Frozen, successors: tuple[int, ...], older: int
) -> Generator[Claim, None, None]:
    """A leader answers an EndQuorumEpoch of its own epoch without error and stays leader."""
    epoch = frozen.lead()
    answer = frozen.end(frozen.id, epoch, list(successors), version=frozen.version("EndQuorumEpoch", older))
    after = described(frozen)
    leads = after.error is Error.NONE and (after.leader_id, after.leader_epoch) == (frozen.id, epoch)
    yield held_if(
        answer.error is Error.NONE and leads and frozen.reported() == LeaderAndEpoch(frozen.id, epoch), answer, after
    )
