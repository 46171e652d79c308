"""Fields of one answer agree (GEN-06): the state of a partition, and its offsets."""

from collections.abc import Iterator

from conformance.judging.excuses import RISEN
from conformance.judging.facts.log import FetchResult
from conformance.judging.judge import Claim, Excuse, Finding
from conformance.judging.log.story import PartitionStory, log_judge
from protocol.words import say

Replicas = tuple[int, ...]


@log_judge("GEN-06", "first_metadata")
def states_of_a_partition_agree(story: PartitionStory) -> Iterator[Finding]:
    """The leader is a replica and in the ISR, and all members of the ISR are replicas."""
    # A first state without contradiction is worth an observation only once there is another.
    last = story.first_metadata[0].epoch if story.first_metadata else -1
    for seen in story.first_metadata:
        wrong = contradiction(seen.state.leader, seen.state.isr, seen.state.replicas)
        if not wrong and seen.epoch == last:
            continue
        last = seen.epoch
        yield Finding(
            not wrong,
            "partition",
            (seen.event,),
            wrong and f"{seen.node} says that {wrong}",
            "contradiction",
        )


def contradiction(leader: int, isr: Replicas, replicas: Replicas, eligible: Replicas = ()) -> str:
    """Return a description of which fields of a partition contradict each other; empty if none do."""
    if leader >= 0 and leader not in replicas:
        return f"leader {leader} is none of the replicas {say(replicas)}"
    if leader >= 0 and leader not in isr:
        return f"leader {leader} is not in the ISR {say(isr)}"
    if {*isr} & {*eligible}:
        return f"the ISR {say(isr)} and the eligible leader replicas {say(eligible)} have replicas in common"
    return (
        ""
        if {*isr, *eligible} <= {*replicas}
        else f"the ISR {say(isr)} or the eligible leader replicas {say(eligible)} are not among the replicas {say(replicas)}"
    )


@log_judge("GEN-06", "reads")
def offsets_of_a_fetch_agree(story: PartitionStory) -> Iterator[Claim]:
    """Log start <= last stable offset <= high watermark <= log end."""
    known: set[tuple[int, int, int, int]] = set()
    for place, read in enumerate(story.reads):
        if (offsets := _offsets(read)) in known:
            continue
        shown = [offset for offset in offsets if offset >= 0]
        if shown == sorted(shown):
            known.add(offsets)
            yield Finding(True, "offsets", (read.event,))
        else:
            wrong = f"{read.node} answered log start, LSO, HW and log end out of order: {say(shown)}"
            if 0 <= read.last_stable_offset < read.log_start:
                wrong += "; the last stable offset is below the log start"
            yield from _disorder(story.reads, place, wrong)


def _offsets(read: FetchResult) -> tuple[int, int, int, int]:
    """Return the offsets of an answer in the order in which they must rise; -1 for missing ones."""
    end = read.log_end if read.full else -1
    return read.log_start, read.last_stable_offset, read.high_watermark, end


def _disorder(reads: list[FetchResult], place: int, wrong: str) -> Iterator[Claim]:
    """Judge an answer whose offsets are out of order. It is a violation if a later answer of the same process has that high
    watermark."""
    read = reads[place]
    own = (o for o in reads[place + 1 :] if (o.node, o.incarnation) == (read.node, read.incarnation))
    after = next((o for o in own if o.asked > read.event), None)
    if after is not None and after.high_watermark == read.high_watermark:
        yield Finding(False, "offsets", (read.event, after.event), wrong, "contradiction")
    else:
        yield Excuse(RISEN, "offsets")
