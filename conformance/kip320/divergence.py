"""Fetch with LastFetchedEpoch: divergence, an offset out of range, and records that are merely not committed (KIP-595)."""

from functools import partial
from itertools import product

from hypothesis.strategies import booleans, integers, lists

from conformance.core.checks import Claims, held_if, premise, probe
from conformance.rigs.log.epoch_histories import AWAY_AND_BACK, Gap, RaisedStartPartitions
from conformance.rigs.log.epoch_requests import (
    DIVERGES_FROM,
    TRIMMED,
    diverges_at,
    out_of_range,
    same_leader_and_epoch,
    sender_for,
)
from conformance.rigs.log.lagging_watermark import watermark_behind
from conformance.rigs.log.partition import Partition, fresh_partition, partition_at_epoch
from conformance.rigs.log.replica_log import replica_log
from conformance.rigs.versions import BACK, choose_version
from protocol.codes import Error
from protocol.log import FetchOptions
from protocol.words import say
from strategies.inputs import EPOCHS_AHEAD, PAST_END, RECORDS, near_or_far


@probe(
    "KIP320-FETCH-06",
    rig=partition_at_epoch(3),
    cases=["consumer", "replica", "follower"],
    which=integers(0, 2),
    past=integers(1, 4),
    with_epoch=booleans(),
    back=BACK,
)
def ended_epoch_diverges(partition: Partition, case: str, which: int, past: int, with_epoch: bool, back: int) -> Claims:
    """A position past the end of its epoch is answered with that epoch and its end offset, and without records."""
    node, replica_id, state = sender_for(partition, case)
    log = replica_log(partition, node)
    epoch = log.ended_epochs()[which]
    end = log.end_of(epoch)
    answer = node.fetch(
        partition.fetch_from(
            end + past, current_leader_epoch=state.leader_epoch if with_epoch else -1, last_fetched_epoch=epoch
        ),
        FetchOptions(replica_id=replica_id),
        version=choose_version(partition.bench, "Fetch", back, low=DIVERGES_FROM),
    )
    yield same_leader_and_epoch(partition, state)
    yield held_if(diverges_at(answer, epoch, end), answer)


@probe(
    "KIP320-CONS-02",
    rig=TRIMMED,
    number=integers(0, 2),
    far=lists(near_or_far(1 << 40, 2), min_size=2, max_size=2, unique=True),
    unknown=EPOCHS_AHEAD,
    back=BACK,
)
def range_errors_are_below_the_log_start(
    trimmed: RaisedStartPartitions, number: int, far: list[int], unknown: int, back: int
) -> Claims:
    """A position is out of range below the log start, or if its epoch never existed, and nowhere else in and around the log."""
    one = trimmed.one(number)
    node, _, state = sender_for(one.partition, "consumer")
    version = choose_version(one.partition.bench, "Fetch", back, low=DIVERGES_FROM)
    current = state.leader_epoch
    asked = product([*range(one.end + 2), *(one.end + by for by in far)], [*one.epochs, current + unknown])
    asking = partial(one.partition.fetch_from, current_leader_epoch=current)
    answers = [
        (node.fetch(asking(position, last_fetched_epoch=last), version=version), position, last)
        for position, last in asked
    ]
    yield same_leader_and_epoch(one.partition, state)
    for answer, position, last in answers:
        known = last in one.epochs
        if known and position > one.end:
            yield held_if(answer.diverging_epoch is not None, answer, case="past-end")
        elif answer.error is Error.OFFSET_OUT_OF_RANGE:
            yield held_if(position < one.start or not known, answer, case="range-error")


