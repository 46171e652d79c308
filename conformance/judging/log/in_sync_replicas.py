"""The members of the ISR (KIP-320, KIP-966): only live replicas, the leader, and enough of them."""

from bisect import bisect_left
from collections.abc import Iterator

from conformance.judging.excuses import MIN_ISR_ALTERED, REGISTERED_AGAIN
from conformance.judging.facts.exchange import NONE, by_event
from conformance.judging.facts.log import (
    FetchResult,
    PartitionAtBroker,
    ProduceResult,
)
from conformance.judging.judge import Claim, Excuse, Finding
from conformance.judging.log.leadership import Leadership
from conformance.judging.log.responding_replica import IncarnationAtEpoch
from conformance.judging.log.settings import possible_min_isr
from conformance.judging.log.story import PartitionStory, log_judge
from history.due import SHARE
from protocol.codes import Error
from protocol.words import say, say_error

TOO_FEW = (Error.NOT_ENOUGH_REPLICAS, Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND, Error.REQUEST_TIMED_OUT)
AT_ONCE = 0.5
"""Seconds in which no healthy replica joins an ISR and leaves it again: less than any session timeout or
replica.lag.time.max.ms."""
CALM = 10.0
"""Seconds for which a past fault may still change an ISR: a session timeout plus the propagation of metadata, and more."""
STAYS = 3
"""The number of consecutive answers of one broker that must show a fenced ISR member: the first may fall between two changes."""
STAYS_FOR = 1.0
"""Seconds that must lie between the first and the last of these answers: more than a broker takes to apply the metadata it has
read."""


@log_judge("KIP101-INV-16", "metadata")
def isr_members_are_valid(story: PartitionStory) -> Iterator[Claim]:
    """A fenced replica leaves the ISR and is not added to it; a live leader is in it; its members are replicas. It is empty only
    without a leader."""
    leadership = story.derive(Leadership)
    known: set[tuple[object, ...]] = set()
    for seen in story.changed_metadata:
        state = (seen.node, seen.leader, seen.epoch, seen.isr, seen.replicas)
        if state in known:
            continue
        known.add(state)
        leads = seen.leader < 0 or seen.leader in seen.isr
        outside = [id for id in seen.isr if id not in seen.replicas]
        fine = not outside and (bool(seen.isr) or seen.leader < 0)
        changed = seen.epoch > leadership.first_epoch or set(seen.isr) != set(seen.replicas)
        if seen.leader >= 0 and (changed or not leads):
            yield _membership(leads, "leader", seen)
        if changed or not fine:
            yield _membership(fine, "members", seen)
    yield from _judge_views(story)


def _membership(held: bool, case: str, seen: PartitionAtBroker) -> Finding:
    shown = (
        ""
        if held
        else f"{seen.node} named leader {seen.leader} at epoch {seen.epoch}, with ISR {say(seen.isr)} of {say(seen.replicas)}"
    )
    return Finding(held, case, (seen.event,), shown)


def _judge_views(story: PartitionStory) -> Iterator[Claim]:
    """Judge the successive answers of each broker incarnation.

    A broker reads the partitions a moment before the list of brokers, so one answer may show the ISR from before a fencing:
    only two answers show a violation. The last ISR member stays in the ISR when it is fenced, and the partition then has no
    leader.
    """
    if not any(seen.state.fenced for seen in story.first_metadata):
        return
    views = {incarnation: _Fenced() for incarnation in story.metadata_by_incarnation}
    for seen in story.metadata:
        if seen.state.unfenced:
            view = views[seen.node, seen.incarnation]
            if seen.state.fenced or view.out:
                yield from view.look(story, seen)
            else:
                view.last = max(view.last, seen.event) if seen.asked >= view.last else view.last


