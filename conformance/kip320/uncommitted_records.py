"""Records above the high watermark: what consumers get from leader and follower, and which answers have the log end
(KIP-320)."""

from hypothesis.strategies import booleans, integers

from conformance.core.checks import Claims, held_if, probe
from conformance.rigs.log.epoch_requests import (
    DIVERGES_FROM,
    ENDS_FENCED_FROM,
    FENCED_APIS_FROM,
    ends_epoch,
    is_refusal,
)
from conformance.rigs.log.lagging_watermark import LaggingLeader, watermark_behind
from conformance.rigs.log.partition import Partition, fresh_partition
from conformance.rigs.log.replica_log import FetchedLog, replica_log, serves_log
from conformance.rigs.versions import BACK, choose_version
from fixtures.wire import NodeClient
from protocol.codes import Error
from protocol.log import DEBUGGER, LATEST, READ_COMMITTED, READ_UNCOMMITTED, FetchedPartition
from strategies.inputs import EPOCHS_AHEAD, RECORDS


class Uncommitted:
    """A partition whose newest records are not committed; `committed` is the log up to the high watermark."""

    def __init__(self, partition: Partition, behind: LaggingLeader, committed: FetchedLog, back: int) -> None:
        self.partition, self.behind, self.committed = partition, behind, committed
        self._bench, self._back = partition.bench, back

    def fetch(self, node: NodeClient, offset: int, current: int = -1, *, last: int = -1) -> FetchedPartition:
        version = choose_version(self._bench, "Fetch", self._back, low=DIVERGES_FROM)
        return node.fetch(
            self.partition.fetch_from(offset, current_leader_epoch=current, last_fetched_epoch=last), version=version
        )

    # --- KIP320-FETCH-04, KIP320-FETCH-07

    def reads(self, offset: int, above: int, *, named: bool) -> Claims:
        """Observe consumer fetches below the high watermark, and from there to the log end, at leader and follower."""
        behind, copy = self.behind, self.behind.await_copy(self.partition)
        beyond = behind.watermark + above % (behind.end - behind.watermark + 1)
        epoch = behind.epoch if named else -1
        for node, case in ((behind.leader, "bounded"), (copy, "bounded-follower")):
            below, nothing = self.fetch(node, offset, epoch), self.fetch(node, beyond, epoch, last=epoch)
            yield held_if(self.stop(below, nothing, offset), below, nothing, row="KIP320-FETCH-07", case=case)
        below, nothing = self.fetch(copy, offset), self.fetch(copy, beyond)
        yield held_if(self.stop(below, nothing, offset), below, nothing, row="KIP320-FETCH-04", case="follower-stops")

    def stop(self, below: FetchedPartition, nothing: FetchedPartition, offset: int) -> bool:
        """True if `below` has committed records from `offset`, `nothing` has none, and both have the high watermark."""
        empty = nothing.error is Error.NONE and not nothing.batches and nothing.diverging_epoch is None
        same = below.high_watermark == nothing.high_watermark == self.behind.watermark
        return serves_log(below, self.committed, offset) and empty and same

    # --- KIP320-LO-01, KIP320-LO-05

    def latest_offsets(self) -> Claims:
        """Observe that a consumer gets the high watermark as latest offset, and replica id -2 a follower's log end."""
        name, behind = self.partition.name, self.behind
        version = choose_version(self._bench, "ListOffsets", self._back, low=FENCED_APIS_FROM["list-offsets"])
        for level in (READ_UNCOMMITTED, READ_COMMITTED):
            answer = behind.leader.list_offsets(name, 0, LATEST, isolation_level=level, version=version)
            found = (answer.error, answer.offset, answer.leader_epoch)
            held = found == (Error.NONE, behind.watermark, behind.epoch)
            yield held_if(held, answer, row="KIP320-LO-01", case="below-log-end")
        for epoch in (-1, behind.epoch):
            own = behind.await_copy(self.partition).list_offsets(
                name, 0, LATEST, current_leader_epoch=epoch, replica_id=DEBUGGER, version=version
            )
            held = (own.error, own.offset) == (Error.NONE, behind.end)
            yield held_if(held, own, row="KIP320-LO-05", case="above-watermark")

    # --- KIP320-OFLE-06

    def fenced_lookups(self, ahead: int) -> Claims:
        """Observe that OffsetForLeaderEpoch is fenced as always, and otherwise has the log end."""
        behind = self.behind
        version = choose_version(self._bench, "OffsetForLeaderEpoch", self._back, low=ENDS_FENCED_FROM)
        answers = {
            current: behind.leader.offset_for_leader_epoch(
                self.partition.name, 0, behind.epoch, current_leader_epoch=current, version=version
            )
            for current in (behind.epoch, -1, behind.epoch - 1, behind.epoch + ahead)
        }
        older, newer = answers.pop(behind.epoch - 1), answers.pop(behind.epoch + ahead)
        fenced = is_refusal(older, Error.FENCED_LEADER_EPOCH) and is_refusal(newer, Error.UNKNOWN_LEADER_EPOCH)
        answered = all(ends_epoch(answer, behind.epoch, behind.end) for answer in answers.values())
        shown = (*answers.values(), older, newer)
        yield held_if(fenced and answered, *shown, row="KIP320-OFLE-06", case="above-watermark")


@probe(
    "KIP320-FETCH-07",
    "KIP320-FETCH-04",
    "KIP320-LO-01",
    "KIP320-LO-05",
    "KIP320-OFLE-06",
    rig=fresh_partition(epochs=1),
    records=RECORDS,
    offset=integers(0, 5),
    above=integers(0, 4),
    named=booleans(),
    ahead=EPOCHS_AHEAD,
    back=BACK,
)
def high_watermark_bounds_what_consumers_see(
    partition: Partition, records: int, offset: int, above: int, named: bool, ahead: int, back: int
) -> Claims:
    """Below the log end consumers get records and offsets only up to the high watermark, from leader and follower."""
    committed = replica_log(partition, partition.leader())
    with watermark_behind(partition, records) as behind:
        uncommitted = Uncommitted(partition, behind, committed, back)
        claims = [
            *uncommitted.reads(offset, above, named=named),
            *uncommitted.latest_offsets(),
            *uncommitted.fenced_lookups(ahead),
        ]
        still = behind.premise_of_lag(partition)
    yield still
    yield from claims
