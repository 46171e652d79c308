"""Changes caused by a fault: of a partition's leader or ISR, of a coordinator, of the quorum's leader.

A fault counts for an observation if it was witnessed on a node or link of the observation's subject, and the subject then changed
there: its leader, coordinator or quorum leader became another node or another process, or a replica left or joined the ISR.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from conformance.judging.timeline import CONVERGENCE_TIMEOUT, NEVER, Timeline, WitnessedFault
from history.events import Answer, AnyEvent, Call, Fault, History
from history.subjects import Subject, subjects, subjects_of, topics_of


class Change(NamedTuple):
    """A change that an answer shows, with the nodes that lost or took a role."""

    event: int
    nodes: frozenset[str]


ChangedBy = Sequence[tuple[str, int]]
"""Faults by name, each with the event of the first change that it caused."""

SERVED_BY_OTHERS: dict[str, frozenset[str]] = {
    "group": frozenset(("find_coordinator", "add_offsets_to_txn")),
    "transactional-id": frozenset(("find_coordinator", "produce", "txn_offset_commit")),
}
"""Requests that name a group or a transactional id, but go to other brokers than its coordinator."""


def is_calm(events: Iterable[AnyEvent]) -> bool:
    """True if no fault was witnessed in an example."""
    return not any(type(event) is Fault and event.phase == "witness" for event in events)


def changed_by(timeline: Timeline, changes: Sequence[Change], partition: str = "", after: int = -1) -> ChangedBy:
    """Return the witnessed faults that began after an event, each with the first change that it caused.

    The change shows while the fault is active, or within the time in which a cluster converges afterwards.
    """
    mine = (fault for fault in timeline.witnessed if fault.began > after)
    found = ((fault.fault, _first_change(timeline, fault, changes, partition)) for fault in mine)
    return [(fault, event) for fault, event in found if event is not None]


def _first_change(timeline: Timeline, fault: WitnessedFault, changes: Sequence[Change], partition: str) -> int | None:
    ends = NEVER if fault.ended == NEVER else timeline.time(fault.ended) + CONVERGENCE_TIMEOUT
    later = (one for one in changes if fault.began < one.event and timeline.time(one.event) <= ends)
    return next((one.event for one in later if fault.may_change(one.nodes, partition, timeline.broker_names)), None)


class CausedChanges:
    """The faults that count for the observations of one history. `changed` are the changes of the partitions and the quorum."""

    def __init__(self, history: History, timeline: Timeline, changed: Mapping[Subject, ChangedBy]) -> None:
        self._history, self._timeline, self._changed = history, timeline, changed
        self._known: dict[Subject, ChangedBy] = {}
        self._subjects: dict[int, frozenset[Subject]] = {}

    def faults_behind(self, own: Collection[Subject], by: Sequence[int]) -> list[str]:
        """Return the names of the faults that had caused a change of a subject by the last of these events.

        The subjects are those in `own` and those of the events.
        """
        about, last = {*own, *(subject for event in by for subject in self._subjects_of(event))}, max(by)
        return sorted({fault for one in about for fault, changed in self._changed_by(one) if changed <= last})

    def _subjects_of(self, event: int) -> frozenset[Subject]:
        if event not in self._subjects:
            self._subjects[event] = frozenset(subjects(self._history, (event,)))
        return self._subjects[event]

    def _changed_by(self, subject: Subject) -> ChangedBy:
        if subject not in self._known:
            self._known[subject] = self._find(subject)
        return self._known[subject]

    def _find(self, subject: Subject) -> ChangedBy:
        if subject in self._changed:
            return self._changed[subject]
        if subject.kind == "topic":
            own = (one for one in self._changed if topics_of([one]) == {subject})
            return [pair for one in own for pair in self._changed[one]]
        if subject.kind in SERVED_BY_OTHERS:
            return changed_by(self._timeline, [*self._coordinator_changes(subject)])
        return ()

    def _coordinator_changes(self, subject: Subject) -> Iterator[Change]:
        """Yield the answers of another process than the last one that served the subject."""
        last = ("", -1)
        for call, answer in self._served_requests.get(subject, ()):
            if answer.value.get("error_code", 0) == 0:
                process = (call.node, self._timeline.incarnation(call.node, answer.n))
                if last[0] and process != last:
                    yield Change(answer.n, frozenset((last[0], process[0])))
                last = process

    @cached_property
    def _served_requests(self) -> Mapping[Subject, Sequence[tuple[Call, Answer]]]:
        """The requests that a coordinator served, with their answers, by the subject in the request."""
        found: dict[Subject, list[tuple[Call, Answer]]] = {}
        for call, answer in self._history.answered_calls():
            if answer.outcome == "ok" and isinstance(answer.value, dict):
                for one in subjects_of(call):
                    others = SERVED_BY_OTHERS.get(one.kind)
                    if others is not None and call.op not in others:
                        found.setdefault(one, []).append((call, answer))
        return found
