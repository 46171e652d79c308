"""Judge stored histories again, without a cluster: `./kit rejudge --out DIR`.

On a cluster:

    python -m zipfile -c kit.zip protocol history fixtures strategies conformance reports
    spark-submit --master MASTER --py-files kit.zip conformance/submit/rejudge.py --out DIR --spark
"""

import gc
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path, PurePath
from typing import Any, BinaryIO, TypeAlias

import click
import msgspec

from conformance.campaign.rewritten_shards import rewrite_shard
from conformance.catalogue import Facts
from conformance.cli.group import HELP
from conformance.cli.group import run as run_command
from conformance.core.bench import Bench
from conformance.core.checks import Check, all_checks
from conformance.core.evaluate import evaluate_check, find_proofs, judge_on_column
from conformance.judging.judge import JudgingResult
from conformance.judging.judges import JUDGES
from conformance.judging.pooling import GatheredShard, gather_shards
from conformance.judging.stored_examples import JudgedExample, judge_frame, place
from fixtures.errors import WrongUse
from fixtures.tape import StoredTape
from history.command import COMMAND
from history.events import History
from history.exit_codes import exit_code_of
from history.observations import Observation
from history.shards import AnyShardLine, Column, ObservationLine, read_shards
from history.store import read_frames
from reports.commands.options import Form, form, out_option, print_json

Again: TypeAlias = dict[str, dict[str, JudgedExample]]
"""The rejudged examples, by shard and example."""

SMALL = 64 * 2**20
"""The size of shards and histories, in bytes, below which a session is tuned for small data."""
DESCRIBED = 100
"""The maximum number of differences that are described."""


def rejudge(history: History, column: Column) -> JudgingResult:
    """Judge a stored example with the current judges.

    If a probe lost its premise, its earlier observations remain; if the example ended in an error, only violations remain.
    """
    if history.end is None:
        return JudgingResult([])
    if history.example.ranges:  # the shard's header has those of the worker's first cluster
        column = msgspec.structs.replace(column, ranges=history.example.ranges)
    facts = Facts(version=column.version, ranges=column.ranges)
    check = all_checks().get(history.example.check)
    by_judges = judge_on_column(facts, JUDGES, history)
    if check is None:
        return by_judges
    found = _rejudge_by_check(check, history, column) + by_judges
    # The outcome stays as recorded, whatever the healing of the cluster revealed later.
    return (
        JudgingResult(find_proofs(found.observations), raised=found.raised) if history.end.outcome == "error" else found
    )


def _rejudge_by_check(check: Check, history: History, column: Column) -> JudgingResult:
    """Judge an example with its current check. If the check no longer takes the drawn inputs, it is another probe, and nothing is
    returned."""
    example = history.example
    if set(example.inputs) != set(check.strategies):
        return JudgingResult([])
    bench = Bench(StoredTape(history), column, Bench.members_of(example.members), None)
    outcome = evaluate_check(check, bench, check.parse_inputs(example.inputs), example.context)
    return JudgingResult(outcome.observations, outcome.excuses)


@click.command(context_settings=HELP)
@out_option("a run's folder with its shards/ and histories/, or with --spark its URI", kind=click.STRING)
@click.option(
    "--spark",
    metavar="[MASTER]",
    is_flag=False,
    flag_value="local[*]",
    default="",
    help="in Spark; default: local[*] (spark-submit has its own)",
)
@click.option(
    "--shards",
    metavar="NEW",
    type=click.Path(path_type=Path),
    help="write complete shards with the current judges and rows, for `./kit merge --in NEW`",
)
@form
def rejudge_stored(out: str, spark: str, shards: Path | None, form: Form) -> int:
    """Judge stored histories again, without a cluster.

    Writes the observations of the current judges to DIR/rejudged/<shard>.jsonl and compares them with those in the shards. With
    --spark it runs on all cores, or on the given master, and writes Parquet to DIR/rejudged/parquet.

    With --shards NEW it also writes complete shards to NEW, with the current judges and rows; `./kit merge --in NEW --out
    DIR/matrix` merges them. This gives a verdict for a row that has changed since its run.

    The exit code is 0 if both are the same, 1 if a judge observes something else now (or raises, which affects no other example).
    """
    if "://" not in out and not Path(out, "shards").is_dir():
        raise WrongUse(f"{out} has no shards/: give the directory that was --conformance-out")
    if shards and (wrong := _why_unwritable(shards, spark)):
        raise WrongUse(wrong)
    changed = list(_in_spark(out, spark) if spark else _rejudge_here(Path(out), shards))
    if form == "json":
        print_json(changed)
    else:
        print("\n".join(changed) or "the same observations, byte for byte")
    return exit_code_of(violated=bool(changed))


def main(arguments: Sequence[str] | None = None) -> int:
    """Rejudge for spark-submit. Returns the exit code."""
    return run_command(rejudge_stored, sys.argv[1:] if arguments is None else arguments, f"{COMMAND} rejudge")


