"""The table of small merges."""

from __future__ import annotations

from benchmarks.processes import RunCost
from benchmarks.small_merges import SmallMerge, table


def _run(seconds: float) -> RunCost:
    return RunCost(seconds=seconds, cpu=2 * seconds, peak=0, code=0, output="")


def test_ratios_are_those_of_a_round() -> None:
    rounds = [
        SmallMerge(merge=_run(10), beside=_run(20), ours=_run(5), plain=_run(10)),
        SmallMerge(merge=_run(40), beside=_run(80), ours=_run(20), plain=_run(40)),
    ]
    lines = table(rounds).splitlines()
    assert "| merge | 25.0 s | 50.0 s |" in lines
    assert "| merge to merge by the other checkout | 0.50 | 0.50 |" in lines
    assert "| merge to empty session, the kit's settings | 2.00 | 2.00 |" in lines


def test_the_other_checkout_is_left_out_if_there_is_none() -> None:
    assert "checkout" not in table([SmallMerge(merge=_run(10), beside=None, ours=_run(5), plain=_run(10))])
