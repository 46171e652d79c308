"""A group stops, its committed position is truncated and overwritten, and a new member continues (KIP-320, KIP320-SC-11)."""

from hypothesis.strategies import booleans, integers

from conformance.core.bench import Bench
from conformance.core.checks import Claim, Claims, Rig, held_if, premise
from conformance.core.topologies import QUICK_CLUSTER
from conformance.rigs.groups.offsets import COMMITS_EPOCH_FROM, FETCHES_EPOCH_FROM
from conformance.rigs.log.quiescence import at_rest
from conformance.rigs.log.reader import Reader
from conformance.rigs.log.scenarios import log_scenario
from conformance.rigs.log.truncated_readers import epoch_of_last_shared, record_values, silently_skips, take_over
from conformance.rigs.log.unclean_elections import UncleanPartition, UncleanPartitionData, couple_led_by
from conformance.rigs.producers.transactions import coordinator_of
from conformance.rigs.versions import BACK, choose_version
from fixtures.views.coordinator import Coordinator
from fixtures.views.member import LoneClassicMember
from fixtures.views.nodes import ask_until_granted, is_not_ready
from fixtures.wire import NodeClient, WireError
from history.readings import Position
from protocol.cluster import CoordinatorType, PartitionMetadata
from protocol.codes import Error
from protocol.groups import CommittedOffset, NewOffset
from protocol.words import say

SESSION_MS, REBALANCE_MS = 1_500, 3_000
"""The session timeout, after which a vanished member is removed, and the rebalance timeout, in milliseconds."""


def _led_by_coordinator(bench: Bench) -> UncleanPartitionData:
    """Create the couple on a broker that also coordinates all groups: __consumer_offsets has one partition here."""
    coordinator = coordinator_of(bench, "any group", CoordinatorType.GROUP)
    return couple_led_by(bench, coordinator.node)


LED_BY_COORDINATOR = Rig(QUICK_CLUSTER, _led_by_coordinator, UncleanPartition)


class RestartedGroup:
    """A group with one classic member at a time that consumes the couple's partition."""

    def __init__(self, couple: UncleanPartition, name: str) -> None:
        self.couple = couple
        self.bench = couple.bench
        self.name = name
        self.members: list[str] = []
        self.generations: list[int] = []

    def coordinator(self) -> NodeClient:
        """Return the coordinator, looked up through a broker that stays up."""
        return Coordinator(self.bench, self.name, asked=[self.couple.bystander]).node()

    def join(self) -> None:
        """Join as a new member and get the partition; waits for a coordinator and for the former member's removal."""
        joined = self.bench.eventually(self._join, f"a member of {self.name}", every=0.1)
        self.members.append(joined[0])
        self.generations.append(joined[1])

    def _join(self) -> tuple[str, int] | None:
        try:
            node = self.coordinator()
            member = LoneClassicMember(self.bench, self.name, self.couple.name, coordinator=lambda: node)
            answer = member.join(session_timeout_ms=SESSION_MS, rebalance_timeout_ms=REBALANCE_MS)
            if answer.error is not Error.NONE:
                return None
            synced = member.sync({self.couple.name: [self.couple.index]})
        except WireError:
            return None
        return (member.id, member.generation) if synced.error is Error.NONE else None

    def commit(self, position: Position, version: int) -> None:
        """Commit as the member."""
        offset = NewOffset(self.couple.topic, self.couple.index, position.offset, position.epoch)
        ask_until_granted(
            self.bench,
            lambda: self.coordinator().offset_commit(
                self.name, [offset], member_id=self.members[-1], epoch=self.generations[-1], version=version
            ),
            f"a commit of {self.name} accepted",
        )

    def stop(self, leaves: bool) -> None:
        """Let the member leave the group, or just vanish."""
        if leaves:
            self.coordinator().leave_group(self.name, self.members[-1])

    def committed_offset(self, version: int) -> CommittedOffset:
        asked = [(self.couple.topic, self.couple.index)]
        node = self.coordinator()
        return ask_until_granted(
            self.bench,
            lambda: node.offset_fetch(self.name, asked, version=version),
            f"the offset of {self.name} told",
            is_not_ready,
        ).only_partition


