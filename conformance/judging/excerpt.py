"""The few lines of a history that show a violation and what led to it."""

from collections import defaultdict
from collections.abc import Collection, Sequence, Set
from typing import NamedTuple

import msgspec

from conformance.judging.narration import REPEATED_READS, EventLine, Narration
from history.events import Answer, Call, Ended, Fault, History, Note, Overdue, Premise
from history.subjects import Subject, subjects, subjects_of_exchange

MOST, MAX_SHOWN = 10, 8
"""The maximum number of lines, and of those among them that show the violation; the others led to it."""
MAX_OF_KIND = 3
"""The maximum number of lines of one kind, the latest ones, among those that led to the violation."""

READ_ONLY = ("api_versions", "describe", "fetch", "list", "read")
"""The prefixes of names of calls that change nothing."""


class Excerpt(NamedTuple):
    """The chosen lines in order of time, and the number of lines from which they were chosen."""

    lines: list[EventLine]
    whole: int


def excerpt(history: History, about: Collection[Subject], shown: Collection[int]) -> Excerpt:
    """Return the lines that show a violation, and the most relevant earlier ones. Equal lines appear once, with their number."""
    answers = {event.call: event.n for event in history.events if isinstance(event, Answer)}
    shown = {answers.get(n, n) for n in shown}
    lines = _lines_once(Narration(history, about, shown))
    decisive = [place for place, one in enumerate(lines) if one.shown]
    kept = decisive[: MAX_SHOWN // 2] + decisive[MAX_SHOWN // 2 :][-MAX_SHOWN // 2 :]
    last = max(decisive, default=len(lines))
    before = [place for place in range(last) if not lines[place].shown]
    kept += _most_relevant(history, lines, before, subjects(history, shown), MOST - len(kept))
    return Excerpt([lines[place] for place in sorted(kept)], len(lines))


def _lines_once(narration: Narration) -> list[EventLine]:
    """Return all lines; consecutive equal ones appear once, with their number."""
    lines: list[EventLine] = []
    for one in narration.events():
        times = 1 + narration.repeats[one.event.n]
        if lines and _key_of_line(lines[-1]) == _key_of_line(one):
            lines[-1] = msgspec.structs.replace(lines[-1], times=lines[-1].times + times)
        else:
            lines.append(msgspec.structs.replace(one, times=times))
    return lines


def _key_of_line(one: EventLine) -> tuple[str, str, str, bool]:
    return one.node, one.request, one.text, one.shown


def _most_relevant(
    history: History, lines: Sequence[EventLine], places: Sequence[int], concerned: Collection[Subject], room: int
) -> list[int]:
    """Return the places of the lines most relevant to these subjects, preferring the latest, and only a few of each kind."""
    weighed = {place: _weigh(history, lines[place], set(concerned)) for place in places}
    found: dict[str, list[int]] = defaultdict(list)
    for place in sorted(weighed, key=lambda place: (weighed[place].weight, place), reverse=True):
        one = weighed[place]
        if one.weight and len(found[one.kind]) < one.most and sum(map(len, found.values())) < room:
            found[one.kind].append(place)
    return [place for kept in found.values() for place in kept]


class _Weighed(NamedTuple):
    """The weight of a line, its kind, and the maximum number of lines of that kind."""

    weight: int
    kind: str
    most: int = MAX_OF_KIND


def _weigh(history: History, one: EventLine, concerned: Set[Subject]) -> _Weighed:
    match one.event:
        case Ended() | Premise(met=False):
            return _Weighed(9, "end")
        case Note() | Overdue():
            return _Weighed(6, "note")
        case Fault(phase="inject" | "heal" as phase):
            return _Weighed(6 if phase == "inject" else 3, phase)
        case Premise():
            return _Weighed(1, "premise")
        case Answer():
            return _weighed_answer(history, one, one.event, concerned)
    return _Weighed(0, "")


def _weighed_answer(history: History, one: EventLine, answer: Answer, concerned: Set[Subject]) -> _Weighed:
    """Return the weight of a request and its answer: changes outweigh reads, and the newest of a kind outweighs the others."""
    call = history.events[answer.call]
    op = call.op if isinstance(call, Call) else ""
    shared = len(subjects_of_exchange(call, answer) & concerned)
    if op == "metadata":
        return _Weighed(4 if shared else 1, one.text, 1)
    if op in REPEATED_READS or op.startswith(READ_ONLY):
        return _Weighed(min(shared, 3) + 1, op, 1)
    return _Weighed(4 + shared if shared else 2, op)
