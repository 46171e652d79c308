"""`./kit bisect ROW`: where over the released versions a row's verdict changes, patches included.

The newest patch of each minor is run first, then the middle of what lies between neighbours that differ, until nothing does.
Columns that are in the folder already are not run again. Other options go to pytest.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from conformance.campaign.bisection import GoodOrBad, VerdictChange, changes, unseen, wanted_next
from conformance.campaign.legs import PYTEST, log_of
from conformance.campaign.plan import (
    BISECT,
    PLAN,
    RERUN,
    Leg,
    Plan,
    legs_for,
    new_plan,
    put_aside_unended,
    read_plan,
    refuse_running,
)
from conformance.catalogue import shipped
from conformance.cli.matrix import Prepare, code_of_interruption, run_legs, versions_of
from conformance.core.registry import checks_by_row
from conformance.judging.pooling import judge_shards
from conformance.running.planning.budget import MINUTES
from conformance.running.session import EXIT_SATISFIED, EXIT_TROUBLE, EXIT_WRONG_USE
from fixtures.errors import KitError, WrongUse
from fixtures.images import newest_patches, patches
from fixtures.ready import have_ready
from history.shards import ObservationLine, Shard, read_shards

_GOOD_OR_BAD: dict[str, GoodOrBad] = {"violated": "bad", "satisfied": "good"}
_MARKS: dict[GoodOrBad, str] = {"bad": "✗", "good": "✓", "": "–"}
_DEFINITE = ("violated", "satisfied", "inapplicable")
"""Verdicts that are not looked for again; the others may come of a lack of time, or of trouble."""

RunLegs = Callable[[Plan], None]
"""Runs the legs of a plan to their ends."""


class VersionResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one version for the row; `evidence` are folders, relative to the output directory."""

    verdict: str
    reason: str
    violated: int = 0
    observations: int = 0
    evidence: list[str] = []

    @property
    def good_or_bad(self) -> GoodOrBad:
        return _GOOD_OR_BAD.get(self.verdict, "")


class Bisect:
    """The columns of one folder, asked about one row."""

    def __init__(self, row: str, versions: Sequence[str], out: Path, options: Sequence[str]) -> None:
        self.row = row
        self.versions = list(versions)
        self.out = out
        self.ran: dict[str, Leg] = {}
        self._options = list(options)
        self._seed = _begun(out)

    def search(self, anchors: Sequence[str], run: RunLegs) -> dict[str, VersionResult]:
        """Run until no version is left. Returns the result of each version that has one."""
        while batch := wanted_next(self.versions, anchors, self._known(seen := self._seen())):
            _say(f"{self.row}: next {', '.join(batch)}")
            plan = msgspec.structs.replace(new_plan(legs_for(batch), self._options), seed=self._seed)
            self.ran |= {leg.name: leg for leg in plan.legs}
            try:
                run(plan)
            finally:
                put_aside_unended(self.out, plan, _say)
        return seen

    def _known(self, seen: Mapping[str, VersionResult]) -> dict[str, GoodOrBad]:
        return {
            version: one.good_or_bad for version, one in seen.items() if one.verdict in _DEFINITE or version in self.ran
        }

    def _seen(self) -> dict[str, VersionResult]:
        shards = list(read_shards(self.out / "shards"))
        cells = [cell for cell in judge_shards(shards) if cell.requirement == self.row]
        without = {version: _without(self.out, leg) for version, leg in self.ran.items()}
        own = {
            c.kafka_version: _observed(c.verdict, c.reason, _lines(self.row, c.kafka_version, shards)) for c in cells
        }
        return {version: one for version, one in (without | own).items() if version in self.versions}


def _begun(out: Path) -> int:
    """Puts aside what a search left half done that was killed. The seed of all legs: that of the folder's last search.

    Raises WrongUse while another command is at work in the folder.
    """
    for file in (PLAN, RERUN, BISECT):
        if (plan := read_plan(out, file)) is not None:
            refuse_running(out, plan.legs)
    last = read_plan(out, BISECT)
    if last is None:
        return new_plan([], []).seed
    put_aside_unended(out, last, _say)
    return last.seed


def _without(out: Path, leg: Leg) -> VersionResult:
    return VersionResult(verdict="no column", reason=f"its leg ended with {leg.code}: {log_of(out, leg)}")


def _lines(row: str, label: str, shards: Sequence[Shard]) -> list[ObservationLine]:
    own = [shard for shard in shards if shard.header is not None and shard.header.column.label == label]
    return [line for s in own for line in s.lines if isinstance(line, ObservationLine) and line.requirement == row]


def _observed(verdict: str, reason: str, lines: Sequence[ObservationLine]) -> VersionResult:
    broken = [line for line in lines if line.result == "violated"]
    return VersionResult(
        verdict=verdict,
        reason=reason,
        violated=len(broken),
        observations=len(lines),
        evidence=list(dict.fromkeys(line.evidence for line in broken if line.evidence)),
    )