class _Fenced:
    """The replicas that one broker saw fenced.

    They are outside the ISR (`out`), inside it while another broker led (`inside`), or were never seen to leave it (`stays`, with
    each answer). `up` has the events at which brokers were last seen unfenced.
    """

    def __init__(self) -> None:
        self.out: dict[int, PartitionAtBroker] = {}
        self.inside: dict[int, PartitionAtBroker] = {}
        self.stays: dict[int, list[PartitionAtBroker]] = {}
        self.up: dict[int, int] = {}
        self._known: set[tuple[object, ...]] = set()
        self._stayed: set[int] = set()
        self.last = -1

    def look(self, story: PartitionStory, seen: PartitionAtBroker) -> Iterator[Claim]:
        if seen.asked < self.last:  # it overlaps the previous look, and may be older
            return
        self.last = seen.event
        self.up |= dict.fromkeys(seen.unfenced, seen.event)
        for id in self.out.keys() & set(seen.unfenced):
            self.out.pop(id)
            self.inside.pop(id, None)
        for id in seen.replicas:
            if id not in seen.unfenced:
                yield from self._judge_fenced(id, seen)
            if id in seen.unfenced or id not in seen.isr or seen.leader in (-1, id):
                self.stays.pop(id, None)
                self._stayed.discard(id)
            elif id not in self.out:
                yield from self._stays(story, id, seen)

    def _stays(self, story: PartitionStory, id: int, seen: PartitionAtBroker) -> Iterator[Claim]:
        """Judge a fenced replica that stays in the ISR.

        The controller fences a broker and removes it from every ISR at once; a broker may learn of the two in separate steps. A
        restarted broker is fenced until it has registered, and may stay a member.
        """
        looks = self.stays.setdefault(id, [])
        looks.append(seen)
        # A stretch without events counts for at most the span each, so that a host that slept shows nothing.
        lasted = story.timeline.watch_time(looks[0].event, seen.event, STAYS_FOR / SHARE)
        if id in self._stayed or len(looks) < STAYS or lasted < STAYS_FOR:
            return
        self._stayed.add(id)
        if self._is_registered_again(story, story.timeline.names.get(id, ""), looks, id):
            yield Excuse(REGISTERED_AGAIN, "fenced")
        else:
            shown = (
                f"{seen.node} saw {id} fenced {len(looks)} times in a row, and in the ISR {say(seen.isr)} all the time"
            )
            yield Finding(False, "fenced", (looks[0].event, looks[-2].event, seen.event), shown)

    def _is_registered_again(self, story: PartitionStory, node: str, looks: list[PartitionAtBroker], id: int) -> bool:
        """True if the broker has restarted since it was last seen unfenced, and is not certainly down."""
        timeline, first, last = story.timeline, looks[0].asked, looks[-1].event
        another = timeline.incarnation(node, self.up.get(id, -1)) != timeline.incarnation(node, last)
        return another and not timeline.down(node, first, last)

    def _judge_fenced(self, id: int, seen: PartitionAtBroker) -> Iterator[Finding]:
        before = self.out.get(id)
        if id not in seen.isr:
            state = (id, seen.epoch, seen.isr)
            if before is not None and state not in self._known:
                self._known.add(state)
                yield Finding(True, "fenced", (before.event, seen.event))
            self.out[id] = seen
            self.inside.pop(id, None)
        elif before is not None and seen.leader not in (-1, id):
            if (first := self.inside.setdefault(id, seen)) is not seen:
                shown = f"{seen.node} saw {id} fenced, then in the ISR {say(first.isr)} and {say(seen.isr)}, fenced as before"
                yield Finding(False, "fenced", (before.event, first.event, seen.event), shown)
                self.out.pop(id)
                self.inside.pop(id)
        else:
            self.inside.pop(id, None)


# --- enough in-sync replicas


@log_judge("KIP101-INV-17", "reads", "produced")
def acks_all_needs_min_insync_replicas(story: PartitionStory) -> Iterator[Claim]:
    """A write with acks=all succeeds only with min.insync.replicas members in the ISR. With fewer it fails, and the high
    watermark waits."""
    looks = _Looks(story)
    if not looks.may_need_several:
        return
    for write in story.produced:
        if write.acks == -1:
            yield from _write_findings(looks, write)
    yield from _watermark(looks)


@log_judge("KIP101-INV-17-L", "reads", "produced")
def high_watermark_waits_for_min_insync_replicas(story: PartitionStory) -> Iterator[Claim]:
    """While the ISR is smaller than min.insync.replicas, the high watermark does not advance (KIP-966)."""
    looks = _Looks(story)
    if looks.may_need_several:
        yield from _watermark(looks)


