"""Owners of partitions as clients of their own tell them: at most one at any point (KIP1251-INV-08)."""

from collections.abc import Iterator
from typing import NamedTuple

from conformance.judging.excuses import OFFSETS_LOST, Evidence
from conformance.judging.facts.exchange import NONE, by_event
from conformance.judging.facts.group_log import LoggedGroup
from conformance.judging.facts.memberships import ClientPartitions
from conformance.judging.groups.evidence import CLIENT_REMOVED, LOG_COMPACTED, MAY_BE_REMOVED
from conformance.judging.groups.members import Place
from conformance.judging.groups.story import SAFE_SHARE, GroupStory
from conformance.judging.groups.tenures import Tenure, Tenures
from conformance.judging.judge import Claim, Excuse, Finding, story_judge


class Possession(NamedTuple):
    """One ownership of a partition by a client; `ended` is None while it lasts."""

    place: Place
    began: ClientPartitions
    ended: ClientPartitions | None


@story_judge("KIP1251-INV-08", GroupStory, "clients")
def clients_share_nothing(story: GroupStory) -> Iterator[Claim]:
    """No client has a partition while another one does, which has not yet returned from the callback that revokes it.

    Nothing is claimed of partitions that a client lost: its coordinator had removed it before it knew. The coordinator's own word
    counts as well, since a client that closes before it knows gives them up as if it were a member.
    """
    by_place: dict[Place, list[Possession]] = {}
    for one in story.derive(possessions):
        before = [had for had in by_place.get(one.place, []) if had.began.client != one.began.client]
        open = [had for had in before if had.ended is None or had.ended.event > one.began.event]
        for had in open or before[-1:]:
            if had.ended is None or not had.ended.lost:
                yield _claim(story, had, one, is_open=bool(open))
        by_place.setdefault(one.place, []).append(one)


def possessions(story: GroupStory) -> list[Possession]:
    """Return the ownerships of all clients, with their ends, in the order of their beginnings."""
    return sorted(_possessions(story), key=lambda one: one.began.event)


def _possessions(story: GroupStory) -> Iterator[Possession]:
    had: dict[str, dict[Place, ClientPartitions]] = {}
    for one in sorted(story.clients, key=by_event):
        own = had.setdefault(one.client, {})
        for place in own.keys() - one.has:
            yield Possession(place, own.pop(place), one)
        own |= dict.fromkeys(one.has - own.keys(), one)
    for own in had.values():
        yield from (Possession(place, began, None) for place, began in own.items())


def _claim(story: GroupStory, had: Possession, one: Possession, *, is_open: bool) -> Claim:
    if is_open and (excuse := _why_removed(story, had, one)) is not None:
        return Excuse(excuse, "client")
    ended = () if had.ended is None else (had.ended.event,)
    wrong = f"{one.began.client} was assigned partition {one.place[1]}, which {had.began.client} had not given up"
    by = (had.began.event, *ended, one.began.event)
    return Finding(not is_open, "client", tuple(sorted(by)), wrong, "two-owners")


# --- what the coordinator says of two clients that tell that they have one partition


def _why_removed(story: GroupStory, had: Possession, one: Possession) -> Evidence | None:
    """Return the evidence by which the coordinator may have removed one of two clients before the other had the partition.

    A log that is whole decides. Else a description counts, or that a session may be over: a client's heartbeats are not seen.
    """
    if story.may_have_lost_records(one.began.event):
        return OFFSETS_LOST
    logs = [log for log in story.logs if log.asked > one.began.event]
    if any(_is_removed_in(log, story, *pair) for log in logs for pair in ((had, one), (one, had))):
        return CLIENT_REMOVED
    if any(log.is_whole for log in logs):
        return None
    if _lacks(story, had, one):
        return CLIENT_REMOVED
    if logs:
        return LOG_COMPACTED
    is_long = story.seconds(had.began.event, one.began.event) >= SAFE_SHARE * story.session_seconds
    return MAY_BE_REMOVED if is_long else None


def _is_removed_in(log: LoggedGroup, story: GroupStory, former: Possession, next: Possession) -> bool:
    """True if a record removes the former owner before another one gives the partition to the next, and none gives it back."""
    tenures = Tenures(log)
    return any(
        had.removed
        and had.ended is not None
        and had.ended <= own.first
        and not _begins_between(tenures, had, own, next.place)
        for had in _told_as(story, tenures, former)
        for own in _told_as(story, tenures, next)
    )


def _begins_between(tenures: Tenures, had: Tenure, own: Tenure, place: Place) -> bool:
    return any(had.first < one.first < own.first for one in tenures.of(had.member_id, place))


def _told_as(story: GroupStory, tenures: Tenures, told: Possession) -> list[Tenure]:
    """Return the tenures that a client may have told as this ownership: one, if it told as many as the log has."""
    logged = tenures.of(told.began.member_id, told.place)
    all = [one for one in story.derive(possessions) if (one.place, one.began.client) == (told.place, told.began.client)]
    return [logged[all.index(told)]] if len(all) == len(logged) else logged


def _lacks(story: GroupStory, had: Possession, one: Possession) -> bool:
    """True if a coordinator described the group without the former owner, between the two ownerships' beginnings."""
    return any(
        had.began.event < shown.asked
        and shown.event < one.began.event
        and shown.said.error == NONE
        and bool(had.began.member_id)
        and had.began.member_id not in {member.member_id for member in shown.said.members}
        and story.why_forgotten(had.began, shown) is None
        for shown in story.described
    )
