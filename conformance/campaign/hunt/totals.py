"""A round's work in numbers, summed up over rounds, columns and nights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec

from conformance.running.recording.statistics import CheckTotals, totals_by_check
from conformance.running.standing import REPLACED_NOTE
from fixtures.waiting import OutOfTime
from history.shards import Shard

Counts = dict[str, int]


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of examples by outcome, of steps, of faults by name and of excuses by row, case and name.

    `errors` are the reasons of examples that ended in errors of the kit, `unhealed` counts clusters that had to be
    replaced after an example, except those without time left to become healthy.
    """

    examples: Counts = {}
    steps: int = 0
    injected: Counts = {}
    witnessed: Counts = {}
    excuses: Counts = {}
    errors: Counts = {}
    unhealed: int = 0

    def __add__(self, other: Totals) -> Totals:
        return Totals(
            examples=_sum_counts(self.examples, other.examples),
            steps=self.steps + other.steps,
            injected=_sum_counts(self.injected, other.injected),
            witnessed=_sum_counts(self.witnessed, other.witnessed),
            excuses=_sum_counts(self.excuses, other.excuses),
            errors=_sum_counts(self.errors, other.errors),
            unhealed=self.unhealed + other.unhealed,
        )

    @property
    def count(self) -> int:
        """The number of all examples."""
        return sum(self.examples.values())

    @property
    def judged_examples(self) -> int:
        """The number of examples that were judged completely."""
        return self.examples.get("judged", 0)


def _sum_counts(one: Counts, other: Counts) -> Counts:
    return dict(sorted((Counter(one) + Counter(other)).items()))


def totals_of(shards: Iterable[Shard], run: str) -> Totals:
    """Add up the shards of one run."""
    return sum((_totals_of_check(one) for one in totals_by_check(shards, run).values()), Totals())


def _totals_of_check(one: CheckTotals) -> Totals:
    return Totals(
        examples=dict(one.example_outcomes),
        steps=one.steps.total(),
        injected=dict(one.faults("injected")),
        witnessed=dict(one.faults("witnessed")),
        excuses={f"{row} {case}: {excuse}": times for (row, case, excuse), times in one.excuses.items()},
        errors=dict(one.troubles),
        unhealed=sum(was_unhealed(example.detail) for example in one.examples),
    )


def was_unhealed(detail: str) -> bool:
    """True if an example with this detail left a cluster that had to be replaced, and not for lack of time."""
    _, replaced, reason = detail.partition(REPLACED_NOTE)
    return bool(replaced) and not reason.startswith(f": {OutOfTime.__name__}")
