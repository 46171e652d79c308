"""The issues of a published night: one for each row that is newly violated on a version, updated while it stays, closed after it.

Each is a request to the tracker; a job that may write issues, and nothing else, sends them.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec

from conformance.campaign.night.archive import PublishedNight
from conformance.judging.news import BROKEN, WELL
from conformance.judging.verdicts import Verdict

LABEL = "nightly"
"""The label of these issues: others are left alone."""
LONGEST = 50_000
"""The characters of a report in an issue, which takes 65,536."""

_TITLE = re.compile(r"([A-Z0-9]+(?:-[A-Za-z0-9]+)+) on (\S+)")
_SINCE = re.compile(r"Violated since night (\S+?),")

Verdicts = Mapping[tuple[str, str], Verdict]
"""The verdict of each row on each version."""


class OpenIssue(msgspec.Struct, frozen=True, kw_only=True):
    """An open issue, as `gh issue list --json number,title,body` prints it."""

    number: int
    title: str
    body: str = ""


class IssueRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request to GitHub's API, below `/repos/<owner>/<name>/`."""

    action: Literal["open", "update", "close"]
    title: str
    method: Literal["POST", "PATCH"]
    path: str
    fields: dict[str, str | list[str]]


class RedRow(NamedTuple):
    """A row that is violated on a version."""

    row: str
    leg: str

    def __str__(self) -> str:
        return f"{self.row} on {self.leg}"


ReportOf = Callable[[RedRow], str]
"""A function that returns what an issue says of a row, in Markdown."""


def issue_requests(
    night: PublishedNight, verdicts: Verdicts, found: Sequence[OpenIssue], report_of: ReportOf
) -> list[IssueRequest]:
    """Return the requests that bring the open issues to the state of a night.

    The issue of a row that was not judged, or whose leg is dead, stays as it is.
    """
    new = dict.fromkeys(RedRow(case.requirement, leg) for leg, cases in night.new.items() for case in cases)
    known = {RedRow(*match.groups()): one for one in reversed(found) if (match := _TITLE.fullmatch(one.title))}
    opened = [_open_issue(one, night.night, report_of(one)) for one in new if one not in known]
    return [*opened, *(request for red, one in known.items() for request in _changes(red, one, night, verdicts))]


def _open_issue(red: RedRow, night: str, report: str) -> IssueRequest:
    body = f"{_status(night, f'last in night {night}')}\n\n{_without_mentions(report[:LONGEST])}"
    fields: dict[str, str | list[str]] = {"title": str(red), "body": body, "labels": [LABEL]}
    return IssueRequest(action="open", title=str(red), method="POST", path="issues", fields=fields)


def _changes(red: RedRow, one: OpenIssue, night: PublishedNight, verdicts: Verdicts) -> list[IssueRequest]:
    verdict = verdicts.get((red.row, red.leg)) if red.leg in night.legs else None
    since = match[1] if (match := _SINCE.match(one.body)) else night.night
    if verdict in BROKEN:
        return [_change(one, "update", _status(since, f"last in night {night.night}"))]
    if verdict in WELL:
        return [_change(one, "close", _status(since, f"no longer in night {night.night}"), state="closed")]
    return []


def _change(one: OpenIssue, action: Literal["update", "close"], status: str, **fields: str) -> IssueRequest:
    """Return a request that replaces an issue's first line, and leaves the rest of it as people left it."""
    rest = one.body.partition("\n")[2] if _SINCE.match(one.body) else f"\n{one.body}"
    return IssueRequest(
        action=action,
        title=one.title,
        method="PATCH",
        path=f"issues/{one.number}",
        fields={"body": f"{status}\n{rest}", **fields},
    )


def _status(since: str, now: str) -> str:
    return f"Violated since night {since}, {now}."


def _without_mentions(text: str) -> str:
    """Return foreign text that notifies no user."""
    return text.replace("@", "@\u200b")
