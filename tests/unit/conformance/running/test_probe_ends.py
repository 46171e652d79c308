"""When a probe has had enough rounds, and how its examples end once the cluster was healed or has to be replaced."""

from __future__ import annotations

import pytest

from conformance.core.evaluate import ExampleEnd
from conformance.running.probe.run import _has_enough, example_end
from history.events import AnyEvent, Ended, Example, History, Overdue
from history.observations import Observation

LOST = "broker-1 ended"
STARTS = Ended(n=0, t=0.0, node="broker-1", exit_code=1)
FOR_MEMORY = Ended(n=0, t=0.0, node="broker-1", exit_code=137, out_of_memory=True)
STAYS_BROKEN = Overdue(n=0, t=30.0, due="node", what="broker-1 is up", within=60.0, late=0.0)


@pytest.mark.parametrize(
    ("outcome", "replaced", "event", "end"),
    [
        ("judged", "", None, "judged"),
        ("judged", LOST, None, "error"),
        ("judged", LOST, STARTS, "judged"),
        ("judged", LOST, STAYS_BROKEN, "judged"),
        ("premise lost", "", STARTS, "premise lost"),
        ("error", "", None, "error"),
        ("error", LOST, None, "error"),
        ("error", LOST, STARTS, "premise lost"),
        ("error", LOST, FOR_MEMORY, "error"),
        ("error", LOST, STAYS_BROKEN, "error"),
    ],
)
def test_the_kit_is_to_blame_unless_a_process_had_ended_by_itself(
    outcome: ExampleEnd, replaced: str, event: AnyEvent | None, end: ExampleEnd
) -> None:
    history = History(example=Example(example="e", check="c", column="4.3.1"), events=[event] if event else [])
    assert example_end(outcome, replaced, history) == end


def observed(number: int, calm: bool, situation: str) -> list[Observation]:
    one = Observation(
        requirement="KIP101-INV-05", case="kept", result="held", example="e", calm=calm, situation=situation
    )
    return [one] * number


def test_a_probe_of_a_property_goes_on_for_situations_but_not_where_it_disturbs_nothing() -> None:
    many = [one for number in range(30) for one in observed(1, False, f"{number}")]
    assert not _has_enough("KIP101-INV-05", "kept", observed(1000, False, "one"))
    assert not _has_enough("KIP101-INV-05", "kept", [*observed(1000, True, ""), *many[:29]])
    assert _has_enough("KIP101-INV-05", "kept", many)
    assert _has_enough("KIP101-INV-05", "kept", observed(30, True, ""))
    assert not _has_enough("KIP101-INV-05", "kept", observed(29, True, ""))
