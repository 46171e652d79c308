"""The evaluation of one example of a check. On a live tape and on a stored one the same function yields the same observations."""

import traceback
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any, Literal, TypeVar

import msgspec

from conformance.catalogue import Case, Facts, shipped_rows
from conformance.catalogue.applicability import applies
from conformance.catalogue.floors import kind_of
from conformance.core.bench import Bench
from conformance.core.checks import Check, ExcuseClaim, ObservationClaim, PremiseClaim, Promise
from conformance.core.lapses import expired_while_asleep
from conformance.judging.changes import CausedChanges, is_calm
from conformance.judging.due import hindrance
from conformance.judging.excuses import HOST_SLEPT, INAPPLICABLE, Evidence
from conformance.judging.judge import Judge, JudgingResult, judge_tolerantly
from conformance.judging.log.story import PartitionStory
from conformance.judging.quorum.story import QuorumStory
from conformance.judging.reading import Reading
from conformance.judging.sentences import promise_text, violation_sentence
from conformance.judging.situations import situation_of
from fixtures.faults.base.fault import NothingToDamage
from fixtures.spending import spending
from fixtures.tape import Tape
from history.events import History, Premise
from history.observations import Observation
from history.shards import ExcuseCount
from history.subjects import Subject
from protocol.errors import KitError

C = TypeVar("C", Observation, ExcuseCount)
Excuses = Counter[tuple[str, str, str]]
"""The number of times each excuse was made, by row, case and name."""


ExampleEnd = Literal["judged", "premise lost", "error"]
"""The ways in which an example ends; `error` is an error of the kit."""


class ExampleOutcome(msgspec.Struct, frozen=True):
    """The end of an example, and its body's observations. After an error of the kit only violations remain, after a lost premise
    what came before it. `excuses` are those of the body and the rig; there are none after an error."""

    end: ExampleEnd
    detail: str
    observations: list[Observation]
    excuses: list[ExcuseCount] = []


def canonical_text(inputs: dict[str, Any]) -> str:
    """Return drawn inputs as text, equal for equal inputs."""
    return msgspec.json.encode(inputs, order="sorted").decode()


def evaluate_check(check: Check, bench: Bench, arguments: dict[str, Any], context: dict[str, Any]) -> ExampleOutcome:
    """Run the check's body on the bench's tape.

    `arguments` are the drawn inputs as Python values; `context` is the data of a shared rig, otherwise empty. A probe observes a
    violation and never raises it: an exception is an error of the kit. But if the history shows that the tested system failed to
    do something that it owed, or has not written a file that the check damages, the premise is lost.
    """
    found = _Observations(bench.tape)
    end, detail, excuses = _evaluate(check, bench, arguments, context, found)
    if end == "error":
        return ExampleOutcome(end, detail, find_proofs(found.observations()))
    return ExampleOutcome(end, detail, found.observations(), _count_excuses(check, bench, excuses))