@probe("KIP320-FETCH-06", rig=AWAY_AND_BACK, cases=["floor"], past=integers(1, 4), with_epoch=booleans(), back=BACK)
def epoch_without_records_diverges_at_the_one_below(gap: Gap, past: int, with_epoch: bool, back: int) -> Claims:
    """For an epoch that left no record, the largest epoch below it is returned, with its end offset."""
    partition = gap.partition
    node, _, state = sender_for(partition, "consumer")
    log = replica_log(partition, node)
    yield premise(
        gap.gap not in log.epoch_starts and gap.floor in log.epoch_starts,
        f"no record of epoch {gap.gap}: {say(log.epoch_starts)}",
    )
    end = log.end_of(gap.floor)
    answer = node.fetch(
        partition.fetch_from(
            end + past, current_leader_epoch=state.leader_epoch if with_epoch else -1, last_fetched_epoch=gap.gap
        ),
        version=choose_version(partition.bench, "Fetch", back, low=DIVERGES_FROM),
    )
    yield same_leader_and_epoch(partition, state)
    yield held_if(diverges_at(answer, gap.floor, end), answer)


@probe(
    "KIP320-FETCH-07",
    rig=TRIMMED,
    cases=["below-start"],
    number=integers(0, 2),
    below=integers(1, 4),
    last=integers(0, 3),
    back=BACK,
)
def below_the_start_is_out_of_range(
    trimmed: RaisedStartPartitions, number: int, below: int, last: int, back: int
) -> Claims:
    """Below the log start the answer is always out of range, whatever LastFetchedEpoch is sent, deleted or kept."""
    one = trimmed.one(number)
    node, _, state = sender_for(one.partition, "consumer")
    answer = node.fetch(
        one.partition.fetch_from(
            one.start - below, current_leader_epoch=state.leader_epoch, last_fetched_epoch=[*one.epochs, -1][last]
        ),
        version=choose_version(one.partition.bench, "Fetch", back, low=DIVERGES_FROM),
    )
    yield same_leader_and_epoch(one.partition, state)
    yield held_if(out_of_range(answer), answer)


@probe(
    "KIP320-FETCH-07",
    rig=partition_at_epoch(3),
    cases=["unknown-epoch", "past-end", "unset"],
    offset=integers(0, 12),
    past=PAST_END,
    ahead=EPOCHS_AHEAD,
    which=integers(0, 3),
    with_epoch=booleans(),
    back=BACK,
)
def out_of_range_or_diverging(
    partition: Partition, case: str, offset: int, past: int, ahead: int, which: int, with_epoch: bool, back: int
) -> Claims:
    """An unknown epoch is out of range, an offset past the end diverges, and without an epoch it is out of range."""
    node, _, state = sender_for(partition, "consumer")
    log = replica_log(partition, node)
    known = sorted(log.epoch_starts)[which]
    position = {"unknown-epoch": offset, "past-end": log.end + past, "unset": log.end + past if which else -past}[case]
    last = {"unknown-epoch": state.leader_epoch + ahead, "past-end": known, "unset": -1}[case]
    answer = node.fetch(
        partition.fetch_from(
            position, current_leader_epoch=state.leader_epoch if with_epoch else -1, last_fetched_epoch=last
        ),
        version=choose_version(partition.bench, "Fetch", back, low=DIVERGES_FROM),
    )
    yield same_leader_and_epoch(partition, state)
    held = diverges_at(answer, known, log.end_of(known)) if case == "past-end" else out_of_range(answer)
    yield held_if(held, answer)


@probe(
    "KIP320-FETCH-07",
    rig=fresh_partition(),
    cases=["uncommitted"],
    records=RECORDS,
    position=integers(0, 3),
    with_last=booleans(),
    back=BACK,
)
def uncommitted_is_empty(partition: Partition, records: int, position: int, with_last: bool, back: int) -> Claims:
    """A consumer between the high watermark and the log end gets error 0 and no records."""
    with watermark_behind(partition, records) as behind:
        answer = behind.leader.fetch(
            partition.fetch_from(
                behind.watermark + 1 + position % records,
                current_leader_epoch=behind.epoch,
                last_fetched_epoch=behind.epoch if with_last else -1,
            ),
            version=choose_version(partition.bench, "Fetch", back, low=DIVERGES_FROM),
        )
        still = behind.premise_of_lag(partition)
    yield still
    empty = not answer.batches and answer.diverging_epoch is None
    yield held_if(answer.error is Error.NONE and empty, answer)