def _why_unwritable(folder: Path, spark: str | None) -> str:
    """Return why new shards cannot be written to `folder`; empty if they can."""
    if spark:
        return f"--shards {folder} goes without --spark: whole shards are written in this process only"
    if folder.exists() and any(folder.iterdir()):
        return f"--shards {folder} is not empty: a merge would count what is in it; give a new directory"
    return ""


# --- in this process


def _rejudge_here(out: Path, into: Path | None) -> Iterator[str]:
    pieces = list(read_shards(out / "shards"))
    whole = not any("" in piece.torn_of for piece in pieces)
    workers: dict[tuple[str, str], dict[str, GatheredShard]] = defaultdict(dict)
    if not (gathered := list(gather_shards(pieces))):
        raise WrongUse(f"{out}/shards has no shard that can be read: give the directory that was --conformance-out")
    for shard in gathered:
        if shard.header is None:
            yield f"{shard.id}: no header, so its column is unknown"
        else:
            workers[shard.header.run, shard.header.worker][shard.id] = shard
    gc.freeze()  # shards and catalogue live to the end, so no collection needs to traverse them again
    for (run, worker), shards in workers.items():
        again: Again = {id: {} for id in shards} if into else {}
        yield from _compare_worker(out, out / "histories" / run / f"{worker}.jsonl.zst", shards, again)
        if into is not None:
            for id, shard in shards.items():
                with _open_lines(into, id) as file:
                    file.write(rewrite_shard(shard, again[id], whole=whole))


def _compare_worker(out: Path, histories: Path, shards: Mapping[str, GatheredShard], again: Again) -> Iterator[str]:
    """Describe the differences in one worker's examples, which belong to the columns of its `shards`.

    The results of the current judges are put into `again`, for its shards.
    """
    headers = {shard.header.column.label: shard.header for shard in shards.values() if shard.header is not None}
    before = {id: observations_of(shard.lines) for id, shard in shards.items()}
    with ExitStack() as stack:
        files = {id: stack.enter_context(_open_lines(out / "rejudged", id)) for id in shards}
        for frame, content in read_frames(histories) if histories.exists() else ():
            for one in judge_frame(content, place(histories, frame.offset), headers, rejudge):
                recorded = before.get(one.shard, {}).pop(one.example, [])
                if one.refused:
                    raise WrongUse(one.refused)
                if one.error:
                    yield _difference_text(one.example, one.check, f"could not be judged: {one.error}")
                    continue
                if one.shard in again:
                    again[one.shard][one.example] = one
                after = canonical_lines(one.observations)
                files[one.shard].write(after)
                if after != canonical_lines(recorded):
                    yield _difference_text(one.example, one.check, "judged differently now")
    for example in (example for examples in before.values() for example in examples):
        yield _difference_text(example, "", "its observations have no history")


def _open_lines(folder: Path, id: str) -> BinaryIO:
    folder.mkdir(parents=True, exist_ok=True)
    return (folder / f"{PurePath(id).name}.jsonl").open("wb")


def canonical_lines(observations: list[Observation]) -> bytes:
    """Encode observations so that equal ones give equal lines."""
    return b"".join(msgspec.json.encode(o, order="sorted") + b"\n" for o in observations)


def observations_of(lines: Iterable[AnyShardLine]) -> dict[str, list[Observation]]:
    """Return the lines' observations by example, in the order in which they were made."""
    found: dict[str, list[Observation]] = {}
    for line in lines:
        if isinstance(line, ObservationLine):
            found.setdefault(line.example, []).append(line.observation)
    return found


def _difference_text(example: str, check: str | None, wrong: str) -> str:
    return f"{example} ({check}): {wrong}" if check else f"{example}: {wrong}"


# --- in Spark


def _in_spark(out: str, master: str) -> Iterator[str]:
    from reports.spark import spark_session

    run = out if "://" in out else f"file://{Path(out).absolute()}"
    with spark_session(master, small=_is_small(out)) as spark:
        yield from compare_in_spark(spark, run)


def _is_small(out: str) -> bool:
    files = () if "://" in out else (*Path(out, "shards").rglob("*"), *Path(out, "histories").rglob("*"))
    return "://" not in out and sum(file.stat().st_size for file in files) < SMALL


def compare_in_spark(spark: Any, run: str) -> Iterator[str]:
    """Write `run`/rejudged/parquet; yield the differences as lines of text."""
    from reports import histories as again

    again.rejudge(spark, run, rejudge).write.mode("overwrite").parquet(f"{run}/rejudged/parquet")
    now = spark.read.parquet(f"{run}/rejudged/parquet")
    for row in now.where("refused != ''").sort("refused").take(1):
        raise WrongUse(row.refused)
    wrong = again.differing_examples(now, again.recorded_marks(spark, f"{run}/shards")).persist()
    described = wrong.sort("example", "check", "wrong").take(DESCRIBED)
    yield from (_difference_text(row.example, row.check, row.wrong) for row in described)
    if len(described) == DESCRIBED and (more := wrong.count() - DESCRIBED):
        yield f"and {more} more"
    wrong.unpersist()


if __name__ == "__main__":
    sys.exit(main())
