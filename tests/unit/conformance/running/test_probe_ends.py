"""How an example of a probe ends once its cluster was healed, or has to be replaced."""

from __future__ import annotations

import pytest

from conformance.core.evaluate import ExampleEnd
from conformance.running.probe.run import end_of
from history.events import AnyEvent, Ended, Example, History, Overdue

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
    assert end_of(outcome, replaced, history) == end
