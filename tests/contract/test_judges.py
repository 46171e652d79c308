"""The contract of every judge: a history that it turns red, and one that comes close to it on which it is silent.

Most are shown on the miniature: a schedule with a planted bug, and the same schedule without one. Those that no schedule of
a machine shows have two histories here; a judge that is due a bound has them in tests/unit/conformance/judging/test_due.py.
"""

from __future__ import annotations

import re

import pytest

from conformance.core.machines import all_machines
from conformance.judging.judge import Judge, judge_all
from conformance.judging.judges import JUDGES
from conformance.judging.sentences import MAX_LENGTH
from history.events import History
from tests.miniature.machine import play
from tests.miniature.planted import planted_for
from tests.support.history_pairs import PAIRS
from tests.support.structures import structures

pytestmark = pytest.mark.drawn

JUDGED = [judge for judge in JUDGES if not judge.after_healing and not judge.records]


SENTENCE = re.compile(r"(?:[A-Z]|\S*[-\d])[^\n]* Promised: [A-Z0-9][^\n]*\.")
"""A capital letter or a name, on one line, and what was promised."""


def is_broken(judge: Judge, history: History) -> bool:
    return any(one.result == "violated" for one in judge_all([judge], history))


def broken_rows(history: History) -> set[str]:
    return {one.requirement for one in judge_all(JUDGED, history) if one.result == "violated"}


def shown_by_schedules() -> set[str]:
    """The judges that a schedule with a planted bug turns red, each silent on the same schedule without the bug."""
    shown: set[str] = set()
    for check in all_machines().values():
        planted = planted_for(check)
        for bug, schedule in planted.schedules.items():
            broken, honest = (play(check, schedule, bugs).history for bugs in ([bug], []))
            rows = broken_rows(broken)
            shown |= {str(one) for one in JUDGED if one.row in rows and is_broken(one, broken)}
            assert broken_rows(honest) == set(), f"without {bug}"
    return shown


@pytest.mark.parametrize("name", PAIRS)
def test_it_tells_a_bad_history_from_a_near_one(name: str) -> None:
    judges = [judge for judge in JUDGED if judge.function.__name__ == name]
    bad, near = PAIRS[name]()
    assert judges
    assert [is_broken(judge, bad.history) for judge in judges] == [True] * len(judges)
    assert [is_broken(judge, near.history) for judge in judges] == [False] * len(judges)


def broken_sentences(history: History) -> list[str]:
    """Return what is no sentence for people among the violations that all judges see."""
    seen = [one.detail for one in judge_all(JUDGED, history) if one.result == "violated"]
    assert seen
    return [
        text
        for text in seen
        if structures(text.partition(" Promised: ")[0]) or not SENTENCE.fullmatch(text) or len(text) > MAX_LENGTH
    ]


@pytest.mark.parametrize("name", PAIRS)
def test_a_violation_is_one_sentence(name: str) -> None:
    assert broken_sentences(PAIRS[name]()[0].history) == []


def test_a_violation_by_a_planted_bug_is_one_sentence() -> None:
    planted = [
        (check, bug, steps) for check in all_machines().values() for bug, steps in planted_for(check).schedules.items()
    ]
    found = {bug: broken_sentences(play(check, steps, [bug]).history) for check, bug, steps in planted}
    assert {bug: texts for bug, texts in found.items() if texts} == {}


def test_every_judge_is_shown() -> None:
    shown = shown_by_schedules()
    silent = [judge for judge in JUDGED if str(judge) not in shown and judge.function.__name__ not in PAIRS]
    assert [judge.function.__name__ for judge in silent] == ["every_fact_is_looked_at"], "which only counts left-outs"
