"""The leader epochs that each broker incarnation knew: those it served, those it refused, and the changes of leader."""

from bisect import bisect_left, bisect_right
from functools import cached_property
from itertools import accumulate
from operator import itemgetter
from typing import NamedTuple

from conformance.judging.facts import log as facts
from conformance.judging.facts.exchange import Exchange, by_asked, by_event
from conformance.judging.log.leadership import Leadership
from conformance.judging.log.story import PartitionStory
from protocol.codes import Error

NodeIncarnation = tuple[str, int]
"""A node's name and the number of its incarnation."""


class ServedRequest(Exchange, frozen=True, gc=False):
    """A request with a leader epoch that was answered without an error."""

    op: str
    cur: int
    replica_id: int


Asked = ServedRequest | facts.ErrorResponse | facts.FetchResult


class ServingLeader(NamedTuple):
    """The event at which a broker first acts as the leader of an epoch; `stale` is the epoch that it ended."""

    event: int
    node: str
    cur: int
    stale: int


class KnownEpochs:
    """The leader epochs of one partition that each broker incarnation knew. An epoch counts only once a Metadata answer has named
    it."""

    def __init__(self, story: PartitionStory) -> None:
        self.story = story
        self._leadership = story.derive(Leadership)

    @cached_property
    def answers(self) -> list[ServedRequest]:
        """The requests that were answered without an error, in the order of the answers."""
        return [*self._collect_answers()]

    def _collect_answers(self) -> list[ServedRequest]:
        found = [_as_served(read, "fetch", read.replica_id) for read in self.story.reads if read.cur >= 0]
        found += [_as_served(end, "offset_for_leader_epoch", -1) for end in self.story.epoch_ends if end.cur >= 0]
        found += [_as_served(one, "list_offsets", one.replica_id) for one in self.story.listed if one.cur >= 0]
        return sorted(found, key=by_event)

    # --- the least that a broker knows

    @cached_property
    def _floors(self) -> dict[NodeIncarnation, list[tuple[int, int]]]:
        """The lower bounds of each broker incarnation's epoch, as (event, epoch): from the event on it was at that epoch or a
        later one. Both rise."""
        known = [(one.event, one.node, one.cur, one.incarnation) for one in self.answers]
        fenced = (one for one in self.story.errors if one.error == Error.FENCED_LEADER_EPOCH and one.cur >= 0)
        known += [(one.event, one.node, one.cur + 1, one.incarnation) for one in fenced]
        found: dict[NodeIncarnation, list[tuple[int, int]]] = {}
        for event, node, epoch, incarnation in sorted(known):
            floors = found.setdefault((node, incarnation), [])
            if self._leadership.newest_epoch_before(event) >= epoch and (not floors or floors[-1][1] < epoch):
                floors.append((event, epoch))
        return found

    def event_at_epoch(self, answer: Exchange, epoch: int) -> int:
        """Return the event by which the broker incarnation had been at the epoch or a later one; 0 without one."""
        floors = self._floors.get(self._life(answer), [])
        place = bisect_left(floors, epoch, key=itemgetter(1))
        return floors[place][0] if place < len(floors) and floors[place][0] < answer.asked else 0

    def event_past_epoch(self, answer: Asked) -> int:
        """Return the event by which the broker had been at a later epoch than that of the request; 0 without one."""
        return self.event_at_epoch(answer, answer.cur + 1)

    # --- the most

    def event_serving_later(self, answer: Asked) -> int:
        """Return the event at which the same incarnation later serves this epoch or an older one; 0 without one."""
        later, lowest = self._by_life.get(self._life(answer), ([], []))
        place = bisect_right(later, answer.event, key=by_event)
        if place == len(later) or lowest[place] > answer.cur:
            return 0
        return next((one.event for one in later[place:] if one.asked > answer.event and one.cur <= answer.cur), 0)

    def event_still_at_epoch(self, refusal: facts.ErrorResponse) -> int:
        """Return the later event at which the broker serves the refused epoch, or names no newer one; 0 without one."""
        named = self.story.metadata_by_incarnation.get(self._life(refusal), [])
        place = bisect_right(named, refusal.event, key=by_asked)
        if place < len(named) and named[place].epoch <= refusal.cur:
            return named[place].event
        return self.event_serving_later(refusal)

    @cached_property
    def _by_life(self) -> dict[NodeIncarnation, tuple[list[ServedRequest], list[int]]]:
        """The requests that each broker incarnation served, and for each the lowest epoch from then on."""
        found: dict[NodeIncarnation, tuple[list[ServedRequest], list[int]]] = {}
        for one in self.answers:
            found.setdefault(self._life(one), ([], []))[0].append(one)
        for served, lowest in found.values():
            lowest += [*accumulate((one.cur for one in reversed(served)), min)][::-1]
        return found

    def _life(self, answer: Exchange) -> NodeIncarnation:
        return answer.node, answer.incarnation

    # --- who took over

    @cached_property
    def _takeovers(self) -> list[ServingLeader]:
        """The first time that the leader of each epoch is seen to act; both events and epochs rise."""
        found: list[ServingLeader] = []
        for one in self.answers:
            newer = not found or found[-1].cur < one.cur
            if newer and self._leadership.is_from_leader(one):
                found.append(ServingLeader(one.event, one.node, one.cur, one.cur))
        return found

    @property
    def has_successors(self) -> bool:
        """True if a broker was seen to lead after another one had led. Otherwise `successor` always returns None."""
        return len({*self._leadership.leaders.values()}) > 1 and bool(self._takeovers)

    def successor(self, node: str, asked: int) -> ServingLeader | None:
        """Return the leader that was seen, before the request, at an epoch after the broker's last as leader; None without
        one."""
        place = bisect_left(self._takeovers, asked, key=by_event)
        newest = self._takeovers[place - 1] if place else None
        if newest is None or newest.node == node:
            return None
        mine = self._leadership.epochs_of(node)
        before = bisect_left(mine, newest.cur)
        return newest._replace(stale=mine[before - 1]) if before else None


def _as_served(
    answer: facts.FetchResult | facts.EpochEndOffset | facts.OffsetLookup, op: str, replica_id: int
) -> ServedRequest:
    return ServedRequest(answer.asked, answer.event, answer.node, answer.incarnation, op, answer.cur, replica_id)
