"""Echoes: earlier requests of an example sent again, as a network or a retrying client may repeat them."""

import msgspec

from conformance.core.bench import Bench
from conformance.core.roles import Absent
from fixtures.wire import NodeClient
from history.events import Answer, Call
from history.subjects import subjects_of
from protocol.operations import OPERATIONS

ECHOED = frozenset(
    {
        "add_offsets_to_txn",
        "add_partitions_to_txn",
        "alter_partition_reassignments",
        "consumer_group_heartbeat",
        "create_partitions",
        "create_topics",
        "delete_records",
        "delete_topics",
        "elect_leaders",
        "end_txn",
        "heartbeat",
        "incremental_alter_configs",
        "init_producer_id",
        "join_group",
        "leave_group",
        "offset_commit",
        "produce",
        "sync_group",
        "txn_offset_commit",
    }
)
"""The typed calls whose requests change something."""

INTERNAL = "__"
"""The prefix of the names of internal topics."""


def echo_request(bench: Bench, back: int) -> None:
    """Send a request (`request_to_echo`) again to the same broker, with the same version and fields, so that the body is
    identical. Raises Absent if there is none, and the errors of the call."""
    original = request_to_echo(bench, back)
    _send_again(bench.node(original.node), original, _version_of(bench, original))


def request_to_echo(bench: Bench, back: int) -> Call:
    """Return the `back`-th request of `ECHOED` before the latest, modulo their number. Raises Absent if there are none."""
    calls = [event for event in bench.tape.history.events if isinstance(event, Call) and _can_be_echoed(bench, event)]
    if not calls:
        raise Absent("no request of the example can be echoed yet")
    return calls[-1 - back % len(calls)]


def _can_be_echoed(bench: Bench, call: Call) -> bool:
    """True if the request may be sent again.

    A batch without a timestamp gets one when it is encoded, so its bytes would differ. Requests for internal topics prepare a
    coordinator's log, and are not part of the example.
    """
    batch = call.request.get("records")
    internal = any(subject.name.startswith(INTERNAL) for subject in subjects_of(call))
    return (
        call.op in ECHOED
        and call.node in bench.brokers
        and not (batch and _batch_timestamp(batch) is None)
        and not internal
    )


def _batch_timestamp(batch: object) -> object:
    return batch.get("timestamp") if isinstance(batch, dict) else batch


def _version_of(bench: Bench, call: Call) -> int | None:
    """Return the version of the original request if its answer has it, else None."""
    answers = (event for event in bench.tape.history.events if isinstance(event, Answer) and event.call == call.n)
    answer = next(answers, None)
    return answer.value.get("version") if answer is not None and isinstance(answer.value, dict) else None


def _send_again(client: NodeClient, call: Call, version: int | None) -> None:
    fields = msgspec.structs.asdict(msgspec.convert(call.request, OPERATIONS[call.op]))
    getattr(client, call.op)(**fields | {"version": fields["version"] or version})
