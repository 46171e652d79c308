"""Outcomes of transactions: the records that a consumer must get, and those in its answers (KIP-98)."""

from conformance.core.checks import Claims, held_if
from conformance.rigs.producers.combined_node import Log, StageProducer
from protocol.codes import Error
from protocol.log import READ_COMMITTED, FetchedPartition, FetchOptions
from protocol.records import ControlType
from protocol.words import say

MARKERS = {True: ControlType.COMMIT, False: ControlType.ABORT}
"""The control type of the marker of a committed (True) or aborted (False) transaction."""
MARKER_TIMEOUT = 30.0
"""Seconds within which a decided transaction must have its markers, once its partitions have leaders."""
ALL = 1024 * 1024
"""Bytes of a Fetch, more than any log of these checks has."""


def delivered_records(read: FetchedPartition, position: int) -> dict[int, bytes | None]:
    """Return the values, by offset, that a read_committed consumer at `position` takes from an answer.

    As in clients, a producer's batches are skipped from the first offset of a listed aborted transaction up to its
    marker.
    """
    waiting = sorted(read.aborted_transactions or (), key=lambda one: one.first_offset)
    skipped: set[int] = set()
    found: dict[int, bytes | None] = {}
    for one in read.batches:
        while waiting and waiting[0].first_offset <= one.last_offset:
            skipped.add(waiting.pop(0).producer_id)
        if one.control:
            if one.records[0].control_type is ControlType.ABORT:
                skipped.discard(one.producer_id)
        elif not (one.transactional and one.producer_id in skipped):
            found.update((record.offset, record.value) for record in one.records if record.offset >= position)
    return found


class KnownRecords:
    """The records of one log as their producers know them: non-transactional, open, committed or aborted."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.visible: dict[int, bytes | None] = {}
        """The values, by offset, that a read_committed consumer must get."""
        self._open: dict[str, dict[int, bytes | None]] = {}

    def write(self, producer: StageProducer, count: int) -> None:
        """Write the next batch. With a transactional id it joins the producer's transaction, or opens one."""
        values = [record.value for record in producer.batch(self.log, count).records]
        opens = producer.transactional_id not in self._open
        answer = (
            producer.enter(self.log, count) if producer.transactional_id and opens else producer.write(self.log, count)
        )
        records = {answer.base_offset + n: value for n, value in enumerate(values)}
        if producer.transactional_id:
            self._open.setdefault(producer.transactional_id, {}).update(records)
        else:
            self.visible.update(records)

    def end(self, producer: StageProducer, committed: bool) -> None:
        records = self._open.pop(producer.transactional_id, {})
        if committed:
            self.visible.update(records)

    @property
    def open_from(self) -> dict[str, int]:
        """The first offset of each open transaction, by transactional id."""
        return {name: min(records) for name, records in self._open.items()}

    @property
    def first_open(self) -> int | None:
        """The first offset of an open transaction; None while there is none."""
        return min(self.open_from.values(), default=None)

    def read(self, offset: int, version: int | None = None, *, most: int = ALL) -> FetchedPartition:
        """Fetch as a read_committed consumer, at most `most` bytes or one batch."""
        return self.log.leader().fetch(
            self.log.fetch_from(offset, partition_max_bytes=most),
            FetchOptions(isolation_level=READ_COMMITTED),
            version=version,
        )

    def matches(self, read: FetchedPartition, offset: int) -> bool:
        """True if an answer has exactly the visible records from `offset` to its last batch, and ends before the first
        open transaction."""
        if read.error is not Error.NONE:
            return False
        last = read.batches[-1].last_offset if read.batches else offset - 1
        owed = {at: value for at, value in self.visible.items() if offset <= at <= last}
        bounded = self.first_open is None or last < self.first_open
        return bounded and delivered_records(read, offset) == owed

    def fetch_once(self, version: int | None = None) -> tuple[bool, FetchedPartition]:
        """Fetch once from the log start; return whether all visible records below the first open transaction are there,
        and the answer."""
        read = self.read(0, version)
        bound = self.first_open
        owed = {at: value for at, value in self.visible.items() if bound is None or at < bound}
        return self.matches(read, 0) and delivered_records(read, 0) == owed, read

    def observe_each_offset(self, case: str, *, most: int = ALL) -> Claims:
        """Observe KIP360-TXN-13: from each offset below the last stable offset, a fetch returns all visible records."""
        bound = self.first_open
        for offset in range(self.log.end() if bound is None else bound):
            read = self.read(offset, most=most)
            yield held_if(bool(read.batches) and self.matches(read, offset), read, row="KIP360-TXN-13", case=case)


class StableOffsets:
    """The last stable offsets of a log, in the order seen within its leader epoch."""

    def __init__(self, known: KnownRecords) -> None:
        self._known = known
        self._seen = 0

    def look(self) -> Claims:
        """Observe KIP360-TXN-10: request the last stable offset in both ways."""
        log, open_from = self._known.log, self._known.open_from
        read, listed = self._known.read(log.end()), log.stable_end()
        above_start = [first for first in open_from.values() if first >= read.log_start_offset]
        stable, highest = read.last_stable_offset, min([read.high_watermark, *above_start])
        shown = f"the last stable offset was {self._seen} before and is {listed} by ListOffsets; open: {say(open_from)}"

        held = {
            "bounds": read.log_start_offset <= stable <= highest,
            "monotone": stable >= self._seen,
            "agreement": listed == stable,
        } | ({} if open_from else {"at-rest": stable == read.high_watermark})
        for case, met in held.items():
            answered = read.error is Error.NONE
            yield held_if(answered and met, read, row="KIP360-TXN-10", case=case, detail=shown)
        self._seen = stable
