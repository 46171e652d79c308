"""Steps that the tested system owes within a bound: the row that promises each step, and its violations in a history."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from conformance.judging import excuses
from conformance.judging.due_in_words import end_in_words, overdue_in_words
from conformance.judging.elections_withheld import candidates, withheld_by_elections
from conformance.judging.judge import Claim, Excuse, Finding, Judge, Look
from conformance.judging.waits import FailedWait, T
from history.due import COORDINATOR_TIMEOUT, START_TIMEOUT, Due, is_starved
from history.effects import Effects
from history.events import AnyEvent, Ended, Fault, History, Overdue


class OwedStep(msgspec.Struct, frozen=True):
    """The row and case that promise a step, and the row's bound in seconds. A wait shorter than the bound proves no violation."""

    row: str
    case: str
    within: float = 0.0


ANSWER_TIMEOUT = 10.0
"""The shortest request timeout, in seconds. The time for which a request lets the node wait is added to it."""

OWED_STEPS: dict[Due, OwedStep] = {
    "step": OwedStep("GEN-21", "step", T),
    "answer": OwedStep("GEN-21", "step", ANSWER_TIMEOUT),
    "time-out": OwedStep("KIP360-TXN-03", "legacy", T),
    "leader": OwedStep("GEN-08", "clean", T),
    "coordinator": OwedStep("GEN-08", "coordinator", COORDINATOR_TIMEOUT),
    "quorum": OwedStep("KIP595-LIVE-01", "leader", T),
    "node": OwedStep("GEN-10", "start", START_TIMEOUT),
    "replica": OwedStep("GEN-10", "start", START_TIMEOUT),
    "following": OwedStep("KIP595-BEGIN-01", "version-0"),
    "candidacy": OwedStep("KIP595-END-02", "version-0"),
    "leadership": OwedStep("KIP595-VOTE-15", "two-grants"),
    "next fetch": OwedStep("KIP595-FETCH-10", "position"),
    "high watermark": OwedStep("KIP595-HW-02", "exact"),
    "quorum description": OwedStep("KIP595-DQ-01", "voters"),
    "epoch after a refusal": OwedStep("KIP595-FETCH-13", "leader-unknown"),
    "epoch after a candidacy": OwedStep("KIP595-VOTE-16", "leader-unknown"),
    "epoch in the log": OwedStep("KIP595-LOG-01", "first-batch"),
    "producer": OwedStep("KIP360-INIT-02", "untouched"),
    "producer epoch": OwedStep("KIP360-INIT-03", "untouched"),
    "write": OwedStep("KIP360-SEQ-01", "idempotent"),
    "description": OwedStep("KIP360-TXN-07", "legacy"),
    "transaction end": OwedStep("KIP360-TXN-12", "legacy", T),
    "member": OwedStep("KIP1251-INV-13", "honest"),
    "commit": OwedStep("KIP1251-COMMIT-01", "owned"),
    "assignment in the log": OwedStep("KIP1251-AE-04", "assigned"),
}
DISK_REPLACED = "disk-replaced"
"""The case of GEN-08 for partitions whose only electable brokers lost a log directory."""
HALT_LOG_LINES = re.compile(
    "Shutdown broker because .*log dir|couldn.t communicate offline log dir|fatal fault(?s:.*)(KafkaStorage|IO)Exception"
)
"""Log lines of a process that halts because of a log directory: no directory is left, that of the metadata log failed or cannot
be written, or the failure could not be reported to the controllers."""
SHARED_STATES: frozenset[Due] = frozenset(("coordinator", "node", "quorum"))
"""The owed steps that leave a state of the whole cluster; others are about an example's own topics and groups."""
LEADS = OwedStep("GEN-08", "quorum", T)
"""The general law about leaders. Its case `quorum` promises the same as KIP595-LIVE-01."""
STARTS = OwedStep("GEN-10", "start")
"""The general law about starts, which also promises that a process does not end by itself."""


def hindrance(history: History) -> str:
    """Return the row that the tested system broke, and how, if this kept the example from completing.

    It is empty if the history shows no breach, or if the kit or its host is to blame: the wait was shorter than the row's bound,
    or a process was killed for lack of memory.
    """
    return _reasons(history, (Overdue, Ended))