class _Observations:
    """The observations of an example, each with the events that show it, or else with the newest answer then."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape
        self._made: list[tuple[Observation, list[int]]] = []

    def add(self, made: list[Observation]) -> None:
        self._made += [(one, one.events or [self._tape.newest_answer()]) for one in made]

    def observations(self) -> list[Observation]:
        """Return them with the faults that had changed their subjects by then and with their situations, or marked calm if no
        fault was witnessed."""
        history = self._tape.history
        if is_calm(history.events):
            return [_marked_calm(one) for one, _ in self._made]
        changes = _changes_in(history)
        return [_in_situation(history, one, changes.faults_behind((), by)) for one, by in self._made]


def _marked_calm(one: Observation) -> Observation:
    """Return the observation as calm, except for that of a scenario, which counts as a disturbance."""
    is_scenario = kind_of(shipped_rows()[one.requirement], one.case) == "scenario"
    return one if is_scenario else msgspec.structs.replace(one, calm=True)


def _in_situation(history: History, one: Observation, lived: list[str]) -> Observation:
    return msgspec.structs.replace(one, lived=lived, situation=situation_of(history, "", one.events, lived))


def _changes_in(history: History) -> CausedChanges:
    kinds = (PartitionStory, QuorumStory)
    reading = Reading(history.example, kinds)
    reading.feed(history.events)
    stories = (story for kind in kinds for story in reading.stories(kind))
    changed = {Subject(story.kind, story.name): story.changed_by or () for story in stories}
    return CausedChanges(history, reading.timeline, changed)


def _evaluate(
    check: Check, bench: Bench, arguments: dict[str, Any], context: dict[str, Any], found: _Observations
) -> tuple[ExampleEnd, str, Excuses]:
    """Add what the check's body observes to `found`. Return how the example ended, and the excuses of the body."""
    excuses: Excuses = Counter()
    try:
        handle = _rig_handle(check, bench, context)
        if check.rest:
            bench.read_quorum()
        for claim in check.body(handle, **arguments, **_offer_arguments(check, bench)):
            if isinstance(claim, ExcuseClaim):
                excuses[_row_and_case(check, bench, claim.row, claim.case, claim.evidence)] += 1
            elif isinstance(claim, PremiseClaim):
                bench.tape.premise(claim.what, claim.met)
                if not claim.met:
                    # An unmet premise ends the example.
                    found.add(_broken_promise(check, bench, claim))
                    excuses.update((one.row, one.case, claim.excuse.name) for one in claim.promises if claim.excuse)
                    return "premise lost", claim.what, excuses
            elif isinstance(claim, ObservationClaim):
                # Cases of other versions are left out; the body has checked the feature levels itself.
                made = _excuse_host_sleep(bench, [_observation(check, bench, claim)], excuses)
                found.add(applicable_claims(made, facts := Facts(version=bench.column.version)))
                excuses += _count_inapplicable(made, facts)
        _require_rest(check, bench)
        if not is_calm(bench.tape.history.events):
            bench.read_quorum()
    except NothingToDamage as missing:
        bench.tape.premise(str(missing), False)
        return "premise lost", str(missing), excuses
    except KitError as error:
        bench.record_failure(error)
        if hindered := hindrance(bench.tape.history):
            return "premise lost", hindered, excuses
        return "error", f"{type(error).__name__}: {error}", excuses
    except Exception:  # a bug of the check is trouble of the kit, and must not end the run
        return "error", traceback.format_exc(), excuses
    return "judged", "", excuses


def _excuse_host_sleep(bench: Bench, found: list[Observation], excuses: Excuses) -> list[Observation]:
    """Return the observations, except violations that show the end of a session or transaction while the host slept: these are
    excused."""
    asleep = [one for one in find_proofs(found) if expired_while_asleep(bench, one.events)]
    excuses.update((one.requirement, one.case, HOST_SLEPT.name) for one in asleep)
    return [one for one in found if one not in asleep]


def _require_rest(check: Check, bench: Bench) -> None:
    events = bench.tape.history.events
    if check.rest and not any(isinstance(event, Premise) and event.what == check.rest for event in events):
        raise KitError(f"{check.id} ended without the premise {check.rest!r}: its judges saw no final state")


def _count_excuses(check: Check, bench: Bench, excuses: Excuses) -> list[ExcuseCount]:
    """Return the excuses of body and rig that apply to the column, counted."""
    named = excuses + Counter(_row_and_case(check, bench, "", "", one) for one in bench.excuses)
    return _applicable_excuses(named, _facts_of_column(bench))


def _applicable_excuses(named: Excuses, facts: Facts) -> list[ExcuseCount]:
    """Return the excuses of applicable cases, and those left out because their cases do not apply."""
    own = [ExcuseCount(requirement=r, case=c, excuse=e, times=n) for (r, c, e), n in sorted(named.items())]
    kept = {id(one) for one in applicable_claims(own, facts)}
    return [one for one in own if id(one) in kept or one.excuse == INAPPLICABLE.name]


def _count_inapplicable(found: list[Observation], facts: Facts) -> Excuses:
    """Count the violations of cases that do not apply to the column: they prove nothing, since that version never promised the
    case."""
    broken = find_proofs(found)
    kept = {id(one) for one in applicable_claims(broken, facts)}
    return Counter((one.requirement, one.case, INAPPLICABLE.name) for one in broken if id(one) not in kept)


def _row_and_case(check: Check, bench: Bench, row: str, case: str, evidence: Evidence) -> tuple[str, str, str]:
    """Return row, case and name. The row defaults to the check's first row, the case to that of the example, else the row's
    first."""
    row = row or check.rows[0]
    return row, case or bench.tape.example.case or shipped_rows()[row].cases[0].id, evidence.name


