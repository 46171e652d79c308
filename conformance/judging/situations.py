"""Situations, by which observations of one example differ: a thousand reads of one unchanged situation count once."""

import zlib
from collections.abc import Iterable, Sequence

from history.events import Answer, AnyEvent, History
from history.subjects import subjects


def situation_of(history: History, about: str, by: Sequence[int], lived: Iterable[str]) -> str:
    """Return a digest of a situation: a subject, the nodes that showed it, and the faults that had changed it by then.

    The subject is the one that was judged or, if that has no name (a whole history, or the body of a check), those of the events.
    """
    named = [about] if about else sorted(str(one) for one in subjects(history, by))
    nodes = sorted({_node_of(history.events, n) for n in by})
    return f"{zlib.crc32(repr((named, nodes, sorted(lived))).encode()):08x}"


def _node_of(events: Sequence[AnyEvent], n: int) -> str:
    event = events[n]
    return str(getattr(events[event.call] if isinstance(event, Answer) else event, "node", ""))
