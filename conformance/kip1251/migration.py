"""Classic groups that become consumer groups, and back: generations and epochs (KIP-848, KIP-1251)."""

from hypothesis.strategies import integers

from conformance.core.checks import Claims, held_if, premise, probe
from conformance.rigs.groups.classic import classic_alone, commit_offset, rejoin, upgrade_group
from conformance.rigs.groups.group import Group, fresh_group
from conformance.rigs.groups.group_log import GroupLog
from protocol.codes import Error
from protocol.words import say
from strategies.inputs import OFFSETS

REJOINS = integers(1, 3)


@probe(
    "KIP1251-UPG-01",
    rig=fresh_group(),
    examples=2,
    cases=["generation"],
    rejoins=REJOINS,
    partition=integers(0, 3),
    offset=OFFSETS,
)
def classic_member_keeps_its_generation(group: Group, rejoins: int, partition: int, offset: int) -> Claims:
    """After the upgrade, a classic member may commit at its generation, and not at the one before or after it."""
    yield from only_at_its_generation(group, rejoins, partition, offset)


@probe(
    "KIP1251-UPG-01",
    rig=fresh_group(),
    examples=1,
    smoke=False,
    cases=["generation"],
    rejoins=REJOINS,
    partition=integers(0, 3),
    offset=OFFSETS,
)
def loaded_classic_member_keeps_its_generation(group: Group, rejoins: int, partition: int, offset: int) -> Claims:
    """A coordinator that has loaded the upgraded group accepts and refuses the classic member's commits as before, and has
    the member."""
    yield from only_at_its_generation(group, rejoins, partition, offset, loads=True)


def only_at_its_generation(group: Group, rejoins: int, partition: int, offset: int, *, loads: bool = False) -> Claims:
    """Send commits of a classic member at its generation and around it, after the upgrade and, if it `loads`, a restart."""
    classic = classic_alone(group, rejoins)
    _, is_upgraded = upgrade_group(group, classic)
    yield is_upgraded
    generation = classic.generation
    if loads:
        group.restart_coordinator()
        alive = classic.heartbeat()
        has_to_rejoin = alive.error is Error.REBALANCE_IN_PROGRESS
        yield held_if(alive.error is Error.NONE or has_to_rejoin, alive, case="generation")
    older = commit_offset(group, classic, partition, offset + 1, generation - 1)
    newer = commit_offset(group, classic, partition, offset + 2, generation + 1)
    unset = group.committed_offset(partition)
    at = commit_offset(group, classic, partition, offset, generation)
    after = group.committed_offset(partition)
    refused = older.all_answered(Error.ILLEGAL_GENERATION) and unset.shows(-1)
    yield held_if(refused, older, unset, case="older")
    refused = newer.all_answered(Error.ILLEGAL_GENERATION) and unset.shows(-1)
    yield held_if(refused, newer, unset, case="newer")
    yield held_if(at.all_answered(Error.NONE) and after.shows(offset), at, after, case="generation")
    again = commit_offset(group, classic, partition, offset, generation)
    yield held_if(again.all_answered(Error.NONE), again, case="generation")


@probe("KIP1251-UPG-02", rig=fresh_group(), examples=2, cases=["kept"], rejoins=REJOINS, offset=OFFSETS)
def classic_member_below_its_epoch(group: Group, rejoins: int, offset: int) -> Claims:
    """A classic member that missed the answer of a bump may commit partitions that it kept at its old generation, and
    no others."""
    yield from kept_and_lost_below_its_epoch(group, rejoins, offset)


@probe("KIP1251-UPG-02", rig=fresh_group(), examples=1, smoke=False, cases=["kept"], rejoins=REJOINS, offset=OFFSETS)
def loaded_classic_member_below_its_epoch(group: Group, rejoins: int, offset: int) -> Claims:
    """A coordinator that has loaded the upgraded group does the same."""
    yield from kept_and_lost_below_its_epoch(group, rejoins, offset, loads=True)


def kept_and_lost_below_its_epoch(group: Group, rejoins: int, offset: int, *, loads: bool = False) -> Claims:
    """Send commits of a classic member at its old generation after it missed a bump and, if it `loads`, after a restart."""
    log, classic = GroupLog(group), classic_alone(group, rejoins)
    generation = classic.generation
    _, is_upgraded = upgrade_group(group, classic)
    yield is_upgraded
    missed = classic.join(member_id=classic.id)
    classic.epoch = generation
    stored = log.assignments(classic.id)
    held = frozenset(range(group.partitions)).intersection(*(record.partitions for record in stored))
    gone = frozenset(range(group.partitions)).difference(*(record.partitions for record in stored[-1:]))
    risen = missed.error is Error.NONE and bool(stored) and stored[-1].member_epoch > generation
    yield premise(risen and bool(held and gone), f"above epoch {generation}, some kept and some lost: {say(stored)}")
    kept, lost = min(held), min(gone)
    if loads:
        group.restart_coordinator()
    refused = commit_offset(group, classic, lost, offset, generation)
    unset = group.committed_offset(lost)
    below = commit_offset(group, classic, kept, offset, generation - 1)
    at = commit_offset(group, classic, kept, offset, generation)
    after = group.committed_offset(kept)
    yield held_if(refused.all_answered(Error.ILLEGAL_GENERATION) and unset.shows(-1), refused, unset, case="lost")
    yield held_if(below.all_answered(Error.ILLEGAL_GENERATION), below, case="before-upgrade")
    yield held_if(at.all_answered(Error.NONE) and after.shows(offset), at, after, case="kept")


@probe("KIP1251-UPG-03", rig=fresh_group(), examples=2, cases=["strict"], rejoins=REJOINS, offset=OFFSETS)
def downgraded_group_is_strict(group: Group, rejoins: int, offset: int) -> Claims:
    """After the last member of the consumer protocol has left, older generations are refused, and committed offsets are
    kept."""
    yield from strict_after_the_downgrade(group, rejoins, offset)


@probe("KIP1251-UPG-03", rig=fresh_group(), examples=1, smoke=False, cases=["strict"], rejoins=REJOINS, offset=OFFSETS)
def loaded_downgraded_group_is_strict(group: Group, rejoins: int, offset: int) -> Claims:
    """A coordinator that has loaded the downgraded group does the same."""
    yield from strict_after_the_downgrade(group, rejoins, offset, loads=True)


def strict_after_the_downgrade(group: Group, rejoins: int, offset: int, *, loads: bool = False) -> Claims:
    """Send commits of the only member of a group that was upgraded and downgraded and, if it `loads`, restarted."""
    classic = classic_alone(group, rejoins)
    newcomer, is_upgraded = upgrade_group(group, classic)
    yield is_upgraded
    before = classic.generation
    stored = commit_offset(group, classic, 0, offset, before)
    yield premise(stored.all_answered(Error.NONE), f"committed: {stored}", promised=("KIP1251-UPG-01", "generation"))
    newcomer.leave()
    rejoin(group, classic)
    if loads:
        group.restart_coordinator()
    kept = group.committed_offset(0)
    yield held_if(kept.shows(offset), stored, kept, case="offsets")
    yield premise(classic.generation > before, f"generation {classic.generation} after {before}")
    for generation in range(before, classic.generation):
        older = commit_offset(group, classic, 0, offset + 1, generation)
        yield held_if(older.all_answered(Error.ILLEGAL_GENERATION), older, case="strict")
    at = commit_offset(group, classic, 0, offset + 2, classic.generation)
    after = group.committed_offset(0)
    yield held_if(at.all_answered(Error.NONE) and after.shows(offset + 2), at, after, case="strict")
