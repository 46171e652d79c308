"""Positions that a group committed with their epochs and that were never truncated, at the next leader (KIP-320, Leader Fetch
Handling).
"""

from typing import NamedTuple

from conformance.core.checks import Claims, held_if, premise, probe
from conformance.rigs.groups.offsets import COMMITS_EPOCH_FROM, FETCHES_EPOCH_FROM, GroupOffset, holds_commit
from conformance.rigs.log.epoch_requests import DIVERGES_FROM, ENDS_FENCED_FROM, same_leader_and_epoch
from conformance.rigs.log.partition import Partition, fresh_partition
from conformance.rigs.log.replica_log import FetchedLog, replica_log, serves_log
from conformance.rigs.versions import BACK, choose_version
from fixtures.wire import NodeClient
from protocol.codes import Error
from protocol.groups import CommittedOffset
from protocol.log import EpochEnd, FetchedPartition
from protocol.words import say


def positions(log: FetchedLog) -> list[tuple[int, int]]:
    """Return the position right after each record, with that record's leader epoch."""
    return [(record.offset + 1, batch.leader_epoch) for batch in log.batches for record in batch.records]


class Confirmation(NamedTuple):
    """A position from OffsetFetch, the fetches from it with each replica's log, and the epoch lookup."""

    found: CommittedOffset
    fetches: list[tuple[FetchedPartition, FetchedLog]]
    end: EpochEnd

    def claims(self) -> Claims:
        for answer, log in self.fetches:
            yield held_if(serves_log(answer, log, self.found.offset), self.found, answer)
        ended = (self.end.error, self.end.leader_epoch) == (Error.NONE, self.found.leader_epoch)
        yield held_if(ended and self.end.end_offset >= self.found.offset, self.found, self.end)


def confirm(partition: Partition, found: CommittedOffset, nodes: list[NodeClient], back: int) -> Confirmation:
    """Fetch at each node with the position's epoch as LastFetchedEpoch, and look that epoch up at the first, the
    leader."""
    fetch = choose_version(partition.bench, "Fetch", back, low=DIVERGES_FROM)
    lookup = choose_version(partition.bench, "OffsetForLeaderEpoch", back, low=ENDS_FENCED_FROM)
    epoch = found.leader_epoch
    answers = [
        (
            node.fetch(partition.fetch_from(found.offset, last_fetched_epoch=epoch), version=fetch),
            replica_log(partition, node),
        )
        for node in nodes
    ]
    return Confirmation(found, answers, nodes[0].offset_for_leader_epoch(partition.name, 0, epoch, version=lookup))


@probe(
    "KIP320-FETCH-09",
    rig=fresh_partition(epochs=1),
    cases=["committed"],
    commit_back=BACK,
    fetch_back=BACK,
    back=BACK,
)
def committed_position_is_not_diverged(partition: Partition, commit_back: int, fetch_back: int, back: int) -> Claims:
    """After a clean election OffsetFetch returns positions that leader, follower and epoch lookup confirm."""
    bench = partition.bench
    commits = choose_version(bench, "OffsetCommit", commit_back, low=COMMITS_EPOCH_FROM, high=9)
    fetches = choose_version(bench, "OffsetFetch", fetch_back, low=FETCHES_EPOCH_FROM, high=9)
    committed = {position: GroupOffset(partition) for position in positions(replica_log(partition, partition.leader()))}
    for (offset, epoch), group in committed.items():
        group.commit(offset, epoch, commits)
    state = partition.move_leader()
    partition.write(b"of the next epoch")
    nodes = [bench.node(state.leader), bench.node(next(id for id in state.replicas if id != state.leader))]
    replica_log(partition, nodes[1])
    found = {position: group.fetch(fetches) for position, group in committed.items()}
    confirmations = [confirm(partition, one, nodes, back) for one in found.values()]
    yield same_leader_and_epoch(partition, state)
    as_committed = all(holds_commit(one, *position) for position, one in found.items())
    yield premise(as_committed, f"positions as they were committed: {say(found)}", promised=("KIP320-OC-01", "stored"))
    for one in confirmations:
        yield from one.claims()
