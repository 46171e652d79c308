"""A campaign's plan: its columns, how each ended, and the file that stores both.

A column that did not end is run again from the start. Its recordings are moved to `earlier/`, since half a column would
look like a complete one.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from conformance.running.columns import WantedColumn
from fixtures.errors import WrongUse
from fixtures.runs import is_alive
from history.schema import SCHEMA, decode

PLAN, RERUN, BISECT = "plan.json", "rerun.json", "bisect.json"
PARTS_OF_A_RUN = (
    "shards", "histories", "evidence", "matrix", "rejudged", "logs", "progress", PLAN, RERUN, BISECT, "baseline.json",
)  # fmt: skip
ENDED = (0, 1, 2, 3)
"""Exit codes of a column that ended; 130 and a killed process's codes mean that it did not."""

Say = Callable[[str], None]


class ColumnRun(msgspec.Struct, kw_only=True):
    """One column's pytest process.

    `selection` are the options that select the column, `options` its others; `run` is the id of its latest run, `code`
    its exit code (None before its end), `seconds` how long it ran.
    """

    name: str
    selection: list[str]
    options: list[str] = []
    run: str = ""
    code: int | None = None
    seconds: float = 0.0

    @property
    def has_ended(self) -> bool:
        return self.code in ENDED


class Plan(msgspec.Struct, kw_only=True):
    """A campaign's columns, the pytest options that they share, and the seed of all their drawn inputs.

    `environment` are options from environment variables; `baseline` is the original path of the baseline, which is
    copied next to the plan.
    """

    schema: int = SCHEMA
    options: list[str]
    environment: dict[str, str] = {}
    baseline: str = ""
    seed: int
    columns: list[ColumnRun]

    @property
    def columns_left(self) -> list[ColumnRun]:
        return [column for column in self.columns if not column.has_ended]

    def same_as(self, other: Plan) -> bool:
        """True if both would run the same columns with the same options."""
        names = ({column.name for column in plan.columns} for plan in (self, other))
        return (self.options, self.environment) == (other.options, other.environment) and next(names) == next(names)


def new_plan(
    columns: Sequence[ColumnRun],
    options: Sequence[str],
    environment: Mapping[str, str] | None = None,
    baseline: str = "",
) -> Plan:
    return Plan(
        options=list(options),
        environment=dict(environment or {}),
        baseline=baseline,
        seed=secrets.randbits(32),
        columns=list(columns),
    )


def column_runs_for(columns: Sequence[WantedColumn]) -> list[ColumnRun]:
    """Return the processes for these columns, each with the options that select its column."""
    return [ColumnRun(name=column.title, selection=column.selection) for column in columns]


def choose_plan(out: Path, wanted: Plan, *, add: bool, say: Say) -> Plan:
    """Choose the plan to run: the interrupted one if it has the wanted columns and options, or else the wanted one.

    A new one moves the contents of `out` to `earlier/`. With `add`, existing columns are kept and only missing ones are
    run. Raises WrongUse while another process runs columns of `out`.
    """
    known = read_plan(out)
    if known is not None:
        refuse_running(out, known.columns)
    if known is not None and (add or (known.columns_left and known.same_as(wanted))):
        plan = _continue_plan(known, wanted)
        say(
            f"{out}: {len(plan.columns) - len(plan.columns_left)} columns are complete, {len(plan.columns_left)} are left"
        )
    elif add:
        plan = wanted  # These shards were written by plain pytest; its columns are not known by name.
    else:
        put_aside(out, [out / name for name in PARTS_OF_A_RUN], say)
        plan = wanted
    begin_plan(out, plan, PLAN, say)
    return plan


def _continue_plan(known: Plan, wanted: Plan) -> Plan:
    names = {column.name for column in known.columns}
    columns = [*known.columns, *(column for column in wanted.columns if column.name not in names)]
    return msgspec.structs.replace(wanted, seed=known.seed, columns=columns)


def begin_plan(out: Path, plan: Plan, file: str, say: Say) -> None:
    """Move aside the recordings of columns that did not end, and write the plan."""
    put_aside_unfinished(out, plan, say)
    write_plan(out, plan, file)


def put_aside_unfinished(out: Path, plan: Plan, say: Say) -> None:
    """Move aside the recordings of columns that did not end."""
    for column in plan.columns_left:
        put_aside(out, recordings_of(out, column.run), say)


def refuse_running(out: Path, columns: Sequence[ColumnRun]) -> None:
    """Raise WrongUse while a column is running: two commands would move each other's recordings aside."""
    running = [column for column in columns if column.run and column.code is None and is_alive(column.run)]
    if running:
        names = ", ".join(f"{column.name} (run {column.run})" for column in running)
        raise WrongUse(
            f"{out}: {names} is running, and a folder serves one command at a time. "
            "Interrupt that command with Ctrl-C, wait for its end, or give another --conformance-out."
        )


def read_plan(out: Path, file: str = PLAN) -> Plan | None:
    """Return the plan in `file`; None if there is no such file. Raises WrongUse for a file that is not a plan,
    WrongSchema for one of another schema."""
    path = out / file
    if not path.exists():
        return None
    try:
        return decode(path.read_bytes(), Plan, path)
    except msgspec.DecodeError as error:
        raise WrongUse(f"{path}: {error}. It is not a plan of this kit; move it away to start again.") from error


def write_plan(out: Path, plan: Plan, file: str = PLAN) -> None:
    write_whole(out / file, msgspec.json.format(msgspec.json.encode(plan), indent=1))


def write_whole(path: Path, content: bytes) -> None:
    """Write a file atomically, since it is read again even if this process is killed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.draft")
    draft.write_bytes(content)
    draft.rename(path)


def put_aside(out: Path, parts: Sequence[Path], say: Say) -> None:
    """Move an earlier run's recordings to `earlier/`, under the same paths; nothing is deleted."""
    present = [part for part in parts if part.exists()]
    if not present:
        return
    earlier = out / "earlier" / f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"
    for part in present:
        target = earlier / part.relative_to(out)
        target.parent.mkdir(parents=True, exist_ok=True)
        part.rename(target)
    say(f"recordings of an earlier run in {out} are now in {earlier}")


def recordings_of(out: Path, run: str) -> list[Path]:
    """Return all files and folders in `out` whose names have a run's id."""
    if not run:
        return []
    return [
        *out.glob(f"shards/{run}-*"),
        *out.glob(f"histories/{run}"),
        *out.glob(f"evidence/*/{run}-*"),
        *out.glob(f"logs/{run}.*"),
        *out.glob(f"progress/{run}-*"),
    ]
