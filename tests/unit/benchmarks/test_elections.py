"""The waits of elections in histories, the data that is kept of them, and the bounds that follow."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from benchmarks import elections
from benchmarks.command import benchmarks
from benchmarks.elections import LEADS_NO_MORE, RESIGNS, STANDS, SUCCEEDED, measure, read_waits, table
from conformance.kip595.isolated_leader import GIVES_UP_WITHIN
from conformance.rigs.quorum.bounds import AT_ONCE
from conformance.rigs.quorum.live import CHECK_QUORUM, FETCH_TIMEOUT, SLACK
from conformance.rigs.quorum.successors import ELECTS_WITHIN
from history.events import Answer, AnyEvent, Call, End, Example, Fault, History
from history.store import HistoryWriter

README = Path(elections.__file__).with_name("README.md")
FOLLOWER = "kip595.live_elections.silent_leader_is_given_up_after_the_fetch_timeout"
ON_ITS_WAY = 0.05
"""Seconds by which an answer may arrive after the leader has counted the fetch."""
LEADER = "kip595.live_leaders.leader_without_fetches_resigns"


def history(check: str, *steps: AnyEvent | Sequence[AnyEvent]) -> History:
    """A history of 4.3.1 with these events and pairs of events."""
    events = [event for step in steps for event in (step if isinstance(step, Sequence) else [step])]
    return History(example=Example(example="e", check=check, column="4.3.1"), events=events)


def asked(t: float, op: str, value: Any, node: str = "controller-101") -> Sequence[AnyEvent]:
    """A call that is answered at t."""
    n = int(t * 1000) * 2
    return (
        Call(n=n, t=t - 0.001, op=op, node=node, request={}),
        Answer(n=n + 1, t=t, call=n, outcome="ok", value=value),
    )


def phase(t: float, name: Any, **detail: Any) -> Fault:
    return Fault(
        n=0, t=t, fault="isolated-controller-leader", phase=name, role="active controller", node="controller-101",
        detail=detail,
    )  # fmt: skip


def described(t: float, error: int, node: str = "controller-101") -> Sequence[AnyEvent]:
    return asked(t, "describe_quorum", {"error_code": error}, node)


def test_a_leader_that_is_cut_off_is_timed_until_it_says_itself_that_it_leads_no_more() -> None:
    found = measure(
        [
            history(
                "kip595.isolated_leader.isolated_leader_gives_up",
                described(0.5, 6),
                phase(1.0, "inject"),
                phase(3.5, "consequence", met=True),
                described(3.6, 0),
                described(3.7, 6, node="controller-103"),
                described(4.25, 6),
                described(4.5, 6),
                phase(5.0, "heal"),
            )
        ]
    )
    assert found == {SUCCEEDED: {"4.3.1": [2.5]}, LEADS_NO_MORE: {"4.3.1": [3.25]}}


def test_what_a_leader_says_after_the_heal_is_no_resignation() -> None:
    steps = phase(1.0, "inject"), phase(3.5, "consequence", met=False), phase(5.0, "heal"), described(5.5, 6)
    assert measure([history("kip595.zombie_leader.zombie_acknowledges_nothing", *steps)]) == {}


def test_a_scripted_leader_is_timed_from_the_last_fetch_that_it_served() -> None:
    served, refused = {"error_code": 0}, {"error_code": 6}
    steps = [asked(1.0, "fetch", served), asked(2.0, "fetch", served), described(2.1, 0), described(3.5, 6)]
    assert measure([history(LEADER, *steps, asked(4.0, "fetch", refused))]) == {RESIGNS: {"4.3.1": [1.5]}}
    assert measure([history(LEADER, described(3.5, 6))]) == {}


def test_a_follower_is_timed_from_before_the_last_answer_to_its_fetch() -> None:
    def now(t: float) -> Sequence[AnyEvent]:
        return asked(t, "now", {"seconds": 100.0 + t}, "kit")

    def received(t: float, api: str) -> Sequence[AnyEvent]:
        return asked(t, "receive", {"received": {"api": api, "at": 100.0 + t - 0.5}}, "peers")

    def nothing(t: float) -> Sequence[AnyEvent]:
        return asked(t, "receive", {"received": None}, "peers")

    first = [now(1.0), asked(1.1, "reply", {}, "peer-2"), now(1.2), received(1.5, "Fetch"), nothing(2.5)]
    again = [received(2.75, "Vote"), received(3.0, "Vote"), now(4.0), asked(4.1, "reply", {}, "peer-2")]
    assert measure([history(FOLLOWER, *first, *again, received(5.75, "Vote"))]) == {STANDS: {"4.3.1": [1.25, 1.25]}}


def test_waits_are_kept_and_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elections, "DATA", tmp_path / "kept.json")
    one = history(LEADER, asked(1.0, "fetch", {"error_code": 0}), described(2.5, 6))
    with HistoryWriter(tmp_path / "run" / "w.jsonl.zst") as writer:
        for line in (one.example, *one.events, End(example="e", outcome="judged")):
            writer.write(line)
    shown = CliRunner().invoke(benchmarks, ["elections", str(tmp_path / "run"), "--keep"], catch_exceptions=False)
    assert f"| {RESIGNS} | 4.3.1 | 1 | 1.50 s | 1.50 s | 1.50 s | 1.50 s |" in shown.stdout
    assert read_waits(tmp_path / "kept.json") == {RESIGNS: {"4.3.1": [1.5]}}


def test_the_kept_waits_are_those_of_the_page() -> None:
    assert table(read_waits()) in README.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("wait", "least", "most"),
    [
        (RESIGNS, CHECK_QUORUM / 1000 - ON_ITS_WAY, (CHECK_QUORUM + SLACK) / 1000),
        (STANDS, FETCH_TIMEOUT / 1000, (FETCH_TIMEOUT + AT_ONCE) / 1000),
        (LEADS_NO_MORE, 0.0, GIVES_UP_WITHIN),
        (SUCCEEDED, 0.0, ELECTS_WITHIN),
    ],
)
def test_half_of_the_kept_waits_are_within_the_bounds_of_checks(wait: str, least: float, most: float) -> None:
    """The rest were on a machine that starved now and then."""
    for waits in read_waits()[wait].values():
        assert least <= waits[0]
        assert waits[len(waits) // 2] <= most