def lasting_hindrance(history: History) -> str:
    """Return the owed steps that never came and whose lack later examples on the cluster would meet; empty without any."""
    found = (event for event in history.events if isinstance(event, Overdue) and event.due in SHARED_STATES)
    return "; ".join(_reason(event) for event in found if not _is_the_hosts(history, event))


def ended_by_itself(history: History) -> str:
    """Describe the processes that ended by themselves, except those killed for lack of memory; empty if there are none.

    A process's end may be noticed long after a request failed because of it, so it explains earlier failures too.
    """
    return _reasons(history, (Ended,))


def _reasons(history: History, kinds: tuple[type[Overdue] | type[Ended], ...]) -> str:
    found = [event for event in history.events if isinstance(event, kinds)]
    return "; ".join(_reason(event) for event in found if not _is_the_hosts(history, event))


def _is_the_hosts(history: History, event: Overdue | Ended) -> bool:
    """True if the host or the kit is to blame: it killed a process for lack of memory, kept a node from answering, gave a voter
    what it may end from, or waited for less than the row's bound."""
    if isinstance(event, Ended):
        return event.out_of_memory or _is_expended(history, event)
    wait = FailedWait(history, event)
    return wait.ran_out_of_memory or wait.hit_by_fault or _is_too_short(event)


def _is_too_short(overdue: Overdue) -> bool:
    """True if the wait was shorter than the row's bound, so that it shows nothing. False if the kit woke late, for which there is
    a separate excuse."""
    return overdue.within < OWED_STEPS[overdue.due].within and not is_starved(overdue.late, overdue.within)


def _reason(event: Overdue | Ended) -> str:
    if isinstance(event, Ended):
        return f"{STARTS.row}: {event.node} ended by itself with exit code {event.exit_code}"
    what = event.what.splitlines()[0]
    if is_starved(event.late, event.within):
        return f"the kit itself woke {event.late:.1f} s late: {what}"
    return f"{OWED_STEPS[event.due].row}: {what}"


# --- judges


class _Late(NamedTuple):
    """A wait that exceeded its bound, with its case and any excuse for it."""

    event: Overdue
    case: str
    excuse: excuses.Evidence | None
    shown: str


def _overdue(history: History, noted: Sequence[AnyEvent]) -> Sequence[_Late]:
    """Return the failed waits that lasted at least as long as their row's bound."""
    passed = [event for event in noted if isinstance(event, Overdue)]
    return [
        _Late(e, _case(history, e), _why_late(history, e), overdue_in_words(history, e))
        for e in passed
        if e.within >= OWED_STEPS[e.due].within
    ]


def _case(history: History, overdue: Overdue) -> str:
    """Return the case of the row. A leader has a case of its own if all brokers that may lead had their disks replaced."""
    if overdue.due == "leader":
        replaced = _replaced_disks(history, overdue)
        left = candidates(history, overdue)
        if left and all(one <= replaced for one in left):
            return DISK_REPLACED
    return OWED_STEPS[overdue.due].case


def _replaced_disks(history: History, overdue: Overdue) -> set[int]:
    """Return the ids of the brokers that had lost a log directory before the wait ended."""
    before = (e for e in history.events if isinstance(e, Fault) and e.n < overdue.n)
    nodes = {node for e in before if e.effects is not None and e.effects.loses_log_dir for node in e.node.split(",")}
    return {member["id"] for member in history.example.members if member["name"] in nodes}


def _why_late(history: History, overdue: Overdue) -> excuses.Evidence | None:
    wait = FailedWait(history, overdue)
    if wait.ran_out_of_memory:
        return excuses.OUT_OF_MEMORY
    if wait.only_node_ended:
        return excuses.ONLY_NODE_ENDED
    if is_starved(overdue.late, overdue.within):
        return excuses.STARVED
    if wait.hit_by_fault:
        return excuses.FAULT_STOOD
    return withheld_by_elections(history, overdue)


def _breaks(row: str) -> Callable[[_Late], Iterator[Claim]]:
    def bound_is_kept(passed: _Late) -> Iterator[Claim]:
        is_law = passed.event.due == "quorum" and row == LEADS.row
        case = LEADS.case if is_law else passed.case
        if not is_law and OWED_STEPS[passed.event.due].row != row:
            return
        if passed.excuse:
            yield Excuse(passed.excuse, case)
        else:
            yield Finding(False, case, (passed.event.n,), passed.shown)

    return bound_is_kept


