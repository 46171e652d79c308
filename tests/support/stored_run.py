"""Stored examples of a smoke run of unmodified releases, in `tests/stored`: few, small, and enough for most judges to hold.

`./kit python -m tests.support.stored_run OUT` selects them again from the histories of a run.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from conformance.catalogue import Facts
from conformance.core.evaluate import applicable
from conformance.judging.judge import Judging
from conformance.judging.judges import JUDGES
from history.events import History
from history.observations import Observation
from history.store import group, lines_of, read_frames, read_histories

FOLDER = Path(__file__).parents[1] / "stored"
MOST_BYTES = 60_000
"""The largest example that is kept."""


def stored_examples() -> Iterator[History]:
    for path in sorted(FOLDER.glob("*.jsonl.zst")):
        yield from read_histories(path)


def observed_by(history: History) -> list[Observation]:
    """The observations of all judges that apply to the column of the example."""
    judging = Judging(JUDGES, history.example)
    judging.feed(history.events)
    facts = Facts(version=history.example.column, ranges=history.example.ranges)
    return applicable(judging.results().observations, facts)


def select(out: Path) -> None:
    """Keep of each column the smallest examples that show each row, case and result, and one of each folder of checks."""
    shown: dict[str, dict[tuple[str, ...], bytes]] = {}
    for path in sorted((out / "histories").rglob("*.jsonl.zst")):
        for _, frame in read_frames(path):
            for history in group(lines_of(frame)):
                kept = shown.setdefault(history.example.column, {})
                for key in _keys(history) if len(frame) <= MOST_BYTES else ():
                    kept[key] = min(kept.get(key, frame), frame, key=len)
    FOLDER.mkdir(exist_ok=True)
    for column, kept in shown.items():
        (FOLDER / f"{column}.jsonl.zst").write_bytes(b"".join(sorted(set(kept.values()))))


def _keys(history: History) -> set[tuple[str, ...]]:
    seen = {(one.requirement, one.case, one.result) for one in observed_by(history)}
    return {*seen, (history.example.check.partition(".")[0],)}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="./kit python -m tests.support.stored_run", description=__doc__)
    parser.add_argument("out", metavar="OUT", type=Path, help="the --conformance-out of the run")
    out = parser.parse_args(arguments).out
    if not any((out / "histories").rglob("*.jsonl.zst")):
        parser.error(f"{out} has no histories/: give the directory that was --conformance-out")
    select(out)


if __name__ == "__main__":
    main()
