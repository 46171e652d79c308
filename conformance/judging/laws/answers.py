"""Laws of every answer: it matches its request (GEN-03), and no internal state reaches the wire (GEN-12)."""

from collections.abc import Iterator

from conformance.judging.judge import Finding, story_judge
from conformance.judging.laws.story import WireStory


@story_judge("GEN-03", WireStory, "pairings")
def answers_match_their_requests(story: WireStory) -> Iterator[Finding]:
    """A batch request gets one answer for each of its items, and no other answer."""
    for one in story.pairings:
        yield Finding(not one.wrong, one.case, (one.asked, one.event), one.wrong, "mispaired-answer")


@story_judge("GEN-12", WireStory, "error_codes")
def no_internal_error_is_answered(story: WireStory) -> Iterator[Finding]:
    """No well-formed request is answered with UNKNOWN_SERVER_ERROR or with an error that is reserved for clients."""
    for one in story.error_codes:
        yield Finding(not one.wrong, one.case, (one.asked, one.event), one.wrong, "internal-error")
