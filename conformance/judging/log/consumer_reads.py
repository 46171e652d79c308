"""Consumer fetches: the records that they returned, compared with the high watermark in the same answer (KIP-101, KIP-320)."""

from collections.abc import Iterator
from functools import cached_property

import msgspec

from conformance.judging.excuses import RISEN
from conformance.judging.facts.log import FetchResult, ReplicaBatch
from conformance.judging.judge import Claim, Excuse, Finding
from conformance.judging.log.leadership import Leadership
from conformance.judging.log.responding_replica import ReplicaLogs
from conformance.judging.log.story import PartitionStory, log_judge
from history.subjects import METADATA_LOG

METADATA_PARTITION = f"{METADATA_LOG}-0"


class ConsumerRead(msgspec.Struct, frozen=True):
    """A consumer's Fetch. `uncommitted`: the replica certainly had records at or above the answer's high watermark.

    `beyond` is a batch of the answer at or above that high watermark. `proof` is the event of an answer to a later request whose
    high watermark is no higher.
    """

    read: FetchResult
    role: str
    uncommitted: bool
    beyond: ReplicaBatch | None
    proof: int

    @property
    def uncommitted_records(self) -> str:
        """The uncommitted records that the answer certainly contained, in words; empty without any."""
        if self.beyond is None or not self.proof:
            return ""
        return f"{self.read.node} gave a consumer {self.beyond} with the high watermark {self.read.high_watermark}"

    @property
    def may_have_raced(self) -> bool:
        """True if the high watermark may have risen while the answer was being made: a broker reads it before the records."""
        return self.beyond is not None and not self.proof

    @property
    def shown_by(self) -> tuple[int, ...]:
        return (self.read.event, self.proof) if self.proof else (self.read.event,)


class ConsumerReads:
    """The consumer fetches of one partition, in the order of the answers. The metadata log has none: there, fetches without a
    replica id come from observers."""

    def __init__(self, story: PartitionStory) -> None:
        self.story = story
        self._leadership = story.derive(Leadership)
        self._own_logs = story.derive(ReplicaLogs)

    @cached_property
    def all_reads(self) -> list[ConsumerRead]:
        found: list[ConsumerRead] = []
        for place, read in enumerate(self.story.reads if self.story.name != METADATA_PARTITION else ()):
            if read.by_consumer and read.diverging is None:
                last = read.batches[-1] if read.batches else None
                beyond = last if last is not None and last.last >= read.high_watermark else None
                proof = self._proof(place, beyond) if beyond is not None else 0
                found.append(ConsumerRead(read, self._leadership.role_of(read), self._has_more(read), beyond, proof))
        return found

    def _has_more(self, read: FetchResult) -> bool:
        own = self._own_logs.log_of_responder(read) if self.story.full_reads else None
        return own is not None and bool(own.held) and own.from_offset(max(read.high_watermark, 0)) is not None

    def _proof(self, place: int, beyond: ReplicaBatch) -> int:
        """Return the event of the node's next answer at the epoch; 0 if there is none or its high watermark is past the batch."""
        read = self.story.reads[place]
        life = (read.node, read.incarnation, read.cur)
        later = self.story.reads[place + 1 :]
        after = next((o for o in later if (o.node, o.incarnation, o.cur) == life and o.asked > read.event), None)
        return after.event if after is not None and after.high_watermark <= beyond.last else 0


@log_judge("KIP320-FETCH-04", "reads")
def followers_serve_up_to_their_high_watermark(story: PartitionStory) -> Iterator[Claim]:
    """A follower returns to consumers the records below its own high watermark, and none at or above it."""
    for one in story.derive(ConsumerReads).all_reads:
        if one.role == "follower" and one.may_have_raced:
            yield Excuse(RISEN, "follower-serves")
        elif one.role == "follower" and (one.uncommitted_records or one.uncommitted):
            yield Finding(
                not one.uncommitted_records,
                "follower-serves",
                one.shown_by,
                one.uncommitted_records,
                "uncommitted-read",
            )


@log_judge("KIP320-FETCH-07", "reads")
def consumers_get_no_uncommitted_records(story: PartitionStory) -> Iterator[Claim]:
    """Consumers get no record at or above the high watermark, from whatever offset at or below it they fetch."""
    for one in story.derive(ConsumerReads).all_reads:
        if one.may_have_raced:
            yield Excuse(RISEN, "uncommitted")
        elif one.uncommitted_records or one.uncommitted:
            yield Finding(
                not one.uncommitted_records, "uncommitted", one.shown_by, one.uncommitted_records, "uncommitted-read"
            )
