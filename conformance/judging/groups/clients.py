"""Owners of partitions as clients of their own tell them: at most one at any point (KIP1251-INV-08)."""

from collections.abc import Iterator
from typing import NamedTuple

from conformance.judging.facts.exchange import by_event
from conformance.judging.facts.memberships import ClientPartitions
from conformance.judging.groups.members import Place
from conformance.judging.groups.story import GroupStory
from conformance.judging.judge import Claim, Finding, story_judge


class Possession(NamedTuple):
    """One ownership of a partition by a client; `ended` is None while it lasts."""

    place: Place
    began: ClientPartitions
    ended: ClientPartitions | None


@story_judge("KIP1251-INV-08", GroupStory, "clients")
def clients_share_nothing(story: GroupStory) -> Iterator[Claim]:
    """No client has a partition while another one does, which has not yet returned from the callback that revokes it.

    Nothing is claimed of partitions that a client lost: its coordinator had removed it before it knew.
    """
    by_place: dict[Place, list[Possession]] = {}
    for one in sorted(_possessions(story), key=lambda one: one.began.event):
        before = [had for had in by_place.get(one.place, []) if had.began.client != one.began.client]
        open = [had for had in before if had.ended is None or had.ended.event > one.began.event]
        for had in open or before[-1:]:
            if had.ended is None or not had.ended.lost:
                ended = () if had.ended is None else (had.ended.event,)
                wrong = f"{one.began.client} was assigned partition {one.place[1]}, which {had.began.client} had not given up"
                by = (had.began.event, *ended, one.began.event)
                yield Finding(not open, "client", tuple(sorted(by)), wrong, "two-owners")
        by_place.setdefault(one.place, []).append(one)


def _possessions(story: GroupStory) -> Iterator[Possession]:
    """Yield the ownerships of all clients, with their ends."""
    had: dict[str, dict[Place, ClientPartitions]] = {}
    for one in sorted(story.clients, key=by_event):
        own = had.setdefault(one.client, {})
        for place in own.keys() - one.has:
            yield Possession(place, own.pop(place), one)
        own |= dict.fromkeys(one.has - own.keys(), one)
    for own in had.values():
        yield from (Possession(place, began, None) for place, began in own.items())
