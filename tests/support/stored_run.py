"""Stored examples of a smoke run of unmodified releases, in `tests/stored`: one of each check, and enough for most judges.

`./kit python -m tests.support.stored_run OUT` selects the examples of the checks in OUT again, from the histories of
that run.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from zstandard import ZstdCompressor

from conformance.catalogue import Facts
from conformance.core.evaluate import applicable_claims
from conformance.judging.judge import Judging
from conformance.judging.judges import JUDGES
from history.events import History
from history.observations import Observation
from history.store import read_histories

FOLDER = Path(__file__).parents[1] / "stored"
MAX_BYTES = 3_000_000
"""The most bytes of JSON in an example that is kept."""


def stored_examples() -> Iterator[History]:
    for path in sorted(FOLDER.glob("*.jsonl.zst")):
        yield from read_histories(path)


def observed_by(history: History) -> list[Observation]:
    """Return the observations of all judges that apply to the column of the example."""
    judging = Judging(JUDGES, history.example)
    judging.feed(history.events)
    facts = Facts(version=history.example.column, ranges=history.example.ranges)
    return applicable_claims(judging.results().observations, facts)


def select(out: Path) -> None:
    """Keep the smallest examples of a run that show each row, case and result of each column, and the smallest of each check.

    Examples of checks that the run did not run stay as they are.
    """
    shown: dict[str, dict[tuple[str, ...], bytes]] = {}
    new = [lines for path in sorted((out / "histories").rglob("*.jsonl.zst")) for lines in _examples(path)]
    checks = {(history.example.column, history.example.check) for history, _ in new}
    old = [one for path in sorted(FOLDER.glob("*.jsonl.zst")) for one in _examples(path)]
    stay = [one for one in old if (one[0].example.column, one[0].example.check) not in checks]
    for history, lines in [*stay, *new]:
        kept = shown.setdefault(history.example.column, {})
        for key in _keys(history) if len(lines) <= MAX_BYTES else ():
            kept[key] = min(kept.get(key, lines), lines, key=len)
    FOLDER.mkdir(exist_ok=True)
    for column, kept in shown.items():
        together = b"".join(sorted(set(kept.values())))
        (FOLDER / f"{column}.jsonl.zst").write_bytes(ZstdCompressor(level=19).compress(together))


def _examples(path: Path) -> Iterator[tuple[History, bytes]]:
    """Yield judged examples, each with its lines: schedules and events as JSON."""
    for history in read_histories(path):
        if history.end is not None and history.end.outcome == "judged":
            lines = [history.example, *history.events, history.end]
            yield history, b"".join(msgspec.json.encode(line, order="sorted") + b"\n" for line in lines)


def _keys(history: History) -> set[tuple[str, ...]]:
    seen = {(one.requirement, one.case, one.result) for one in observed_by(history)}
    return {*seen, (history.example.check,)}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="./kit python -m tests.support.stored_run", description=__doc__)
    parser.add_argument("out", metavar="OUT", type=Path, help="the --conformance-out of the run")
    out = parser.parse_args(arguments).out
    if not any((out / "histories").rglob("*.jsonl.zst")):
        parser.error(f"{out} has no histories/: give the directory that was --conformance-out")
    select(out)


if __name__ == "__main__":
    main()
