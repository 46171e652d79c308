"""A violation in one sentence: the request, its node and situation, the answer, and the promise."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from conformance.catalogue import shipped_rows
from conformance.judging.narration import Narration, leaders_before
from history.events import Answer, Call, History
from history.subjects import subjects
from protocol.words import shorten

MAX_LENGTH = 600
"""The maximum length of a sentence."""
MIN_ANSWER_LENGTH = 100
"""The number of characters that are always left for the answers."""
MAX_EXCHANGES = 3
"""The maximum number of exchanges in a sentence."""


class Exchange(NamedTuple):
    """A request and its answer in words; `who` is the node that was asked, and whether it led."""

    who: str
    request: str
    answer: str


def promise_text(row: str, case: str, title: str = "") -> str:
    """Return the text of a promise: the title of the row, or what a check says of it, and the row's case."""
    cases = {one.id: one.about for one in shipped_rows()[row].cases}
    told, about = (title or shipped_rows()[row].title).rstrip("."), cases.get(case, "")
    return told if len(cases) == 1 or about in ("", told) else f"{told} ({about})"


def violation_sentence(history: History, events: Sequence[int], seen: str, promised: str) -> str:
    """Return the sentence for a violation that these events show. `seen` is what else was observed."""
    suffix = re.compile(rf"-{re.escape(history.example.example.rpartition('-')[0])}-\d+")
    exchanges = [Exchange(*(suffix.sub("", part) for part in one)) for one in exchanges_of(history, events)]
    seen = " ".join(suffix.sub("", seen).split())
    room = MAX_LENGTH - len(f". Promised: {promised}.")
    seen = shorten(seen, max(room - (MIN_ANSWER_LENGTH if exchanges else 0), MIN_ANSWER_LENGTH))
    parts = [*describe_exchanges(exchanges, max(room - len(seen), MIN_ANSWER_LENGTH)), *([seen] if seen else [])]
    came = _begin("; ".join(parts) or "it did not happen").removesuffix(".")
    return f"{came}{'' if came.endswith('…') else '.'} Promised: {promised}."


def describe_exchanges(exchanges: Sequence[Exchange], room: int) -> Iterator[str]:
    """Yield each node's answer, in about `room` characters; equal answers appear once, with their number."""
    times = Counter(exchanges)
    kept = [*times][:MAX_EXCHANGES]
    by_who = [(who, [*asked]) for who, asked in groupby(kept, key=lambda one: one.who)]
    words = sum(len(f"{who} was asked") for who, _ in by_who) + len(kept) * len(" and answered , then ")
    each = max(room - words, len(kept) * MIN_ANSWER_LENGTH // MAX_EXCHANGES) // max(1, len(kept))
    for who, asked in by_who:
        parts = []
        for one in asked:
            count = f" ({times[one]} times)" if times[one] > 1 else ""
            request = shorten(one.request, max(each - len(one.answer), each * 2 // 3))
            parts.append(f"{request} and answered {shorten(one.answer, each - len(request))}{count}")
        yield f"{who} was asked {', then '.join(parts)}"
    if (more := len(times) - MAX_EXCHANGES) > 0:
        yield f"{more} more answer{'s' if more > 1 else ''}"


def _begin(text: str) -> str:
    """Return the text with a capital letter, unless it begins with a name."""
    return text[0].upper() + text[1:] if text.partition(" ")[0].isalpha() else text


def exchanges_of(history: History, events: Sequence[int]) -> Iterator[Exchange]:
    """Yield the requests that these events answered, with the answers."""
    for n in events:
        answer = history.events[n]
        call = history.events[answer.call] if isinstance(answer, Answer) else None
        lines = Narration(history, shown=[n]).events(n, n + 1)
        if isinstance(call, Call) and lines:
            yield Exchange(f"{call.node}{_situation(history, n, call.node)}", lines[0].request, lines[0].text)


def _situation(history: History, n: int, node: str) -> str:
    """Return the leader of an exchange's partition at the time of the answer, if a broker had named it."""
    about = [subject for subject in subjects(history, [n]) if subject.kind == "partition"]
    if len(about) != 1:
        return ""
    led = leaders_before(history, about, [n])[0].get(about[0], "")
    if led.startswith(f"{node} leads"):
        return f", leader{led.removeprefix(f'{node} leads')},"
    return f" ({led})" if led else ""
