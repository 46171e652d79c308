"""The run of a column without pytest or a broker: takes its options, writes a shard and ends as FAKE_COLUMNS says.

FAKE_COLUMNS is JSON, from a column to words: `satisfied`, `other-satisfied`, `violated`, `error`, `nothing` and `cut` (no
footer) say what is in its shard; `no-shard` that there is none; `wrong`, `trouble`, `killed` and `waits` how it ends.
`missed` says that no replay shows the violation again. The options are appended to `calls.jsonl` beside its output folder.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import sys
from pathlib import Path

import msgspec

from conformance.catalogue import shipped_rows
from conformance.running.evidence.folder import Schedule
from history.shards import Column
from tests.support.sample_shards import ShardBuilder, all_checks

ROW, OTHER = "KIP320-FETCH-02", "KIP320-FETCH-03"
CODES = {"violated": 1, "wrong": 2, "error": 3, "trouble": 3, "nothing": 3, "no-shard": 3}


def main() -> int:
    asked = _parser().parse_known_args()[0]
    label = asked.kafka_version or asked.kafka_image or asked.kafka_home
    words = json.loads(os.environ.get("FAKE_COLUMNS", "{}")).get(label, ["satisfied"])
    if asked.collect_only:
        print("what is wrong with it")
        return 2 if "refused" in words else 0
    with (asked.conformance_out.parent / "calls.jsonl").open("a") as calls:
        calls.write(json.dumps([label, sys.argv[1:]]) + "\n")
    if "no-shard" not in words:
        _shard(asked, asked.conformance_run, asked.label or label, words)
    if "killed" in words:
        os.kill(os.getpid(), signal.SIGKILL)
    if "waits" in words:
        return _waited(asked.conformance_out / "waiting" / label)
    return next((CODES[word] for word in words if word in CODES), 0)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for option in ("--kafka-version", "--kafka-image", "--kafka-home", "--label", "--conformance-run"):
        parser.add_argument(option, default="")
    parser.add_argument("--conformance-out", type=Path, default=Path("out"))
    parser.add_argument("--conformance-seed", type=int, default=7)
    parser.add_argument("--collect-only", action="store_true")
    parser.add_argument("--replay", type=Path)
    return parser


def _shard(asked: argparse.Namespace, run: str, label: str, words: list[str]) -> None:
    version = label if re.fullmatch(r"[\d.]+", label) else "4.3.1"
    slug = re.sub(r"[^A-Za-z0-9.]+", "-", label)
    shard = ShardBuilder(
        f"{run}-gw0-{slug}", version, label=label, run=run, checks=all_checks(), seed=asked.conformance_seed
    )
    if asked.replay is not None:
        case = shipped_rows()[OTHER].cases[0].id
        shard.replayed(OTHER, case, seen=0 if "missed" in words else 3).finish().write(asked.conformance_out / "shards")
        return
    if "satisfied" in words:
        shard.satisfy(shipped_rows()[ROW])
    if "other-satisfied" in words:
        shard.satisfy(shipped_rows()[OTHER])
    if "violated" in words:
        shard.observe(
            OTHER, shipped_rows()[OTHER].cases[0].id, "violated", evidence=f"evidence/{OTHER}/{run}-1"
        ).end_check(OTHER)
        evidence = asked.conformance_out / "evidence" / OTHER / f"{run}-1"
        evidence.mkdir(parents=True)
        column = Column(label=label, version=version, image=label, image_id="")
        schedule = Schedule(check="machines.log.LogMachine", column=column, requirement=OTHER, steps=[{"run": run}])
        (evidence / "schedule.json").write_bytes(msgspec.json.encode(schedule))
        examples = asked.conformance_out / "examples" / label
        examples.mkdir(parents=True, exist_ok=True)
        (examples / run).touch()
    if "error" in words:
        shard.end_check(ROW, outcome="error", detail="no cluster")
    if "cut" not in words:
        shard.finish()
    shard.write(asked.conformance_out / "shards")


def _waited(waiting: Path) -> int:
    """Wait until it is interrupted, as pytest would be; a test may look at its output meanwhile."""
    waiting.parent.mkdir(exist_ok=True)
    try:
        waiting.write_text(str(os.getpid()))
        signal.pause()
    except KeyboardInterrupt:
        waiting.with_name(f"{waiting.name}.cleared-up").touch()
        return 130
    raise AssertionError("no signal but an interruption was to come")


if __name__ == "__main__":
    sys.exit(main())
