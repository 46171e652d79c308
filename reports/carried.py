"""Columns that a night could not run: each is shown as it was last published, with its age and the reason."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec

from conformance.catalogue import Catalogue
from conformance.judging.verdicts import CHANGED_SINCE
from history.releases import place_of_version
from reports.insights import Insights
from reports.matrix import ColumnReport, Matrix, ReportedCell, RowFacts
from reports.matrix_file import column_named, read_matrix, read_struct
from reports.order import in_order
from reports.over_versions import by_column, row_firsts
from reports.rule_changes import rule_changes


class CarriedColumn(msgspec.Struct, frozen=True, kw_only=True):
    """A column of the published `matrix` of night `from_run`; `reason` is why it was not run since.

    Without a `matrix` it was never published, and is only named where a row may have been broken or mended in it.
    """

    kafka_version: str
    reason: str
    matrix: str = ""
    from_run: str = ""
    age_nights: int = 0


def read_carried(path: Path) -> list[CarriedColumn]:
    """Read the columns to carry over. Raises ReportError for a file that has none."""
    return read_struct(path, list[CarriedColumn])


def carry_over(
    matrix: Matrix, insights: Insights, carried: Sequence[CarriedColumn], catalogue: Catalogue
) -> tuple[Matrix, Insights]:
    """Add the columns that are carried over. They count, too, for the first bad and good columns and for kept promises.

    A row that was changed since is not carried over. Raises ReportError for a matrix without the column.
    """
    columns, cells = {column.kafka_version: column for column in matrix.columns}, list(matrix.cells)
    for one in (each for each in carried if each.matrix):
        published = read_matrix(Path(one.matrix))
        label = column_named(one.kafka_version, published.kafka_versions)
        own = _carried_cells(label, published, matrix.requirements)
        columns[label] = _carried_column(one, published, own)
        cells += own
    ordered = sorted(columns.values(), key=lambda column: (place_of_version(column.version), column.kafka_version))
    labels = [column.kafka_version for column in ordered]
    unrun = [one.kafka_version for one in carried if not one.matrix]
    versions = {column.kafka_version: column.version for column in ordered} | {label: label for label in unrun}
    order = sorted([*in_order(ordered).labels, *unrun], key=lambda label: place_of_version(versions[label]))
    ages = {column.kafka_version: column.age for column in ordered if column.age}
    firsts = row_firsts(by_column(cells), order, ages)
    return (
        msgspec.structs.replace(
            matrix,
            kafka_versions=labels,
            columns=ordered,
            cells=sorted(cells, key=lambda cell: labels.index(cell.kafka_version)),
            rule_changes=rule_changes(catalogue, cells, labels),
        ),
        msgspec.structs.replace(insights, firsts=firsts),
    )


def _carried_cells(label: str, published: Matrix, rows: Sequence[RowFacts]) -> list[ReportedCell]:
    """Return a published column's cell for each of today's rows, without its evidence, which is another night's."""
    hashes = {row.requirement: row.hash for row in published.requirements}
    cells = {cell.requirement: cell for cell in published.cells if cell.kafka_version == label}
    blank = next(iter(cells.values()))
    return [
        _without_evidence(cells[row.requirement])
        if row.hash and hashes.get(row.requirement) == row.hash
        else _cell_of_changed_row(blank, row.requirement)
        for row in rows
    ]


def _without_evidence(cell: ReportedCell) -> ReportedCell:
    shown = [msgspec.structs.replace(each, history="", evidence="", events=[]) for each in cell.shown]
    return msgspec.structs.replace(cell, evidence=[], shown=shown)


def _cell_of_changed_row(blank: ReportedCell, row: str) -> ReportedCell:
    return msgspec.structs.replace(
        blank, requirement=row, verdict="not-run", reason=CHANGED_SINCE, value="", observations=0, violations=0,
        cases={}, attempts={}, faults={}, evidence=[], shown=[], known=[],
    )  # fmt: skip


def _carried_column(one: CarriedColumn, published: Matrix, cells: Sequence[ReportedCell]) -> ColumnReport:
    column = next(each for each in published.columns if each.kafka_version == one.kafka_version)
    return msgspec.structs.replace(
        column,
        verdicts=dict(Counter(cell.verdict for cell in cells)),
        from_run=one.from_run,
        age_nights=one.age_nights,
        not_run=one.reason,
    )
