"""How an example of a probe ends, once its cluster was healed or was to be replaced."""

from __future__ import annotations

import pytest

from conformance.core.evaluate import ExampleEnd
from conformance.running.probe.run import end_of

STARTS = "GEN-10: broker-1 ended by itself with exit code 1"


@pytest.mark.parametrize(
    ("outcome", "replaced", "hindered", "end"),
    [
        ("judged", "", "", "judged"),
        ("judged", "broker-1 ended", "", "error"),
        ("judged", "broker-1 ended", STARTS, "judged"),
        ("premise lost", "", STARTS, "premise lost"),
        ("error", "", "", "error"),
        ("error", "broker-1 ended", "", "error"),
        ("error", "broker-1 ended", STARTS, "premise lost"),
    ],
)
def test_a_process_that_ended_by_itself_is_no_trouble_of_the_kit_whenever_it_is_noticed(
    outcome: ExampleEnd, replaced: str, hindered: str, end: ExampleEnd
) -> None:
    assert end_of(outcome, replaced, hindered) == end
