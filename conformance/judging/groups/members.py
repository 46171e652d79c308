"""The members of a group: what each certainly owns by its answers, at which epoch, and until when.

A member owns a partition from the answer that first shows it to the *send* of the first request that gives it up: a heartbeat
that lists other partitions, a rejoin, a leave. A heartbeat that was refused gives nothing up. An instance that left to return
keeps what it was assigned until it returns, or its session ends; what it had to give up is free (KIP1251-STATIC-05).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cached_property
from operator import itemgetter
from typing import Literal, NamedTuple, TypeAlias

from conformance.judging.facts.exchange import NEVER_SENT, NONE, Exchange
from conformance.judging.facts.memberships import Beat, ClassicRequest
from conformance.judging.groups.story import SAFE_SHARE, GroupStory
from protocol.codes import Error
from protocol.groups import JOIN, LEAVE, LEAVE_TO_RETURN

Place: TypeAlias = tuple[str, int]
Request: TypeAlias = Beat | ClassicRequest
How = Literal["acknowledged", "left", "removed", "abandoned"]
"""The end of an ownership: the partition was given up by a request, the member left, the coordinator answered that it does not
know the member, or that the member is fenced, after which its client gives up everything."""
UNKNOWN_MEMBER = frozenset((Error.UNKNOWN_MEMBER_ID, Error.FENCED_INSTANCE_ID))
ABANDONS = frozenset((Error.FENCED_MEMBER_EPOCH, Error.ILLEGAL_GENERATION))
REFUSALS = frozenset(
    (
        NEVER_SENT,
        Error.COORDINATOR_LOAD_IN_PROGRESS,
        Error.ILLEGAL_GENERATION,
        Error.INCONSISTENT_GROUP_PROTOCOL,
        Error.INVALID_GROUP_ID,
        Error.UNKNOWN_MEMBER_ID,
        Error.REBALANCE_IN_PROGRESS,
        Error.UNSUPPORTED_VERSION,
        Error.INVALID_REQUEST,
        Error.GROUP_ID_NOT_FOUND,
        Error.MEMBER_ID_REQUIRED,
        Error.GROUP_MAX_SIZE_REACHED,
        Error.FENCED_INSTANCE_ID,
        Error.FENCED_MEMBER_EPOCH,
        Error.UNRELEASED_INSTANCE_ID,
        Error.UNSUPPORTED_ASSIGNOR,
        Error.STALE_MEMBER_EPOCH,
        Error.INVALID_SESSION_TIMEOUT,
        Error.INVALID_REGULAR_EXPRESSION,
    )
)
"""Errors of requests that changed nothing. Any other error leaves that open: COORDINATOR_NOT_AVAILABLE or NOT_COORDINATOR, for
example, may mean that the record was appended, and not replicated in time."""
ANSWERS_TO_SETTLE = 2
"""The number of later answers after which a request without an answer no longer takes effect."""


class End(NamedTuple):
    """The end of an ownership, at the send of a request or, if the coordinator ended it, at an answer."""

    event: int
    how: How


class Hold:
    """One ownership of a partition. `first_epoch` is that of the answer which first showed it, `last_epoch` the highest at which
    the partition certainly was assigned."""

    def __init__(self, member: Member, place: Place, began: Request, epoch: int) -> None:
        self.member = member
        self.place = place
        self.began = began
        self.first_epoch = self.last_epoch = epoch
        self.told = -1
        """The event of the answer by which the member has to give it up; -1 if there is none."""
        self.shown_again = False
        """True if an answer showed it again after one had told the member to give it up."""
        self.end: End | None = None
        self.since_is_exact = False
        """True if the assignment epoch certainly is `first_epoch`; it may be lower else."""

    @property
    def is_classic(self) -> bool:
        return isinstance(self.began, ClassicRequest)

    def ended_before(self, event: int) -> bool:
        return self.end is not None and self.end.event < event


class Standing(NamedTuple):
    """A member of the consumer protocol as its answers show it. `epoch` is its member epoch, and `exact` says that it cannot be
    higher; `previous` is the one before, -1 if none was answered. `is_told`: `holds` has all that it is assigned."""

    event: int
    epoch: int
    previous: int
    exact: bool
    is_told: bool
    holds: dict[Place, Hold]


class Turn(NamedTuple):
    event: int
    is_answer: bool
    request: Request


class Member:
    """The requests of one member id, in their order, and the ownerships that follow."""

    def __init__(self, story: GroupStory, id: str) -> None:
        self.story = story
        self.id = id
        self.instance_id = ""
        self.requests: list[Request] = []
        self.ended: list[Hold] = []
        self.standings: list[tuple[int, Standing | None]] = []
        """After each turn, with its event: None unless the member certainly belongs to the group, in the consumer protocol."""
        self._stays: list[tuple[int, int]] = []
        self._since = self._granted = -1
        """The first and the last answer that grant a request of the current membership; -1 without one."""
        self._holds: dict[Place, Hold] = {}
        self._epoch = self._previous = -1
        self._in_doubt = 0
        self._is_blind = False
        """True from an answer that was lost to the next one that has the assignment; also from a heartbeat that left out what the
        member had not been told to give up: the coordinator may keep that for it."""
        self._open: dict[int, Request] = {}
        self._given_up_at = -1

    @property
    def owner(self) -> str:
        """The instance id of a static member, else the member id."""
        return self.instance_id or self.id

    @property
    def holds(self) -> list[Hold]:
        return [*self.ended, *self._holds.values()]

    def stays_until(self, event: int) -> list[tuple[int, int]]:
        """Return the stretches in which the member certainly belonged to the group: first and last event.

        The last stretch goes on to this event unless a timeout may be over by then.
        """
        if self._since < 0:
            return self._stays
        until = self._granted if self.may_be_removed(event) else max(self._granted, event)
        return [*self._stays, (self._since, until)]

    def __str__(self) -> str:
        return f"{self.id} (instance {self.instance_id})" if self.instance_id else self.id

    def take(self, turn: Turn) -> None:
        """Process the call or the answer of a request."""
        if turn.is_answer:
            self._open.pop(turn.request.asked, None)
            self._take_answer(turn.request)
        else:
            self.requests.append(turn.request)
            self._open[turn.request.asked] = turn.request
            self._take_call(turn.request)
        self.standings.append((turn.event, self._standing(turn.event)))

    def _standing(self, event: int) -> Standing | None:
        if self._epoch < 0:
            return None
        exact = not self._in_doubt and not self._open
        return Standing(event, self._epoch, self._previous, exact, not self._is_blind, {**self._holds})

    def standing_during(self, request: Exchange) -> Standing | None:
        """Return the member's standing at a request; None if it certainly has none, or none any more at the answer. It is not
        exact if another request of the member came between the call and the answer."""
        before = bisect_left(self.standings, request.asked, key=itemgetter(0))
        after = bisect_left(self.standings, request.event, key=itemgetter(0))
        known = [standing for _, standing in self.standings[max(before - 1, 0) : after]] if before else [None]
        if known[0] is None or None in known:
            return None
        return known[0] if after - before == isinstance(request, Beat) else known[0]._replace(exact=False)

    def last_granted_before(self, event: int) -> Request:
        """Return the last request that was granted before an event. Raises StopIteration without one."""
        return next(one for one in reversed(self.requests) if one.error == NONE and one.event < event)

    # --- calls

    def _take_call(self, request: Request) -> None:
        if request.error in REFUSALS:
            return
        if _leaves(request):
            self.leaves(request.asked, kept=self._kept_while_away(request))
        elif isinstance(request, ClassicRequest):
            if request.kind == "join":
                self._give_up(request.owned or frozenset(), request.asked)
        elif request.epoch == JOIN:
            self._give_up(frozenset(), request.asked)
        elif request.owned is not None:
            self._is_blind |= any(hold.told < 0 for place, hold in self._holds.items() if place not in request.owned)
            self._give_up(request.owned, request.asked)

    def leaves(self, event: int, kept: frozenset[Place] = frozenset()) -> None:
        self._granted = event
        self._end_all(End(event, "left"), kept)

    def _kept_while_away(self, request: Request) -> frozenset[Place]:
        """Return what a leaving member keeps: an instance that will return, all that it certainly is assigned."""
        standing = self.standings[-1][1] if self.standings else None
        if standing is None or not (standing.exact and standing.is_told) or not _leaves_to_return(request):
            return frozenset()
        return frozenset([place for place, hold in self._holds.items() if hold.told < 0])

    def end(self, event: int) -> None:
        """End the membership by a request that is not the member's own."""
        self.leaves(event)
        self.standings.append((event, None))

    def _give_up(self, kept: frozenset[Place], event: int) -> None:
        self._given_up_at = event
        for place in self._holds.keys() - kept:
            self._end(place, End(event, "acknowledged"))

    def _end_all(self, end: End, kept: frozenset[Place] = frozenset()) -> None:
        self._stays = [*self._stays, *([(self._since, self._granted)] if self._since >= 0 else [])]
        self._since = -1
        self._epoch, self._given_up_at = -1, end.event
        for place in self._holds.keys() - kept:
            self._end(place, end)

    def _end(self, place: Place, end: End) -> None:
        hold = self._holds.pop(place)
        hold.end = end
        self.ended.append(hold)

    # --- answers

    def _take_answer(self, request: Request) -> None:
        if request.error == NONE:
            self.instance_id = self.instance_id or request.instance_id
            if not _leaves(request):
                self._granted, self._since = request.event, request.event if self._since < 0 else self._since
            self._take_granted(request)
        elif is_open(request):
            self._in_doubt, self._is_blind = ANSWERS_TO_SETTLE, True
        elif request.instance_id in ("", self.instance_id):
            if request.error in UNKNOWN_MEMBER:
                self._end_all(End(request.event, "removed"))
            elif request.error in ABANDONS and _epoch_of(request) == self._epoch:
                self._end_all(End(request.event, "abandoned"))

    def _take_granted(self, request: Request) -> None:
        if isinstance(request, ClassicRequest):
            if request.kind == "sync" and request.given is not None:
                self._is_given(request, request.given, request.generation)
            return
        if request.given_epoch < 0:
            return
        was_in_doubt = self._in_doubt > 0 or bool(self._open)
        self._in_doubt = max(0, self._in_doubt - 1)
        is_known = self._epoch >= 0
        if request.given_epoch > self._epoch:
            self._previous, self._epoch = self._epoch, request.given_epoch
        if request.given is not None:
            is_new = request.epoch != JOIN or not (is_known or self.ended or self.instance_id)
            self._is_given(request, request.given, request.given_epoch, exact=is_new and not was_in_doubt)
        elif not was_in_doubt:
            for hold in self._holds.values():
                hold.last_epoch = hold.last_epoch if hold.told >= 0 else request.given_epoch

    def _is_given(self, request: Request, given: frozenset[Place], epoch: int, *, exact: bool = False) -> None:
        if request.asked < self._given_up_at:
            return
        is_exact, self._is_blind = exact and not self._is_blind, False
        for place, hold in self._holds.items():
            if place not in given:
                hold.told = request.event if hold.told < 0 else hold.told
            else:
                hold.shown_again = hold.shown_again or hold.told >= 0
                hold.told, hold.last_epoch = -1, epoch
        for place in given - self._holds.keys():
            hold = self._holds[place] = Hold(self, place, request, epoch)
            hold.since_is_exact = is_exact

    # --- how long it stays without a sign of life

    def may_be_removed(self, event: int) -> bool:
        """True if the coordinator may have removed the member by an event, since a timeout of it was over."""
        silent, slow = self.timeouts
        alive = max((one.asked for one in self.requests if _is_alive(one) and one.event < event), default=0)
        if self.story.seconds(alive, event) >= SAFE_SHARE * silent:
            return True
        began = self._has_to_act_since(event)
        is_slow = began >= 0 and self.story.seconds(began, event) >= SAFE_SHARE * slow
        return is_slow or any(
            self.story.seconds(one, event) >= SAFE_SHARE * slow for one in self._rebalances(alive, event)
        )

    def _rebalances(self, first: int, second: int) -> Iterator[int]:
        """Yield the requests between two events by which another member may have begun a rebalance of a classic group: it ends
        without the dynamic members that do not rejoin, whether or not they were told.

        The joins of clients of their own are not seen. Where one has partitions by then, it may have joined at the first event.
        """
        if self.instance_id or not isinstance(self.requests[0], ClassicRequest):
            return
        for one in self.story.classic:
            begins = one.kind in ("join", "leave") and (
                one.error not in REFUSALS or one.error == Error.REBALANCE_IN_PROGRESS
            )
            if (
                begins
                and one.member_id != self.id
                and first < one.asked < second
                and not _has_consumers(self.story, one)
            ):
                yield one.asked
        for client in self.story.clients:
            if first < client.event < second and not _has_consumers(self.story, client):
                yield first

    def may_have_been_removed(self, answer: Exchange) -> bool:
        """True if the member may be removed at an answer, and no later one shows that it stayed."""
        if not self.may_be_removed(answer.event):
            return False
        granted = self._granted_without_joining(answer.event)
        return granted is None or self.story.why_forgotten(answer, granted) is not None

    def _granted_without_joining(self, event: int) -> Request | None:
        """Return the first heartbeat after an event that is granted before the member joins or leaves; None without any."""
        for request in (one for one in self.requests if one.asked > event and one.error not in REFUSALS):
            if _joins(request) or _leaves(request):
                return None
            if request.error == NONE and (isinstance(request, Beat) or request.kind == "beat"):
                return request
        return None

    @cached_property
    def timeouts(self) -> tuple[float, float]:
        """The shortest session and rebalance timeouts that the member may have had, in seconds. The first JoinGroup requests name
        one for both."""
        sessions = [one.session_timeout_ms for one in self.requests if isinstance(one, ClassicRequest)]
        rebalances = [one.rebalance_timeout_ms for one in self.requests]
        silent = min([ms / 1000 for ms in sessions if ms > 0], default=self.story.session_seconds)
        return silent, min([ms / 1000 for ms in rebalances if ms > 0], default=silent)

    def _has_to_act_since(self, event: int) -> int:
        """Return the first request since the member last acknowledged all by which it may have to give up partitions; -1 if
        there is none.

        A classic member's timeout goes on until a SyncGroup gives it all that it listed, since its epoch stays until then. A
        heartbeat of it whose outcome is open may have begun the timeout, unless the next one is granted.
        """
        since, given, listed, in_doubt = -1, None, frozenset[Place](), False
        for one in (one for one in self.requests if one.asked < event):
            if isinstance(one, ClassicRequest):
                if one.kind == "join":
                    since, listed = one.asked if since < 0 else since, one.owned or frozenset()
                elif one.error == NONE and (in_doubt or (one.kind == "sync" and listed <= (one.given or frozenset()))):
                    since = -1
                elif since < 0 and (one.error == Error.REBALANCE_IN_PROGRESS or is_open(one)):
                    since = one.asked
                if one.error == Error.REBALANCE_IN_PROGRESS or since in (-1, one.asked):
                    in_doubt = is_open(one) and since == one.asked
                continue
            if one.error not in REFUSALS and one.owned is not None and one.owned <= (given or frozenset()):
                since = -1
            if is_open(one) or (one.given is not None and given is not None and given - one.given):
                since = one.asked if since < 0 else since
            given = one.given if one.given is not None else given
        return since