class _Looks:
    """The ISR in each leader's own Metadata answers, and the writes that it refused for lack of in-sync replicas."""

    def __init__(self, story: PartitionStory) -> None:
        self.story = story
        self.may_need_several = max(possible_min_isr(story), default=0) > 1
        """False if min.insync.replicas was never above 1."""
        self._own: dict[str, list[PartitionAtBroker]] = {}
        for (node, _), seen_by in story.metadata_by_incarnation.items():
            id = story.timeline.ids.get(node)
            self._own.setdefault(node, []).extend(seen for seen in seen_by if seen.leader == id)
        self._refused: dict[str, list[ProduceResult]] = {}
        for write in story.produced:
            if write.error == Error.NOT_ENOUGH_REPLICAS:
                self._refused.setdefault(write.node, []).append(write)

    def around(self, node: str, asked: int, event: int) -> tuple[PartitionAtBroker | None, PartitionAtBroker | None]:
        """Return the leader's last Metadata answer before the request, and the first one requested after the answer. The second
        is None unless both are of one epoch and incarnation."""
        own = self._own.get(node, [])
        place = bisect_left(own, asked, key=by_event)
        before = own[place - 1] if place else None
        after = next((seen for seen in own[place : place + 4] if seen.asked > event), None)
        return before, after if before is not None and after is not None and self.is_same_epoch_and_process(
            before, after
        ) else None

    def is_same_epoch_and_process(self, one: PartitionAtBroker, other: PartitionAtBroker) -> bool:
        incarnations = {seen.incarnation for seen in (one, other)}
        return one.epoch == other.epoch and len(incarnations) == 1

    def possible_values(self, node: str, asked: int, event: int) -> set[int]:
        """Return the values of min.insync.replicas that may be in force at the leader from a request to its answer.

        A leader learns of an alteration a moment later, or perhaps not at all while a fault is active on it.
        """
        timeline = self.story.timeline
        hit = any(node in span.nodes for span in timeline.active_faults(asked, event))
        return possible_min_isr(self.story, -1 if hit else timeline.earlier(asked, CALM), event)

    def refusals(self, before: PartitionAtBroker, event: int) -> list[ProduceResult]:
        """Return the writes that the leader refused before `event`, in the incarnation and epoch of its answer `before`."""
        began = next(seen.event for seen in self._own[before.node] if self.is_same_epoch_and_process(seen, before))
        mine = (write for write in self._refused.get(before.node, ()) if write.incarnation == before.incarnation)
        return [write for write in mine if began <= write.asked and write.event < event]

    def stays_small(self, before: PartitionAtBroker, asked: int, event: int, after: PartitionAtBroker) -> bool:
        """True if the ISR stayed below min.insync.replicas after a Metadata answer, also in the leader's own view while it served
        a request.

        The leader may still count followers that its Metadata no longer lists, unless it refused a write for lack of in-sync
        replicas.
        """
        if self.others_are_down(before, before.asked, event):
            return True
        refused = self.refusals(before, asked)
        if not refused:
            return False
        away = self._are_away(before, min(before.asked, refused[0].asked), event)
        return away or self._at_once(min(before.asked, refused[-1].asked), after.event)

    def _are_away(self, seen: PartitionAtBroker, first: int, second: int) -> bool:
        """True if all other replicas were certainly down, or fenced and cut off from the controllers that could unfence them."""
        timeline = self.story.timeline
        others = [(id, timeline.names.get(id, "")) for id in seen.replicas if id != seen.leader]
        return all(
            timeline.down(node, first, second) or (id not in seen.unfenced and timeline.cut_off(node, first, second))
            for id, node in others
        )

    def _at_once(self, first: int, second: int) -> bool:
        """True if the time between two events is too short for a replica to join the ISR and leave it again.

        This requires that no replica was disturbed for a while, apart from faults that keep nodes down, which cannot join at all.
        """
        timeline = self.story.timeline
        began = timeline.time(first)
        lately = any(one.event < second and began - timeline.time(one.event) < CALM for one in timeline.faults)
        idle = all(span.effects.idles_processes for span in timeline.active_faults(first, second))
        return timeline.time(second) - began < AT_ONCE and idle and not lately

    def is_not_trivial(self, one: PartitionAtBroker, other: PartitionAtBroker) -> bool:
        """True if the case is not trivial: one of the two answers shows a replica outside the ISR, or something happened in
        between."""
        fewer = any(len(seen.isr) < len(seen.replicas) for seen in (one, other))
        disturbed = self.story.disturbed_between(one.event, other.event)
        return fewer or disturbed

    def others_are_down(self, seen: PartitionAtBroker, first: int, second: int) -> bool:
        """True if all other replicas were certainly down from one event to the other."""
        others = (id for id in seen.replicas if id != seen.leader)
        return all(self.story.timeline.down(self.story.timeline.names.get(id, ""), first, second) for id in others)


