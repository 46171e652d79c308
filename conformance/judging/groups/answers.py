"""Answers to members of the consumer protocol: those that their state allows (KIP1251-INV-12), no spurious refusal of a commit
(INV-10), and no removal of a member that behaves or has time left (INV-13)."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple, TypeAlias

from conformance.judging.excuses import UNSTABLE_OFFSETS, Evidence
from conformance.judging.facts.exchange import NONE, Exchange, by_asked
from conformance.judging.facts.groups import GroupFetch, OffsetCommitResult
from conformance.judging.facts.memberships import Beat, ClassicRequest
from conformance.judging.groups.evidence import ASSIGNMENT_NOT_KNOWN, FORMER_RELEASE, MAY_BE_REMOVED, MEMBER_NOT_KNOWN
from conformance.judging.groups.members import Hold, Member, Standing, members_of
from conformance.judging.groups.story import SAFE_SHARE, GroupStory
from conformance.judging.judge import Claim, Excuse, Finding, story_judge
from protocol.codes import Error
from protocol.groups import JOIN
from protocol.since import since
from protocol.words import say_error

STALE = frozenset((Error.ILLEGAL_GENERATION, Error.STALE_MEMBER_EPOCH))
"""The refusals of a commit's epoch; which one depends on the request and its version (KIP1251-TXN-02)."""
REMOVED = frozenset((Error.UNKNOWN_MEMBER_ID, Error.FENCED_INSTANCE_ID))
FENCED = REMOVED | {Error.FENCED_MEMBER_EPOCH}
GRANTED = frozenset((NONE,))
OF_OTHERS = frozenset(
    (
        Error.INCONSISTENT_GROUP_PROTOCOL,
        Error.MEMBER_ID_REQUIRED,
        Error.REBALANCE_IN_PROGRESS,
        Error.UNRELEASED_INSTANCE_ID,
    )
)
"""Errors of classic members and of joins, which a coordinator also answers if it takes a member for another kind of one."""
DECIDED = FENCED | STALE | GRANTED | OF_OTHERS | {Error.GROUP_ID_NOT_FOUND}
"""The answers that say how a coordinator sees the member. Others are about the coordinator, the topic or the request."""
MEMBER_FETCHES_FROM = since("OffsetFetchRequest", "MemberId")

CLASSIC = {"beat": "a heartbeat", "sync": "SyncGroup"}
"""The requests of an honest classic member that has joined, in words."""
NOT_SERVED = frozenset((Error.NOT_COORDINATOR, Error.COORDINATOR_LOAD_IN_PROGRESS, Error.COORDINATOR_NOT_AVAILABLE))
"""The errors of a broker that does not coordinate the group, or not yet."""


class Commit(NamedTuple):
    """A commit of one request, of one or more partitions, by a member."""

    member: Member
    parts: Sequence[OffsetCommitResult]

    @property
    def first(self) -> OffsetCommitResult:
        return self.parts[0]

    @property
    def errors(self) -> frozenset[int]:
        return frozenset(part.accepted for part in self.parts)

    @property
    def is_transactional(self) -> bool:
        return self.first.transactional_id is not None

    def __str__(self) -> str:
        first = self.first
        where = ", ".join(f"{part.topic}-{part.partition}" for part in self.parts)
        kind = "TxnOffsetCommit" if self.is_transactional else "OffsetCommit"
        return (
            f"{first.node} answered {kind} of {where} by {self.member} at epoch {first.member_epoch} with "
            + ", ".join(say_error(error) for error in sorted(self.errors))
        )


MemberRequest: TypeAlias = Commit | Beat | GroupFetch


def commits_of_members(story: GroupStory) -> list[Commit]:
    """Return the answered commits that name a known member, and its instance id if it has one."""
    members, found = story.derive(members_of), []
    for _, parts in groupby(sorted(story.commits, key=by_asked), key=by_asked):
        commit = [*parts]
        member = members.get(commit[0].member_id)
        is_own = member is not None and commit[0].instance_id in ("", member.instance_id)
        if member is not None and is_own and all(part.accepted >= NONE for part in commit):
            found.append(Commit(member, commit))
    return found


# --- spurious refusals