def is_open(request: Request) -> bool:
    """True if it is not known whether a request took effect."""
    return request.error != NONE and request.error not in REFUSALS


def _leaves(request: Request) -> bool:
    return request.kind == "leave" if isinstance(request, ClassicRequest) else request.epoch in (LEAVE, LEAVE_TO_RETURN)


def _leaves_to_return(request: Request) -> bool:
    return isinstance(request, Beat) and request.epoch == LEAVE_TO_RETURN and bool(request.instance_id)


def _joins(request: Request) -> bool:
    return request.kind == "join" if isinstance(request, ClassicRequest) else request.epoch == JOIN


def _is_alive(request: Request) -> bool:
    """True for a sign of life. The session of an instance that leaves to return goes on from the one before."""
    return request.error in (NONE, Error.REBALANCE_IN_PROGRESS) and not _leaves_to_return(request)


def _epoch_of(request: Request) -> int:
    return request.epoch if isinstance(request, Beat) else request.generation


def members_of(story: GroupStory) -> dict[str, Member]:
    """Return the members of a group by id, after all their requests."""
    members: dict[str, Member] = {}
    for turn in _turns(story):
        one = turn.request
        if one.instance_id and not turn.is_answer and one.error not in REFUSALS and _ends_its_instance(one):
            for member in members.values():
                if member.instance_id == one.instance_id and member.id != one.member_id:
                    member.end(one.asked)
        if one.member_id:
            members.setdefault(one.member_id, Member(story, one.member_id)).take(turn)
    return members


