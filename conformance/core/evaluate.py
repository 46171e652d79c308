"""Running one example of a check on a tape, live or stored: the same function gives the same observations."""

from __future__ import annotations

import traceback
from typing import Any, Literal

import msgspec

from conformance.catalogue import Facts, shipped
from conformance.core.bench import Bench
from conformance.core.checks import Check, ObservationSaid, PremiseSaid
from conformance.judging.judge import judge_all
from fixtures.errors import KitError
from fixtures.spending import spending
from history.observations import Observation


class Outcome(msgspec.Struct, frozen=True):
    """How an example ended, and what it showed: one in trouble only what it had proved, one without its premise nothing."""

    end: Literal["judged", "premise lost", "error"]
    detail: str
    observations: list[Observation]


def canonical(inputs: dict[str, Any]) -> str:
    """The text by which drawn inputs are told apart."""
    return msgspec.json.encode(inputs, order="sorted").decode()


def evaluate(check: Check, bench: Bench, arguments: dict[str, Any], context: dict[str, Any]) -> Outcome:
    """Run the check's body on the bench's tape.

    `arguments` are the drawn inputs as Python values; `context` is a shared rig's data, empty for a rig of the example's own.
    Anything that is raised is trouble of the kit: a probe says `violated`, it never raises it.
    """
    observations: list[Observation] = []
    try:
        for said in check.body(_handle(check, bench, context), **arguments, **_offered(check, bench)):
            if isinstance(said, PremiseSaid):
                bench.tape.premise(said.what, said.met)
                if not said.met:
                    # What the body was to show is neither; judges look for premises of their own.
                    return Outcome("premise lost", said.what, _judged(check, bench))
            elif isinstance(said, ObservationSaid):
                observations.append(_observation(check, bench, said))
        observations += _judged(check, bench)
    except KitError as error:
        # A scenario that did not come to its end has shown something all the same.
        found = [*observations, *_judged(check, bench)]
        return Outcome("error", f"{type(error).__name__}: {error}", _proofs(found))
    except Exception:  # a bug of the check is trouble of the kit, and must not end the run
        return Outcome("error", traceback.format_exc(), _proofs(observations))
    return Outcome("judged", "", observations)


def _judged(check: Check, bench: Bench) -> list[Observation]:
    """What the judges of a scenario make of all that its tape holds."""
    if not check.judges:
        return []
    facts = Facts(version=bench.column.version, ranges=bench.column.ranges)
    with spending("judge"):
        return applicable(judge_all(check.judges, bench.tape.history), facts)


def applicable(observations: list[Observation], facts: Facts) -> list[Observation]:
    """Only those of cases that the column must show. Raises KitError for a case that the catalogue does not have."""
    for observation in observations:
        if observation.case not in {case.id for case in shipped()[observation.requirement].cases}:
            raise KitError(f"{observation.requirement} has no case {observation.case!r}, yet a judge observed it")
    cases = {
        row: {c.id for c in shipped()[row].applicable_cases(facts)} for row in {o.requirement for o in observations}
    }
    return [o for o in observations if o.case in cases[o.requirement]]


def _proofs(observations: list[Observation]) -> list[Observation]:
    """What stays of an example that ended in trouble: a violation is a proof, whatever came after it."""
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


def _observation(check: Check, bench: Bench, said: ObservationSaid) -> Observation:
    example = bench.tape.example
    row = said.row or check.rows[0]
    case = said.case or example.case
    if row not in check.own_rows or case not in {c.id for c in shipped()[row].cases}:
        raise KitError(
            f"{check.id} observes {row} case {case!r}, which it does not declare or the catalogue does not have"
        )
    return Observation(
        requirement=row,
        case=case,
        result=said.result,
        example=example.example,
        inputs=canonical(example.inputs),
        events=sorted(n for answer in said.by if (n := bench.tape.event_of(answer)) >= 0),
        detail=said.detail,
        label=said.label,
        variant=said.variant,
    )
