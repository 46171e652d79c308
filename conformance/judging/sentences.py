"""A violation in one sentence: who was asked what, in which situation, what came, and what was promised."""

from collections.abc import Sequence

from conformance.judging.narration import Narration, leaders_before
from history.events import Answer, Call, History
from history.subjects import subjects

MOST = 3
"""The most exchanges that a sentence tells."""


def sentence(history: History, events: Sequence[int], seen: str, promise: str) -> str:
    """Return the sentence of a violation that these events show. `seen` is what else was seen, `promise` what was promised."""
    parts = dict.fromkeys([*exchanges(history, events), *([seen] if seen else [])])
    came = "; ".join(parts) or "it did not happen"
    return f"{came}. Promised: {promise}."


def exchanges(history: History, events: Sequence[int]) -> list[str]:
    """Return the requests that were answered by these events, with the answers, in words; equal ones once with their number."""
    times: dict[str, int] = {}
    for n in events:
        if text := _exchange(history, n):
            times[text] = times.get(text, 0) + 1
    words = [text if count == 1 else f"{text} ({count} times)" for text, count in times.items()]
    more = [f"{len(words) - MOST} more answers"] if len(words) > MOST else []
    return [*words[:MOST], *more]


def _exchange(history: History, n: int) -> str:
    answer = history.events[n]
    call = history.events[answer.call] if isinstance(answer, Answer) else None
    lines = Narration(history, shown=[n]).events(n, n + 1)
    if not isinstance(call, Call) or not lines:
        return ""
    return f"{call.node}{_situation(history, n, call.node)} was asked {lines[0].request} and answered {lines[0].text}"


def _situation(history: History, n: int, node: str) -> str:
    """Return who led the partition of an exchange when it was answered, if it is one and a broker had told it."""
    about = [subject for subject in subjects(history, [n]) if subject.kind == "partition"]
    if len(about) != 1:
        return ""
    led = leaders_before(history, about, [n])[0].get(about[0], "")
    if led.startswith(f"{node} leads"):
        return f", leader{led.removeprefix(f'{node} leads')},"
    return f" ({led})" if led else ""
