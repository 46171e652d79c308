"""The values that successive examples sent to the partitions of a shared rig (GEN-16)."""

from base64 import b64encode
from collections import Counter
from math import inf
from typing import TypeAlias

from conformance.judging.log.damage import ReplicaDamage
from conformance.judging.log.story import PartitionStory
from conformance.judging.reading import Reading
from history.events import History

SentValues: TypeAlias = dict[str, dict[str, int]]
"""By partition and value: how often the value was sent."""


def sent_until(history: History, before: SentValues | None) -> SentValues | None:
    """Count the values that an example and all earlier ones (`before`) sent to each partition.

    Returns None if some values are not known, because they were sent as raw bytes or appended by a fault.
    """
    reading = Reading(history.example, [PartitionStory])
    reading.feed(history.events)
    sent = {name: Counter(values) for name, values in (before or {}).items()}
    for story in reading.stories(PartitionStory):
        assert isinstance(story, PartitionStory)
        if (
            before is None
            or any(write.opaque for write in story.produced)
            or story.derive(ReplicaDamage).appends_from < inf
        ):
            return None
        sent_here = (value for write in story.produced for value in write.values if value is not None)
        sent.setdefault(story.name, Counter()).update(b64encode(value).decode() for value in sent_here)
    return {name: dict(values) for name, values in sent.items() if values}
