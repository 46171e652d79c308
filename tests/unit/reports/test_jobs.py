"""Spark jobs side by side: all are over at the end, and none fails unheard. No Spark is needed for that."""

from __future__ import annotations

from typing import Any

import pytest

from reports import jobs
from reports.jobs import Job, in_parallel

NO_SESSION: Any = None


@pytest.fixture(autouse=True)
def plain_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads that take nothing along of a session, as there is none."""
    monkeypatch.setattr(jobs, "inheritable_thread_target", lambda session: lambda job: job)


def test_all_are_over_at_the_end() -> None:
    done: list[int] = []
    with in_parallel(NO_SESSION) as start:
        for number in range(8):
            start(_noting(done, number))
    assert sorted(done) == list(range(8))


def no_space() -> None:
    raise ValueError("no space left")


def run(*jobs: Job, then: Job = lambda: None) -> None:
    with in_parallel(NO_SESSION, 1) as start:
        for job in jobs:
            start(job)
        then()


def test_an_error_of_a_job_is_raised_when_all_are_over() -> None:
    done: list[int] = []
    with pytest.raises(ValueError, match="no space left"):
        run(no_space, _noting(done, 1))
    assert done == [1]


def test_an_error_of_the_block_comes_first() -> None:
    def stops() -> None:
        raise KeyError("of the block")

    with pytest.raises(KeyError, match="of the block"):
        run(no_space, then=stops)


def _noting(done: list[int], number: int) -> Job:
    return lambda: done.append(number)
