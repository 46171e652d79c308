"""From shards to all of the output."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path

from conformance.catalogue import shipped
from conformance.catalogue.deviations import load_deviations
from reports.errors import ReportError
from reports.ingest.read import SHARDS, no_folder, no_shards
from reports.matrix_file import read_compared
from reports.merge import Merged, merge
from reports.site.pages import write_site
from reports.spark import session
from reports.texts import terminal
from reports.texts.files import write_texts

_SMALL_BYTES = 64 * 2**20


def run(arguments: Sequence[str]) -> int:
    """0, or ReportError and CatalogueError."""
    asked = _parser().parse_args(arguments)
    baseline = read_compared(Path(asked.baseline)) if asked.baseline else None
    merged = _merged(asked)
    out = Path(asked.out)
    write_texts(merged.matrix, merged.insights, out, baseline)
    # Evidence is beside the shards.
    beside = Path(asked.shards).parent if Path(asked.shards).is_dir() else None
    index = write_site(merged, shipped(), out, beside)
    terminal.show(merged.matrix, sys.stdout)
    for filed in merged.filed:
        if filed.outcome == "kept":
            print(f"note: {filed}", file=sys.stderr)
    print(index)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="reports",
        description="Merge shards into the conformance matrix.",
        epilog="reports diff and reports explain read what a merge wrote; each has its own --help.",
    )
    parser.add_argument("--in", dest="shards", metavar="DIR", required=True, help="folder of shards, or its Hadoop URI")
    parser.add_argument(
        "--out", metavar="DIR", required=True, help="where matrix.json, matrix.md, index.html and parquet/ go"
    )
    parser.add_argument(
        "--archive",
        metavar="DIR",
        default="",
        help="add the shards to this archive of runs, or its Hadoop URI, and show trends over them",
    )
    parser.add_argument(
        "--baseline",
        metavar="MATRIX",
        default="",
        help="an earlier matrix.json: matrix.md and summary.md list what changed",
    )
    parser.add_argument(
        "--master", default="local[*]", help="Spark's master (default: local[*]; spark-submit has its own)"
    )
    return parser


def _merged(asked: argparse.Namespace) -> Merged:
    catalogue = shipped()
    _make(Path(asked.out))
    deviations = load_deviations(catalogue)
    parquet = _uri(str(Path(asked.out, "parquet")))
    with session(asked.master, small=_bytes(asked.shards) < _SMALL_BYTES) as spark:
        return merge(spark, asked.shards, catalogue, deviations, parquet, archive=_uri(asked.archive))


def _uri(folder: str) -> str:
    """A local folder as a URI, so that it is not taken for a path on a cluster's default file system; None for None.

    Hadoop takes a URI as it stands: a blank in it is a blank, and %20 would be the name of another folder.
    """
    return folder if not folder or "://" in folder else f"file://{Path(folder).absolute()}"


def _make(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ReportError(f"{str(out)!r} can't be written to ({error}). Give another folder with --out.") from error


def _bytes(shards: str) -> float:
    """The size of a local folder's shards; infinite for another file system's. A missing folder raises at once."""
    if "://" in shards:
        return math.inf
    folder = Path(shards)
    if not folder.exists():
        raise no_folder(shards, "not found")
    files = list(folder.rglob(SHARDS))
    if not files:
        raise no_shards(shards)
    return sum(file.stat().st_size for file in files)
