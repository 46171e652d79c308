"""A controller that was down until the leader's log began beyond its own end: it catches up or not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from conformance.judging.facts.quorum import EPOCHS
from conformance.kip595.laggards import loads_a_snapshot
from history.readings import File
from protocol.codes import Error
from protocol.quorum import METADATA_TOPIC, QuorumAnswer, QuorumReplica
from tests.support.disturbed_quorum import CONTROLLERS, FakeDisturbed, as_disturbed, results

BEHIND, END = 40, 90


class OneLaggard(FakeDisturbed):
    """Three voters; while one is down the leader's log begins at `begins`, and afterwards that one's log ends at `reaches`."""

    def __init__(self, *, begins: int = 60, reaches: int = END, loads: bool = True) -> None:
        super().__init__()
        self._begins, self._reaches, self._loads = begins, reaches, loads
        self._came_back = False

    def others(self, *names: str) -> list[str]:
        return [name for name in CONTROLLERS if name not in names]

    def name_of(self, id: int) -> str:
        return f"controller-{id}"

    def describe(self, name: str) -> QuorumAnswer:
        ends = {101: END, 102: self._reaches if self._came_back else BEHIND, 103: END}
        return QuorumAnswer(
            version=1,
            topic=METADATA_TOPIC,
            partition=0,
            error=Error.NONE,
            leader_id=101,
            leader_epoch=4,
            high_watermark=END,
            current_voters=tuple(QuorumReplica(replica_id=id, log_end_offset=end) for id, end in ends.items()),
        )

    @contextmanager
    def away(self, name: str, role: str, *, frozen: bool) -> Iterator[None]:
        assert (name, frozen) == ("controller-102", False)
        yield
        self._came_back = True

    def write_for(self, seconds: float) -> None:
        """Write nothing: the log begins where it begins."""

    def read_file(self, name: str, path: str) -> File:
        assert (name, path) == ("controller-101", EPOCHS)
        return File(f"0\n1\n4 {self._begins}\n".encode())

    def replicas(self, hosts: Mapping[str, Sequence[str]]) -> Any:
        return SimpleNamespace(replicas=(SimpleNamespace(log_start=self._begins if self._loads else 0),))


@pytest.mark.parametrize(
    ("voters", "found"),
    [
        (OneLaggard(), [("snapshot", "held")]),
        (OneLaggard(reaches=END - 1), [("snapshot", "violated")]),
        (OneLaggard(reaches=BEHIND), [("snapshot", "violated")]),
        (OneLaggard(reaches=BEHIND, loads=False), [("snapshot", "violated")]),
        (OneLaggard(loads=False), [("unmet", "a laggard that loaded a snapshot"), ("snapshot", "held")]),
    ],
)
def test_a_laggard_reaches_the_end_that_the_leader_had(voters: OneLaggard, found: list[tuple[str, str]]) -> None:
    assert results(loads_a_snapshot(as_disturbed(voters), pick=0)) == found


def test_a_laggard_that_finds_its_records_is_none() -> None:
    found = results(loads_a_snapshot(as_disturbed(OneLaggard(begins=BEHIND)), pick=0))
    assert found[0] == ("unmet", "a leader without the records that the laggard needs")