def _facts_of_column(bench: Bench) -> Facts:
    return Facts(version=bench.column.version, ranges=bench.column.ranges)


def judge_on_column(facts: Facts, judges: Sequence[Judge], history: History) -> JudgingResult:
    """Judge the history of a healed example; return the results that apply to the column."""
    with spending("judge"):
        found = judge_tolerantly(judges, history)
    left_out = _applicable_excuses(_count_inapplicable(found.observations, facts), facts)
    excuses = [*applicable_claims(found.excuses, facts), *left_out]
    return JudgingResult(applicable_claims(found.observations, facts), excuses, found.raised)


def applicable_claims(found: list[C], facts: Facts) -> list[C]:
    """Return the observations or excuses whose cases apply to the column. Raises KitError for a case that the catalogue lacks."""
    shown = {pair: _is_applicable(*pair, facts) for pair in {(one.requirement, one.case) for one in found}}
    return [one for one in found if shown[one.requirement, one.case]]


def _is_applicable(id: str, case: str, facts: Facts) -> bool:
    if (id, case) not in _cases_by_id():
        raise KitError(f"{id} has no case {case!r}, yet a judge observed it")
    row, own = shipped_rows()[id], _cases_by_id()[id, case]
    return applies(facts, row.applies, row.needs) and applies(facts, own.applies, own.needs)


@cache
def _cases_by_id() -> dict[tuple[str, str], Case]:
    """Return the cases of all rows, by row and case."""
    return {(row.id, case.id): case for row in shipped_rows() for case in row.cases}


def _broken_promise(check: Check, bench: Bench, claim: PremiseClaim) -> list[Observation]:
    """Return violations of the rows that promised an unmet premise."""
    promises = claim.promises if not claim.excuse else ()
    return applicable_claims([_violation_of(check, bench, one) for one in promises], _facts_of_column(bench))


def _violation_of(check: Check, bench: Bench, one: Promise) -> Observation:
    came_not = f"not met: {one.what}"
    broken = Observation(requirement=one.row, case=one.case, result="violated", example="", detail=came_not)
    return _observation_of(bench, one.row, one.case, ObservationClaim(broken, ()), _promise(check, one.row, one.case))


def find_proofs(observations: list[Observation]) -> list[Observation]:
    """Return the violations, which are proof whatever error came later."""
    return [observation for observation in observations if observation.result == "violated"]


def _rig_handle(check: Check, bench: Bench, context: dict[str, Any]) -> Any:
    with spending("prepare"):
        data = msgspec.convert(context, check.rig.data) if check.rig.shared else check.rig.prepare(bench)
        return check.rig.handle(bench, data)


def _offer_arguments(check: Check, bench: Bench) -> dict[str, Any]:
    offered: dict[str, Any] = {}
    if "case" in check.parameter_names:
        offered["case"] = bench.tape.example.case
    if "expected" in check.parameter_names:
        offered["expected"] = shipped_rows()[check.rows[0]].expected_token(_facts_of_column(bench))
    return offered


def _observation(check: Check, bench: Bench, claim: ObservationClaim) -> Observation:
    row = claim.observation.requirement or check.rows[0]
    case = claim.observation.case or bench.tape.example.case
    if row not in check.own_rows or case not in {c.id for c in shipped_rows()[row].cases}:
        raise KitError(
            f"{check.id} observes {row} case {case!r}, which it does not declare or the catalogue does not have"
        )
    return _observation_of(bench, row, case, claim, _promise(check, row, case))


def _promise(check: Check, row: str, case: str) -> str:
    """Return the text of a promise: what the check says of its first row, or the title of another row."""
    return promise_text(row, case, check.title if row == check.rows[0] else "")


def _observation_of(bench: Bench, row: str, case: str, claim: ObservationClaim, promised: str) -> Observation:
    example = bench.tape.example
    shown_by = sorted(n for answer in claim.by if (n := bench.tape.event_of(answer)) >= 0)
    detail = claim.observation.detail
    if claim.observation.result == "violated":
        detail = violation_sentence(bench.tape.history, shown_by, detail, promised)
    return msgspec.structs.replace(
        claim.observation,
        requirement=row,
        case=case,
        detail=detail,
        example=example.example,
        inputs=canonical_text(example.inputs),
        events=shown_by,
    )
