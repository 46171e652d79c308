"""The run of a hunt's round or replay without pytest or a broker: writes a shard with evidence, and ends as FAKE_HUNT says.

FAKE_HUNT is JSON, from a column to words: `broken` and `unshrunk` are violations of ROW with and without a shrunk schedule,
`known` one of KNOWN_ROW, `empty` a shard without an example. `interrupts` is a round that interrupts the command,
`interrupts-replays` a replay that does, `killed` a round that ends by a signal; a digit says in how many of five replays the
violation is seen. The options are appended to the file FAKE_CALLS.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any, Literal

import msgspec

from conformance.running.evidence.folder import Schedule
from conformance.running.recording.shard_writer import ShardWriter
from history.observations import Observation
from history.schema import SCHEMA
from history.shards import Column, ExcuseCount, FaultCount

ROW, KNOWN_ROW = "KIP320-FETCH-03", "KIP101-INV-18b"
"""No release is known to break the first; all since 3.4.1 are known to break the second."""
CASES = {ROW: "consumer", KNOWN_ROW: "quiet"}
CHECK = "machines.log.LogMachine"
REPLAYS = 5


def steps(seed: int, partition: str = "strict-0") -> list[dict[str, Any]]:
    """Return a schedule of the log machine whose numbers depend on the seed."""
    return [
        {"do": "disturb", "on": partition, "fault": {"fault": "kill", "role": "leader", "pick": seed % 3}},
        {"do": "produce", "on": partition, "records": 1 + seed % 4},
    ]


def column_of(version: str) -> Column:
    return Column(
        label=version,
        version=version,
        image=f"kafka:{version}",
        image_id="sha256:1",
        selection=["--kafka-version", version],
    )


class FakeRun:
    """The output of one pytest."""

    def __init__(self, asked: argparse.Namespace, words: list[str]) -> None:
        self._asked = asked
        self._words = words
        self._out: Path = asked.conformance_out
        self._run: str = asked.conformance_run
        self._column = column_of(asked.kafka_version)
        self._shard = ShardWriter(
            self._out / "shards", f"{self._run}-gw0-{self._column.label}", self._column, schema=SCHEMA, kit="0",
            run=self._run, worker="gw0", topology="t", profile="quick", seed=asked.conformance_seed, rows={}, checks={},
        )  # fmt: skip

    def round(self) -> None:
        if "empty" in self._words:
            return
        self._example("1", "judged", excuses=[ExcuseCount(requirement=ROW, case="c", excuse="a reason", times=2)])
        self._example("2", "error", detail="KitError: no listener\nthe cluster was replaced: node 1 is down")
        if "broken" in self._words:
            self._violation(ROW, "a", steps(0))
            self._violation(ROW, "b", steps(self._asked.conformance_seed), seen=4)
        if "unshrunk" in self._words:
            self._violation(ROW, "c", [*steps(1), *steps(2)])
        if "known" in self._words:
            self._violation(KNOWN_ROW, "d", steps(3, "loose-0"), seen=5)

    def replay(self) -> None:
        row = json.loads(Path(self._asked.replay).read_bytes())["requirement"]
        seen = next((int(word) for word in self._words if word.isdigit()), 0)
        for number in range(REPLAYS):
            name = f"{self._run}-gw0-{number}"
            if number < seen:
                self._observed(row, name, "")
            self._example(str(number), "judged")

    def _violation(self, row: str, name: str, schedule: list[dict[str, Any]], seen: int = 0) -> None:
        evidence = f"evidence/{row}/{self._run}-{name}"
        recorded = Schedule(check=CHECK, column=self._column, requirement=row, steps=schedule)
        (self._out / evidence).mkdir(parents=True)
        (self._out / evidence / "schedule.json").write_bytes(msgspec.json.encode(recorded))
        (self._out / evidence / "report.md").write_text("# It was seen\n")
        self._observed(row, f"{self._run}-{name}", evidence)
        if seen:
            self._shard.replay(requirement=row, evidence=evidence, seen=seen, tries=REPLAYS)

    def _observed(self, row: str, example: str, evidence: str) -> None:
        observation = Observation(
            requirement=row, case=CASES[row], result="violated", example=example, events=[],
            detail="epoch 3 was fenced", label="fence-leak",
        )  # fmt: skip
        self._shard.observation(observation, check=CHECK, evidence=evidence, deeds=["kill leader", "produce"])

    def _example(self, name: str, outcome: Literal["judged", "error"], **fields: Any) -> None:
        faults = {"kill": FaultCount(injected=3, witnessed=2, healed=2)}
        self._shard.example(
            example=f"{self._run}-gw0-{name}",
            check=CHECK,
            outcome=outcome,
            steps={"produce": 4},
            faults=faults,
            **fields,
        )

    def close(self) -> None:
        self._shard.close()


def main() -> int:
    asked = parser().parse_known_args()[0]
    words = json.loads(os.environ["FAKE_HUNT"]).get(asked.kafka_version, [])
    if asked.collect_only:
        print("no such option")
        return 2 if "refused" in words else 0
    with Path(os.environ["FAKE_CALLS"]).open("a") as calls:
        calls.write(json.dumps([asked.kafka_version, sys.argv[1:]]) + "\n")
    return _ended(FakeRun(asked, words), words, is_replay=bool(asked.replay))


def _ended(run: FakeRun, words: list[str], *, is_replay: bool) -> int:
    run.replay() if is_replay else run.round()
    if "killed" in words and not is_replay:
        os.kill(os.getpid(), signal.SIGKILL)
    code = 3
    if ("interrupts-replays" if is_replay else "interrupts") in words:
        code = _interrupted()
    run.close()
    return code


def _interrupted() -> int:
    """Send the command a Ctrl-C, which it passes on; return the exit code after an interruption."""
    try:
        os.kill(os.getppid(), signal.SIGINT)
        signal.pause()
    except KeyboardInterrupt:
        return 130
    raise AssertionError("no signal but an interruption was to come")


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for option in ("--kafka-version", "--conformance-run", "--replay"):
        parser.add_argument(option, default="")
    parser.add_argument("--conformance-out", type=Path, default=Path("out"))
    parser.add_argument("--conformance-seed", type=int, default=7)
    parser.add_argument("--collect-only", action="store_true")
    return parser


if __name__ == "__main__":
    sys.exit(main())