@story_judge("KIP1251-INV-10", GroupStory, "commits")
def no_commit_is_refused_for_nothing(story: GroupStory) -> Iterator[Claim]:
    """A commit at an epoch between assignment epoch and member epoch of all its partitions is not refused for its epoch."""
    for one in story.derive(commits_of_members):
        case = "transactional" if one.is_transactional else "plain"
        standing = one.member.standing_during(one.first)
        if standing is None or not _is_admitted(one, standing):
            continue
        if excuse := _why_refused(one, standing) if one.errors & STALE else None:
            yield Excuse(excuse, case)
        elif one.errors & STALE or one.errors == GRANTED:
            held = not one.errors & STALE
            yield Finding(held, case, _shown_by(standing, one.first), f"{one}", "spurious-refusal")


def _is_admitted(commit: Commit, standing: Standing) -> bool:
    epoch, holds = commit.first.member_epoch, [standing.holds.get(part.place) for part in commit.parts]
    story, deleted = commit.member.story, [(part.topic, part.topic_key) for part in commit.parts]
    return (
        0 <= epoch <= standing.epoch
        and all(hold is not None and hold.first_epoch <= epoch and _is_kept(hold, commit) for hold in holds)
        and not any(story.timeline.may_be_deleted(names, commit.first.event) for names in deleted)
    )


def _is_kept(hold: Hold, commit: Commit) -> bool:
    """True if the partition is assigned, or pending revocation, until the answer.

    One that an answer showed again, or of which the member no longer wants the topic, may have been taken away at once.
    """
    event = commit.first.event
    changed = any(
        isinstance(one, Beat) and one.topics is not None and hold.began.event < one.event and one.asked < event
        for one in hold.member.requests
    )
    is_pending = 0 <= hold.told < event
    return (hold.end is None or hold.end.event > event) and not hold.shown_again and not (is_pending and changed)


def _why_refused(commit: Commit, standing: Standing) -> Evidence | None:
    member = commit.member
    if member.may_have_been_removed(commit.first):
        return MAY_BE_REMOVED
    if commit.first.member_epoch < _strict_below(commit, standing):
        return FORMER_RELEASE
    holds = [standing.holds[part.place] for part in commit.parts]
    found = [member.story.why_forgotten(hold.began, commit.first) for hold in holds]
    return next((one for one in found if one is not None), None)


def _strict_below(commit: Commit, standing: Standing) -> int:
    """Return the epoch below which a release without assignment epochs refuses the commit, or had it refused by its records; 0 if
    no node ran one."""
    story, first = commit.member.story, commit.first
    began = min(standing.holds[part.place].began.event for part in commit.parts)
    beats = (one for one in commit.member.requests if isinstance(one, Beat) and began <= one.event < first.event)
    granted = (one.given_epoch for one in beats if one.error == NONE and story.kept_no_epochs(one))
    return max([*granted, standing.epoch if story.kept_no_epochs(first) else 0], default=0)


def _shown_by(standing: Standing, request: Exchange) -> tuple[int, ...]:
    return (standing.event, request.event)


# --- answers by the member's state


class Expected(NamedTuple):
    """The right errors of one request, and the reason in words."""

    errors: frozenset[int]
    why: str


@story_judge("KIP1251-INV-12", GroupStory, "beats")
def each_answer_is_one_that_the_state_allows(story: GroupStory) -> Iterator[Claim]:
    """A heartbeat, a commit or a fetch of a member is granted or refused as its member epoch and assignment demand."""
    members = story.derive(members_of)
    for beat in story.beats:
        if beat.error in DECIDED and beat.epoch > 0 and beat.member_id in members:
            yield from _claim(members[beat.member_id], beat, "heartbeat", frozenset((beat.error,)))
    for commit in story.derive(commits_of_members):
        if commit.errors <= DECIDED and commit.first.member_epoch >= -1:
            yield from _claim(commit.member, commit, "commit", commit.errors)
    for fetch in story.fetches:
        is_member = fetch.member_id in members and fetch.version >= MEMBER_FETCHES_FROM and fetch.member_epoch >= 0
        if is_member and fetch.error in DECIDED:
            yield from _claim(members[fetch.member_id], fetch, "fetch", frozenset((fetch.error,)))


