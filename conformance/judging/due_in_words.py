"""Descriptions of steps that never came and of processes that ended, with the fault before and the process's last log lines."""

import re
from collections.abc import Iterable

from history.events import Ended, Fault, History, Overdue

FATAL = re.compile("fatal fault|Shutdown broker because|FATAL")
ERROR = re.compile(r"(?:\[[^]]*\] )?(?:ERROR|FATAL)\b")
EXCEPTION = re.compile(r"(?:[\w$]+\.)+[\w$]*(?:Exception|Error)\b")
FRAME = re.compile(r"^\[[^]]*\] (?:ERROR|FATAL|WARN|INFO)? ?|\s\([\w.$]+\)$")
"""The time and level before the message of a log line, and the logger behind it."""


def overdue_in_words(history: History, event: Overdue) -> str:
    """Describe a failed wait: its condition, how long it lasted, the fault before it, and the last state seen."""
    what, *state = event.what.splitlines()
    text = f"the kit waited in vain for {what.removesuffix('. Last state:')}{_after(history, event.n)}"
    return f"{text}; at last: {' '.join(state)}" if state else text


def end_in_words(history: History, event: Ended) -> str:
    """Describe a process that ended by itself: the fault before it, and its last log lines."""
    logged = _last_words(event.log)
    end = f"{event.node} ended by itself with exit code {event.exit_code}{_after(history, event.n, event.node)}"
    return f"{end}; it logged: {logged}" if logged else end


def _after(history: History, n: int, node: str = "") -> str:
    """Return the newest fault before an event, and whether it was healed. If a node is given, only faults that hit it count."""
    phases = (one for one in reversed(history.events[:n]) if isinstance(one, Fault) and one.phase in ("inject", "heal"))
    found = next((one for one in phases if not node or node in one.node.split(",")), None)
    if found is None:
        return ""
    healed = " was healed" if found.phase == "heal" else ""
    return f", after {found.fault} of {found.node.replace(',', ', ')}{healed}"


def _last_words(log: str) -> str:
    """Return the error with which a process ended and the exception below it, or else its last log line."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    place = _last(n for n, line in enumerate(lines) if FATAL.search(line))
    place = place if place >= 0 else _last(n for n, line in enumerate(lines) if ERROR.match(line))
    message = [FRAME.sub("", line) for line in lines[place:][:1]]
    below = [line for line in lines[place + 1 :][:1] if place >= 0 and EXCEPTION.match(line)]
    return ": ".join([*message, *below])


def _last(places: Iterable[int]) -> int:
    return max(places, default=-1)
