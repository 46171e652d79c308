"""Exceptions for broken rows, one class per row, so that Hypothesis keeps two rows broken in one place apart."""

from collections.abc import Iterable, Sequence
from functools import cache

import msgspec

from conformance.catalogue import shipped_rows
from history.observations import Observation
from history.shards import ObservationLine


class Breach(msgspec.Struct, frozen=True, order=True):
    """One way to break a row. Another anomaly (`label`) or case of the same row counts as another bug."""

    requirement: str
    label: str
    case: str

    def __str__(self) -> str:
        return " ".join(filter(None, [self.requirement, self.case, self.label]))


def breach_of(observation: Observation) -> Breach:
    """Return the breach that an observation shows."""
    return Breach(observation.requirement, observation.label, observation.case)


def breaks_its_row(observation: Observation | ObservationLine) -> bool:
    """True if the observation is a violation. An observation of a recorded-only row shows a value and breaks nothing."""
    return observation.result == "violated" and shipped_rows().judges(observation.requirement)


def first_of_each_breach(violations: Iterable[Observation]) -> list[Observation]:
    """Return the first observation of each breach."""
    first: dict[Breach, Observation] = {}
    for observation in violations:
        first.setdefault(breach_of(observation), observation)
    return list(first.values())


class RequirementViolated(AssertionError):
    """The base class of all rows' exceptions."""


@cache
def violation_class(row: str) -> type[RequirementViolated]:
    """Return the class of a row's exception."""
    return type(row.replace("-", "_"), (RequirementViolated,), {})


def violation_of(violations: Sequence[Observation]) -> Exception:
    """Return the exception of the broken row, or an exception group if several rows are broken."""
    by_row = {o.requirement: o for o in reversed(violations)}
    errors = [violation_class(row)(f"{row} violated, case {o.case}: {o.detail}") for row, o in sorted(by_row.items())]
    return errors[0] if len(errors) == 1 else ExceptionGroup("several rows are violated", errors)