class _ProcessEnded(NamedTuple):
    """A process that ended by itself, with any excuse for its end."""

    event: Ended
    excuse: excuses.Evidence | None
    shown: str


def _process_ends(history: History, noted: Sequence[AnyEvent]) -> Sequence[_ProcessEnded]:
    ends = [e for e in noted if isinstance(e, Ended)]
    return [_ProcessEnded(e, _why_ended(history, e), end_in_words(history, e)) for e in ends]


def _why_ended(history: History, end: Ended) -> excuses.Evidence | None:
    if end.out_of_memory:
        return excuses.OUT_OF_MEMORY
    if _is_expended(history, end):
        return excuses.EXPENDED
    return excuses.ENDED_BY_FAULT if _may_end(history, end) else None


def _is_expended(history: History, end: Ended) -> bool:
    """True if the check had declared that this process may end, and the node was not created again since."""
    own = [e for e in history.events[: end.n] if isinstance(e, Fault) and e.node == end.node]
    declared = [e for e in own if e.effects is not None and e.effects.process == "may-end"]
    return bool(declared) and not any(_heals(e, declared[-1]) and e.n > declared[-1].n for e in own)


def _may_end(history: History, end: Ended) -> bool:
    """True if a fault that takes log directories away was active, and the last log lines of the process report their failure."""
    injected = (e for e in history.events if isinstance(e, Fault) and e.phase == "inject" and e.n < end.n)
    stood = [(fault, fault.effects) for fault in injected if fault.effects and not _is_over(history, fault, end)]
    ends = (_ends(effects, alone=len(stood) == 1) and end.node in fault.node.split(",") for fault, effects in stood)
    return HALT_LOG_LINES.search(end.log) is not None and any(ends)


def _ends(effects: Effects, *, alone: bool) -> bool:
    """True if a fault with these effects may end a process; `alone` means that no other fault was active.

    A broker with other log directories halts only if those fail too, or if it cannot report the first failure to the controllers.
    Either needs another fault.
    """
    if effects.fails_directory:
        return not alone
    return effects.loses_log_dir or effects.fails_writes


def _is_over(history: History, fault: Fault, end: Ended) -> bool:
    """True if the fault was healed, and the node answered a later request, before the process ended."""
    healed = (e.n for e in history.events[fault.n :] if isinstance(e, Fault) and _heals(e, fault))
    since = next(healed, end.n)
    answered = ((call.n, answer) for call, answer in history.answered_calls() if call.node == end.node)
    return any(since < asked and answer.n < end.n and answer.outcome == "ok" for asked, answer in answered)


def _heals(event: Fault, fault: Fault) -> bool:
    return event.phase == "heal" and (event.fault, event.node) == (fault.fault, fault.node)


def process_runs_on(ended: _ProcessEnded) -> Iterator[Claim]:
    event = ended.event
    if ended.excuse:
        yield Excuse(ended.excuse, STARTS.case)
    else:
        yield Finding(False, STARTS.case, (event.n,), ended.shown)


def _fault_ends(_: History, noted: Sequence[AnyEvent]) -> Sequence[tuple[Fault, Fault]]:
    """Pair each fault whose nodes were restarted or resumed with the phase at which they were all back in every ISR."""
    injected: dict[tuple[str, str], Fault] = {}
    found = []
    for event in noted:
        if isinstance(event, Fault) and event.phase == "inject" and _stops(event.effects):
            injected[event.fault, event.node] = event
        # The start of a node by a rig is recorded as healed when the process runs, and measures nothing.
        elif isinstance(event, Fault) and event.phase == "heal" and event.detail.keys() & {"seconds", "rounds"}:
            began = injected.pop((event.fault, event.node), None)
            found += [(began, event)] if began is not None else []
    return found


def _stops(effects: Effects | None) -> bool:
    return effects is not None and (effects.process == "frozen" or effects.certainly_restarts)


def node_comes_back(healed: tuple[Fault, Fault]) -> Iterator[Finding]:
    """Yield the findings for each node that is back in every ISR: one if its process was started, one for the kind of fault."""
    began, ended = healed
    started = [STARTS.case] if began.effects is not None and began.effects.certainly_restarts else []
    for _ in began.node.split(","):
        for case in (*started, *_case_of_effects(began.effects)):
            yield Finding(True, case, (began.n, ended.n))


