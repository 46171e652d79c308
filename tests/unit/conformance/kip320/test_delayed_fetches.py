"""When the answer of a fetch in purgatory is prompt (KIP320-FETCH-12)."""

from __future__ import annotations

from typing import cast

import pytest

from conformance.core.bench import Bench
from conformance.core.checks import held_if
from conformance.judging.excuses import STARVED
from conformance.kip320.delayed_fetches import MAX_WAIT, PROMPT, SOON, DelayedFetch, still_early
from fixtures.wire import NodeClient
from protocol.codes import Error
from protocol.log import FetchAnswer, FetchedPartition
from protocol.messages import PendingRequest
from tests.support.clocked_bench import ClockedBench, results

FENCED = FetchedPartition(
    version=12, error=Error.FENCED_LEADER_EPOCH, partition=0, high_watermark=-1, last_stable_offset=-1,
    log_start_offset=-1,
)  # fmt: skip


class Parked:
    """A client whose answer comes at this age of the fetch."""

    def __init__(self, bench: ClockedBench, answered_at: float) -> None:
        self._bench = bench
        self._at = bench.seconds + answered_at

    def parked_fetch(self, parked: PendingRequest, within: float) -> FetchAnswer:
        assert within > MAX_WAIT
        self._bench.seconds = max(self._bench.seconds, self._at)
        return FetchAnswer(version=12, partitions=(FENCED,))


def answered(at: float, released: float = 1.0, late: float = 0.0, right: bool = True) -> list[tuple[str, str]]:
    bench = ClockedBench(late=late)
    client = Parked(bench, at)
    waiting = DelayedFetch(cast(Bench, bench), cast(NodeClient, client), cast(PendingRequest, None), bench.seconds)
    answer, prompt = waiting.answer_after(released)
    assert answer == FENCED
    return results([held_if(prompt.require_also(right), answer, case="superseded")])


@pytest.mark.parametrize("at", [1.0, 2.0, 1.0 + PROMPT - 0.1])
def test_an_answer_soon_after_the_event_holds(at: float) -> None:
    assert answered(at) == [("superseded", "held")]


@pytest.mark.parametrize("released", [0.0, 1.0, SOON])
def test_an_answer_with_the_expiry_is_seen(released: float) -> None:
    assert answered(MAX_WAIT, released) == [("superseded", "violated")]


def test_a_prompt_answer_of_another_content_is_seen_however_late_the_kit_woke() -> None:
    assert answered(2.0, right=False, late=5.0) == [("superseded", "violated")]


def test_a_late_answer_shows_nothing_where_the_kit_starved() -> None:
    assert answered(MAX_WAIT, late=PROMPT) == [("superseded", STARVED.name)]
    assert answered(2.0, late=PROMPT) == [("superseded", "held")]


def test_a_fetch_that_is_released_late_proves_nothing() -> None:
    assert results([still_early(SOON - 0.1), still_early(SOON)]) == [("premise", "met"), ("premise", "lost")]
