"""The time that a follower gets to enter the ISR, between two brokers that are frozen (KIP320-REPL-06)."""

from __future__ import annotations

from typing import cast

import pytest

from conformance.core.bench import Bench
from conformance.core.checks import held_if
from conformance.judging.excuses import STARVED
from conformance.kip320.isr_entry import ENOUGH, enough_time, time_left
from conformance.rigs.log.follower_fetches import PATIENCE
from tests.support.clocked_bench import ClockedBench, results


def entered(preparing: float, joins_after: float, late: float = 0.0) -> list[tuple[str, str]]:
    """Freeze for `preparing` seconds before the wait; the follower joins that long after it began."""
    bench = ClockedBench(every=0.05, late=late)
    began, at = bench.seconds, bench.seconds + preparing + joins_after
    bench.seconds += preparing
    joined = bench.wait.becomes_true(lambda: bench.seconds >= at, "in the ISR", time_left(cast(Bench, bench), began))
    return results([enough_time(joined), held_if(joined, case="reached")])


@pytest.mark.parametrize("preparing", [0.1, 1.0, 2.0])
def test_a_replica_that_joins_holds(preparing: float) -> None:
    assert entered(preparing, 0.2) == [("premise", "met"), ("reached", "held")]


def test_one_that_had_the_time_and_stays_out_is_seen() -> None:
    assert entered(0.2, 60.0) == [("premise", "met"), ("reached", "violated")]


@pytest.mark.parametrize("preparing", [PATIENCE - ENOUGH, 1.8, 5.0])
def test_one_that_had_no_time_shows_nothing(preparing: float) -> None:
    assert entered(preparing, 60.0)[0] == ("premise", "lost")


def test_nor_does_one_for_which_the_kit_starved() -> None:
    assert entered(0.2, 60.0, late=1.0) == [("premise", "met"), ("reached", STARVED.name)]
