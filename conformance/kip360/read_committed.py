"""Fetches of a read_committed consumer next to open, aborted and committed transactions."""

from hypothesis.strategies import integers

from conformance.core.checks import Claims, held_if, probe
from conformance.rigs.producers.combined_node import STAGE, Stage
from conformance.rigs.producers.sequences import premise_of_open_transaction
from conformance.rigs.versions import choose_version
from protocol.log import READ_COMMITTED, FetchedPartition, FetchOptions
from protocol.since import since

LOWEST = since("FetchRequest", "IsolationLevel")


@probe(
    "GEN-17", rig=STAGE, cases=["open-transaction", "aborted-transaction"], before=integers(2, 4), size=integers(1, 4),
    after=integers(1, 3), back=integers(0, 12),
)  # fmt: skip
def read_committed_stops_at_its_bound(stage: Stage, case: str, before: int, size: int, after: int, back: int) -> Claims:
    """A fetch from any offset returns nothing from the first record of an open transaction on, and nothing of an aborted one."""
    log, plain, producer = stage.log(), stage.idempotent(), stage.transactional(stage.newest_dialect)
    version = choose_version(stage.bench, "Fetch", back, low=LOWEST)
    for _ in range(before):
        plain.write(log)
    producer.enter(log, size)
    plain.write(log, after)
    if case == "aborted-transaction":
        producer.end(committed=False)
        producer.await_completion()
    else:
        yield premise_of_open_transaction(producer.describe(), producer)
    log.batches()  # The log as it is, for the judges: a consumer without isolation is given all of it.
    for offset in range(log.end()):
        read = stage.broker.fetch(log.fetch_from(offset), FetchOptions(isolation_level=READ_COMMITTED), version=version)
        yield held_if(_is_right(read, case, before, producer.producer_id), read)


def _is_right(read: FetchedPartition, case: str, first: int, producer_id: int) -> bool:
    """True if an open transaction bounds the answer, or an aborted one is listed or has no records in it."""
    if case == "open-transaction":
        return read.last_stable_offset == first and all(batch.last_offset < first for batch in read.batches)
    aborted = [(one.producer_id, one.first_offset) for one in read.aborted_transactions or ()]
    given = any(batch.producer_id == producer_id and not batch.control for batch in read.batches)
    return (producer_id, first) in aborted or not given
