"""Fetch without a current leader epoch: only leadership and the offset are checked (KIP-320, Fetch)."""

from hypothesis.strategies import integers

from conformance.core.checks import Claims, held_if, probe
from conformance.rigs.log.epoch_requests import FENCED_FROM, FOLLOWERS_SERVE_FROM, same_leader_and_epoch, sender_for
from conformance.rigs.log.partition import Partition, partition_at_epoch
from conformance.rigs.log.replica_log import FetchedLog, reads_nothing, replica_log, serves_log
from conformance.rigs.versions import BACK, choose_version
from protocol.codes import Error
from protocol.log import FetchedPartition

VERSIONS: dict[str, tuple[int, int | None]] = {
    "sentinel": (FENCED_FROM, None),
    "negative": (FENCED_FROM, None),
    "unversioned": (4, FENCED_FROM - 1),
    "ancient": (0, 3),
    "follower-refuses": (4, FOLLOWERS_SERVE_FROM - 1),
    "follower-serves": (FOLLOWERS_SERVE_FROM, None),
}


@probe(
    "KIP320-FETCH-04",
    rig=partition_at_epoch(3),
    cases=list(VERSIONS),
    offset=integers(0, 11),
    back=BACK,
    below=integers(-(2**31), -2),
)
def absent_epoch_is_not_compared(partition: Partition, case: str, offset: int, back: int, below: int) -> Claims:
    """A fetch with no current epoch is served by the leader; a follower refuses it up to version 10 and serves it from 11."""
    node, _, state = sender_for(partition, "follower" if case.startswith("follower") else "consumer")
    log = replica_log(partition, node)
    low, high = VERSIONS[case]
    answer = node.fetch(
        partition.fetch_from(offset, current_leader_epoch=below if case == "negative" else -1),
        version=choose_version(partition.bench, "Fetch", back, low=low, high=high),
    )
    yield same_leader_and_epoch(partition, state)
    yield held_if(as_promised(case, answer, log, offset), answer)


def as_promised(case: str, answer: FetchedPartition, log: FetchedLog, offset: int) -> bool:
    if case == "follower-refuses":
        return answer.error is Error.NOT_LEADER_OR_FOLLOWER and reads_nothing(answer)
    whole = same_records(answer, log, offset) if case == "ancient" else serves_log(answer, log, offset)
    return whole and answer.high_watermark == log.end


def same_records(answer: FetchedPartition, log: FetchedLog, offset: int) -> bool:
    """True if these are the log's records from `offset` on, or as many as fit: the old format takes more bytes."""
    handed = [(r.offset, r.value) for batch in answer.batches for r in batch.records if r.offset >= offset]
    stored = [(r.offset, r.value) for batch in log.batches for r in batch.records if r.offset >= offset]
    return answer.error is Error.NONE and bool(handed) and handed == stored[: len(handed)]
