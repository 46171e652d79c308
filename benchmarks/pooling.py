"""The pooling of a merge, in pandas: `python -m benchmarks.pooling SHARDS` prints the number of cells and cases.

Each shard is read by `pandas.read_json`, the lines of all are concatenated and counted once; then counts and distinct
inputs and examples per case, checks and faults per row. No shard is validated, no cell judged and nothing written.
"""

import sys
from pathlib import Path

import pandas as pd

CELL = ["kafka_version", "requirement"]
KEPT = [
    "type",
    "shard",
    "n",
    "requirement",
    "case",
    "result",
    "check",
    "example",
    "inputs",
    "variant",
    "evidence",
    "history",
]
MORE = ["rows", "outcome", "faults", "seconds"]


def pool(folder: Path) -> str:
    lines = pd.concat([_read_parquet(path) for path in sorted(folder.rglob("*.jsonl"))], ignore_index=True)
    lines = lines.drop_duplicates(["shard", "n"])
    observations = lines[lines["type"] == "observation"]
    key = [*CELL, "case"]
    counts = observations.groupby([*key, "result"], observed=True).size().unstack(fill_value=0)
    inputs = observations.groupby(key, observed=True)["inputs"].nunique()
    examples = observations[[*key, "shard", "example"]].drop_duplicates().groupby(key, observed=True).size()
    histories = observations[[*CELL, "history"]].drop_duplicates()
    violations = observations[observations["result"] == "violated"]
    checks = lines[lines["type"] == "check"].explode("rows").groupby(["kafka_version", "rows"])["check"].nunique()
    brought = lines[lines["type"] == "example"].explode("rows").groupby(["kafka_version", "rows"])["seconds"].sum()
    cases = counts.join(inputs).join(examples.rename("examples"))
    found = {
        "cases": cases,
        "checked cells": checks,
        "tried cells": brought,
        "violations": violations,
        "paths": histories,
    }
    return ", ".join(f"{len(table)} {name}" for name, table in found.items())


def _read_parquet(path: Path) -> pd.DataFrame:
    found = pd.read_json(path, lines=True, dtype=False)
    label = found["column"].dropna().iloc[0]["label"]
    return found[[name for name in (*KEPT, *MORE) if name in found]].assign(kafka_version=label)


if __name__ == "__main__":
    print(pool(Path(sys.argv[1])))
