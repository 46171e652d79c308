"""Bugs that only kafka-python's producer meets, detected by the judges of raw requests, and legal behaviour."""

from __future__ import annotations

import pytest

from conformance.machines.producers.machine import PRODUCER_MACHINE
from fixtures.faults.kinds.process import Freeze, Kill
from strategies import producers as do
from strategies.steps import Disturb, Heal, ReadEverything
from tests.miniature.machine import play

PLAIN, FLUSH_PLAIN = do.PythonWrite(producer=do.PYTHON_PLAIN), do.PythonFlush(producer=do.PYTHON_PLAIN)
WRITE, FLUSH, COMMIT, ABORT = do.PythonWrite(), do.PythonFlush(), do.PythonEnd(), do.PythonEnd(commit=False)
ELSEWHERE = do.PythonWrite(on="strict-1")

SEEN: dict[str, tuple[list[do.ProducerStep], str, str]] = {
    "acknowledged-at-one-offset": ([PLAIN, PLAIN, PLAIN, FLUSH_PLAIN], "KIP360-INV-02", "lost-write"),
    "every-third-commit-aborted": ([do.PythonWrite(records=3), FLUSH, COMMIT], "KIP360-INV-06", "other-outcome"),
    "last-partition-unmarked": ([WRITE, ELSEWHERE, FLUSH, COMMIT], "KIP360-INV-06", "other-outcome"),
    "aborted-offsets-kept": ([do.PythonCommitOffset(), WRITE, FLUSH, ABORT], "KIP360-INV-06", "aborted-offset"),
    "open-transactions-shown": ([WRITE, FLUSH, ReadEverything(), COMMIT], "KIP360-INV-07", "past-open-transaction"),
    "markers-end-nothing": ([WRITE, FLUSH, COMMIT], "KIP360-INV-07", "dangling-transaction"),
    "ids-given-twice": ([PLAIN, FLUSH_PLAIN, WRITE, FLUSH], "KIP360-INV-12", "repeated-id"),
    "every-third-write-fenced": (
        [do.PythonWrite(producer=do.PYTHON_PLAIN, records=3), FLUSH_PLAIN, PLAIN, FLUSH_PLAIN, ReadEverything()],
        "KIP360-INV-15",
        "spurious-refusal",
    ),
    "epoch-skipped": ([WRITE, FLUSH, COMMIT, do.PythonReopen(), WRITE], "KIP360-INV-16", "wrong-answer"),
}

LEGAL: dict[str, list[do.ProducerStep]] = {
    "a leader is killed under what is being sent": [
        PLAIN,
        Disturb(on="strict-0", fault=Kill(role="leader")),
        PLAIN,
        FLUSH_PLAIN,
        Heal(),
        PLAIN,
    ],
    "a leader is frozen under an open transaction": [
        WRITE,
        ELSEWHERE,
        Disturb(on="strict-0", fault=Freeze(role="leader")),
        WRITE,
        COMMIT,
        Heal(),
        WRITE,
        COMMIT,
    ],
    "it begins again under its transaction": [WRITE, FLUSH, do.PythonReopen(), WRITE, do.PythonCommitOffset(), COMMIT],
}


@pytest.mark.parametrize("bug", SEEN)
def test_a_bug_is_seen_by_what_kafka_python_does(bug: str) -> None:
    steps, row, label = SEEN[bug]
    honest, broken = play(PRODUCER_MACHINE, steps), play(PRODUCER_MACHINE, steps, [bug])
    assert (honest.trouble, honest.violations) == ("", [])
    assert (row, label) in {(one.requirement, one.label) for one in broken.violations}


@pytest.mark.parametrize("name", LEGAL)
def test_what_is_legal_is_left_alone(name: str) -> None:
    example = play(PRODUCER_MACHINE, LEGAL[name])
    assert (example.trouble, example.violations) == ("", [])
    assert example.observations
