"""Counts of meetings, states, answers and excuses that a machine's examples reached, kept from run to run.

Each part of a machine writes its own file, so that parts need not wait for each other; the total is the sum of the files. New
counts affect drawing only from the next batch of examples on.
"""

from __future__ import annotations

import functools
import operator
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from conformance.core.machines import AnyMachine, all_machines
from conformance.running.machine.example import FinishedExample
from history.events import Answer, Call, Fault, History
from history.shards import ExcuseCount
from history.steps import steps_taken
from protocol.codes import Error
from strategies.episodes import Meeting, Offer, Steering, steer
from strategies.meetings import count_meetings

FOLDER = "reached"
"""The folder below a run's output directory with one folder per column."""
UNKNOWN = "not described yet"


class ReachCounts(msgspec.Struct, kw_only=True):
    """Counts of what examples reached, in words.

    `meetings`: "kill isolate" if the second fault hit a partition while the first was active there, and "reassign-partition kill"
    if administration met a fault. `states`: a fault with the state of its partition at the injection. `answers`: a request with
    the error of its answer. `excuses`: a row, its case and an excuse.
    """

    meetings: dict[str, int] = {}
    states: dict[str, int] = {}
    answers: dict[str, int] = {}
    excuses: dict[str, int] = {}

    def __add__(self, other: ReachCounts) -> ReachCounts:
        names = self.__struct_fields__
        return ReachCounts(
            **{name: dict(Counter(getattr(self, name)) + Counter(getattr(other, name))) for name in names}
        )

    def meeting_counts(self) -> dict[Meeting, int]:
        """Return the counts of meetings, by pair."""
        return {_pair_of_words(words): times for words, times in self.meetings.items()}


def _pair_of_words(words: str) -> Meeting:
    one, other = words.split()
    return one, other


# --- one example


def count_reached(played: FinishedExample) -> ReachCounts:
    """Count what an example reached by the steps that ran, and by the answers."""
    did = [played.steps[step.number] for step in steps_taken(played.history) if not step.left_out]
    return ReachCounts(
        meetings={" ".join(pair): times for pair, times in count_meetings(did).items()},
        states=Counter(_injection_states(played.history)),
        answers=Counter(_answer_texts(played.history)),
        excuses=_count_excuses(played.excuses),
    )


def _injection_states(history: History) -> Iterator[str]:
    """Describe each injection by the state of its partition in the latest Metadata answer before it."""
    known: dict[str, str] = {}
    for call, answer, event in _exchanges_in_order(history):
        if event is not None and event.phase == "inject":
            yield f"{event.fault} of the {event.role}: {known.get(event.detail.get('partition', ''), UNKNOWN)}"
        elif call is not None and answer is not None and call.op == "metadata" and isinstance(answer.value, dict):
            known |= _described_states(answer.value)


def _exchanges_in_order(history: History) -> Iterator[tuple[Call | None, Answer | None, Fault | None]]:
    calls: dict[int, Call] = {}
    for event in history.events:
        if isinstance(event, Call):
            calls[event.n] = event
        elif isinstance(event, Answer):
            yield calls.get(event.call), event, None
        elif isinstance(event, Fault):
            yield None, None, event


def _described_states(metadata: dict[str, Any]) -> dict[str, str]:
    return {
        f"{topic['name']}-{one['partition_index']}": _state_text(one)
        for topic in metadata.get("topics", ())
        for one in topic.get("partitions", ())
    }


def _state_text(partition: dict[str, Any]) -> str:
    led = "led" if partition["leader_id"] >= 0 else "no leader"
    return f"{led}, {len(partition['isr_nodes'])} of {len(partition['replica_nodes'])} in the ISR"


def _answer_texts(history: History) -> Iterator[str]:
    for call, answer, _ in _exchanges_in_order(history):
        if call is not None and answer is not None:
            yield from (f"{call.op}: {error}" for error in sorted(_error_names(answer)))


def _error_names(answer: Answer) -> set[str]:
    """Return the names of all errors in an answer, including NONE; if it has no error code, its outcome."""
    codes = {*_error_codes(answer.value)}
    return {Error(code).name for code in codes} or {answer.outcome}


def _error_codes(value: Any) -> Iterator[int]:
    if isinstance(value, dict):
        yield from (code for name, code in value.items() if name == "error_code")
        value = list(value.values())
    if isinstance(value, list | tuple):
        for part in value:
            yield from _error_codes(part)


def _count_excuses(excuses: Iterable[ExcuseCount]) -> Counter[str]:
    found: Counter[str] = Counter()
    for one in excuses:
        found[f"{one.requirement} {one.case}: {one.excuse}"] += one.times
    return found


# --- all examples


class Reach:
    """The counts of one part of a machine on one column, and the sum over all parts and earlier runs in the same folder."""

    def __init__(self, folder: Path, check: AnyMachine, name: str) -> None:
        self._path = folder / f"{check.id}-{name}.json"
        self._own = _read_counts(self._path)
        self._others = sum_counts(read for read in _counts_of_others(self._path, check.id))
        self._offer: Offer | None = getattr(check.machine, "offer", None)

    def note(self, played: FinishedExample) -> None:
        """Count what an example reached, and write the counts to the part's file."""
        self._own += count_reached(played)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        draft = self._path.with_suffix(".part")
        draft.write_bytes(msgspec.json.encode(self._own))
        draft.replace(self._path)

    def steering(self, seed: str) -> Steering | None:
        """Return the steering for the next batch of examples; None for a machine without episodes. The seed chooses among
        meetings seen equally often, so that runs and parts without counts start differently."""
        if self._offer is None:
            return None
        return steer(self._offer, (self._own + self._others).meeting_counts(), zlib.crc32(seed.encode()))


def sum_counts(reached: Iterable[ReachCounts]) -> ReachCounts:
    """Return the sum of the counts."""
    return functools.reduce(operator.add, reached, ReachCounts())


def read_counts(folder: Path, machine: str) -> ReachCounts:
    """Read the counts of all parts of a machine from their files in a folder."""
    return sum_counts(map(_read_counts, sorted(folder.glob(f"{machine}-*.json"))))


def _counts_of_others(own: Path, machine: str) -> Iterator[ReachCounts]:
    return (_read_counts(path) for path in sorted(own.parent.glob(f"{machine}-*.json")) if path != own)


def _read_counts(path: Path) -> ReachCounts:
    return msgspec.json.decode(path.read_bytes(), type=ReachCounts) if path.exists() else ReachCounts()


def reach_lines(out: Path) -> list[str]:
    """Return the lines for the end of a run: the share of all meetings that each machine reached, over all columns."""
    return [line for check in all_machines().values() for line in _machine_lines(out / FOLDER, check)]


def _machine_lines(folder: Path, check: AnyMachine) -> list[str]:
    offer: Offer | None = getattr(check.machine, "offer", None)
    reached = sum_counts(read_counts(column, check.id) for column in sorted(folder.glob("*"))).meeting_counts()
    if offer is None or not reached:
        return []
    return [
        f"{check.id}: {_share_text('pairs of faults on one partition', offer.pairs, reached)}",
        f"{check.id}: {_share_text('kinds of administration beside a fault', offer.administration_pairs, reached)}",
    ]


def _share_text(what: str, wanted: list[Meeting], reached: dict[Meeting, int]) -> str:
    missed = [" + ".join(pair) for pair in wanted if not reached.get(pair)]
    rest = f", not yet: {', '.join(missed[:5])}{' and others' if len(missed) > 5 else ''}" if missed else ""
    return f"{len(wanted) - len(missed)} of {len(wanted)} {what}{rest}"
