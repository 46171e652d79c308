"""Two assignors of the consumer protocol: uniform, which moves as little as it can, and range."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.miniature.coordinators.state import Place

Subscriptions = Mapping[str, Mapping[str, int]]
"""The numbers of partitions of the topics that each member reads, by topic id."""
Assignment = dict[str, frozenset[Place]]


def uniform(subscriptions: Subscriptions, before: Mapping[str, frozenset[Place]]) -> Assignment:
    """Give each partition to one reader, so that two readers of a topic differ by at most one partition, and few move."""
    places = _all_places(subscriptions)
    owners: dict[Place, str] = {}
    for member in sorted(subscriptions):
        for place in sorted(before.get(member, ())):
            if place[0] in subscriptions[member] and place in places:
                owners.setdefault(place, member)
    loads = {member: [*owners.values()].count(member) for member in subscriptions}
    for place in (one for one in places if one not in owners):
        owners[place] = _least(loads, _readers(subscriptions, place))
        loads[owners[place]] += 1
    while (move := _find_move(subscriptions, owners, loads)) is not None:
        place, to = move
        loads[owners[place]] -= 1
        loads[to] += 1
        owners[place] = to
    return {member: frozenset(one for one, owner in owners.items() if owner == member) for member in subscriptions}


def range_assignor(subscriptions: Subscriptions, before: Mapping[str, frozenset[Place]]) -> Assignment:
    """Give each reader of a topic a range of its partitions, in the order of the members' ids."""
    given: dict[str, set[Place]] = {member: set() for member in subscriptions}
    for topic in sorted({topic for read in subscriptions.values() for topic in read}):
        readers = _readers(subscriptions, (topic, 0))
        count = max(subscriptions[member][topic] for member in readers)
        each, extra = divmod(count, len(readers))
        first = 0
        for number, member in enumerate(readers):
            end = first + each + (number < extra)
            given[member] |= {(topic, index) for index in range(first, end)}
            first = end
    return {member: frozenset(places) for member, places in given.items()}


ASSIGNORS = {"uniform": uniform, "range": range_assignor}


def _all_places(subscriptions: Subscriptions) -> list[Place]:
    counts = {topic: count for read in subscriptions.values() for topic, count in read.items()}
    return [(topic, index) for topic in sorted(counts) for index in range(counts[topic])]


def _readers(subscriptions: Subscriptions, place: Place) -> list[str]:
    return [member for member in sorted(subscriptions) if place[0] in subscriptions[member]]


def _least(loads: Mapping[str, int], members: Sequence[str]) -> str:
    return min(members, key=lambda one: (loads[one], one))


def _find_move(
    subscriptions: Subscriptions, owners: Mapping[Place, str], loads: Mapping[str, int]
) -> tuple[Place, str] | None:
    """Return a partition whose owner has at least two more than another reader, and that one; None if there is none."""
    for place in sorted(owners, reverse=True):
        to = _least(loads, _readers(subscriptions, place))
        if loads[owners[place]] - loads[to] >= 2:
            return place, to
    return None


__all__ = ["ASSIGNORS", "range_assignor", "uniform"]
