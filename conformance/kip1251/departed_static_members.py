"""Static members that leave to return, and those whose session ends (KIP-848, KIP-1251)."""

from hypothesis.strategies import integers

from conformance.core.checks import Claims, held_if, premise, probe
from conformance.judging.groups.story import SAFE_SHARE
from conformance.rigs.groups.group import MANY, SHORT_SESSION, Group, fresh_group
from protocol.codes import Error
from protocol.words import say
from strategies.inputs import EPOCH_BUMPS, OFFSETS

REMOVAL_TIMEOUT = 40.0


@probe("KIP1251-STATIC-05", rig=fresh_group(MANY), cases=["pending"], bumps=EPOCH_BUMPS, waits=integers(1, 3))
def leaving_releases_what_was_to_be_revoked(group: Group, bumps: int, waits: int) -> Claims:
    """When a static member leaves to return, the partitions that it had to revoke become free; those that it kept stay
    reserved."""
    old, new = group.sole_member(bumps, instance_id=group.bench.fresh_name("instance")), group.member()
    new.join()
    lost = group.heartbeat_until_revoking(old)
    kept = old.partitions
    yield group.premise_of_waiting(old, min(lost))
    old.leave_to_return()
    given = group.is_given(new, lost)
    for partition in sorted(lost):
        yield held_if(
            partition in new.partitions or given.require_also(False),
            case="pending",
            detail=f"{old.id} left before it revoked {partition}; {new.id} has {say(sorted(new.partitions))}",
        )
    for _ in range(waits):
        new.keep_up()
    back = group.member(old.instance_id)
    answer = back.join()
    group.heartbeat_until_settled(back, new)
    for partition in sorted(kept):
        reserved = partition in back.partitions and partition not in new.partitions
        yield held_if(
            reserved,
            answer,
            case="assigned",
            detail=f"{old.id} had left with {partition}; its successor is back with {say(sorted(back.partitions))}",
        )


@probe("KIP1251-STATIC-07", rig=fresh_group(), examples=2, smoke=False, bumps=integers(1, 3), offset=OFFSETS)
def silent_static_member_is_removed(group: Group, bumps: int, offset: int) -> Claims:
    """A static member is removed when its session ends, and the next one with its instance id begins at later
    epochs."""
    group.shorten_sessions()
    old = group.sole_member(bumps, instance_id=group.bench.fresh_name("instance"))
    group.store(old, 0, offset)
    since = group.bench.now().seconds
    old.keep_up()
    gone = group.bench.wait.becomes_true(
        lambda: group.describe_member(old) is None, f"{old.id} removed", REMOVAL_TIMEOUT
    )
    within = group.bench.now().seconds - since
    on_time = gone.require_also(within >= SAFE_SHARE * SHORT_SESSION)
    commit = group.commit(old, {0: offset + 1}, old.epoch)
    after = group.committed_offset(0)
    unknown = on_time.require_also(commit.all_answered(Error.UNKNOWN_MEMBER_ID) and after.shows(offset))
    yield held_if(
        unknown,
        commit,
        after,
        case="removed",
        detail=f"{old.id}, which was silent, was removed after {within:.1f} s: {gone}",
    )
    yield premise(gone, f"{old.id} is removed")
    new = group.member(old.instance_id)
    new.join()
    group.heartbeat_until_settled(new)
    first = group.commit(new, {0: offset + 2}, old.epoch)
    stays = group.committed_offset(0)
    afresh = new.since[0] > old.epoch and first.all_answered(Error.STALE_MEMBER_EPOCH) and stays.shows(offset)
    yield held_if(
        afresh,
        first,
        stays,
        case="afresh",
        detail=f"the next member has it since epoch {new.since[0]}, the former was at {old.epoch}",
    )
