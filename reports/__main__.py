"""`python -m reports --in DIR/shards --out DIR/matrix`; also the script for `spark-submit`."""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from conformance.catalogue import CatalogueError, shipped
from conformance.catalogue.deviations import load_deviations
from reports import markdown, page, terminal
from reports.errors import ReportError
from reports.matrix import encode
from reports.merge import Merged, merge
from reports.read import SHARDS, no_folder, no_shards
from reports.session import session

_SMALL_BYTES = 64 * 2**20


def main(arguments: Sequence[str] | None = None) -> int:
    """0: merged; 2: wrong use, or shards that contradict each other; 3: Spark does not start here."""
    asked = _parser().parse_args(arguments)
    try:
        merged = _merged(asked)
        index = _write(merged, Path(asked.out), asked.shards)
    except (ReportError, CatalogueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code if isinstance(error, ReportError) else ReportError.exit_code
    terminal.show(merged.matrix, sys.stdout)
    print(index)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="reports", description="Merge shards into the conformance matrix.")
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
        "--master", default="local[*]", help="Spark's master (default: local[*]; spark-submit has its own)"
    )
    return parser


def _merged(asked: argparse.Namespace) -> Merged:
    catalogue = shipped()
    _make(Path(asked.out))
    deviations = load_deviations(catalogue)
    parquet = Path(asked.out, "parquet").absolute().as_uri()
    with session(asked.master, small=_bytes(asked.shards) < _SMALL_BYTES) as spark:
        return merge(spark, asked.shards, catalogue, deviations, parquet, archive=_uri(asked.archive))


def _uri(folder: str) -> str:
    """A local folder as a URI, so that no default file system of a cluster takes it for its own; nothing for nothing."""
    return folder if not folder or "://" in folder else Path(folder).absolute().as_uri()


def _make(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ReportError(f"{str(out)!r} can't be written to ({error}). Give another folder with --out.") from error


def _bytes(shards: str) -> float:
    """The size of a local folder's shards; infinite for another file system's. What is not there is said at once."""
    if "://" in shards:
        return math.inf
    folder = Path(shards)
    if not folder.exists():
        raise no_folder(shards, "not found")
    files = list(folder.rglob(SHARDS))
    if not files:
        raise no_shards(shards)
    return sum(file.stat().st_size for file in files)


def _write(merged: Merged, out: Path, shards: str) -> Path:
    """Writes what the driver renders; evidence is linked relative to the page."""
    matrix = merged.matrix
    run = os.path.relpath(Path(shards).absolute().parent, out.absolute()) if Path(shards).is_dir() else ".."
    (out / "matrix.json").write_bytes(encode(matrix))
    (out / "matrix.md").write_text(markdown.markdown(matrix), encoding="utf-8")
    index = out / "index.html"
    index.write_text(page.page(matrix, shipped(), run=Path(run).as_posix()), encoding="utf-8")
    return index


if __name__ == "__main__":
    sys.exit(main())