# --- what is said in the end


def table_of(row: str, versions: Sequence[str], seen: Mapping[str, VersionResult], ran: Mapping[str, Leg]) -> Table:
    table = Table(title=row, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for head in ("version", "", "verdict", "violated", ""):
        table.add_column(head)
    for version in versions:
        if (one := seen.get(version)) is None:
            table.add_row(version, "", "not run", "", "its neighbours agree", style="dim")
        else:
            counted = f"{one.violated} of {one.observations} observations"
            where = "" if version in ran else "was there"
            why = one.reason if not one.good_or_bad else ""
            table.add_row(version, _MARKS[one.good_or_bad], one.verdict, counted, where or why)
    return table


def in_words(versions: Sequence[str], seen: Mapping[str, VersionResult], out: Path) -> list[str]:
    """Each change with the neighbour on its other side, then where the evidence is."""
    known = {version: one.good_or_bad for version, one in seen.items()}
    found = changes(versions, known)
    telling = [version for version in versions if known.get(version)]
    lines = [_in_words(change) for change in found]
    if not telling:
        lines.append("no version shows whether the row holds")
    elif not found:
        lines.append(
            f"no change: {known[telling[0]]} from {telling[0]} to {telling[-1]}, of {len(telling)} versions with a verdict"
        )
    if skipped := unseen(versions, known):
        lines.append(f"not run, since their neighbours agree (--all runs them): {', '.join(skipped)}")
    evidence = [
        f"{version}: {out / folder}" for version in versions if version in seen for folder in seen[version].evidence
    ]
    return [*lines, *(["evidence:", *evidence] if evidence else [])]


def _in_words(change: VerdictChange) -> str:
    other = {"bad": "good", "good": "bad"}[change.becomes]
    around = f"; {', '.join(change.between)} between them without a verdict" if change.between else ""
    return f"first {change.becomes}: {change.first} ({change.before} is {other}{around})"


# --- the command


def bisect(options: Sequence[str], prepare: Prepare, command: Sequence[str] = PYTEST) -> int:
    """0 when at least one version has a verdict, 3 when none has; 130 and the like when interrupted. Raises WrongUse."""
    asked, rest = _parser().parse_known_args(options)
    _refuse_row(asked.row)
    out: Path = asked.conformance_out or Path("out") / f"bisect-{asked.row}"
    versions = patches(asked.versions.replace(",", " ").split())
    anchors = versions if asked.all else [version for version in versions if version in newest_patches()] or versions
    shared = ["--requirement", asked.row, "--conformance-profile", asked.profile, *rest]
    search = Bisect(asked.row, versions, out, shared)

    def run(plan: Plan) -> None:
        prepare(versions_of(plan.legs))
        run_legs(out, plan, at_once=2, command=command, file=BISECT)

    try:
        seen = search.search(anchors, run)
    except KeyboardInterrupt as interrupted:
        _say("interrupted; the same command goes on with the columns that are left")
        return code_of_interruption(interrupted)
    Console().print(table_of(asked.row, versions, seen, search.ran))
    _say("\n".join(in_words(versions, seen, out)))
    return EXIT_SATISFIED if any(one.good_or_bad for one in seen.values()) else EXIT_TROUBLE


def _refuse_row(row: str) -> None:
    known = [one.id for one in shipped()]
    if row not in known:
        alike = [id for id in known if id.rpartition("-")[0] == row.rpartition("-")[0]]
        raise WrongUse(f"{row!r} is no row of the catalogue. Of its kind there are: {', '.join(alike) or 'none'}")
    if row not in checks_by_row():
        raise WrongUse(f"{row}: the kit has no check for this row, so no version would get a verdict")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="./kit bisect", description=__doc__, allow_abbrev=False)
    parser.add_argument("row", metavar="ROW", help="such as KIP320-LO-04")
    parser.add_argument(
        "--versions", default="", metavar="RANGE", help="such as 3.7..4.0; default: every released version"
    )
    parser.add_argument("--profile", default="quick", choices=MINUTES, help="default: quick")
    parser.add_argument("--all", action="store_true", help="run every patch, not only where neighbours differ")
    parser.add_argument(
        "--conformance-out", type=Path, metavar="DIR", help="its columns count; default: out/bisect-ROW"
    )
    return parser


def _say(text: str) -> None:
    print(text, flush=True)


def main() -> int:
    try:
        return bisect(sys.argv[1:], lambda versions: have_ready(versions, _say))
    except WrongUse as error:
        print(error, file=sys.stderr)
        return EXIT_WRONG_USE
    except KitError as error:
        print(error, file=sys.stderr)
        return EXIT_TROUBLE


if __name__ == "__main__":
    sys.exit(main())