def _case_of_effects(effects: Effects | None) -> Iterator[str]:
    """Yield the case of GEN-10 for these effects on a node."""
    if effects is None:
        return
    elif effects.disk:
        yield "tail" if "log-tail" in effects.disk else "file"
    elif effects.process == "frozen":
        yield "frozen"
    else:
        yield "killed" if effects.abrupt else "stopped"


REACTIONS: dict[str, Due] = {
    "leader": "leader",
    "group coordinator": "coordinator",
    "transaction coordinator": "coordinator",
    "active controller": "quorum",
}
"""The reaction that the cluster owes when it loses the node in a role, by role. A step for any other role has no entry."""


class _Reaction(NamedTuple):
    """A reaction of the cluster that came in time, and the step that it fulfils."""

    event: Fault
    due: Due


def _reactions(_: History, noted: Sequence[AnyEvent]) -> Sequence[_Reaction]:
    """Return the reactions of the cluster that came in time. Missing reactions are not judged here, since they may not have been
    due."""
    injected: dict[str, Effects] = {}
    found = []
    for event in noted:
        if isinstance(event, Fault) and event.phase == "inject":
            injected[event.fault] = event.effects or Effects()
        elif isinstance(event, Fault) and event.phase == "consequence" and event.detail.get("met"):
            found.append(_Reaction(event, _step_shown_by(event, injected.get(event.fault, Effects()))))
    return found


def _step_shown_by(event: Fault, effects: Effects) -> Due:
    """Return the step that a reaction shows. It shows a new leader or coordinator only if another node replaced a lost one; a
    reassignment, which loses none, only records the leader after it."""
    due = REACTIONS.get(event.role, "step")
    shown = event.detail.get(due if due in ("leader", "coordinator") else "", [])
    replaced = isinstance(shown, list) and len(set(shown)) == 2
    elected = replaced and effects.election == "none" and not effects.spares_nodes
    return due if elected or due == "quorum" else "step"


def _reacts(row: str) -> Callable[[_Reaction], Iterator[Finding]]:
    def cluster_reacts(reaction: _Reaction) -> Iterator[Finding]:
        owed = OWED_STEPS[reaction.due]
        if owed.row == row:
            yield Finding(True, owed.case, (reaction.event.n,))

    return cluster_reacts


def _next_leader(history: History, noted: Sequence[AnyEvent]) -> Sequence[Fault]:
    """Return the reactions to the loss of an active controller that had successors."""
    voters = sum(member.get("role") != "broker" for member in history.example.members)
    return [
        event
        for event in noted
        if isinstance(event, Fault)
        and event.phase == "consequence"
        and event.role == "active controller"
        and voters > 2
    ]


def _elects(owed: OwedStep) -> Callable[[Fault], Iterator[Claim]]:
    def successor_is_elected(event: Fault) -> Iterator[Claim]:
        """Judge the election of a successor. A failed wait counts only if it lasted as long as the row's bound."""
        met, waited = event.detail.get("met"), event.detail.get("seconds", 0.0)
        if met and all(event.detail.get("controller", [None])):
            yield Finding(True, owed.case, (event.n,))
        elif not met and waited >= owed.within:
            if is_starved(event.detail.get("late", 0.0), waited):
                yield Excuse(excuses.STARVED, owed.case)
            elif "trouble" in event.detail:
                yield Excuse(excuses.NOT_READ, owed.case)
            else:
                yield Finding(
                    False,
                    owed.case,
                    (event.n,),
                    f"no successor was elected within {waited:g} s after {event.fault} of {event.node}",
                )

    return successor_is_elected


def _judge(row: str, look: Look, function: Callable[[Any], Iterator[Claim]]) -> Judge:
    """Make a judge of due steps. It runs once all faults are healed; before that, a step may still come."""
    return Judge(row, look, function, after_healing=True)


PROMISES = (
    *(_judge(row, _overdue, _breaks(row)) for row in sorted({owed.row for owed in OWED_STEPS.values()})),
    _judge(STARTS.row, _process_ends, process_runs_on),
    _judge(STARTS.row, _fault_ends, node_comes_back),
    *(_judge(OWED_STEPS[due].row, _reactions, _reacts(OWED_STEPS[due].row)) for due in ("leader", "step")),
    *(_judge(owed.row, _next_leader, _elects(owed)) for owed in (OWED_STEPS["quorum"], LEADS)),
)
