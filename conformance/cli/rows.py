"""`./kit rows`: the catalogue, without a run."""

import json
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Literal, TypedDict, get_args

import click

from conformance.catalogue import Requirement, shipped_rows
from conformance.catalogue.near import similar_rows
from conformance.catalogue.quotes import quotes_by_row
from conformance.catalogue.rows import Kind, Level
from conformance.catalogue.sources import citation
from conformance.cli.group import HELP
from conformance.core.registry import checks_by_row, every_check, own_checks
from conformance.judging import patch_releases
from conformance.judging.verdicts import NO_CHECK
from conformance.running.planning.budget import cost_of
from fixtures.errors import WrongUse
from history.command import ALL_THAT_SEE_IT, COMMAND, row_command
from reports.commands.options import complete_rows

WIDTH = 100
MAX_NAMED = 60
"""The maximum number of checks that are named for a row; every check sees a general law."""


class CaseJson(TypedDict):
    """A case of a row as JSON."""

    id: str
    about: str
    applies: list[str]
    needs: list[str]


class ExpectationJson(TypedDict):
    """An expectation of a row as JSON: what a check expects in these versions."""

    versions: list[str]
    needs: list[str]
    expect: str
    about: str


class QuoteJson(TypedDict):
    """A sentence of a KIP as JSON, word for word, with the page and the heading below which it stands."""

    source: str
    text: str


class Row(TypedDict):
    """A row as JSON: `kip` is 0 for a general law; `untested` is why it has no check, or null, as is `quote` without one.

    `read` tells the state of the page, and the day on which it was read. `own_checks` are those of its `checks` that
    `--requirement` selects; `seconds` has the duration of each check.
    """

    id: str
    kip: int
    level: str
    priority: str
    kind: str
    title: str
    statement: str
    section: str
    read: str
    quote: QuoteJson | None
    applies: list[str]
    needs: list[str]
    cases: list[CaseJson]
    expectations: list[ExpectationJson]
    tickets: list[str]
    checks: list[str]
    own_checks: list[str]
    seconds: dict[str, float]
    untested: str | None


@click.command(context_settings=HELP)
@click.argument("row", required=False, shell_complete=complete_rows)
@click.option("--kip", type=int, metavar="N", help="rows of this KIP; 0 for general laws")
@click.option("--level", "levels", multiple=True, type=click.Choice(get_args(Level)), help="repeatable")
@click.option("--kind", "kinds", multiple=True, type=click.Choice(get_args(Kind)), help="repeatable")
@click.option("--untested", is_flag=True, help="rows without a check")
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", help="default: text; json is one list"
)
def rows(
    row: str | None,
    kip: int | None,
    levels: Sequence[Level],
    kinds: Sequence[Kind],
    untested: bool,
    form: Literal["text", "json"],
) -> None:
    """List the rows of the catalogue, or show everything about one.

    ROW is an id such as KIP320-FETCH-03, or a glob such as 'KIP320-*'; upper and lower case are the same.
    """
    wanted = [
        one
        for one in _matching_rows(row)
        if (kip is None or one.kip == kip)
        and (not levels or one.level in levels)
        and (not kinds or one.kind in kinds)
        and not (untested and _checks_of(one))
    ]
    if form == "json":
        click.echo(json.dumps([_as_json(one) for one in wanted], indent=2))
    elif row and len(wanted) == 1:
        click.echo("\n".join(_describe_row(wanted[0])))
    else:
        _show_lines(list(_list_rows(wanted)))


def _show_lines(lines: Sequence[str]) -> None:
    """Print lines, through a pager if they do not fit on the terminal."""
    is_long = sys.stdout.isatty() and len(lines) >= shutil.get_terminal_size().lines
    (click.echo_via_pager if is_long else click.echo)("\n".join(lines))


def _matching_rows(row: str | None) -> list[Requirement]:
    every = list(shipped_rows())
    found = [one for one in every if fnmatchcase(one.id.upper(), row.upper())] if row else every
    if not found:
        raise WrongUse(f"{row!r}: the catalogue has no such row. {similar_rows(row or '')}")
    return found


