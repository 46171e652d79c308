"""The plan of a run over many columns: its legs, how each ended, and the file with both.

A leg that did not come to its end is run again from its beginning: what it had recorded goes to `earlier/` with all that it
brought, since half a column would look like a whole one.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from fixtures.errors import WrongUse
from fixtures.runs import alive

PLAN, RERUN, BISECT = "plan.json", "rerun.json", "bisect.json"
PARTS_OF_A_RUN = (
    "shards", "histories", "evidence", "matrix", "rejudged", "logs", "progress", PLAN, RERUN, BISECT, "baseline.json",
)  # fmt: skip
ENDED = (0, 1, 2, 3)
"""Codes of a leg that came to its end; 130 and those of a process that was killed are of one that did not."""

Say = Callable[[str], None]


class Leg(msgspec.Struct, kw_only=True):
    """One column's pytest: what names the column, options of its own, the id of its run, and how it ended, if it did."""

    name: str
    column: list[str]
    options: list[str] = []
    run: str = ""
    code: int | None = None
    seconds: float = 0.0

    @property
    def ended(self) -> bool:
        return self.code in ENDED


class Plan(msgspec.Struct, kw_only=True):
    """The legs of a run, what they share, and the seed of all their drawn inputs.

    `environment` are the options that were given by variables; `baseline` is the path that the copy beside the plan came from.
    """

    options: list[str]
    environment: dict[str, str] = {}
    baseline: str = ""
    seed: int
    legs: list[Leg]

    @property
    def left(self) -> list[Leg]:
        return [leg for leg in self.legs if not leg.ended]

    def same_as(self, other: Plan) -> bool:
        """Would the two bring the same columns?"""
        names = ({leg.name for leg in plan.legs} for plan in (self, other))
        return (self.options, self.environment) == (other.options, other.environment) and next(names) == next(names)


def new_plan(
    legs: Sequence[Leg], options: Sequence[str], environment: Mapping[str, str] | None = None, baseline: str = ""
) -> Plan:
    return Plan(
        options=list(options),
        environment=dict(environment or {}),
        baseline=baseline,
        seed=secrets.randbits(32),
        legs=list(legs),
    )


def legs_for(versions: Sequence[str], image: str = "", home: str = "") -> list[Leg]:
    """A leg for each released version, and one for the user's own image and Kafka."""
    legs = [Leg(name=version, column=["--kafka-version", version]) for version in versions]
    legs += [Leg(name=image, column=["--kafka-image", image])] if image else []
    legs += [Leg(name=home, column=["--kafka-home", home])] if home else []
    return legs


def planned(out: Path, wanted: Plan, *, add: bool, say: Say) -> Plan:
    """The plan to work on: the one that was interrupted, if it is the wanted one, or else the wanted one.

    A new one puts what is in `out` aside. With `add` the columns that are there stay, and only those are run that are not.
    Raises WrongUse while another process runs columns of `out`.
    """
    known = read_plan(out)
    if known is not None:
        refuse_running(out, known.legs)
    if known is not None and (add or (known.left and known.same_as(wanted))):
        plan = _gone_on_with(known, wanted)
        say(f"{out}: {len(plan.legs) - len(plan.left)} columns are there, {len(plan.left)} are to be run")
    elif add:
        plan = wanted  # These shards come from plain pytest; their columns are not known by name.
    else:
        put_aside(out, [out / name for name in PARTS_OF_A_RUN], say)
        plan = wanted
    begin(out, plan, PLAN, say)
    return plan


def _gone_on_with(known: Plan, wanted: Plan) -> Plan:
    names = {leg.name for leg in known.legs}
    legs = [*known.legs, *(leg for leg in wanted.legs if leg.name not in names)]
    return msgspec.structs.replace(wanted, seed=known.seed, legs=legs)


def begin(out: Path, plan: Plan, file: str, say: Say) -> None:
    """Put aside what legs recorded that did not end, and write the plan down."""
    put_aside_unended(out, plan, say)
    write_plan(out, plan, file)


def put_aside_unended(out: Path, plan: Plan, say: Say) -> None:
    for leg in plan.left:
        put_aside(out, recorded_by(out, leg.run), say)


def refuse_running(out: Path, legs: Sequence[Leg]) -> None:
    """Raises WrongUse if a leg that did not end is still at it: two at once would put each other's columns aside."""
    running = [leg for leg in legs if leg.run and leg.code is None and alive(leg.run)]
    if running:
        columns = ", ".join(f"{leg.name} (run {leg.run})" for leg in running)
        raise WrongUse(
            f"{out}: {columns} is being run right now, and a folder serves one command at a time. "
            "End that one with Ctrl-C where it runs, wait for it, or give another --conformance-out."
        )


def read_plan(out: Path, file: str = PLAN) -> Plan | None:
    """Raises WrongUse for a file that is none."""
    path = out / file
    if not path.exists():
        return None
    try:
        return msgspec.json.decode(path.read_bytes(), type=Plan)
    except msgspec.DecodeError as error:
        raise WrongUse(f"{path}: {error}. It is not a plan of this kit; move it away to start over.") from error


def write_plan(out: Path, plan: Plan, file: str = PLAN) -> None:
    """Whole or not at all: it is read again after whatever ended this process."""
    out.mkdir(parents=True, exist_ok=True)
    draft = out / f"{file}.draft"
    draft.write_bytes(msgspec.json.format(msgspec.json.encode(plan), indent=1))
    draft.rename(out / file)


def put_aside(out: Path, parts: Sequence[Path], say: Say) -> None:
    """Move what an earlier run left to `earlier/`, in its order; nothing that was recorded is lost."""
    present = [part for part in parts if part.exists()]
    if not present:
        return
    earlier = out / "earlier" / f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"
    for part in present:
        target = earlier / part.relative_to(out)
        target.parent.mkdir(parents=True, exist_ok=True)
        part.rename(target)
    say(f"what an earlier run left in {out} is now in {earlier}")


def recorded_by(out: Path, run: str) -> list[Path]:
    """Everything in `out` that carries a run's id."""
    if not run:
        return []
    return [
        *out.glob(f"shards/{run}-*"),
        *out.glob(f"histories/{run}"),
        *out.glob(f"evidence/*/{run}-*"),
        *out.glob(f"logs/{run}.*"),
        *out.glob(f"progress/{run}-*"),
    ]
