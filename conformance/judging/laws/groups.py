"""The epochs of a group are in order (KIP1251-AE-03)."""

from collections.abc import Iterator

from conformance.judging.judge import Finding, story_judge
from conformance.judging.laws.descriptions import DescriptionStory
from protocol.groups import DescribedGroup
from protocol.words import say


@story_judge("KIP1251-AE-03", DescriptionStory, "described")
def described_epochs_are_in_order(story: DescriptionStory) -> Iterator[Finding]:
    """No member's epoch is above the assignment epoch, nor that above the group's."""
    known: set[tuple[int, ...]] = set()
    for one in story.described:
        if not isinstance(one.said, DescribedGroup) or not one.said.members:
            continue
        members = sorted(member.member_epoch for member in one.said.members)
        epochs = (*members, one.said.assignment_epoch, one.said.group_epoch)
        if epochs not in known:
            known.add(epochs)
            shown = f"{one.node}: members at {say(members)}, assignment epoch {epochs[-2]}, group epoch {epochs[-1]}"
            yield Finding(members[-1] <= epochs[-2] <= epochs[-1], "described", (one.event,), shown)
