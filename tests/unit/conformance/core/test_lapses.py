"""Sessions and transactions that ran out while the host slept: what tells of them, and what does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from conformance.core.checks import Claims, held_if
from conformance.core.lapses import DEFAULT_SESSION_TIMEOUT, OpenLease, find_expired
from conformance.judging.excuses import HOST_SLEPT
from fixtures.starvation import STARVATION
from history.events import Answer, AnyEvent, Call
from protocol.codes import Error
from protocol.groups import ConsumerGroupHeartbeat, HeartbeatAnswer
from tests.support.fake_cluster import FakeCluster
from tests.support.played_checks import ROW, Log, Play, check_of

Exchange = tuple[str, dict[str, Any], dict[str, Any]]


def history_of(*exchanges: Exchange) -> list[AnyEvent]:
    events: list[AnyEvent] = []
    for op, request, value in exchanges:
        n = len(events)
        events += [
            Call(n=n, t=float(n), op=op, node="broker-1", request=request),
            Answer(n=n + 1, t=n + 0.1, call=n, outcome="ok", value=value),
        ]
    return events


def heartbeat(epoch: int = 0, *, error: int = 0, member: str = "m", group: str = "g") -> Exchange:
    request = {"group": group, "member_id": member, "member_epoch": epoch}
    return "consumer_group_heartbeat", request, {"error_code": error, "member_epoch": epoch}


def joined(session_ms: int) -> Exchange:
    request = {"group": "g", "member_id": "", "session_timeout_ms": session_ms}
    return "join_group", request, {"error_code": 0, "member_id": "m"}


def committed(error: Error) -> Exchange:
    request = {"group": "g", "member_id": "m", "epoch": 3}
    return "offset_commit", request, {"partitions": [{"error_code": error.value}]}


GONE = committed(Error.UNKNOWN_MEMBER_ID)

SESSIONS: dict[str, tuple[list[Exchange], OpenLease | None]] = {
    "from the last heartbeat": ([heartbeat(), heartbeat(2), GONE], OpenLease(2, DEFAULT_SESSION_TIMEOUT)),
    "a classic member's own": ([joined(6_000), GONE], OpenLease(0, 6.0)),
    "of a member that only tried to leave": (
        [heartbeat(), heartbeat(-1, error=25), GONE],
        OpenLease(0, DEFAULT_SESSION_TIMEOUT),
    ),
    "near: another member's": ([heartbeat(member="n"), GONE], None),
    "near: another group's": ([heartbeat(group="h"), GONE], None),
    "near: never begun, as it was refused": ([heartbeat(error=25), GONE], None),
    "near: ended by the member itself": ([heartbeat(), heartbeat(-1), GONE], None),
    "near: refused for its epoch": ([heartbeat(), committed(Error.STALE_MEMBER_EPOCH)], None),
    "near: not refused": ([heartbeat(), committed(Error.NONE)], None),
}


@pytest.mark.parametrize(("exchanges", "lease"), SESSIONS.values(), ids=SESSIONS.keys())
def test_the_session_of_which_a_refusal_tells_that_it_ended(exchanges: list[Exchange], lease: OpenLease | None) -> None:
    assert find_expired(history_of(*exchanges)) == lease


def of_id(op: str, error: Error = Error.NONE, *, id: str = "t", timeout_ms: int | None = None) -> Exchange:
    timed = {} if timeout_ms is None else {"transaction_timeout_ms": timeout_ms}
    return op, {"transactional_id": id, **timed}, {"error_code": error.value}


def described(state: str) -> Exchange:
    return "describe_transaction", {"transactional_id": "t"}, {"error_code": 0, "state": state}


BEGUN = of_id("init_producer_id", timeout_ms=60_000)
ADDED = of_id("add_partitions_to_txn")
FENCED = of_id("end_txn", Error.PRODUCER_FENCED)

TRANSACTIONS: dict[str, tuple[list[Exchange], OpenLease | None]] = {
    "from its first request": ([BEGUN, ADDED, of_id("produce"), FENCED], OpenLease(2, 60.0)),
    "the second one": ([BEGUN, ADDED, of_id("end_txn"), of_id("produce"), FENCED], OpenLease(6, 60.0)),
    "described as aborted": ([BEGUN, ADDED, described("Ongoing"), described("CompleteAbort")], OpenLease(2, 60.0)),
    "near: described as open": ([BEGUN, ADDED, described("Ongoing")], None),
    "near: described as committed": ([BEGUN, ADDED, described("CompleteCommit")], None),
    "near: ended by its producer": ([BEGUN, ADDED, of_id("end_txn"), FENCED], None),
    "near: ended by another instance": ([BEGUN, ADDED, of_id("init_producer_id"), FENCED], None),
    "near: nothing was added": ([BEGUN, of_id("add_partitions_to_txn", Error.NOT_COORDINATOR), FENCED], None),
    "near: another id's": ([BEGUN, of_id("add_partitions_to_txn", id="u"), FENCED], None),
    "near: refused for another reason": ([BEGUN, ADDED, of_id("end_txn", Error.NOT_COORDINATOR)], None),
}


@pytest.mark.parametrize(("exchanges", "lease"), TRANSACTIONS.values(), ids=TRANSACTIONS.keys())
def test_the_transaction_of_which_an_answer_tells_that_it_ended(
    exchanges: list[Exchange], lease: OpenLease | None
) -> None:
    assert find_expired(history_of(*exchanges)) == lease


@pytest.fixture
def play(tmp_path: Path) -> Iterator[Play]:
    made = Play(tmp_path)
    yield made
    made.writer.close()


def ask(log: Log, error: Error, epoch: int = 1) -> HeartbeatAnswer:
    request = msgspec.to_builtins(ConsumerGroupHeartbeat("g", "m", epoch))
    made = HeartbeatAnswer(error=error, throttle_time_ms=0, version=1)
    return log.bench.tape.call("broker-1", "consumer_group_heartbeat", request, HeartbeatAnswer, lambda: made)


def is_taken(log: Log, error: Error, sleep: Callable[[], None] = lambda: None) -> Claims:
    ask(log, Error.NONE)
    sleep()
    answer = ask(log, error)
    yield held_if(answer.error is Error.NONE, answer)


@pytest.mark.parametrize(
    ("late", "error", "excused"),
    [
        (45.0, Error.UNKNOWN_MEMBER_ID, True),
        (44.0, Error.UNKNOWN_MEMBER_ID, False),
        (60.0, Error.FENCED_MEMBER_EPOCH, False),
    ],
    ids=["for the session", "for less than the session", "another refusal"],
)
def test_a_member_forgotten_while_the_host_slept_breaks_no_row(
    play: Play, monkeypatch: pytest.MonkeyPatch, late: float, error: Error, excused: bool
) -> None:
    def heartbeats(log: Log) -> Claims:
        """Expect a heartbeat to be accepted."""
        yield from is_taken(log, error, lambda: monkeypatch.setattr(STARVATION, "worst_lateness", lambda since: late))

    check = check_of(heartbeats)
    outcome, _ = play.live(check, FakeCluster(5))
    assert [(one.requirement, one.result) for one in outcome.observations] == ([] if excused else [(ROW, "violated")])
    assert [(one.requirement, one.excuse) for one in outcome.excuses] == ([(ROW, HOST_SLEPT.name)] if excused else [])
    monkeypatch.undo()
    again = play.again(check)
    assert again.excuses == outcome.excuses
    assert [one.events for one in again.observations] == [one.events for one in outcome.observations]


def test_what_ended_before_the_session_began_explains_nothing(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []

    def late(since: float, began: float) -> float:
        asked.append(since)
        return 60.0 if since < began else 0.0

    def heartbeats(log: Log) -> Claims:
        """Expect a heartbeat to be accepted after one for which the host slept."""
        now = log.bench.now().seconds
        monkeypatch.setattr(STARVATION, "worst_lateness", lambda since: late(since, now))
        yield from is_taken(log, Error.UNKNOWN_MEMBER_ID)

    outcome, _ = play.live(check_of(heartbeats), FakeCluster(5))
    assert (len(asked), [one.result for one in outcome.observations], outcome.excuses) == (1, ["violated"], [])
