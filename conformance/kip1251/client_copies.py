"""Clients of librdkafka that copy records in transactions while their group rebalances and loses its coordinator (KIP-447)."""

from typing import NamedTuple

from hypothesis.strategies import SearchStrategy, booleans, builds, lists, sampled_from

from conformance.core.checks import Claims, probe
from conformance.rigs.groups.copiers import Copier, Copiers
from conformance.rigs.groups.copies import Copying
from conformance.rigs.groups.three_brokers import ROUTED_GROUP, RoutedGroup
from conformance.rigs.producers.three_brokers import How


class Turn(NamedTuple):
    """A second client that comes and goes: whether a copy is open as it joins, and as it leaves, and how the group loses its
    coordinator meanwhile."""

    open_at_join: bool
    open_at_leave: bool
    how: How


TURNS: SearchStrategy[list[Turn]] = lists(
    builds(Turn, booleans(), booleans(), sampled_from(["move", "kill", "freeze"])), min_size=1, max_size=2
)


def take_turn(copiers: Copiers, first: Copier, turn: Turn) -> None:
    """Let another client join, copy records, and leave at a new coordinator."""
    if turn.open_at_join:
        first.begin()
    other = copiers.start()
    copiers.share()
    copiers.copy(other, 2)
    first.end()
    if turn.open_at_leave:
        other.begin()
    copiers.copying.group.move_coordinator(turn.how)
    copiers.leave(other)
    copiers.share()
    copiers.copy(first, 2)
    other.end()


@probe("KIP360-INV-14", rig=ROUTED_GROUP, cases=["legacy"], examples=2, smoke=False, classic=booleans(), turns=TURNS)
def clients_copy_each_record_once(group: RoutedGroup, classic: bool, turns: list[Turn]) -> Claims:
    """Each record below the group's committed offsets was copied exactly once by clients of librdkafka, although members come and
    go with open transactions and the group loses its coordinator."""
    has_protocol = group.bench.column.ranges.get("group.version", 0) >= 1
    if has_protocol:
        group.shorten_sessions()
    copiers = Copiers(Copying(group), "classic" if classic or not has_protocol else "consumer")
    first = copiers.start()
    copiers.share()
    copiers.copy(first, 2)
    for turn in turns:
        take_turn(copiers, first, turn)
    copiers.copy_all()
    yield from copiers.copying.observe_what_is_committed(each_copied=copiers.each_copied)
