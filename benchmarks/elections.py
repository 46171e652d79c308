"""The times in which leaders of the quorum resign and voters stand for election, as recorded histories show them: the data from
which the bounds of KIP-595's checks are fixed."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import msgspec

from history.events import Answer, Call, Fault, History
from history.store import read_histories
from protocol.codes import Error

ISOLATION = "isolated-controller-leader"
LEADER_CHECK = ".leader_without_fetches_resigns"
FOLLOWER_CHECK = ".silent_leader_is_given_up_after_the_fetch_timeout"

DATA = Path(__file__).with_name("elections.json")
"""The waits that were measured for the bounds as they are."""

Waits = Mapping[str, Mapping[str, list[float]]]
"""Seconds, in ascending order, by what was waited for and by version."""

RESIGNS = "last fetch served, until it leads no more"
STANDS = "last fetch answered, until it asks for votes"
LEADS_NO_MORE = "cut off, until it is asked and leads no more"
SUCCEEDED = "cut off, until another leads"


def measure(histories: Iterable[History]) -> Waits:
    """Return the waits in these histories."""
    found: defaultdict[str, defaultdict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for history in histories:
        for wait, seconds in _waits(history):
            found[wait][history.example.column].append(round(seconds, 3))
    return {wait: {version: sorted(found[wait][version]) for version in sorted(found[wait])} for wait in sorted(found)}


def stored_histories(folders: Iterable[Path]) -> Iterator[History]:
    """Yield the histories of all runs below these folders."""
    return (one for folder in folders for file in sorted(folder.rglob("*.jsonl.zst")) for one in read_histories(file))


def read_waits(file: Path = DATA) -> Waits:
    return msgspec.json.decode(file.read_bytes(), type=dict[str, dict[str, list[float]]])


def as_json(waits: Waits) -> str:
    """Return the text of the file, with a line for each version."""
    lines = [
        f' "{wait}": {{\n' + ",\n".join(f'  "{version}": {own}' for version, own in by_version.items()) + "\n }"
        for wait, by_version in waits.items()
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def table(waits: Waits) -> str:
    """Return a Markdown table of the distributions."""
    lines = ["| | Kafka | n | least | median | 95 % below | most |", "|---|---|---:|---:|---:|---:|---:|"]
    for wait, by_version in waits.items():
        for version, own in by_version.items():
            p95 = quantiles(own, n=20, method="inclusive")[-1] if len(own) > 1 else own[0]
            seconds = " | ".join(f"{value:.2f} s" for value in (own[0], median(own), p95, own[-1]))
            lines.append(f"| {wait} | {version} | {len(own)} | {seconds} |")
    return "\n".join(lines)


def _waits(history: History) -> Iterator[tuple[str, float]]:
    """Yield the waits of an example, with their kind."""
    if history.example.check.endswith(LEADER_CHECK):
        yield from resignation(history)
    if history.example.check.endswith(FOLLOWER_CHECK):
        yield from candidacies(history.answered_calls())
    yield from isolation(history)


def isolation(history: History) -> Iterator[tuple[str, float]]:
    """Yield the times from the cut of a leader from the other voters until another one was seen to lead, and until its own
    answer that it does not lead: it may be asked only after the former."""
    phases: dict[str, Fault] = {}
    for event in history.events:
        if isinstance(event, Fault) and event.fault == ISOLATION:
            phases.setdefault(event.phase, event)
    cut, healed, consequence = (phases.get(name) for name in ("inject", "heal", "consequence"))
    if cut is None:
        return
    if consequence is not None and consequence.detail.get("met"):
        yield SUCCEEDED, consequence.t - cut.t
    until = healed.t if healed is not None else history.events[-1].t
    for call, answer in history.answered_calls():
        if call.node == cut.node and cut.t < answer.t < until and _has_resigned(call, answer):
            yield LEADS_NO_MORE, answer.t - cut.t
            return


def _has_resigned(call: Call, answer: Answer) -> bool:
    return (
        call.op == "describe_quorum"
        and answer.outcome == "ok"
        and answer.value["error_code"] == Error.NOT_LEADER_OR_FOLLOWER
    )


def resignation(history: History) -> Iterator[tuple[str, float]]:
    """Yield the time from the last fetch that a scripted leader of three served to a voter until it leads no more."""
    served: float | None = None
    for call, answer in history.answered_calls():
        if call.op == "fetch" and answer.outcome == "ok" and answer.value["error_code"] == Error.NONE:
            served = answer.t
        elif served is not None and _has_resigned(call, answer):
            yield RESIGNS, answer.t - served
            return


def candidacies(answered: Iterable[tuple[Call, Answer]]) -> Iterator[tuple[str, float]]:
    """Yield the times from the last fetch that a scripted leader answered to the first request for votes of its follower."""
    now, replied = 0.0, None
    for call, answer in answered:
        received = _received(call, answer)
        if call.op == "now":
            now = answer.value["seconds"]
        elif call.op == "reply":
            replied = now
        elif received is not None and received["api"] == "Vote":
            if replied is not None:
                yield STANDS, received["at"] - replied
            replied = None


def _received(call: Call, answer: Answer) -> dict[str, Any] | None:
    """Return the request that a scripted peer received by this call, if any."""
    if call.op != "receive" or answer.outcome != "ok":
        return None
    received: dict[str, Any] | None = answer.value["received"]
    return received
