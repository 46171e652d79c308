"""One example of a check on a tape, live or stored: the same function gives the same observations."""

from __future__ import annotations

import traceback
from typing import Any, Literal, TypeVar

import msgspec

from conformance.catalogue import Facts, shipped
from conformance.core.bench import Bench
from conformance.core.checks import Check, ObservationClaim, PremiseClaim
from conformance.judging.judge import Judged, judged
from fixtures.errors import KitError
from fixtures.spending import spending
from history.events import Premise
from history.observations import Observation
from history.shards import ExcuseCount

C = TypeVar("C", Observation, ExcuseCount)


class Outcome(msgspec.Struct, frozen=True):
    """How an example ended and what it observed: in trouble of the kit its violations only, without its premise only what the
    judges of its history observed. `excuses` are those of these judges, none after trouble."""

    end: Literal["judged", "premise lost", "error"]
    detail: str
    observations: list[Observation]
    excuses: list[ExcuseCount] = []


def canonical(inputs: dict[str, Any]) -> str:
    """Drawn inputs as text, the same for equal inputs."""
    return msgspec.json.encode(inputs, order="sorted").decode()


def evaluate(check: Check, bench: Bench, arguments: dict[str, Any], context: dict[str, Any]) -> Outcome:
    """Run the check's body on the bench's tape.

    `arguments` are the drawn inputs as Python values; `context` is a shared rig's data, empty for a rig of the example's own.
    Anything that is raised is trouble of the kit: a probe says `violated`, it never raises it.
    """
    observations: list[Observation] = []
    try:
        for claim in check.body(_handle(check, bench, context), **arguments, **_offered(check, bench)):
            if isinstance(claim, PremiseClaim):
                bench.tape.premise(claim.what, claim.met)
                if not claim.met:
                    # The body shows nothing then; judges look for premises of their own.
                    by_judges = _judged(check, bench)
                    return Outcome("premise lost", claim.what, by_judges.observations, by_judges.excuses)
            elif isinstance(claim, ObservationClaim):
                observations.append(_observation(check, bench, claim))
        _came_to_rest(check, bench)
        by_judges = _judged(check, bench)
    except KitError as error:
        # The history of a scenario that did not reach its end is judged all the same.
        found = [*observations, *_judged(check, bench).observations]
        return Outcome("error", f"{type(error).__name__}: {error}", _proofs(found))
    except Exception:  # a bug of the check is trouble of the kit, and must not end the run
        return Outcome("error", traceback.format_exc(), _proofs(observations))
    return Outcome("judged", "", [*observations, *by_judges.observations], by_judges.excuses)


def _came_to_rest(check: Check, bench: Bench) -> None:
    events = bench.tape.history.events
    if check.rest and not any(isinstance(event, Premise) and event.what == check.rest for event in events):
        raise KitError(f"{check.id} ended without the premise {check.rest!r}: its judges saw no final state")


def _judged(check: Check, bench: Bench) -> Judged:
    """The results of a scenario's judges in its history."""
    if not check.judges:
        return Judged([])
    facts = Facts(version=bench.column.version, ranges=bench.column.ranges)
    with spending("judge"):
        return all_applicable(judged(check.judges, bench.tape.history), facts)


def all_applicable(found: Judged, facts: Facts) -> Judged:
    """As `applicable`, of all that judges found."""
    return Judged(applicable(found.observations, facts), applicable(found.excuses, facts))


def applicable(found: list[C], facts: Facts) -> list[C]:
    """Only those of cases that the column must show. Raises KitError for a case that the catalogue does not have."""
    for one in found:
        if one.case not in {case.id for case in shipped()[one.requirement].cases}:
            raise KitError(f"{one.requirement} has no case {one.case!r}, yet a judge observed it")
    cases = {row: {c.id for c in shipped()[row].applicable_cases(facts)} for row in {one.requirement for one in found}}
    return [one for one in found if one.case in cases[one.requirement]]


def _proofs(observations: list[Observation]) -> list[Observation]:
    """The violations: each is a proof, whatever trouble came after it."""
    return [observation for observation in observations if observation.result == "violated"]


def _handle(check: Check, bench: Bench, context: dict[str, Any]) -> Any:
    with spending("prepare"):
        data = msgspec.convert(context, check.rig.data) if check.rig.shared else check.rig.prepare(bench)
        return check.rig.handle(bench, data)


def _offered(check: Check, bench: Bench) -> dict[str, Any]:
    offered: dict[str, Any] = {}
    if "case" in check.takes:
        offered["case"] = bench.tape.example.case
    if "expected" in check.takes:
        facts = Facts(version=bench.column.version, ranges=bench.column.ranges)
        offered["expected"] = shipped()[check.rows[0]].expected(facts)
    return offered


def _observation(check: Check, bench: Bench, claim: ObservationClaim) -> Observation:
    example = bench.tape.example
    seen = claim.observation
    row = seen.requirement or check.rows[0]
    case = seen.case or example.case
    if row not in check.own_rows or case not in {c.id for c in shipped()[row].cases}:
        raise KitError(
            f"{check.id} observes {row} case {case!r}, which it does not declare or the catalogue does not have"
        )
    return msgspec.structs.replace(
        seen,
        requirement=row,
        case=case,
        example=example.example,
        inputs=canonical(example.inputs),
        events=sorted(n for answer in claim.by if (n := bench.tape.event_of(answer)) >= 0),
    )
