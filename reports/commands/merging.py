"""The merge in Spark, from shards to all output."""

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from conformance.catalogue import shipped_rows
from conformance.catalogue.deviations import Deviation, load_deviations
from history.exit_codes import EXIT_SATISFIED
from reports.carried import CarriedColumn, carry_over, read_carried
from reports.errors import ReportError
from reports.ingest.read import SHARDS, folder_not_found, shards_not_found
from reports.matrix import mark_provisional
from reports.matrix_file import read_compared, read_struct
from reports.merge import Merged, merge
from reports.site.pages import write_site
from reports.spark import spark_session
from reports.texts import terminal
from reports.texts.files import write_texts

_SMALL_BYTES = 128 * 2**20


class NightFacts(NamedTuple):
    """The additions of a night to its matrix: the file of columns that are `carried` over, and that of `provisional` rows."""

    carried: Path | None
    provisional: Path | None


def merge_shards(
    shards: str, out: Path, archive: str, baseline: str, deviations: Sequence[Path], master: str, night: NightFacts
) -> int:
    """Merge shards, write all output to `out`, and print the matrix.

    Returns 0, whatever the matrix says. Raises ReportError and CatalogueError.
    """
    known = read_compared(Path(baseline)) if baseline else None
    # Evidence is beside the shards.
    beside = Path(shards).parent if Path(shards).is_dir() else None

    over = read_carried(night.carried) if night.carried else []
    young = read_struct(night.provisional, dict[str, str]) if night.provisional else {}

    def present(merged: Merged) -> None:
        whole = _of_night(merged, over, young)
        write_texts(whole.matrix, whole.insights, out, known)
        write_site(whole, shipped_rows(), out, beside)

    known_deviations = load_deviations(shipped_rows(), *deviations)
    merged = _of_night(_merge_in_session(shards, out, archive, known_deviations, master, present), over, young)
    terminal.show(merged.matrix, sys.stdout)
    for filed in merged.filed:
        if filed.outcome == "kept":
            print(f"note: {filed}", file=sys.stderr)
    print(out / "index.html")
    return EXIT_SATISFIED


def _of_night(merged: Merged, carried: Sequence[CarriedColumn], young: Mapping[str, str]) -> Merged:
    matrix, insights = merged.matrix, merged.insights
    if carried:
        matrix, insights = carry_over(matrix, insights, carried, shipped_rows())
    return Merged(matrix=mark_provisional(matrix, young), insights=insights, filed=merged.filed)


def _merge_in_session(
    shards: str,
    out: Path,
    archive: str,
    deviations: Sequence[Deviation],
    master: str,
    present: Callable[[Merged], None],
) -> Merged:
    _make_folder(out)
    with spark_session(master, small=_bytes_of_shards(shards) < _SMALL_BYTES) as spark:
        return merge(
            spark, shards, shipped_rows(), deviations, out / "parquet", archive=_folder_uri(archive), present=present
        )


def _folder_uri(folder: str) -> str:
    """Return a local folder as a URI, so that it is not taken for a path on a cluster's default file system.

    An empty text and a URI stay as they are. Blanks are not escaped: Hadoop would take %20 literally.
    """
    return folder if not folder or "://" in folder else f"file://{Path(folder).absolute()}"


def _make_folder(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ReportError(f"{str(out)!r} can't be written to ({error}). Give another folder with --out.") from error


def _bytes_of_shards(shards: str) -> float:
    """Return the size of a local folder's shards, infinity for a URI. Raises ReportError if there are none."""
    if "://" in shards:
        return math.inf
    folder = Path(shards)
    if not folder.exists():
        raise folder_not_found(shards, "not found")
    files = list(folder.rglob(SHARDS))
    if not files:
        raise shards_not_found(shards)
    return sum(file.stat().st_size for file in files)