def _ends_its_instance(request: Request) -> bool:
    """True if a request ends another member with its instance id: a join in that member's place, of either protocol, or a leave
    that names no member."""
    if isinstance(request, Beat):
        return request.epoch == JOIN
    return request.kind == "join" or (request.kind == "leave" and not request.member_id)


def _turns(story: GroupStory) -> list[Turn]:
    """Return the calls and answers of all members, in the order of the events."""
    requests: Sequence[Request] = [*story.beats, *story.classic]
    turns = [Turn(one.asked, False, one) for one in requests] + [Turn(one.event, True, one) for one in requests]
    return sorted(turns, key=lambda turn: turn[:2])


def _has_consumers(story: GroupStory, request: Exchange) -> bool:
    """True if a member of the consumer protocol certainly was in the group at a request."""
    consumers = (one for one in story.derive(members_of).values() if isinstance(one.requests[0], Beat))
    stays = [stay for one in consumers for stay in one.stays_until(request.event)]
    return any(since < request.asked and request.event <= until for since, until in stays)


def is_never_empty(story: GroupStory, first: int, second: int) -> bool:
    """True if the group certainly had a member all the time between two events. An empty group may be deleted, and then begins
    again with low epochs."""
    until, members = first, story.derive(members_of).values()
    for begins, ends in sorted(stay for member in members for stay in member.stays_until(second)):
        if begins > until:
            break
        until = max(until, ends)
    return until >= second


def holds_by_place(story: GroupStory) -> dict[Place, list[Hold]]:
    """Return the ownerships of each partition, in the order in which answers showed them."""
    found: dict[Place, list[Hold]] = {}
    for hold in sorted(_all_holds(story), key=lambda hold: hold.began.event):
        found.setdefault(hold.place, []).append(hold)
    return found


def _all_holds(story: GroupStory) -> Iterator[Hold]:
    for member in story.derive(members_of).values():
        yield from member.holds
