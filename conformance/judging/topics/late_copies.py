"""A late copy of DeleteTopics deletes nothing that was created later (GEN-02). The copy names the topic by id."""

from collections.abc import Iterator

from conformance.judging.facts.topics import ResourceChange
from conformance.judging.judge import Finding, story_judge
from conformance.judging.topics.story import ResourceStory


@story_judge("GEN-02", ResourceStory, "changes")
def late_copy_of_a_deletion_deletes_nothing(story: ResourceStory) -> Iterator[Finding]:
    """Once a topic was deleted and another one was created under its name, a deletion by the former id is refused."""
    for late in (one for one in story.changes if one.kind == "delete" and one.topic_id and one.outcome != "open"):
        if (created := _successor(story, late)) is not None:
            shown = f"{late.node} deleted by id {late.topic_id}, though the topic of that name was {created.topic_id}"
            held = late.outcome == "refused"
            yield Finding(held, "delete-topics", (created.event, late.event), shown, "late-copy-acted")


def _successor(story: ResourceStory, late: ResourceChange) -> ResourceChange | None:
    """Return the creation of a topic after the deletion by this id was acknowledged; None without one."""
    done = [one for one in story.changes if one.outcome == "done" and one.event < late.asked]
    deleted = next((one for one in done if (one.kind, one.topic_id) == ("delete", late.topic_id)), None)
    after = (one for one in done if one.kind == "create" and one.topic_id not in (None, late.topic_id))
    return next((one for one in after if deleted is not None and deleted.event < one.asked), None)
