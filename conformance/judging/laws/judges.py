"""Laws of every answer, judged over the history of every example, be it of a probe, a scenario or a machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from conformance.judging.judge import Finding, Judge, story_judge
from conformance.judging.laws import fields, log_starts, reads, records, refusals, same_answers
from conformance.judging.laws.story import WireStory


@story_judge("GEN-03", WireStory, "pairings")
def answers_are_about_what_was_asked(story: WireStory) -> Iterator[Finding]:
    """Each item of a batch request is answered exactly once, and no other item is."""
    for one in story.pairings:
        yield Finding(not one.wrong, one.case, (one.asked, one.event), one.wrong, "mispaired-answer")


@story_judge("GEN-12", WireStory, "error_codes")
def nothing_internal_reaches_the_wire(story: WireStory) -> Iterator[Finding]:
    """No well-formed request is answered with UNKNOWN_SERVER_ERROR or with an error that is reserved for clients."""
    for one in story.error_codes:
        yield Finding(not one.wrong, one.case, (one.asked, one.event), one.wrong, "internal-error")


LAWS: tuple[Judge, ...] = (
    answers_are_about_what_was_asked,
    same_answers.together_is_as_one_by_one,
    same_answers.every_version_says_the_same,
    fields.states_of_a_partition_agree,
    fields.offsets_of_a_fetch_agree,
    fields.descriptions_agree,
    nothing_internal_reaches_the_wire,
    log_starts.log_start_moves_for_a_reason,
    records.what_is_read_was_written,
    reads.readers_stop_at_their_bound,
    refusals.refused_commits_are_not_shown,
)
LAW_ROWS = tuple(dict.fromkeys(law.row for law in LAWS))
"""The rows of these laws, which every check observes."""


def with_laws(judges: Sequence[Judge]) -> tuple[Judge, ...]:
    """All judges of an example: those of its check, then those of the laws of every answer."""
    return (*judges, *LAWS)
