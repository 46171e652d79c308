"""Stories of several subjects of one example, for judges that compare subjects with each other."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, cast

from conformance.judging.story import Story
from conformance.judging.timeline import Timeline

S = TypeVar("S", bound=Story)


class Together(Story):
    """All stories of several types, such as those of each transactional id and of each partition.

    It takes no facts itself: they go to the stories of their subjects.
    """

    def __init__(self, timeline: Timeline, stories: Mapping[type[Story], Sequence[Story]]) -> None:
        super().__init__("", timeline)
        self.version = sum(story.version for found in stories.values() for story in found)
        self._stories = stories

    def stories_of(self, type: type[S]) -> Sequence[S]:
        """Return the stories of one type, sorted by the names of their subjects."""
        return cast(Sequence[S], self._stories[type])

    def add_fact(self, fact: Any) -> None:
        raise TypeError("facts go to the stories of their subjects")
