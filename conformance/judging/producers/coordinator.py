"""The answers of a transaction coordinator: pure functions from its state and one request to answers and next states.

The tables are those of KIP-98 (first protocol), KIP-360 (InitProducerId) and KIP-890 (second protocol). Transient answers, while
a coordinator moves or loads, belong to no state: see `conformance.judging.producers.answers`.
"""

from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

from conformance.judging.excuses import BUMPED_BY_FENCED, Evidence
from protocol.codes import Error
from protocol.since import SUPPORT, since

Status = Literal["", "Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort"]
"""A transaction's state in the coordinator's words; empty if the coordinator does not know the transactional id."""
PREPARED: dict[Status, Status] = {"PrepareCommit": "CompleteCommit", "PrepareAbort": "CompleteAbort"}
"""The states in which markers are being written, each with the state that follows."""
NO_ID, NEW_ID = -1, -2
"""Placeholders for a producer id: none was sent; a new one that no answer has shown yet."""
NO_EPOCH = -1
LAST_EPOCH = 32_766
"""The highest epoch that a client may hold; after it comes epoch 0 of another producer id (KIP360-INIT-15). A coordinator may
itself be at the epoch above, between the abort of a transaction and the next InitProducerId."""
PASSED = -10
"""A placeholder for an error code: the coordinator lets the write pass, so the leader of the partition decides."""
PASSED_LATE = -11
"""Like PASSED, but the transaction's markers are being written: the leader may or may not have its marker yet."""
Api = Literal["InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "EndTxn", "Produce", "TxnOffsetCommit"]


class State(NamedTuple):
    """A transactional id as its coordinator knows it."""

    status: Status = ""
    producer_id: int = NO_ID
    epoch: int = NO_EPOCH
    retried: int = NO_EPOCH
    """The previous epoch, whose owner may ask for the current one again, since it may have lost the answer."""
    added: frozenset[str] = frozenset()
    """The partitions of the open transaction, as `topic-0`, and its groups, as `group g`."""
    opened: int = -1
    """The event of the first request of the open transaction."""
    since: int = -1
    """The event since which the epoch is current."""
    node: str = ""
    """The broker that answered with the epoch."""
    timeout_ms: int = -1
    raised: bool = False
    """The epoch was raised to abort the transaction, but the log append failed: no other coordinator knows of it."""
    former_id: int = NO_ID
    """The producer id with the exhausted epochs, as long as its owner may ask for the current one again (KIP360-INIT-16)."""

    @property
    def sort_key(self) -> tuple[int, int, Status]:
        """The key for choosing which of several states to describe in words."""
        return self.since, self.epoch, self.status


class CoordinatorRequest(NamedTuple):
    """A request about a transactional id. `event` is that of its answer. `names` are the partitions and groups that it adds or
    writes to, as in `State`."""

    api: Api
    asked: int
    event: int
    node: str
    version: int
    producer_id: int
    epoch: int
    names: frozenset[str] = frozenset()
    commits: bool = False
    timeout_ms: int = -1
    times: int = 1
    """The number of consecutive InitProducerId requests, each with the epoch that the previous one was given."""
    names_member: bool = False
    """True if a TxnOffsetCommit names a member, an instance or a generation, which the group coordinator checks too."""
    failed_over: bool = False
    """True if another broker may have become the coordinator since the epoch was given, so that state kept only in memory is
    lost."""

    @property
    def is_tv2(self) -> bool:
        """True if the request is of transaction version 2 (KIP-890)."""
        return self.version >= SUPPORT[self.api].get("transaction V2", self.version + 1)


class RightAnswer(NamedTuple):
    """One right answer: its error, and the producer id and epoch that come with success.

    `excuse`: the evidence if releases give this answer against the protocol. `kind`: the kind of answer, if the error alone does
    not determine it.
    """

    error: int
    producer_id: int = NO_ID
    epoch: int = NO_EPOCH
    excuse: Evidence | None = None
    kind: str = ""


Next = Iterator[tuple[RightAnswer, State]]
CONCURRENT = RightAnswer(Error.CONCURRENT_TRANSACTIONS)
UNSEEN_CHANGE = RightAnswer(-99)
"""A placeholder for an answer: a change that no answer shows, since the coordinator failed to write it to its log."""


def fenced_error(request: CoordinatorRequest) -> int:
    """Return the error for an old epoch. Leaders answer Produce and TxnOffsetCommit with INVALID_PRODUCER_EPOCH."""
    first = SUPPORT[request.api].get("PRODUCER_FENCED")
    return Error.INVALID_PRODUCER_EPOCH if first is None or request.version < first else Error.PRODUCER_FENCED


def not_added_error(request: CoordinatorRequest) -> int:
    """Return the error for a partition that is in no open transaction (KIP-890)."""
    abortable = request.version >= since(request.api, "TRANSACTION_ABORTABLE")
    return Error.TRANSACTION_ABORTABLE if abortable else Error.INVALID_TXN_STATE


def right_answers(state: State, request: CoordinatorRequest) -> Next:
    """Return all right answers, each with the state that it leaves."""
    return _BY_API[request.api](state, request)


# --- InitProducerId (KIP-360)


def _init(state: State, request: CoordinatorRequest) -> Next:
    if (request.producer_id == NO_ID) != (request.epoch == NO_EPOCH):
        yield RightAnswer(Error.INVALID_REQUEST), state
    elif state.status == "":
        yield RightAnswer(Error.NONE, NEW_ID, 0), _after_init(State(producer_id=NEW_ID), 0, NO_EPOCH, request)
    elif request.producer_id not in (NO_ID, state.producer_id) and not _is_of_former(state, request):
        yield RightAnswer(fenced_error(request)), state
    elif state.status in PREPARED:
        yield CONCURRENT, state
    elif state.status == "Ongoing":
        yield from _init_while_open(state, request)
    else:
        yield from _init_at_rest(state, request)


def _is_of_former(state: State, request: CoordinatorRequest) -> bool:
    """True if the request comes from the owner of the exhausted producer id, at its last epoch (rule 2.2)."""
    return request.producer_id == state.former_id != NO_ID and request.epoch == LAST_EPOCH


def _init_while_open(state: State, request: CoordinatorRequest) -> Next:
    """Yield the answers to InitProducerId in an open transaction.

    The request aborts the transaction and has to be sent again; a coordinator may also wait for the abort, and return the epoch
    at once.
    """
    stale = request.epoch not in (NO_EPOCH, state.epoch)
    if stale:
        yield RightAnswer(fenced_error(request)), state
    if stale and request.epoch == state.retried:
        yield RightAnswer(Error.NONE, state.producer_id, state.epoch), state
    for outcome, after in _fenced_by_server(state, request.event):
        yield (outcome._replace(excuse=BUMPED_BY_FENCED) if stale and outcome != UNSEEN_CHANGE else outcome), after
        if outcome == CONCURRENT and not stale:
            ended = _init_at_rest(after._replace(status="CompleteAbort", added=frozenset()), request)
            yield from (each for each in ended if each[0].error == Error.NONE)


def _fenced_by_server(state: State, event: int) -> Next:
    """Yield the states after an abort at the next epoch. With TV2 the former owner may return (KIP360-INIT-11, TXN-05)."""
    next = state._replace(epoch=state.epoch + (not state.raised), since=event, raised=True)
    for retried in (NO_EPOCH, state.epoch):
        yield CONCURRENT, next._replace(status="PrepareAbort", retried=retried, raised=False)
    if not state.raised:
        yield UNSEEN_CHANGE, next


def _init_at_rest(state: State, request: CoordinatorRequest) -> Next:
    asked = request.epoch in (NO_EPOCH, state.epoch)
    if state.epoch >= LAST_EPOCH and (asked or (state.epoch > LAST_EPOCH and request.epoch == state.retried)):
        # No client has the epoch above the last one: its owner is that of the last one.
        yield RightAnswer(Error.NONE, NEW_ID, 0), _with_new_id(_after_init(state, 0, request.epoch, request), state)
    elif asked:
        epoch = state.epoch + request.times
        retried = NO_EPOCH if request.epoch == NO_EPOCH else epoch - 1
        yield RightAnswer(Error.NONE, state.producer_id, epoch), _after_init(state, epoch, retried, request)
    elif request.epoch == state.retried:
        again = _after_init(state, state.epoch, state.retried, request)
        again = again._replace(since=state.since, former_id=state.former_id)
        yield RightAnswer(Error.NONE, state.producer_id, state.epoch), again
        if request.failed_over:
            yield RightAnswer(fenced_error(request)), state
    else:
        yield RightAnswer(fenced_error(request)), state


def _with_new_id(after: State, before: State) -> State:
    """Return the state with another producer id in place of the previous one, at epoch 0."""
    return after._replace(producer_id=NEW_ID, epoch=0, former_id=before.producer_id)


def _after_init(state: State, epoch: int, retried: int, request: CoordinatorRequest) -> State:
    at = State("Empty", state.producer_id, epoch, retried, since=request.event)
    return at._replace(node=request.node, timeout_ms=request.timeout_ms)


# --- AddPartitionsToTxn, AddOffsetsToTxn (KIP-98)


def _add(state: State, request: CoordinatorRequest) -> Next:
    if (error := _fencing_error(state, request)) is not None:
        yield RightAnswer(error), state
    elif state.status in PREPARED:
        yield CONCURRENT, state
    else:
        yield RightAnswer(Error.NONE), _open(state, request)


def _fencing_error(state: State, request: CoordinatorRequest) -> int | None:
    """Return the error for a producer id or epoch that is not the current one."""
    if state.status == "" or request.producer_id != state.producer_id:
        return Error.INVALID_PRODUCER_ID_MAPPING
    return fenced_error(request) if request.epoch != state.epoch else None


def _open(state: State, request: CoordinatorRequest) -> State:
    is_open = state.status == "Ongoing"
    added = state.added | request.names if is_open else request.names
    opened = state.opened if is_open else request.asked
    return state._replace(status="Ongoing", added=added, opened=opened, former_id=NO_ID)


# --- EndTxn (KIP-98, KIP-890)


def _end(state: State, request: CoordinatorRequest) -> Next:
    return _end_second(state, request) if request.is_tv2 else _end_first(state, request)


def _end_first(state: State, request: CoordinatorRequest) -> Next:
    if (error := _fencing_error(state, request)) is not None:
        yield RightAnswer(error), state
    elif state.status == "Ongoing":
        yield RightAnswer(Error.NONE), state._replace(status=_prepare_status(request))
    else:
        yield RightAnswer(_error_of_repeated_end(state, request)), state


def _prepare_status(request: CoordinatorRequest) -> Status:
    return "PrepareCommit" if request.commits else "PrepareAbort"


def _error_of_repeated_end(state: State, request: CoordinatorRequest) -> int:
    """Return the error of an EndTxn for a transaction that was already decided, by the same decision or the other one."""
    if state.status == _prepare_status(request):
        return Error.CONCURRENT_TRANSACTIONS
    return Error.NONE if state.status == PREPARED[_prepare_status(request)] else Error.INVALID_TXN_STATE


def _end_second(state: State, request: CoordinatorRequest) -> Next:
    """Yield the answers to EndTxn of transaction version 2. Its epoch distinguishes it from a retry for the previous
    transaction."""
    of_former = _is_of_former(state, request)
    current, again = request.epoch == state.epoch, of_former or request.epoch == state.epoch - 1
    ended = state.status in PREPARED or state.status in PREPARED.values()
    if state.status == "" or (request.producer_id != state.producer_id and not of_former):
        yield RightAnswer(Error.INVALID_PRODUCER_ID_MAPPING), state
    elif again and ended:
        yield from _end_again(state, request)
    elif of_former:
        # Rotated by InitProducerId, and not by this request: no KIP says with which error it is refused.
        for error in (Error.INVALID_PRODUCER_ID_MAPPING, fenced_error(request), Error.INVALID_TXN_STATE):
            yield RightAnswer(error, kind="fenced"), state
    elif not current or state.status in PREPARED:
        yield RightAnswer(fenced_error(request)), state
    elif state.status == "Ongoing" or not request.commits:
        # May the owner of the epoch that was ended ask for the next one by InitProducerId? No KIP says.
        for retried in (NO_EPOCH, state.epoch):
            after = _bump(state, request)._replace(retried=retried)
            yield RightAnswer(Error.NONE, after.producer_id, after.epoch), after
    else:
        yield RightAnswer(Error.INVALID_TXN_STATE), state


def _end_again(state: State, request: CoordinatorRequest) -> Next:
    error = _error_of_repeated_end(state, request)
    shown = (state.producer_id, state.epoch) if error == Error.NONE and state.epoch <= LAST_EPOCH else (NO_ID, NO_EPOCH)
    yield RightAnswer(error, *shown), state
    if error == Error.INVALID_TXN_STATE and request.commits:
        # For a commit that came too late both errors are right (KIP360-TXN-04).
        yield RightAnswer(fenced_error(request), kind="not-open"), state


def _bump(state: State, request: CoordinatorRequest) -> State:
    """Return the state after EndTxn, with the decision and the next epoch. An empty transaction can be aborted, too."""
    after = state._replace(status=_prepare_status(request), epoch=state.epoch + 1, former_id=NO_ID)
    after = _with_new_id(after, state) if state.epoch >= LAST_EPOCH else after
    return after._replace(since=request.event, node=request.node)


# --- Produce, TxnOffsetCommit: verified by the coordinator (KIP-890)


def _write(state: State, request: CoordinatorRequest) -> Next:
    """Yield the answers to a write. With transaction version 2 the write adds its partition itself."""
    error = _fencing_error(state, request)
    if state.status in PREPARED:
        yield CONCURRENT, state
        yield RightAnswer(PASSED_LATE), state
    if error is not None:
        yield RightAnswer(error), state
    elif request.is_tv2 and state.status not in PREPARED:
        yield RightAnswer(PASSED), _open(state, request)
    elif not request.is_tv2 and state.status not in PREPARED:
        inside = state.status == "Ongoing" and request.names <= state.added
        yield RightAnswer(PASSED if inside else not_added_error(request)), state


_BY_API: dict[Api, Callable[[State, CoordinatorRequest], Next]] = {
    "InitProducerId": _init,
    "AddPartitionsToTxn": _add,
    "AddOffsetsToTxn": _add,
    "EndTxn": _end,
    "Produce": _write,
    "TxnOffsetCommit": _write,
}


# --- what happens without a request


def unrequested_states(state: State, *, timed_out: bool, expired: bool = False) -> Iterator[State]:
    """Yield the states that follow without a request: all markers are written, an open transaction times out, or an idle
    transactional id is forgotten."""
    if (complete := PREPARED.get(state.status)) is not None:
        after = state._replace(status=complete, added=frozenset())
        yield after
        if after.epoch > LAST_EPOCH:
            yield _with_new_id(after, state)  # by the second protocol, at once (KIP360-INIT-17)
    elif state.status == "Ongoing" and timed_out:
        yield from (after for _, after in _fenced_by_server(state, state.opened))
    elif state.status not in ("", "Ongoing") and expired:
        yield State()
    if state.raised:
        yield state._replace(epoch=state.epoch - 1, raised=False)
