"""Which issues a night opens, updates and closes."""

from __future__ import annotations

import pytest

from conformance.campaign.night.archive import PublishedNight
from conformance.campaign.night.telling import IssueRequest, OpenIssue, RedRow, issue_requests
from conformance.judging.news import BrokenCase
from conformance.judging.verdicts import Verdict

RED = RedRow("KIP320-LO-04", "4.4.0")
TITLE = "KIP320-LO-04 on 4.4.0"


def night(*new: str, name: str = "14", legs: tuple[str, ...] = ("3.9.2", "4.4.0")) -> PublishedNight:
    cases = {"4.4.0": [BrokenCase(RED.row, case) for case in new]} if new else {}
    return PublishedNight(night=name, legs=dict.fromkeys(legs, 1), new=cases)


def issue(
    title: str = TITLE, body: str = "Violated since night 12, last in night 13.\n\nthe report", number: int = 7
) -> OpenIssue:
    return OpenIssue(number=number, title=title, body=body)


def requests(found: list[OpenIssue], about: PublishedNight, verdict: Verdict = "violated") -> list[IssueRequest]:
    return issue_requests(about, {(RED.row, RED.leg): verdict}, found, lambda red: f"# {red}\nask @apache")


def test_a_row_that_is_newly_violated_opens_one_issue() -> None:
    (one,) = requests([], night("a", "b"))
    assert (one.action, one.title, one.method, one.path) == ("open", TITLE, "POST", "issues")
    assert (one.fields["title"], one.fields["labels"]) == (TITLE, ["nightly"])
    assert one.fields["body"] == f"Violated since night 14, last in night 14.\n\n# {TITLE}\nask @\u200bapache"


def test_nothing_is_told_of_a_row_that_is_not_new_and_has_no_issue() -> None:
    assert requests([], night()) == []


@pytest.mark.parametrize("about", [night(), night("a")])
def test_its_issue_is_updated_while_it_stays_and_keeps_what_people_wrote(about: PublishedNight) -> None:
    (one,) = requests([issue()], about)
    assert (one.action, one.method, one.path) == ("update", "PATCH", "issues/7")
    assert one.fields == {"body": "Violated since night 12, last in night 14.\n\nthe report"}
    (edited,) = requests([issue(body="we look at it")], about)
    assert edited.fields["body"] == "Violated since night 14, last in night 14.\n\nwe look at it"


@pytest.mark.parametrize("verdict", ["satisfied", "recorded"])
def test_it_is_closed_once_it_is_gone(verdict: Verdict) -> None:
    (one,) = requests([issue()], night(), verdict)
    assert (one.action, one.method, one.path, one.fields["state"]) == ("close", "PATCH", "issues/7", "closed")
    assert one.fields["body"] == "Violated since night 12, no longer in night 14.\n\nthe report"


@pytest.mark.parametrize("verdict", ["inconclusive", "not-run", "error", "inapplicable"])
def test_a_row_that_was_not_judged_says_nothing(verdict: Verdict) -> None:
    assert requests([issue()], night(), verdict) == []


def test_a_dead_leg_and_a_row_that_is_gone_say_nothing() -> None:
    assert requests([issue()], night(legs=("3.9.2",)), "satisfied") == []
    assert issue_requests(night(), {}, [issue()], str) == []


def test_other_issues_are_left_alone() -> None:
    others = [issue("the nightly is slow"), issue("KIP320-LO-04 on 3.9.2"), issue(f"{TITLE} again")]
    assert [one.action for one in requests(others, night("a"))] == ["open"]


def test_of_two_issues_of_one_row_the_newest_is_updated() -> None:
    """`gh issue list` has the newest first."""
    assert [one.path for one in requests([issue(number=9), issue(number=7)], night())] == ["issues/9"]


def test_a_long_report_fits_into_an_issue() -> None:
    (one,) = issue_requests(night("a"), {}, [], lambda red: "x" * 90_000)
    assert len(str(one.fields["body"])) < 65_536
