"""Changed rules: the promises of later KIPs, and the columns that keep them."""

from collections.abc import Iterable, Sequence

import msgspec

from conformance.catalogue import Requirement
from conformance.catalogue.kips import with_titles
from conformance.judging.verdicts import Cell
from history.observations import KEEPS


class RuleChange(msgspec.Struct, frozen=True, kw_only=True):
    """A row whose rule a later KIP changed, and the row of level `later` that records the change.

    `promised` names the source of the new rule; `first` is the first column that keeps it, or empty. `values` are by column
    label: ``keeps``, ``does not keep``, or empty without observations.
    """

    requirement: str
    later: str
    title: str
    promised: str
    first: str
    values: dict[str, str]

    @property
    def by(self) -> str:
        """The source of `promised`, each KIP with its title."""
        return with_titles(self.promised)


def rule_changes(rows: Iterable[Requirement], cells: Iterable[Cell], labels: Sequence[str]) -> list[RuleChange]:
    """Return a change for each row of level `later`, in the catalogue's order; `labels` are the columns in their
    order."""
    values = {(cell.requirement, cell.kafka_version): cell.value for cell in cells}
    return [
        _rule_change(row, {label: values[row.id, label] for label in labels}) for row in rows if row.level == "later"
    ]


def _rule_change(row: Requirement, values: dict[str, str]) -> RuleChange:
    return RuleChange(
        requirement=row.before,
        later=row.id,
        title=row.title,
        promised=row.promised,
        first=next((label for label, value in values.items() if value == KEEPS), ""),
        values=values,
    )


def with_observations(changes: Iterable[RuleChange]) -> list[RuleChange]:
    """Keep the changes that were observed on at least one column."""
    return [change for change in changes if any(change.values.values())]
