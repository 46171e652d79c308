"""ListTransactions and its filters (KIP-664, KIP-994, KIP-1152)."""

from functools import partial
from typing import Any

from hypothesis.strategies import integers, sampled_from, sets, text

from conformance.core.checks import Claims, held_if, premise, probe
from conformance.rigs.producers.combined_node import STAGE, Stage, StageProducer
from protocol.codes import Error
from protocol.transactions import ListTransactionsAnswer
from protocol.words import say

STATES = ("Empty", "Ongoing", "CompleteCommit", "CompleteAbort")
SOME_STATES = sets(sampled_from(STATES), min_size=1, max_size=3).map(sorted)
ENOUGH_MS = 10


def in_each_state(stage: Stage) -> dict[str, StageProducer]:
    """Create a producer with a transaction in each of the lasting states."""
    ends = {"CompleteCommit": True, "CompleteAbort": False}
    producers = {state: stage.transactional() for state in STATES}
    for state, producer in producers.items():
        if state != "Empty":
            producer.enter(stage.log())
        if state in ends:
            producer.end(ends[state])
    return producers


@probe("KIP360-TXN-08", rig=STAGE, cases=["state", "producer-id", "name-pattern"], wanted=SOME_STATES)
def filtered_transactions_are_listed(stage: Stage, case: str, wanted: list[str]) -> Claims:
    """ListTransactions returns all that match its filter, and nothing else."""
    producers = in_each_state(stage)
    shown = {producer.transactional_id: producer.describe().state for producer in producers.values()}
    yield premise(sorted(shown.values()) == sorted(STATES), f"{say(shown)}", promised=("KIP360-TXN-06", "legacy"))
    admitted = {id for id, state in shown.items() if state in wanted}
    filters: dict[str, dict[str, Any]] = {
        "state": {"states": wanted},
        "producer-id": {"producer_ids": [producers[state].producer_id for state in wanted]},
        "name-pattern": {"transactional_id_pattern": "|".join(sorted(admitted))},
    }
    listed = stage.answer_when_ready(lambda: stage.broker.list_transactions(**filters[case]))
    found = {transaction.transactional_id for transaction in listed.transaction_states}
    if case == "state":
        # Other transactions of the cluster may be in these states, too.
        only_wanted = {transaction.state for transaction in listed.transaction_states} <= set(wanted)
        held = only_wanted and found & set(shown) == admitted
    else:
        held = found == admitted
    yield held_if(
        listed.error is Error.NONE and held,
        listed,
        detail=f"of these, {say(sorted(admitted))} match the {case} filter for {say(wanted)}",
    )


@probe("KIP360-TXN-08", rig=STAGE, cases=["unknown-state"], name=text("abcdefgh", min_size=3, max_size=8))
def unknown_state_is_returned(stage: Stage, name: str) -> Claims:
    """A name that is not a state matches nothing and is returned as unknown."""
    in_each_state(stage)
    listed = stage.answer_when_ready(lambda: stage.broker.list_transactions(states=[name]))
    yield held_if(listed.unknown_state_filters == (name,) and not listed.transaction_states, listed)


def running(stage: Stage, duration_ms: int) -> ListTransactionsAnswer:
    return stage.broker.list_transactions(states=["Ongoing"], duration_ms=duration_ms)


@probe("KIP360-TXN-08", rig=STAGE, cases=["duration"], longer_ms=integers(60_000, 10_000_000), count=integers(1, 3))
def duration_filter_is_applied(stage: Stage, longer_ms: int, count: int) -> Claims:
    """The duration filter matches transactions open for longer, and no others."""
    owners = [stage.transactional() for _ in range(count)]
    for owner in owners:
        owner.enter(stage.log())
    began = max(owner.describe().start_time_ms for owner in owners)
    stage.bench.eventually(lambda: stage.bench.now().unix_ms > began + 10 * ENOUGH_MS, "transactions open for a while")
    short, long = (stage.answer_when_ready(partial(running, stage, duration)) for duration in (ENOUGH_MS, longer_ms))
    ids = {owner.transactional_id for owner in owners}
    listed = [ids & {found.transactional_id for found in answer.transaction_states} for answer in (short, long)]
    yield held_if(
        listed == [ids, set()],
        short,
        long,
        detail=f"open for {ENOUGH_MS} ms and less than {longer_ms} ms: {say(sorted(ids))}",
    )
