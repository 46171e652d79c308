"""Sessions and transactions that may have expired because the host slept, so that their end shows nothing else."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from conformance.core.bench import Bench
from history.events import Answer, AnyEvent, Call
from protocol.codes import Error

DEFAULT_SESSION_TIMEOUT = 45.0
"""The default session timeout of a member, in seconds; a JoinGroup may have another."""

HEARTBEATS = {"consumer_group_heartbeat", "streams_group_heartbeat", "heartbeat", "join_group", "sync_group"}
"""Requests that restart the session timeout of a member."""

TRANSACTION_ENDS = {"init_producer_id", "bump_epochs", "end_txn"}
"""Requests after which a transactional id has no open transaction."""

REFUSALS = {Error.INVALID_PRODUCER_EPOCH, Error.PRODUCER_FENCED, Error.INVALID_TXN_STATE}
"""Errors for a producer whose transaction timed out."""

ABORTED = {"PrepareAbort", "CompleteAbort", "PrepareEpochFence"}
"""The described states of a transaction that timed out."""


class OpenLease(NamedTuple):
    """A session or open transaction: the event at which it began (`since`), and its timeout in seconds (`lasts`)."""

    since: int
    lasts: float


class Exchange(NamedTuple):
    """A request and its answer."""

    call: Call
    answer: Answer

    @property
    def errors(self) -> frozenset[int]:
        """All errors in the answer; looking for them takes long."""
        return frozenset(_errors_in(self.answer.value))

    @property
    def is_accepted(self) -> bool:
        return self.answer.outcome == "ok" and not self.errors


def expired_while_asleep(bench: Bench, by: Sequence[int]) -> bool:
    """True if one of these answers shows that a session or transaction expired while the host slept."""
    events = bench.tape.history.events
    return any(
        (late := bench.wait.slept_since(lease.since)) and max(late, events[n].t - events[lease.since].t) >= lease.lasts
        for n in by
        if (lease := find_expired(events[: n + 1])) is not None
    )


def find_expired(events: Sequence[AnyEvent]) -> OpenLease | None:
    """Return the session or transaction whose end the last of these events, an answer, shows; None if it shows no end."""
    calls = {event.n: event for event in events if isinstance(event, Call)}
    exchanged = [
        Exchange(calls[event.call], event) for event in events if isinstance(event, Answer) and event.call in calls
    ]
    last, earlier = exchanged[-1], exchanged[:-1]
    errors = last.errors
    if Error.UNKNOWN_MEMBER_ID in errors:
        return _session(last.call.request, earlier)
    state = last.answer.value.get("state", "") if isinstance(last.answer.value, dict) else ""
    return _open_transaction(last.call.request, earlier) if errors & REFUSALS or state in ABORTED else None


def _session(asked: dict[str, Any], earlier: Sequence[Exchange]) -> OpenLease | None:
    """Return the member's session since its last accepted heartbeat; None if that heartbeat left the group."""
    member = (_group_of(asked), asked.get("member_id"))
    found, lasts = None, DEFAULT_SESSION_TIMEOUT
    for call, answer in (one for one in earlier if one.call.op in HEARTBEATS and one.is_accepted):
        if (_group_of(call.request), call.request["member_id"] or answer.value.get("member_id")) == member:
            lasts = call.request.get("session_timeout_ms", lasts * 1000) / 1000
            found = OpenLease(call.n, lasts) if call.request.get("member_epoch", 0) >= 0 else None
    return found


def _group_of(request: dict[str, Any]) -> str | None:
    return request.get("group") or request.get("group_id")


def _open_transaction(asked: dict[str, Any], earlier: Sequence[Exchange]) -> OpenLease | None:
    """Return the transactional id's open transaction since its first accepted request; None if none is open."""
    id, found, lasts = asked.get("transactional_id"), None, 0.0
    for one in (one for one in earlier if id and one.call.request.get("transactional_id") == id):
        if one.call.op in TRANSACTION_ENDS:
            found, lasts = None, one.call.request.get("transaction_timeout_ms", lasts * 1000) / 1000
        elif found is None and not one.call.op.startswith("describe") and one.is_accepted:
            found = OpenLease(one.call.n, lasts)
    return found


def _errors_in(value: object) -> Iterator[int]:
    """Yield the error codes in an answer and its parts, except NONE."""
    if isinstance(value, dict):
        for name, part in value.items():
            if name in ("error_code", "top_level_error") and part:
                yield part
            yield from _errors_in(part)
    elif isinstance(value, list):
        for part in value:
            yield from _errors_in(part)
