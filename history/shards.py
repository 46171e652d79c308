"""Shards: JSON lines that one worker appends to for one column.

Every line carries the shard's id and its own number, so that a merged, split or repeated file can be distinguished from
a damaged one. A shard opens with a `Header` and closes with a `Footer`; a shard without a footer was cut short.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import date, datetime
from pathlib import Path
from typing import Any, Literal

import msgspec

from history.observations import Observation, Result
from history.schema import refuse_older


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """The judged system: a label, the image behind it, and the versions that the cluster itself reports.

    `version` is the release that it is judged as; `build` is the one that its jars name, where that differs. `digest` is a hash
    of its jars and its configuration, the same on every machine. `selection` has the options that select the column.

    `ranges` maps the name of an API (`Fetch`, `controller.Vote`) to its highest version, and the same name after `lowest.` to
    its lowest version. It also maps a finalized feature (`transaction.version`) to its level, and the name of a supported
    feature after `supported.` (`supported.metadata.version`) to its highest level.
    """

    label: str
    version: str
    image: str
    image_id: str
    ranges: dict[str, int] = {}
    build: str = ""
    digest: str = ""
    selection: list[str] = []


class ShardLine(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    shard: str
    n: int


class Header(ShardLine, frozen=True, kw_only=True, tag="header"):
    """`rows` holds the hash of each row that was in force; `checks` names the checks there are for each row.

    `began` is when the run began (UTC), `host` where; `commit` is that of the kit, `(changed)` if its tree was; `job` is the
    address of the job, `attempt` its attempt's number; `image_digest` is the image's in a registry. All of them may be missing.
    """

    schema: int
    kit: str
    run: str
    worker: str
    column: Column
    topology: str
    profile: str
    seed: int
    rows: dict[str, str]
    checks: dict[str, list[str]]
    began: str = ""
    host: str = ""
    commit: str = ""
    job: str = ""
    attempt: int = 0
    image_digest: str = ""

    @property
    def day(self) -> date | None:
        """The day on which the run began, by its id (`yymmdd-...`); None for a run that is named otherwise."""
        try:
            return datetime.strptime(self.run[:6], "%y%m%d").date()
        except ValueError:
            return None


class ObservationLine(ShardLine, frozen=True, kw_only=True, tag="observation"):
    """An `Observation` and where it was made.

    Its fields stand beside those of the line, as JSON lines have always had them. `history` and `evidence` are paths relative
    to the output directory. `deeds` are what the example did, for a violation; see `history.deeds`.
    """

    requirement: str
    case: str
    result: Result
    check: str
    example: str
    inputs: str = ""
    events: list[int] = []
    detail: str = ""
    label: str = ""
    variant: str = ""
    lived: list[str] = []
    calm: bool = False
    situation: str = ""
    history: str = ""
    evidence: str = ""
    deeds: list[str] = []

    @classmethod
    def of(cls, observation: Observation, **place: Any) -> ObservationLine:
        """Return the line of an observation; `place` has the fields that it lacks."""
        return cls(**msgspec.structs.asdict(observation), **place)

    @property
    def observation(self) -> Observation:
        return Observation(**{name: getattr(self, name) for name in Observation.__struct_fields__})


class FaultCount(msgspec.Struct, frozen=True, kw_only=True):
    injected: int = 0
    witnessed: int = 0
    healed: int = 0


class PremiseCount(msgspec.Struct, frozen=True, kw_only=True):
    met: int = 0
    unmet: int = 0


class ExcuseCount(msgspec.Struct, frozen=True, kw_only=True):
    """The number of times that the judge of a row left a case undecided for one excuse."""

    requirement: str
    case: str
    excuse: str
    times: int


class AttemptCount(msgspec.Struct, frozen=True, kw_only=True):
    """The examples of a check: how many it made, how many of them lost their premise, and how many ended in trouble of the
    kit.
    """

    made: int = 0
    lost: int = 0
    errors: int = 0

    def __add__(self, other: AttemptCount) -> AttemptCount:
        return AttemptCount(made=self.made + other.made, lost=self.lost + other.lost, errors=self.errors + other.errors)


class ExampleLine(ShardLine, frozen=True, kw_only=True, tag="example"):
    """One example that ended: for which rows it yielded observations, and what it brought.

    `steps` counts a machine's steps by kind, `left_out` those that did nothing for want of a role or a fault; `premises` are
    named without the values that were read back for them. `excuses` are those of its judges.
    """

    example: str
    check: str
    outcome: Literal["judged", "premise lost", "error"]
    rows: list[str] = []
    steps: dict[str, int] = {}
    left_out: dict[str, int] = {}
    faults: dict[str, FaultCount] = {}
    premises: dict[str, PremiseCount] = {}
    excuses: list[ExcuseCount] = []
    seconds: float = 0.0
    detail: str = ""


class CheckLine(ShardLine, frozen=True, kw_only=True, tag="check"):
    """One check that ended on this column.

    `done`: it ran as far as it wanted; `error`: trouble of the kit kept it from its floors; `cut-off`: its time was up
    before it began or before it reached its floors.

    `attempts` are its examples by case, those for no case under '', without those of an investigation or cut short by the
    clock. A lost premise weighs on `own_rows`, which the check itself observes. `hindrance` is the row that the tested system
    broke, and how, so that the check could not go on.

    `spent` are its `seconds` by part of the work, as in a footer; `cpu` are CPU seconds: of the worker (`kit`), of the cluster's
    nodes (`nodes`) but for their boots (`boots`), and the kernel's part in both (`kernel`). An older shard lacks both.
    """

    check: str
    rows: list[str]
    outcome: Literal["done", "error", "cut-off"]
    examples: int = 0
    seconds: float = 0.0
    detail: str = ""
    own_rows: list[str] = []
    attempts: dict[str, AttemptCount] = {}
    hindrance: str = ""
    spent: dict[str, float] = {}
    cpu: dict[str, float] = {}
    boots: int = 0


class ReplayLine(ShardLine, frozen=True, kw_only=True, tag="replay"):
    """The replays of a violation: `seen` of `tries` runs of the schedule at `evidence` showed it again."""

    requirement: str
    evidence: str
    seen: int
    tries: int


class Footer(ShardLine, frozen=True, kw_only=True, tag="footer"):
    """The end of a shard: the number of lines of each kind, and the worker's seconds by part of its work (`spent`).

    `ended_early` is the reason why the run ended before its work was done: `interrupted` or `hung`; empty otherwise.
    """

    counts: dict[str, int]
    spent: dict[str, float] = {}
    ended_early: str = ""


AnyShardLine = Header | ObservationLine | ExampleLine | CheckLine | ReplayLine | Footer

# Type, shard and number come first in every line, so that the shard of a torn one can still be read.
_encoder = msgspec.json.Encoder(order="deterministic")
_decoder = msgspec.json.Decoder(AnyShardLine)
_BEGINNING = re.compile(rb'^\{"type":"[a-z]+","shard":"([^"\\]+)"')

HEADER = b'{"type":"header",'
"""The beginning of a header of any schema."""
BOM = "\ufeff".encode()
"""The byte order mark that some editors put before a text."""


class _Opening(msgspec.Struct):
    """The part of a header that every schema has."""

    shard: str
    schema: int


class Shard(msgspec.Struct, kw_only=True):
    """A shard as read back; `torn` counts lines that are not whole, `complete` is true if it has its footer.

    `torn_of` are the shards named in those lines, '' for one that names none (or for a file that holds no line at all).
    """

    path: str
    header: Header | None
    lines: list[AnyShardLine]
    torn: int
    torn_of: set[str] = set()

    @property
    def complete(self) -> bool:
        return any(isinstance(line, Footer) for line in self.lines)


def encode_line(line: AnyShardLine) -> bytes:
    return _encoder.encode(line) + b"\n"


def read_shard(path: Path) -> Shard:
    """Read one shard file; a torn line is counted, never fatal. Raises WrongSchema for a shard of an older schema."""
    lines: list[AnyShardLine] = []
    torn: list[str] = []
    for raw in path.read_bytes().splitlines():
        text = raw.strip(b" \t\r").removeprefix(BOM)
        refuse_older_header(text)
        try:
            lines.append(_decoder.decode(text))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            torn += [_shard_of(text)] if text else []
    header = next((line for line in lines if isinstance(line, Header)), None)
    named = set(torn) if lines or torn else {""}
    return Shard(path=str(path), header=header, lines=lines, torn=len(torn), torn_of=named)


def refuse_older_header(line: bytes) -> None:
    """Raise WrongSchema if the line is the header of a shard of an older schema. Other lines, and torn ones, pass."""
    if line.startswith(HEADER):
        with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            opening = msgspec.json.decode(line, type=_Opening)
            refuse_older(opening.schema, f"shard {opening.shard!r}")


def _shard_of(torn: bytes) -> str:
    """Return the shard of a torn line, or an empty text if its beginning is lost."""
    found = _BEGINNING.match(torn)
    return found.group(1).decode(errors="replace") if found else ""


def read_shards(folder: Path, run: str = "") -> Iterator[Shard]:
    """Read all shards below `folder`, or those of a run, whose names begin with its id, in the order of their names."""
    return (read_shard(path) for path in sorted(folder.rglob(f"{run}-*.jsonl" if run else "*.jsonl")))


def read_header(path: Path) -> Header | None:
    """Read the first line of a file, if it is a header. Raises WrongSchema for one of an older schema."""
    with path.open("rb") as file:
        text = file.readline()
        refuse_older_header(text)
        try:
            line = _decoder.decode(text)
        except msgspec.DecodeError:
            return None
    return line if isinstance(line, Header) else None


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of a shard's line, as shipped in `history/shard.schema.json`."""
    return msgspec.json.schema(AnyShardLine)
