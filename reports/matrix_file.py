"""Reading matrix.json and insights.json, without Spark."""

import difflib
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TypeVar

import msgspec

from conformance.judging.news import MATRIX_SCHEMA, JudgedCell
from history.command import COMMAND
from reports.errors import ReportError
from reports.insights import Insights
from reports.matrix import Matrix

INSIGHTS = "insights.json"

_Struct = TypeVar("_Struct")


class ComparedViolation(msgspec.Struct, frozen=True):
    case: str = ""
    detail: str = ""


class ComparedCell(JudgedCell, frozen=True, kw_only=True):
    """A cell, the reason for its verdict, and its evidence folders."""

    reason: str = ""
    shown: list[ComparedViolation] = []
    evidence: list[str] = []

    @property
    def why(self) -> str:
        first = (
            [f"case {self.shown[0].case}: {self.shown[0].detail}"] if self.verdict == "violated" and self.shown else []
        )
        return "; ".join(part for part in [self.reason, *first] if part)


class ComparedMatrix(msgspec.Struct, frozen=True):
    """The part of a matrix that a comparison needs; it may have been written by another version of the kit."""

    schema: int
    kafka_versions: list[str]
    cells: list[ComparedCell]

    def column(self, label: str) -> dict[str, ComparedCell]:
        """Return the cells of a column by row."""
        return {cell.requirement: cell for cell in self.cells if cell.kafka_version == label}


def compared_matrix(matrix: Matrix) -> ComparedMatrix:
    """Reduce a matrix to what comparisons need."""
    return msgspec.convert(matrix, ComparedMatrix, from_attributes=True)


def read_compared(path: Path) -> ComparedMatrix:
    """Read what a comparison needs. Raises ReportError for a file that is not a matrix, or has another schema."""
    return _require_our_schema(read_struct(path, ComparedMatrix), path)


def read_matrix(path: Path) -> Matrix:
    """Read a whole matrix.

    Raises ReportError for a file that is not a matrix, or that another version of the kit wrote in another form.
    """
    return _require_our_schema(read_struct(path, Matrix), path)


def read_insights(matrix: Path) -> Insights:
    """Read the insights.json beside a matrix.json; return empty insights if there is none."""
    path = matrix.with_name(INSIGHTS)
    return read_struct(path, Insights) if path.is_file() else Insights()


def column_named(asked: str, known: Iterable[str]) -> str:
    """Return `asked` if a column has this label. Raises ReportError with the nearest labels otherwise."""
    labels = list(known)
    if asked not in labels:
        raise ReportError(f"There is no column {asked!r} in this matrix. {_similar_names(asked, labels)}")
    return asked


def rows_named(asked: str, known: Iterable[str]) -> list[str]:
    """Return all rows that match the glob `asked`. Raises ReportError with the nearest ones if none does."""
    rows = list(known)
    found = [row for row in rows if fnmatchcase(row, asked)]
    if not found:
        raise ReportError(f"No row of this matrix is named {asked!r}. {_similar_names(asked.upper(), rows)}")
    return found


def _similar_names(asked: str, known: list[str]) -> str:
    near = difflib.get_close_matches(asked, known, n=5, cutoff=0.5)
    return (
        f"Near it: {', '.join(near)}." if near else f"It has {', '.join(known[:12])}{' …' if len(known) > 12 else ''}."
    )


def read_struct(path: Path, kind: type[_Struct]) -> _Struct:
    """Read a JSON file of this type. Raises ReportError for any other."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except OSError as error:
        raise ReportError(
            f"{str(path)!r} can't be read ({error.strerror}). Give a matrix.json: `{COMMAND} matrix` writes one, and "
            f"`{COMMAND} merge` makes one of the shards of a run."
        ) from error
    except msgspec.DecodeError as error:
        raise ReportError(
            f"{str(path)!r} is not what this kit writes ({error}). Give a matrix.json, or merge its shards again: "
            f"{COMMAND} merge --in out/shards --out out/matrix."
        ) from error


_Matrix = TypeVar("_Matrix", ComparedMatrix, Matrix)


def _require_our_schema(found: _Matrix, path: Path) -> _Matrix:
    if found.schema != MATRIX_SCHEMA:
        raise ReportError(
            f"{str(path)!r} is of schema {found.schema}, this kit reads {MATRIX_SCHEMA}: use the kit that wrote it, "
            "or merge its shards again."
        )
    return found
