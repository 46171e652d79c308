"""Excuses that rigs of the quorum give by themselves, shown by running the rig's own step in place of a judge."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any, NamedTuple

from conformance.core.checks import ExcuseClaim, ObservationClaim
from conformance.judging.excuses import ELECTED_MEANWHILE, GIVEN_UP, NODE_SLOW, STATE_BEHIND, Evidence
from conformance.judging.facts.quorum import Stored
from conformance.rigs.quorum.bounds import RequestWait, bound_holds
from conformance.rigs.quorum.frozen import Frozen
from conformance.rigs.quorum.quorum import ControllerCondition, Quorum, Tried, written_condition
from history.readings import Received
from protocol.log import EpochAndOffset, LeaderAndEpoch
from tests.contract.forgiven.entry import Near
from tests.miniature.bench import mini_bench
from tests.miniature.core.cluster import MiniCluster


class StepShown(NamedTuple):
    """The evidence by which a rig's step excused something, and whether it gave a result that a check can judge."""

    excuses: Sequence[Evidence]
    has_result: bool


class ForgivenByRig(NamedTuple):
    """A step in which a rig gives `evidence`, and near ones in which it does not; like `entry.Forgiven`."""

    evidence: Evidence
    covered: Callable[[], StepShown]
    near: Mapping[Near, Callable[[], StepShown]]
    applies: Mapping[Near, str] = {}

    def is_forgiven(self, step: Callable[[], StepShown]) -> bool:
        """True if the rig gives this evidence."""
        return self.evidence in step().excuses

    def is_judged(self, step: Callable[[], StepShown]) -> bool:
        """True if the step has a result that is judged."""
        return step().has_result


def _waited(lasted: float, step: float) -> StepShown:
    """Judge a wait of a node whose bound is 250 ms, and whose step before that, without a wait, took `step` ms."""
    claim = bound_holds([RequestWait(lasted, step)], 250.0)
    excuses = [claim.evidence] if isinstance(claim, ExcuseClaim) else []
    return StepShown(excuses, isinstance(claim, ObservationClaim))


class _Repeating(Frozen):
    """A voter that repeats its fetch `after` some seconds, and goes on from another offset after that."""

    name = "controller-101"

    def __init__(self, after: float) -> None:
        self.bench = mini_bench(MiniCluster())
        self._fetches = [_fetch_from(63, 1, after), _fetch_from(57, 2, 2 * after)]

    def serve(self, fetch: Received, **answer: Any) -> bool:
        return True

    def fetch_in(self, epoch: int, leader: int) -> Received | None:
        return self._fetches.pop(0) if self._fetches else None


def _fetch_from(offset: int, number: int, at: float) -> Received:
    place = {"current_leader_epoch": 8, "fetch_offset": offset, "last_fetched_epoch": 7}
    return Received(number, 3, "Fetch", 16, {"topics": [{"partitions": [place]}]}, at=at)


def _repeated(after: float) -> StepShown:
    voter = _Repeating(after)
    following = voter.diverge(_fetch_from(63, 0, 0.0), EpochAndOffset(5, 60))
    return StepShown(voter.bench.excuses, following is not None)


class _Electing(Quorum):
    """A quorum in which the node answers another leader after the first request, while all agree on one of an epoch."""

    def __init__(self, agreed: int) -> None:
        self.bench = mini_bench(MiniCluster())
        self._agreed, self._tries = agreed, 0

    def agreed_leader(self) -> LeaderAndEpoch:
        return LeaderAndEpoch(1, self._agreed)

    def _attempt(self, name: str, ask: Callable[[LeaderAndEpoch], Any], disk: bool) -> Tried[Any]:
        self._tries += 1
        before = ControllerCondition(LeaderAndEpoch(2, 4), None)
        after = ControllerCondition(LeaderAndEpoch(1, 5), None) if self._tries == 1 else before
        return Tried(before, ask(before.reported), after)


def _asked(agreed: int) -> StepShown:
    quorum = _Electing(agreed)
    tried = quorum.attempt("controller-101", lambda known: known)
    return StepShown(quorum.bench.excuses, tried.answer is not None)


def _read(first: Stored) -> StepShown:
    """Read this quorum-state, then another, at a voter that names leader 2 at epoch 4."""
    bench, states = mini_bench(MiniCluster()), [first]
    named, written = LeaderAndEpoch(2, 4), Stored(2, 4, -1)
    found = written_condition(bench, lambda: states.pop() if states else written, lambda: named)
    return StepShown(bench.excuses, found.stored == first)


ENTRIES = (
    ForgivenByRig(
        NODE_SLOW,
        covered=lambda: _waited(500.0, 65.0),
        near={"too little": lambda: _waited(500.0, 60.0), "after it ended": lambda: _waited(inf, 65.0)},
        applies={
            "another subject": "the step is one of the node that is waited for",
            "before it began": "the step comes right before the wait",
        },
    ),
    ForgivenByRig(
        GIVEN_UP,
        covered=lambda: _repeated(0.3),
        near={"too little": lambda: _repeated(0.02)},
        applies={
            "another subject": "requests to another peer are not looked at",
            "before it began": "the request itself begins it",
            "after it ended": "the request that follows ends it",
        },
    ),
    ForgivenByRig(
        STATE_BEHIND,
        covered=lambda: _read(Stored(1, 3, -1)),
        near={
            "described otherwise": lambda: _read(Stored(1, 4, -1)),
            "too little": lambda: _read(Stored(-1, 5, 1)),
        },
        applies={
            "another subject": "one voter's answer and its own file are read",
            "before it began": "the first read begins it",
            "after it ended": "the last read is judged, behind or not",
        },
    ),
    ForgivenByRig(
        ELECTED_MEANWHILE,
        covered=lambda: _asked(agreed=5),
        near={"described otherwise": lambda: _asked(agreed=4)},
        applies={
            "another subject": "there is one quorum",
            "before it began": "a try begins only once all controllers name one leader",
            "after it ended": "a try ends with the condition after its answer",
        },
    ),
)
