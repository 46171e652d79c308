"""Earlier examples on a shared rig: the values that they sent to its partitions (GEN-16), and the log starts that their requests
explain (GEN-15)."""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Sequence
from math import inf
from typing import TypeAlias

import msgspec

from conformance.judging.log.damage import ReplicaDamage
from conformance.judging.log.log_starts import LogStarts
from conformance.judging.log.story import PartitionStory
from conformance.judging.reading import Reading
from conformance.judging.timeline import NEVER
from history.events import History

SentValues: TypeAlias = dict[str, dict[str, int]]
"""The number of times that each value was sent, by partition and value."""


class EarlierExamples(msgspec.Struct, frozen=True):
    """The fields of `history.events.Example` that earlier examples on a shared rig determine, under the same names."""

    sent: SentValues | None = {}
    log_starts: dict[str, int] = {}

    def after(self, history: History) -> EarlierExamples:
        """Return the fields after one more example."""
        reading = Reading(history.example, [PartitionStory])
        reading.feed(history.events)
        stories = [story for story in reading.stories(PartitionStory) if isinstance(story, PartitionStory)]
        limits: dict[str, float] = {**self.log_starts}
        for story in stories:
            limits[story.name] = max(story.derive(LogStarts).highest_explained(NEVER), limits.get(story.name, 0))
        bounds = {name: int(limit) for name, limit in limits.items() if limit < inf}
        return EarlierExamples(_add_sent_values(stories, self.sent), bounds)


def _add_sent_values(stories: Sequence[PartitionStory], before: SentValues | None) -> SentValues | None:
    """Return None if some values are unknown because they were sent as raw bytes or appended by a fault."""
    sent = {name: Counter(values) for name, values in (before or {}).items()}
    for story in stories:
        if (
            before is None
            or any(write.opaque for write in story.produced)
            or story.derive(ReplicaDamage).appended_since < inf
        ):
            return None
        sent_here = (value for write in story.produced for value in write.values if value is not None)
        sent.setdefault(story.name, Counter()).update(b64encode(value).decode() for value in sent_here)
    return {name: dict(values) for name, values in sent.items() if values}