def truncation_is_detected(
    couple: UncleanPartition, group: RestartedGroup, state: PartitionMetadata, reader: Reader, cut: int, version: int
) -> Claims:
    """Check that the new member finds the position with its epoch, and that OffsetForLeaderEpoch ends that epoch before
    the position.

    If no record of that epoch is left, the leader answers with the epoch before it (see `unchecked_fetches`).
    """
    position = reader.position
    found = group.committed_offset(version)
    node = couple.bench.node(state.leader)
    end = node.offset_for_leader_epoch(
        couple.name, couple.index, max(found.leader_epoch, 0), current_leader_epoch=state.leader_epoch
    )
    kept = (found.error, found.offset, found.leader_epoch) == (Error.NONE, position.offset, position.epoch)
    answered = (end.error, end.leader_epoch, end.end_offset)
    ended = answered == (Error.NONE, epoch_of_last_shared(reader, cut), cut) and cut < position.offset
    yield held_if(kept and ended, found, end, row="KIP320-CONS-03", case="restart")


def truncation_goes_undetected(
    couple: UncleanPartition, group: RestartedGroup, state: PartitionMetadata, position: Position, version: int
) -> Claim:
    """Return the premise, as a control, that without its epoch no truncation is detected and a fetch skips records."""
    found = group.committed_offset(version)
    node = couple.bench.node(state.leader)
    read = node.fetch(couple.fetch_from(found.offset, current_leader_epoch=state.leader_epoch))
    bare = (found.error, found.offset, found.leader_epoch) == (Error.NONE, position.offset, -1)
    return premise(bare and silently_skips(read, position.offset, position.epoch), f"the hazard: {found}, {read}")


@log_scenario(
    "KIP320-SC-11",
    "KIP320-CONS-03",
    rig=LED_BY_COORDINATOR,
    kept=integers(1, 4),
    lost=integers(1, 4),
    more=integers(1, 3),
    leaves=booleans(),
    commit_back=BACK,
    fetch_back=BACK,
)
def group_restarts(
    couple: UncleanPartition, kept: int, lost: int, more: int, leaves: bool, commit_back: int, fetch_back: int
) -> Claims:
    """A new member at a new coordinator detects the truncation of a position committed with its epoch, and only then."""
    bench, first, second = couple.bench, couple.first, couple.second
    commits = choose_version(bench, "OffsetCommit", commit_back, low=COMMITS_EPOCH_FROM, high=9)
    fetches = choose_version(bench, "OffsetFetch", fetch_back, low=FETCHES_EPOCH_FROM, high=9)
    couple.write(*record_values(kept, "on both"))
    couple.leave_alone(first)
    couple.write(*record_values(lost, "on the first only"), to=couple.node(first))
    reader = Reader(couple, "reader-1")
    reader.read_to(kept + lost)
    position = reader.position
    group, control = (
        RestartedGroup(couple, bench.fresh_name("group")),
        RestartedGroup(couple, bench.fresh_name("control")),
    )
    for one, committed in ((group, position), (control, Position(position.offset))):
        one.join()
        coordinator = one.coordinator().node
        one.commit(committed, commits)
        one.stop(leaves)
    yield premise(coordinator == first, f"{first} coordinates the groups: {coordinator}")

    state = take_over(couple, second)
    couple.write(*record_values(lost + more, "on the second only"), to=couple.node(second))
    for one in (group, control):
        one.join()
        new = len(set(one.members)) == 2 and one.coordinator().node != first
        yield premise(new, f"a new member at another coordinator: {say(one.members)}, {one.coordinator().node}")
    yield truncation_goes_undetected(couple, control, state, position, fetches)
    yield from truncation_is_detected(couple, group, state, reader, kept, fetches)
    bench.processes.start(first)
    at_rest(couple)
