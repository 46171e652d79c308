"""The words of a schedule: its steps, its faults, and the roles that they name."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_CONTROLLER = re.compile(r"controller-\d+")


def words_in(steps: Iterable[Mapping[str, Any]]) -> set[str]:
    """The tags of steps and faults in a schedule, and the roles that they name; a controller that is named is any voter.

    >>> sorted(words_in([{"do": "disturb", "on": "strict-1", "fault": {"fault": "kill", "role": "leader", "pick": 0}}]))
    ['disturb', 'kill', 'leader']
    """
    return {word for step in steps for word in _words(step)}


def _words(part: Any) -> Iterator[str]:
    if isinstance(part, Mapping):
        named = (part.get(field) for field in ("do", "fault", "role", "to"))
        yield from ("voter" if _CONTROLLER.fullmatch(word) else word for word in named if isinstance(word, str))
        part = [*part.values()]
    if isinstance(part, list | tuple):
        for inner in part:
            yield from _words(inner)
