"""The merge command, implemented in `reports/commands/merging.py`."""

from collections.abc import Sequence
from pathlib import Path

import click

from reports.commands.options import HELP, PATH
from reports.errors import SparkMissing, spark_missing


@click.command(context_settings=HELP)
@click.option("--in", "shards", metavar="DIR", required=True, help="folder of shards, or its Hadoop URI")
@click.option(
    "--out", type=PATH, metavar="DIR", required=True, help="where matrix.json, matrix.md, index.html and parquet/ go"
)
@click.option(
    "--archive",
    metavar="DIR",
    default="",
    help="add the shards to this archive of runs, or its Hadoop URI, and show trends over them",
)
@click.option(
    "--baseline",
    metavar="MATRIX",
    default="",
    help="an earlier matrix.json: matrix.md and summary.md list what changed",
)
@click.option(
    "--deviations",
    multiple=True,
    type=PATH,
    metavar="FILE",
    help="known deviations of your own, in the format of conformance/known-deviations.toml; repeatable",
)
@click.option(
    "--carry",
    "carried",
    type=PATH,
    metavar="FILE",
    help="columns of earlier matrices to show beside these, as `night merge` writes them",
)
@click.option(
    "--provisional",
    type=PATH,
    metavar="FILE",
    help="rows to mark as provisional, as `night merge` writes them",
)
@click.option("--master", default="local[*]", help="Spark's master; default: local[*]; spark-submit has its own")
def merge(
    shards: str,
    out: Path,
    archive: str,
    baseline: str,
    deviations: Sequence[Path],
    carried: Path | None,
    provisional: Path | None,
    master: str,
) -> int:
    """Merge shards into the conformance matrix."""
    # Imported here: Spark takes longer to import than the other commands to run.
    try:
        from reports.commands.merging import NightFacts, merge_shards
    except ModuleNotFoundError as error:
        raise SparkMissing(spark_missing(error.name or "")) from error

    return merge_shards(shards, out, archive, baseline, deviations, master, NightFacts(carried, provisional))
