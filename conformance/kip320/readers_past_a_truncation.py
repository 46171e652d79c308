"""Readers at the end of a log that an unclean election truncates and that grows past them again (KIP-320, KIP320-SC-03)."""

from hypothesis.strategies import integers

from conformance.core.checks import Claim, Claims, held_if, premise
from conformance.rigs.log.epoch_requests import DIVERGES_FROM, diverges_at
from conformance.rigs.log.quiescence import at_rest, read_whole
from conformance.rigs.log.reader import Reader, common_prefix, delivered_of
from conformance.rigs.log.scenarios import log_scenario
from conformance.rigs.log.truncated_readers import epoch_of_last_shared, record_values, silently_skips, take_over
from conformance.rigs.log.unclean_elections import COUPLE, SESSION, UncleanPartition
from protocol.cluster import PartitionMetadata
from protocol.codes import Error
from protocol.words import say

OLDEST_FETCH = 4
"""The lowest version of Fetch in 4.x."""


# --- FETCH-08


def unchecked_fetches(couple: UncleanPartition, state: PartitionMetadata, cut: int, reader: Reader, old: int) -> Claims:
    """Fetch at the reader's position, truncated and overwritten since: with LastFetchedEpoch, without it, and in a
    version that lacks it.

    DivergingEpoch must be the epoch of the kept records. The reader's epoch may be in no log any more: until 3.5 an ISR
    shrink began an epoch (KAFKA-15021), in which the truncated records may have been written.
    """
    offset, epoch = reader.position.offset, reader.position.epoch
    node, current = couple.bench.node(state.leader), state.leader_epoch
    checked = node.fetch(couple.fetch_from(offset, current_leader_epoch=current, last_fetched_epoch=epoch))
    silent = node.fetch(couple.fetch_from(offset, current_leader_epoch=current))
    before = node.fetch(couple.fetch_from(offset), version=old)
    for case, answer in (("sentinel", silent), ("old-version", before)):
        held = diverges_at(checked, epoch_of_last_shared(reader, cut), cut) and silently_skips(answer, offset, epoch)
        yield held_if(held, checked, answer, row="KIP320-FETCH-08", case=case)


# --- CONS-01


def follows(couple: UncleanPartition, reader: Reader, state: PartitionMetadata, case: str, *, exact: bool) -> Claims:
    """Let the reader meet a leader with another log: it goes back to where the two diverge, and reads on.

    After the first time no premise depends on the reader's position, so that a reader that goes wrong is not excused.
    """
    leader = couple.bench.node(state.leader)
    log = read_whole(couple, leader, state.leader_epoch)
    shared, met, known = common_prefix(reader.delivered, log), reader.position, len(reader.rewinds)
    if exact:
        yield premise(
            shared < met.offset, f"{reader.name} at {say(met)} is ahead of what it shares with its leader, {shared}"
        )
    reached = reader.reaches(log.high_watermark)
    answer = leader.fetch(couple.fetch_from(0, current_leader_epoch=state.leader_epoch))
    yield premise(answer.error is Error.NONE, f"{leader.node} leading at epoch {state.leader_epoch}: {answer}")
    back = [rewind.after for rewind in reader.rewinds[known:]]
    to = back[-1].offset if back else met.offset
    as_it_should = to == shared if exact else to <= shared
    held = reached.require_also(as_it_should and reader.delivered == delivered_of(log))
    detail = (
        f"{reader.name} shared {shared}, was at {say(met)}, went back to {say(back)}, now has {say(reader.delivered)}"
    )
    yield held_if(held, log, *back, reader.position, case=case, detail=detail)


@log_scenario(
    "KIP320-SC-03",
    "KIP320-CONS-01",
    "KIP320-FETCH-08",
    "GEN-09",
    rig=COUPLE,
    kept=integers(1, 4),
    lost=integers(1, 4),
    more=integers(1, 3),
    old=integers(OLDEST_FETCH, DIVERGES_FROM - 1),
)
def suffix_is_truncated_and_overwritten(couple: UncleanPartition, kept: int, lost: int, more: int, old: int) -> Claims:
    """Readers past a truncation detect it, go back no further than needed, and miss no record."""
    first, second = couple.first, couple.second
    couple.write(*record_values(kept, "on both"))
    looking, fetching = Reader(couple, "reader-1", "lookup"), Reader(couple, "reader-2", "fetch")
    asleep = Reader(couple, "reader-3", "lookup")
    alone = couple.leave_alone(first)
    couple.write(*record_values(lost, "on the first only"), to=couple.node(first))
    for reader in (looking, fetching, asleep):
        reader.read_to(kept + lost)

    couple.lose_leader(first)
    couple.start_lagging(second)
    leaderless = couple.watch_leaderless(2 * SESSION)
    heir = couple.bench.id_of(second)
    yield premise(heir not in leaderless.eligible, f"{second} may lead by permission only: {say(leaderless)}")
    detail = f"without a request, and with {second} alive: {say(leaderless)}"
    yield held_if(leaderless.leaders == {-1}, row="GEN-09", case="silent", detail=detail)
    state = couple.elect(second)
    yield premise(state.leader_epoch > alone.leader_epoch, f"a new epoch: {alone} and {state}")
    yield past_the_end(couple, state, looking)
    couple.write(*record_values(lost + more, "on the second only"), to=couple.node(second))
    yield from unchecked_fetches(couple, state, kept, looking, old)
    yield from follows(couple, looking, state, "lookup", exact=True)
    yield from follows(couple, fetching, state, "fetch", exact=True)
    yield from two_more_elections(couple, (looking, fetching), asleep, more)


def past_the_end(couple: UncleanPartition, state: PartitionMetadata, reader: Reader) -> Claim:
    """Return the premise that the log still ends before the position, so that a fetch without epoch is out of range."""
    node, offset = couple.bench.node(state.leader), reader.position.offset
    answer = node.fetch(couple.fetch_from(offset, current_leader_epoch=state.leader_epoch))
    return premise(answer.error is Error.OFFSET_OUT_OF_RANGE, f"{offset} past the end: {answer}")


def two_more_elections(couple: UncleanPartition, awake: tuple[Reader, ...], asleep: Reader, records: int) -> Claims:
    """Hold two more unclean elections, each of a replica with the records that the readers gave up before."""
    for heir in (couple.first, couple.second):
        state = take_over(couple, heir)
        couple.write(*record_values(records, f"on {heir} at {state.leader_epoch}"), to=couple.node(heir))
        for reader in awake:
            yield from follows(couple, reader, state, "repeated", exact=False)
    yield from follows(couple, asleep, state, "repeated", exact=False)
    couple.bench.processes.start(couple.first)
    at_rest(couple)
    final = couple.await_agreement()
    log = read_whole(couple, couple.bench.node(final.leader), final.leader_epoch)
    for reader in (*awake, asleep):
        held = reader.reaches(log.high_watermark).require_also(reader.delivered == delivered_of(log))
        yield held_if(held, log, reader.position, case="repeated", detail=f"{reader.name} has {say(reader.delivered)}")