def _as_json(row: Requirement) -> Row:
    checks = _checks_of(row)
    quote = quotes_by_row().get(row.id)
    return Row(
        id=row.id,
        kip=row.kip,
        level=row.level,
        priority=row.priority,
        kind=row.kind,
        title=row.title,
        statement=row.statement.strip(),
        section=row.section,
        read=citation(row),
        quote=QuoteJson(source=quote.source, text=quote.text) if quote else None,
        applies=row.applies,
        needs=row.needs,
        cases=[CaseJson(id=case.id, about=case.about, applies=case.applies, needs=case.needs) for case in row.cases],
        expectations=[
            ExpectationJson(versions=one.versions, needs=one.needs, expect=one.expect, about=one.about)
            for one in row.expectations
        ],
        tickets=row.tickets,
        checks=checks,
        own_checks=_own_checks_of(row),
        seconds={check: _seconds_of(check) for check in checks},
        untested=None if checks else NO_CHECK,
    )


def _checks_of(row: Requirement) -> list[str]:
    return sorted(checks_by_row().get(row.id, ()))


def _own_checks_of(row: Requirement) -> list[str]:
    return sorted(own_checks().get(row.id, ()))


def _seconds_of(check: str) -> float:
    """Return the seconds of a check; none for the check that only the merge runs."""
    return cost_of(every_check()[check]) if check in every_check() else 0.0


def _list_rows(wanted: Sequence[Requirement]) -> Iterator[str]:
    for row in wanted:
        checks = len(_checks_of(row))
        counted = f"{checks} check{'s' if checks > 1 else ''}" if checks else "untested"
        yield f"{row.id:18} {row.level:13} {row.priority}  {row.kind:8}  {counted:10}  {row.title}"
    untested = sum(not _checks_of(row) for row in wanted)
    yield f"{len(wanted)} rows, {untested} of them without a check"


def _describe_row(row: Requirement) -> Iterator[str]:
    yield f"{row.id}  {row.title}"
    yield f"{row.level}, {row.priority}, {row.kind}; {row.family}; source: {row.section}"
    yield ""
    yield from textwrap.wrap(row.statement, WIDTH)
    if quote := quotes_by_row().get(row.id):
        yield ""
        yield from textwrap.wrap(f"“{quote.text}” ({quote.source})", WIDTH)
    yield ""
    yield f"applies to {', '.join(row.applies)}{_needs_text(row.needs)}"
    for case in row.cases:
        yield from textwrap.wrap(
            f"case {case.id}: {case.about}{_applies_text(case.applies)}", WIDTH, subsequent_indent="  "
        )
    yield ""
    yield from _about_checks(row, _own_checks_of(row)) if _checks_of(row) else [f"untested: {NO_CHECK}"]


def _about_checks(row: Requirement, own: Sequence[str]) -> Iterator[str]:
    """Yield the row's own checks with the command that runs them, then the other checks that see the row."""
    yield from _with_seconds("own checks", own)
    if row.id == patch_releases.ROW:
        return
    yield f"  {row_command([], row.id)}"
    others = [check for check in _checks_of(row) if check not in own]
    if others:
        yield from ("", *_with_seconds("others that see it on their way", others))
        yield f"  {COMMAND} pytest --requirement {row.id} {ALL_THAT_SEE_IT}"


def _with_seconds(what: str, checks: Sequence[str]) -> Iterator[str]:
    yield f"{what}: {len(checks)}, {sum(map(_seconds_of, checks)):.0f} s"
    for check in sorted(checks, key=lambda check: (_seconds_of(check), check))[:MAX_NAMED]:
        yield f"  {_seconds_of(check):5.0f} s  {check}"
    if len(checks) > MAX_NAMED:
        yield f"           and {len(checks) - MAX_NAMED} more"


def _needs_text(needs: Sequence[str]) -> str:
    return f", needs {', '.join(needs)}" if needs else ""


def _applies_text(versions: Sequence[str]) -> str:
    return f" ({', '.join(versions)})" if versions else ""
