"""Violated rows run again, each on the columns where it is violated: which legs that takes, and what they showed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec

from conformance.campaign.plan import Leg, Plan
from conformance.running.baseline import Baseline, read_baseline
from fixtures.errors import WrongUse
from fixtures.images import released
from history.shards import CheckLine, Header, ObservationLine, Shard

_FEATURES = re.compile(r"\+([a-z.]+=\d+)")


class Again(msgspec.Struct, frozen=True, kw_only=True):
    """A row on a column, run again: `violated` of its `observations`. `tried` is false if no check of it ran."""

    row: str
    label: str
    violated: int
    observations: int
    tried: bool

    def __str__(self) -> str:
        if not self.tried:
            said = "not run: see the column's log"
        elif self.violated:
            said = f"seen again, violated in {self.violated} of {self.observations} observations"
        else:
            said = f"not seen again in {self.observations} observations"
        return f"{self.row}  {self.label}  {said}"


def violated_in(out: Path, globs: Sequence[str] = (), labels: Sequence[str] = ()) -> dict[str, list[str]]:
    """The violated rows of the matrix of `out` by column; all, or those that are named. Raises WrongUse where there is none."""
    path = out / "matrix" / "matrix.json"
    if not path.exists():
        raise WrongUse(
            f"--rerun-violated: there is no {path}. Run `./kit matrix` first, or name the folder of an earlier run with "
            "--conformance-out."
        )
    found: dict[str, list[str]] = {}
    for cell in _read(path).cells:
        is_meant = not globs or any(fnmatchcase(cell.requirement, glob) for glob in globs)
        if cell.verdict == "violated" and is_meant and (not labels or cell.kafka_version in labels):
            found.setdefault(cell.kafka_version, []).append(cell.requirement)
    return {label: sorted(rows) for label, rows in sorted(found.items())}


def _read(path: Path) -> Baseline:
    try:
        return read_baseline(path)
    except ValueError as error:
        raise WrongUse(str(error).replace("--baseline", "--rerun-violated")) from error


def legs_again(violated: Mapping[str, Sequence[str]], shards: Sequence[Shard], plan: Plan | None) -> list[Leg]:
    """A leg for each column, with the profile and features that it had. Raises WrongUse for a column of which nothing is left."""
    return [_leg(label, rows, shards, plan) for label, rows in violated.items()]


def _leg(label: str, rows: Sequence[str], shards: Sequence[Shard], plan: Plan | None) -> Leg:
    headers = [shard.header for shard in shards if shard.header is not None and shard.header.column.label == label]
    if not headers:
        raise WrongUse(
            f"column {label!r} is in the matrix, but none of its shards is left: run it with `./kit matrix` again."
        )
    latest = max(headers, key=lambda header: header.run)
    features = [option for feature in _FEATURES.findall(label) for option in ("--feature", feature)]
    wanted = [option for row in rows for option in ("--requirement", row)]
    return Leg(
        name=label,
        column=_column(label, latest, plan),
        options=["--conformance-profile", latest.profile, *features, *wanted],
    )


def _column(label: str, header: Header, plan: Plan | None) -> list[str]:
    """The name that selects the column: as in the plan, else from its label or its image."""
    legs = plan.legs if plan is not None else []
    known = next((leg.column for leg in legs if leg.run == header.run), None)
    if known is not None:
        return known
    version = _FEATURES.sub("", label)
    return ["--kafka-version", version] if version in released() else ["--kafka-image", header.column.image]


def seen_again(violated: Mapping[str, Sequence[str]], legs: Sequence[Leg], shards: Sequence[Shard]) -> list[Again]:
    """Of each row on each column, what the leg that ran it again observed."""
    runs = {leg.name: leg.run for leg in legs}
    return [_again(row, label, runs[label], shards) for label, rows in violated.items() for row in rows]


def _again(row: str, label: str, run: str, shards: Sequence[Shard]) -> Again:
    lines = [line for shard in shards if shard.header is not None and shard.header.run == run for line in shard.lines]
    results = [line.result for line in lines if isinstance(line, ObservationLine) and line.requirement == row]
    return Again(
        row=row,
        label=label,
        violated=results.count("violated"),
        observations=len(results),
        tried=bool(results) or any(isinstance(line, CheckLine) and row in line.rows for line in lines),
    )
