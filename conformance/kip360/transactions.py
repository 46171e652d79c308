"""Transactions that open, end and time out (KIP-360, Motivation; KIP-890)."""

from hypothesis.strategies import booleans, integers

from conformance.core.checks import Claims, held_if, kept_if, premise, probe
from conformance.rigs.producers.combined_node import STAGE, Stage, StageProducer
from conformance.rigs.producers.outcomes import MARKERS
from conformance.rigs.producers.sequences import (
    ends_at,
    gives_id,
    is_fenced,
    observe_rollback,
    premise_of_description,
    premise_of_open_transaction,
)
from protocol.codes import Error
from protocol.records import batch
from protocol.transactions import DescribedTransaction
from protocol.words import say
from strategies.inputs import EPOCH_BUMPS, FEW_RECORDS, RECORDS

TIMEOUTS_MS = integers(300, 500)


@probe(
    "KIP360-FENCE-07",
    rig=STAGE,
    cases=["commit", "abort"],
    bumps=EPOCH_BUMPS,
    partitions=integers(1, 3),
    records=FEW_RECORDS,
    sequence=integers(1, 20),
)
def finished_transaction_bumps_the_epoch(
    stage: Stage, case: str, bumps: int, partitions: int, records: int, sequence: int
) -> Claims:
    """EndTxn v5 returns the next epoch; the old one is refused from then on, and the new one starts at sequence 0."""
    producer, logs = stage.transactional("tv2"), stage.logs(partitions)
    producer.bump(bumps)
    for log in logs:
        producer.enter(log, records)
    before = producer.describe()
    yield premise_of_open_transaction(before, producer)
    answer = producer.finish(committed=case == "commit")
    bumped = ends_at(answer, producer.producer_id, producer.epoch + 1)
    yield held_if(bumped, before, answer)
    if not bumped:
        return
    done = producer.await_completion()
    wanted = MARKERS[case == "commit"]
    ended = [(one.last_marker() is wanted, one.stable_end() == one.end()) for one in logs]
    yield held_if(
        all(map(all, ended)), done, detail=f"in each log, {wanted.name} came last and all was stable: {say(ended)}"
    )
    late = producer.send(log, producer.batch(log))
    yield held_if(late.error is Error.INVALID_PRODUCER_EPOCH, answer, late, case="old-epoch-write")
    producer.continue_at(producer.producer_id, producer.epoch + 1)
    hole = producer.send(log, producer.batch(log, sequence=sequence))
    first = producer.send(log, producer.batch(log))
    from_zero = hole.error is Error.OUT_OF_ORDER_SEQUENCE_NUMBER and first.error is Error.NONE
    yield held_if(from_zero, answer, hole, first, case="new-epoch-write")


@probe("KIP360-FENCE-07-L", rig=STAGE, cases=["commit", "abort"], bumps=EPOCH_BUMPS, records=FEW_RECORDS)
def epoch_after_a_finished_transaction(stage: Stage, case: str, bumps: int, records: int) -> Claims:
    """The epoch that the coordinator holds after a transaction in the cluster's newest protocol has ended."""
    producer = stage.transactional(stage.newest_dialect)
    producer.bump(bumps)
    producer.enter(stage.log(), records)
    before = producer.epoch
    ended = producer.end(committed=case == "commit")
    after = producer.describe()
    yield kept_if("KIP360-FENCE-07-L", after.producer_epoch == before + 1, ended, after, case=case)


@probe("KIP360-FENCE-07", rig=STAGE, cases=["empty-abort", "empty-commit"], bumps=integers(0, 5), used=booleans())
def end_of_an_empty_transaction(stage: Stage, case: str, bumps: int, used: bool) -> Claims:
    """EndTxn v5 without any partition bumps the epoch for an abort and is refused for a commit."""
    producer = stage.idle_transactional("tv2" if used else "untouched", bumps)
    before = producer.describe()
    nothing_open = before.state != "Ongoing" and not before.partitions
    yield premise_of_description(nothing_open, f"nothing is open: {before.state}", producer)
    answer = producer.finish(committed=case == "empty-commit", version=5)
    if case == "empty-abort":
        yield held_if(ends_at(answer, producer.producer_id, producer.epoch + 1), before, answer)
    else:
        yield held_if(answer.error is Error.INVALID_TXN_STATE, before, answer)


@probe(
    "KIP360-FENCE-08",
    rig=STAGE,
    cases=["same-result", "opposite-result", "legacy"],
    examples=2,
    committed=booleans(),
    repeats=integers(1, 3),
)
def repeated_end_of_a_transaction(stage: Stage, case: str, committed: bool, repeats: int) -> Claims:
    """A repeated EndTxn, as after a lost answer, gets the same answer; with the opposite result it is refused."""
    producer, log = stage.transactional("legacy" if case == "legacy" else "tv2"), stage.log()
    producer.enter(log)
    lost = producer.require(producer.finish(committed), "producer")
    wanted = "CompleteCommit" if committed else "CompleteAbort"
    yield premise(producer.await_completion().state == wanted, wanted, promised=("KIP360-FENCE-08", "same-result"))
    answers = [producer.finish(committed != (case == "opposite-result")) for _ in range(repeats)]
    markers = [one.records[0].control_type for one in log.batches() if one.control]
    once = markers == [MARKERS[committed]]
    if case == "opposite-result":
        refused = all(answer.error is Error.INVALID_TXN_STATE for answer in answers)
        yield held_if(refused and once, lost, *answers, detail=f"its log has the markers {say(markers)}")
    else:
        same = all(ends_at(answer, lost.producer_id, lost.producer_epoch) for answer in answers)
        yield held_if(same and once, lost, *answers, detail=f"its log has the markers {say(markers)}")


