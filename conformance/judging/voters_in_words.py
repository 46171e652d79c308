"""Requests of a voter to those that the kit plays, and the kit's answers, in words."""

from collections.abc import Callable
from typing import Any

from protocol.words import say_error

Plain = dict[str, Any]


def _wait(request: Plain) -> str:
    return f"for {request.get('api') or 'a request'}"


def _received(value: Plain) -> str:
    received: Plain | None = value["received"]
    if received is None:
        return "none came"
    place = f"number {received['number']}, to voter {received['peer']}:"
    topics = received["body"].get("topics")
    if not topics or not topics[0].get("partitions"):
        return f"{place} {received['api']}"
    return f"{place} {_asked(received['api'], topics[0]['partitions'][0])}"


def _asked(api: str, partition: Plain) -> str:
    if api == "Vote":
        kind = "pre-vote" if partition.get("pre_vote") else "Vote"
        epoch = partition.get("replica_epoch", partition.get("candidate_epoch"))
        return f"{kind} at epoch {epoch}, log end {partition['last_offset']} of epoch {partition['last_offset_epoch']}"
    if api == "Fetch":
        fetched = f"from {partition['fetch_offset']} last fetched {partition['last_fetched_epoch']}"
        return f"Fetch at epoch {partition['current_leader_epoch']} {fetched}"
    if api in ("BeginQuorumEpoch", "EndQuorumEpoch"):
        listed = [one["candidate_id"] for one in partition.get("preferred_candidates") or ()]
        successors = ", ".join(map(str, listed or partition.get("preferred_successors") or ()))
        after = f", successors {successors}" if successors else ""
        return f"{api} of leader {partition['leader_id']} at epoch {partition['leader_epoch']}{after}"
    return api


def _reply(request: Plain) -> str:
    body = request["body"]
    topics = body.get("responses") or body.get("topics")
    error = body.get("error_code", 0)
    text = f"the kit's answer to number {request['number']}: "
    if error or not topics:
        return text + say_error(error)
    return text + _answered(topics[0]["partitions"][0])


def _answered(partition: Plain) -> str:
    """Return the error, the leader, and what else the answer is about."""
    leader: Plain = partition.get("current_leader") or partition
    vote = "" if "vote_granted" not in partition else "vote granted" if partition["vote_granted"] else "vote refused"
    diverging = partition.get("diverging_epoch")
    where = f"diverging at epoch {diverging['epoch']} end {diverging['end_offset']}" if diverging else ""
    parts = [
        say_error(partition.get("error_code", 0)),
        vote,
        f"leader {leader['leader_id']} at epoch {leader['leader_epoch']}" if "leader_id" in leader else "",
        where,
        "records" if partition.get("records") else "",
    ]
    return ", ".join(part for part in parts if part)


REQUESTS: dict[str, Callable[[Plain], str]] = {"receive": _wait, "reply": _reply}
OUTCOMES: dict[str, Callable[[Plain], str]] = {"receive": _received}
