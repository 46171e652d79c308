"""A late copy changes nothing that began later (GEN-02): a request that was answered, and reaches the cluster again.

A copy goes by what the request tells its addressee: producer id, epoch and sequence, or a topic id. So it need not go to the same
node, nor over the same connection.
"""

from __future__ import annotations

from collections.abc import Iterator

from conformance.judging.facts.exchange import NONE, UNKNOWN_OUTCOME
from conformance.judging.facts.log import ProduceResult
from conformance.judging.facts.topics import Change
from conformance.judging.judge import Claim, Excuse, Finding, log_judge, story_judge
from conformance.judging.log.producer_state import may_be_forgotten
from conformance.judging.log.records import acknowledged_at, newest_stamps
from conformance.judging.log.story import PartitionStory
from conformance.judging.topics.story import ResourceStory

# --- Produce


@log_judge("GEN-02", "produced", "produced_to_deleted")
def late_copy_of_a_produce_appends_nothing(story: PartitionStory) -> Iterator[Claim]:
    """A batch of an idempotent producer is appended once; one for a deleted topic is refused, whatever has its name now."""
    first: dict[tuple[object, ...], ProduceResult] = {}
    for write in (write for write in story.produced if write.producer_id >= 0 and write.base_sequence >= 0):
        identity = (write.producer_id, write.producer_epoch, write.base_sequence, write.values)
        original = first.get(identity)
        if original is not None and original.event < write.asked and _is_answered(write):
            yield _again(story, original, write)
        elif original is None and write.committed:
            first[identity] = write
    for late in story.produced_to_deleted:
        if late.error != UNKNOWN_OUTCOME:
            shown = f"{late.node} acknowledged a Produce to the id of a deleted topic"
            yield Finding(late.error != NONE, "produce-by-id", (late.event,), shown, "late-copy-acted")


def _is_answered(write: ProduceResult) -> bool:
    return write.error != UNKNOWN_OUTCOME and not write.failed


def _again(story: PartitionStory, original: ProduceResult, copy: ProduceResult) -> Claim:
    """A copy may be answered with the original's offset, or with any error."""
    appended = copy.error == NONE and copy.offset != original.offset
    since = acknowledged_at(story, original, story.derived(newest_stamps))
    if appended and (excuse := may_be_forgotten(story, original.offset, since, copy)):
        return Excuse(excuse, "produce")
    shown = (
        f"{copy.node} acknowledged sequence {copy.base_sequence} of producer {copy.producer_id}, epoch {copy.producer_epoch}, "
        f"at offset {copy.offset}, after {original.node} at {original.offset}"
    )
    return Finding(not appended, "produce", (original.event, copy.event), shown, "late-copy-acted")


# --- DeleteTopics


@story_judge("GEN-02", ResourceStory, "changes")
def late_copy_of_a_deletion_deletes_nothing(story: ResourceStory) -> Iterator[Finding]:
    """Once a topic was deleted and another one created under its name, a deletion by the former id is refused."""
    for late in (one for one in story.changes if one.kind == "delete" and one.topic_id and one.outcome != "open"):
        if (created := _successor(story, late)) is not None:
            shown = f"{late.node} deleted by id {late.topic_id}, though the topic of that name was {created.topic_id}"
            held = late.outcome == "refused"
            yield Finding(held, "delete-topics", (created.event, late.event), shown, "late-copy-acted")


def _successor(story: ResourceStory, late: Change) -> Change | None:
    """The topic that was created after the deletion of the one with that id was acknowledged."""
    done = [one for one in story.changes if one.outcome == "done" and one.event < late.asked]
    deleted = next((one for one in done if (one.kind, one.topic_id) == ("delete", late.topic_id)), None)
    after = (one for one in done if one.kind == "create" and one.topic_id not in ("", late.topic_id))
    return next((one for one in after if deleted is not None and deleted.event < one.asked), None)