def _is_small(seen: PartitionAtBroker, least: int) -> bool:
    """True if the ISR is smaller than min.insync.replicas. A partition with fewer replicas than that needs all of them."""
    return len(seen.isr) < min(least, len(seen.replicas))


def _write_findings(looks: _Looks, write: ProduceResult) -> Iterator[Claim]:
    before, after = looks.around(write.node, write.asked, write.event)
    if before is None or (write.error != NONE and write.error not in TOO_FEW):
        return
    possible = looks.possible_values(write.node, write.asked, write.event)
    if len({_is_small(before, least) for least in possible}) > 1:
        yield Excuse(MIN_ISR_ALTERED, "acknowledged" if write.error == NONE else "refused")
    elif max(possible) > 1:
        yield from _judge_write(looks, write, before, after, max(possible))


def _judge_write(
    looks: _Looks, write: ProduceResult, before: PartitionAtBroker, after: PartitionAtBroker | None, least: int
) -> Iterator[Finding]:
    small, shown = (
        _is_small(before, least),
        f"{write.node} answered a write with acks=all with {say_error(write.error)} while the ISR was {say(before.isr)}",
    )
    if write.error == NONE and after is not None:
        small_after = _is_small(after, least)
        if small and small_after and looks.stays_small(before, write.asked, write.event, after):
            yield Finding(False, "acknowledged", (before.event, write.event), shown)
        elif not (small or small_after) and looks.is_not_trivial(before, after):
            yield Finding(True, "acknowledged", (before.event, write.event, after.event))
    elif write.error in TOO_FEW and small:
        refused = looks.refusals(before, write.asked)
        # Its own Metadata shows too few, and no replica could have joined since: it may not append.
        alone = bool(refused) and looks.others_are_down(before, refused[0].asked, write.event)
        fine = write.error == Error.NOT_ENOUGH_REPLICAS or not alone
        yield Finding(fine, "refused", (before.event, write.event), f"{shown}, after {Error.NOT_ENOUGH_REPLICAS}")


def _watermark(looks: _Looks) -> Iterator[Claim]:
    story = looks.story
    last: dict[IncarnationAtEpoch, FetchResult] = {}
    for read in story.derive(Leadership).leader_reads:
        key = (read.node, read.cur, read.incarnation)
        one = last.get(key)
        if one is None or one.event < read.asked:
            last[key] = read
        if one is None or one.event > read.asked:
            continue
        before, after = looks.around(read.node, one.asked, read.event)
        if before is None or after is None:
            continue
        possible = looks.possible_values(read.node, one.asked, read.event)
        small = {_is_small(before, least) and _is_small(after, least) for least in possible}
        if len(small) > 1:
            yield Excuse(MIN_ISR_ALTERED, "watermark")
        if small != {True}:
            continue
        shown = f"HW {one.high_watermark}, then {read.high_watermark} on {read.node} with the ISR {say(before.isr)}"
        by = (before.event, one.event, read.event)
        if read.high_watermark > one.high_watermark and looks.stays_small(before, one.asked, read.event, after):
            yield Finding(False, "watermark", by, shown)
        elif read.full and read.log_end > read.high_watermark == one.high_watermark:
            yield Finding(True, "watermark", by)
