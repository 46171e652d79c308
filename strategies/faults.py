"""Strategies that draw faults by role, and plans of them: pure data, drawn without a cluster.

Roles, picks and choices are read from a fault's class; the bounds of all other parameters are in `BOUNDS`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from fixtures.faults.base.fault import Fault
from fixtures.faults.base.overlaps import pairs_of
from fixtures.faults.catalogue import FAULTS
from fixtures.faults.kinds import (
    batches,
    clock,
    files,
    frames,
    logs,
    network,
    process,
    shapes,
    unclean,
    upgrade,
)
from fixtures.faults.plans import Overlap, Plan, Quiet, Repeat, Rotate, Single

MAX_PLAYERS = 3
"""The largest pick among nodes that share a role; it wraps around if there are fewer."""

FEW = st.integers(1, 5)
SEGMENT = st.sampled_from([16_384, 32_768, 65_536])
PEER = st.sampled_from(
    [
        "all others",
        "brokers",
        "controllers",
        "clients",
        "all others and clients",
        "leader",
        "follower",
        "active controller",
    ]
)

BOUNDS: Mapping[type[Fault], Mapping[str, SearchStrategy[Any]]] = {
    clock.ClockShift: {"seconds": st.sampled_from([3600, -3600, 60, -60])},
    batches.CutTailAbove: {"lost": FEW},
    batches.CutTailBelow: {"lost": FEW},
    batches.FlipBytes: {"at": st.integers(0, 3)},
    files.TornProducerSnapshot: {"file": st.just("producer-snapshots")},
    unclean.UncleanElection: {"records": FEW},
    unclean.UncleanElectionByConfig: {"records": FEW},
    frames.CutAtRequest: {"peer": PEER, "after": st.integers(2, 6)},
    frames.Delay: {"peer": PEER, "milliseconds": st.integers(20, 300)},
    # Any API: which ones are used on these links depends on the node that holds the role.
    frames.DropAnswer: {"peer": PEER, "api": st.just("")},
    frames.Hold: {"peer": PEER},
    logs.Compaction: {"keys": FEW, "rounds": st.integers(2, 5)},
    logs.DeleteOldRecords: {"keep": st.integers(0, 5)},
    logs.ReplaceTopic: {"records": FEW},
    logs.RetentionBySize: {"bytes": SEGMENT},
    logs.RetentionByTime: {"ms": st.integers(1, 500)},
    logs.RollBySize: {"bytes": SEGMENT},
    logs.RollByTime: {"ms": st.integers(100, 2_000)},
    network.Drop: {"peer": PEER},
    network.Loss: {"peer": PEER, "percent": st.integers(20, 60)},
    network.RateLimit: {"peer": PEER, "kbit": st.sampled_from([64, 32, 128, 256])},
    network.Reject: {"peer": PEER},
    process.Pause: {"tenths": st.integers(1, 6)},
    process.Stop: {"within": st.integers(5, 15)},
    shapes.OneLink: {"peer": st.sampled_from(["active controller", "leader", "follower", "brokers", "controllers"])},
    upgrade.Upgrade: {"to": st.just("")},
}
"""Strategies by fault and field. Durations are short, and an upgrade is to a release with an image on this machine."""


def parameter_strategies(kind: type[Fault]) -> dict[str, SearchStrategy[Any]]:
    """Return a strategy for each field of the fault. Raises TypeError for a field that is no choice and has no
    bounds."""
    return {field.name: _parameter_values(kind, field) for field in msgspec.structs.fields(kind)}


def _parameter_values(kind: type[Fault], field: msgspec.structs.FieldInfo) -> SearchStrategy[Any]:
    if field.name in BOUNDS.get(kind, {}):
        return BOUNDS[kind][field.name]
    if field.name == "role":
        return st.sampled_from(kind.roles)
    if field.name == "pick":
        return st.integers(0, MAX_PLAYERS - 1)
    choices = msgspec.inspect.type_info(field.type)
    if isinstance(choices, msgspec.inspect.LiteralType):
        return st.sampled_from(choices.values)
    if isinstance(choices, msgspec.inspect.BoolType):
        return st.booleans()
    raise TypeError(f"{kind.__name__}.{field.name} is no choice: enter its bounds in strategies.faults.BOUNDS")


def faults_of(kind: type[Fault], **drawn: SearchStrategy[Any]) -> SearchStrategy[Fault]:
    """Draw faults of one kind; `drawn` overrides the parameters' own strategies."""
    return st.builds(kind, **{**parameter_strategies(kind), **drawn})


def faults(kinds: Sequence[type[Fault]] = FAULTS) -> SearchStrategy[Fault]:
    """Draw any fault; all kinds are equally likely, however many roles they have."""
    return st.sampled_from(kinds).flatmap(faults_of)


def plans(kinds: Sequence[type[Fault]] = FAULTS) -> SearchStrategy[Plan]:
    """Draw any plan: a fault once, repeated, overlapping another, or in rotation with others."""
    return st.one_of(st.builds(Single, fault=faults(kinds)), repeats(kinds), rotations(kinds), overlaps(kinds))


def repeats(kinds: Sequence[type[Fault]] = FAULTS, most: int = 4) -> SearchStrategy[Repeat]:
    """Draw plans of one repeated fault, 2 to `most` times in all."""
    return st.builds(Repeat, fault=faults(kinds), times=st.integers(2, most))


def overlaps(kinds: Sequence[type[Fault]] = FAULTS) -> SearchStrategy[Overlap]:
    """Draw plans of two faults that can overlap; nothing if no two of the kinds can."""
    pairs = pairs_of(kinds)
    return st.sampled_from(pairs).flatmap(_overlap_of_pair) if pairs else st.nothing()


def _overlap_of_pair(pair: tuple[type[Fault], type[Fault]]) -> SearchStrategy[Overlap]:
    first, second = pair
    return st.builds(Overlap, first=faults_of(first), second=faults_of(second), first_heals_first=st.booleans())


@st.composite
def rotations(draw: st.DrawFn, kinds: Sequence[type[Fault]] = FAULTS, most: int = 6) -> Rotate:
    """Draw rotations of some of the kinds, each with its own parameters, in any order; one may come twice in a row."""
    subset = draw(st.lists(st.sampled_from(kinds), min_size=min(2, len(kinds)), max_size=4, unique=True))
    places = st.integers(0, len(subset) - 1)
    return Rotate(
        faults=tuple(draw(faults_of(kind)) for kind in subset),
        turns=tuple(draw(st.lists(places, min_size=2, max_size=most))),
        quiet=draw(st.builds(Quiet, writes=st.integers(1, 20), seconds=st.integers(2, 10))),
    )