@probe("KIP360-TXN-01", rig=STAGE, version=integers(3, 13), is_open=booleans(), records=RECORDS)
def write_outside_the_transaction(stage: Stage, case: str, version: int, is_open: bool, records: int) -> Claims:
    """A transactional batch to a partition not in the transaction is refused without effect; Produce v12 adds the partition."""
    producer = stage.transactional("tv2" if case == "tv2" else "legacy")
    if is_open:
        producer.enter(stage.log())
    log, before = stage.log(), producer.describe()
    not_added = (before.state == "Ongoing") == is_open and log.here not in before.partitions
    yield premise_of_description(not_added, "it was not added", producer)
    version = {"produce-v10": min(version, 10), "produce-v11": 11, "tv2": max(version, 12)}[case]
    answer = producer.send(log, producer.batch(log, records), version=stage.at_most("Produce", version))
    after, end, stable_end = producer.describe(), log.end(), log.stable_end()
    detail = f"the log ended at {end}, stable up to {stable_end}"
    if case == "tv2":
        added = after.state == "Ongoing" and log.here in after.partitions
        yield held_if(answer.error is Error.NONE and end == records and added, answer, after, detail=detail)
    else:
        error = Error.INVALID_TXN_STATE if case == "produce-v10" else Error.TRANSACTION_ABORTABLE
        yield held_if(answer.error is error and end == stable_end == 0, answer, after, detail=detail)


@probe("KIP360-TXN-11", rig=STAGE, records=RECORDS, bystanders=integers(1, 3), more=integers(0, 2))
def deleted_records_of_an_open_transaction(stage: Stage, case: str, records: int, bystanders: int, more: int) -> Claims:
    """With its records deleted a transaction stays open from the new log start, and commits."""
    producer, log = stage.transactional(case), stage.log()
    producer.enter(log, records)
    start = log.delete_all_records()
    yield premise(start == log.start() == log.end() == records, "every record is deleted")
    log.append(batch(*[b"bystander"] * bystanders))
    if more:
        producer.write(log, more)
    shown, stable_end = producer.describe(), log.stable_end()
    stays_open = shown.state == "Ongoing" and stable_end == start
    commit = producer.finish(committed=True)
    done = producer.await_completion() if commit.error is Error.NONE else producer.describe()
    ended = done.state == "CompleteCommit" and log.stable_end() == log.end() == start + bystanders + more + 1
    detail = f"its log began at {start}, was stable up to {stable_end} while it was open, and ends at {log.end()}"
    yield held_if(stays_open and commit.error is Error.NONE and ended, shown, commit, done, detail=detail)


def time_out_transaction(producer: StageProducer, records: int) -> DescribedTransaction:
    """Open a transaction; return its description after the coordinator has aborted it on timeout."""
    producer.enter(producer.stage.log(), records)
    return producer.await_completion("time-out")


@probe(
    "KIP360-TXN-03",
    rig=STAGE,
    cases=["legacy", "tv2"],
    examples=2,
    timeout_ms=TIMEOUTS_MS,
    bumps=EPOCH_BUMPS,
    records=FEW_RECORDS,
)
def timed_out_transaction_is_aborted(stage: Stage, case: str, timeout_ms: int, bumps: int, records: int) -> Claims:
    """A transaction that is open for too long is aborted on its partitions, and its epoch fenced."""
    producer, log = stage.transactional(case, timeout_ms), stage.log()
    producer.bump(bumps)
    producer.enter(log, records)
    yield observe_rollback(producer, log, producer.await_completion("time-out"))


@probe(
    "KIP360-TXN-05",
    "KIP360-TXN-05-L",
    "KIP360-TXN-04",
    rig=STAGE,
    cases=["legacy", "tv2"],
    timeout_ms=TIMEOUTS_MS,
    records=FEW_RECORDS,
    version=integers(3, 5),
)
def commit_after_the_time_out(
    stage: Stage, case: str, expected: str, timeout_ms: int, records: int, version: int
) -> Claims:
    """A commit after the timeout is refused; whether the producer can continue depends on the transaction version."""
    producer = stage.transactional(case, timeout_ms)
    aborted = time_out_transaction(producer, records)
    rolled_back = aborted.state == "CompleteAbort" and aborted.producer_epoch > producer.epoch
    yield premise(rolled_back, f"aborted by the coordinator: {aborted}", promised=("KIP360-TXN-03", case))
    commit = producer.finish(committed=True)
    legal = [Error.PRODUCER_FENCED] + [Error.INVALID_TXN_STATE] * (case == "tv2")
    yield held_if(commit.error in legal, aborted, commit, row="KIP360-TXN-04", variant=commit.error.name)
    back = producer.init(producer.producer_id, producer.epoch, version=stage.at_most("InitProducerId", version))
    bumped = gives_id(back, producer.producer_id, producer.epoch + 1)
    yield held_if(is_fenced(back) if expected == "FENCED" else bumped, aborted, back)
    yield kept_if("KIP360-TXN-05-L", bumped, aborted, back)


@probe("KIP360-TXN-04", rig=STAGE, cases=["tv2-abort"], timeout_ms=TIMEOUTS_MS, records=FEW_RECORDS)
def abort_after_the_time_out(stage: Stage, timeout_ms: int, records: int) -> Claims:
    """An abort by EndTxn v5 after the timeout succeeds, since it has already happened."""
    producer = stage.transactional("tv2", timeout_ms)
    aborted = time_out_transaction(producer, records)
    rolled_back = aborted.state == "CompleteAbort" and aborted.producer_epoch > producer.epoch
    yield premise(rolled_back, f"aborted by the coordinator: {aborted}", promised=("KIP360-TXN-03", "tv2"))
    answer = producer.finish(committed=False)
    yield held_if(answer.error is Error.NONE, aborted, answer, case="tv2-abort")
