"""The checks that ran out of time: how many there are, and a file of pytest arguments that runs just these."""

import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path

from conformance.core.registry import AnyCheck
from history.command import COMMAND
from history.shards import CheckLine, Header, Shard


def unfinished_lines(shards: Iterable[Shard], checks: Mapping[str, AnyCheck], out: Path) -> list[str]:
    """Return for each column the number of checks that ran out of time, and a command that runs only these.

    The command reads the checks from a file that is written to `out`, one per line.
    """
    lines: list[str] = []
    for label, (header, ids) in sorted(_cut_off(shards).items()):
        if ids:
            known = [_path_of_check(checks[id]) for id in sorted(ids) if id in checks]
            listed = out / f"cut-off-{label}.txt"
            listed.parent.mkdir(parents=True, exist_ok=True)
            listed.write_text("".join(f"{path}\n" for path in known))
            lines.append(
                f"time was up on {label} before {len(ids)} checks were at their floors; {listed} lists them. To run just these:"
            )
            options = [*_column_options(header), "--conformance-out", str(out)]
            lines.append(f"  {shlex.join([COMMAND, 'pytest', *options, f'@{listed}'])}")
    return lines


def _cut_off(shards: Iterable[Shard]) -> dict[str, tuple[Header, set[str]]]:
    """Return the checks that never began or missed their floors because time ran out, by column label."""
    found: dict[str, tuple[Header, set[str]]] = {}
    for shard in shards:
        if shard.header is not None:
            _, ids = found.setdefault(shard.header.column.label, (shard.header, set()))
            lines = [line for line in shard.lines if isinstance(line, CheckLine)]
            ids |= {line.check for line in lines if line.outcome == "cut-off"}
    return found


def _path_of_check(check: AnyCheck) -> str:
    """Return the path by which `./kit pytest` finds a check from any folder."""
    return f"{check.module.replace('.', '/')}.py::{check.id.rpartition('.')[2]}"


def _column_options(header: Header) -> list[str]:
    """Return the options that select a column and its profile."""
    return [*header.column.selection, "--conformance-profile", header.profile]