def _claim(member: Member, request: MemberRequest, case: str, errors: frozenset[int]) -> Iterator[Claim]:
    asked: Exchange = request.first if isinstance(request, Commit) else request
    standing = None if _is_impostor(member, request) else member.standing_during(asked)
    if standing is not None and not standing.exact:
        yield Excuse(MEMBER_NOT_KNOWN, case)
    elif standing is not None and isinstance(request, Commit) and _is_of_unknown_partition(standing, request):
        yield Excuse(ASSIGNMENT_NOT_KNOWN, case)
    elif standing is not None and (expected := _expected(standing, request)) is not None:
        held = errors <= expected.errors
        excuse = None if held else _why_else(member, asked)
        wrong = f"{_say(member, request)}, {expected.why}"
        yield Excuse(excuse, case) if excuse else Finding(held, case, _shown_by(standing, asked), wrong, "wrong-answer")


def _is_impostor(member: Member, request: MemberRequest) -> bool:
    """True if a heartbeat names another instance id than the member's; one that names none is the member's own."""
    return isinstance(request, Beat) and request.instance_id not in ("", member.instance_id)


def _expected(standing: Standing, request: MemberRequest) -> Expected | None:
    """Return what a request must be answered with; None if that is not known."""
    match request:
        case Commit():
            return _expected_of_commit(standing, request)
        case Beat():
            sent, refused = request.epoch, frozenset((Error.FENCED_MEMBER_EPOCH,))
            is_old = sent < standing.epoch and (sent < standing.previous or request.owned is None)
        case GroupFetch():
            sent, refused, is_old = request.member_epoch, STALE, request.member_epoch < standing.epoch
    why = f"and its member epoch is {standing.epoch}"
    if sent == standing.epoch:
        return Expected(GRANTED, why)
    return Expected(refused, why) if is_old or sent > standing.epoch else None


def _is_of_unknown_partition(standing: Standing, commit: Commit) -> bool:
    """True if a commit at an older epoch names a partition that the coordinator may keep for the member, or not."""
    places = [part.place for part in commit.parts]
    return (
        not standing.is_told
        and commit.first.member_epoch < standing.epoch
        and any(place not in standing.holds for place in places)
    )


def _expected_of_commit(standing: Standing, commit: Commit) -> Expected | None:
    """Return what a commit must be answered with. At an older epoch releases differ for partitions that the member still has
    (KIP1251-GATE-01)."""
    epoch, why = commit.first.member_epoch, f"and its member epoch is {standing.epoch}"
    if epoch == standing.epoch:
        return Expected(GRANTED, why)
    if epoch > standing.epoch:
        return Expected(STALE, why)
    for part in commit.parts if standing.is_told else ():
        hold = standing.holds.get(part.place)
        if hold is None:
            return Expected(STALE, f"{why}, without partition {part.partition}")
        if hold.since_is_exact and epoch < hold.first_epoch:
            return Expected(STALE, f"{why}, with partition {part.partition} since epoch {hold.first_epoch}")
    return None


def _why_else(member: Member, asked: Exchange) -> Evidence | None:
    """Return the evidence by which the coordinator may see the member otherwise; None without any."""
    if member.may_have_been_removed(asked):
        return MAY_BE_REMOVED
    granted = member.last_granted_before(asked.asked)
    is_unstable = isinstance(asked, GroupFetch) and not asked.stable
    if is_unstable and member.story.timeline.may_be_loading(granted.event, asked.event):
        return UNSTABLE_OFFSETS
    return member.story.why_forgotten(granted, asked)


def _say(member: Member, request: MemberRequest) -> str:
    if isinstance(request, Commit):
        return str(request)
    what, epoch = ("a heartbeat", request.epoch) if isinstance(request, Beat) else ("OffsetFetch", request.member_epoch)
    return f"{request.node} answered {what} of {member} at epoch {epoch} with {say_error(request.error)}"


# --- removals


@story_judge("KIP1251-INV-13", GroupStory, "beats")
def honest_members_stay(story: GroupStory) -> Iterator[Claim]:
    """A member that joins, or heartbeats at its epoch in time, is neither refused, removed nor fenced, and no member is removed
    before a timeout."""
    members = story.derive(members_of)
    for beat in story.beats:
        member = members.get(beat.member_id)
        if member is not None and _is_refused_join(member, beat):
            wrong = f"{_say(member, beat)}, though it joins with its own ids"
            yield Finding(False, "honest", (beat.asked, beat.event), wrong, "honest-member-removed")
        standing = member.standing_during(beat) if member is not None and beat.error in DECIDED else None
        if member is None or standing is None or _is_impostor(member, beat):
            continue
        is_honest = standing.exact and beat.epoch == standing.epoch
        is_over = member.may_be_removed(beat.event)
        if is_honest and not is_over:
            yield _stays(member, beat, standing, "honest", "honest-member-removed", held=beat.error == NONE)
        if beat.error in REMOVED and beat.epoch > 0:
            yield _stays(member, beat, standing, "time-out", "removed-too-early", held=is_over)


@story_judge("KIP1251-INV-13", GroupStory, "classic", "beats")
def honest_classic_members_stay(story: GroupStory) -> Iterator[Claim]:
    """A classic member that heartbeats or asks for its assignment in time, in a group of the consumer protocol, is known.

    After a heartbeat that was granted to a member of the consumer protocol, or while one certainly is in the group, all members
    are written. In a classic group those that just joined are not.
    """
    members = story.derive(members_of)
    for asked in (one for one in story.classic if one.kind in CLASSIC and one.error in (NONE, Error.UNKNOWN_MEMBER_ID)):
        member = members.get(asked.member_id)
        if member is None or member.instance_id or (last := _last_granted_in_a_row(member, asked)) is None:
            continue
        in_time = min(SAFE_SHARE * seconds for seconds in member.timeouts)
        if story.seconds(last.granted.asked, asked.event) < in_time and _is_upgraded(story, last, asked):
            excuse = None if asked.error == NONE else story.why_forgotten(last.granted, asked)
            what = CLASSIC[asked.kind]
            wrong = f"{asked.node} answered {what} of {member} at generation {asked.generation} with {say_error(asked.error)}"
            by = (last.granted.event, asked.event)
            yield (
                Excuse(excuse, "honest")
                if excuse
                else Finding(asked.error == NONE, "honest", by, wrong, "honest-member-removed")
            )


class LastGranted(NamedTuple):
    """The last granted request of a classic member, and the one that gave it its generation or its assignment."""

    granted: ClassicRequest
    began: ClassicRequest


def _last_granted_in_a_row(member: Member, asked: ClassicRequest) -> LastGranted | None:
    """Return a classic member's last granted request at a request's generation: since its SyncGroup for a heartbeat, since its
    JoinGroup for a SyncGroup. None if any other request came between, except those that a coordinator could not serve."""
    granted, began = None, "sync" if asked.kind == "beat" else "join"
    for one in reversed([one for one in member.requests if one.asked < asked.asked]):
        if not isinstance(one, ClassicRequest) or one.event > asked.asked or one.generation != asked.generation:
            return None
        if one.error == NONE and one.kind in (began, asked.kind):
            granted = granted or one
            if one.kind == began:
                return LastGranted(granted, one)
        elif one.kind != asked.kind or one.error not in NOT_SERVED:
            return None
    return None


def _is_upgraded(story: GroupStory, last: LastGranted, asked: ClassicRequest) -> bool:
    """True if the group certainly is one of the consumer protocol at a request, and has the member in its log."""
    if any(one.error == NONE and last.began.event < one.asked and one.event < asked.asked for one in story.beats):
        return True
    consumers = (one for one in story.derive(members_of).values() if not isinstance(one.requests[0], ClassicRequest))
    stays = [stay for one in consumers for stay in one.stays_until(asked.event)]
    return any(since < last.began.asked and asked.event <= until for since, until in stays)


def _is_refused_join(member: Member, beat: Beat) -> bool:
    """True if a join is refused as if the member had to be known, or as if another one had its instance id.

    Releases differ in whether a member that is known may join again.
    """
    if beat.error == Error.UNRELEASED_INSTANCE_ID:
        requests: list[Beat | ClassicRequest] = [*member.story.beats, *member.story.classic]
        named = {one.member_id for one in requests if one.asked < beat.event and one.instance_id == beat.instance_id}
        return beat.epoch == JOIN and named == {beat.member_id}
    is_first = member.requests[0] is beat
    return beat.epoch == JOIN and beat.error in (FENCED if is_first else {Error.UNKNOWN_MEMBER_ID})


def _stays(member: Member, beat: Beat, standing: Standing, case: str, label: str, *, held: bool) -> Claim:
    excuse = None if held else member.story.why_forgotten(member.last_granted_before(beat.asked), beat)
    silent, slow = member.timeouts
    wrong = f"{_say(member, beat)}, though neither its session of {silent:g} s nor its rebalance timeout of {slow:g} s was over"
    return Excuse(excuse, case) if excuse else Finding(held, case, _shown_by(standing, beat), wrong, label)
