"""First starts one by one: silent on voters that wait for a majority, red on one that leads alone or does not copy the log."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from conformance.core.checks import Claims
from conformance.kip595.first_start import (
    common_batches_agree,
    intruder_from_another_cluster,
    voters_start_one_by_one,
)
from conformance.rigs.quorum.frozen import no_ops
from fixtures.wire.records import encode_batch, read_batches
from protocol.codes import Error
from protocol.log import LeaderAndEpoch
from protocol.quorum import QuorumAnswer, QuorumReplica
from protocol.records import Batch
from tests.support.clocked_bench import ClockedBench, results

NAMES = ["controller-101", "controller-102", "controller-103"]
LED = LeaderAndEpoch(101, 3)
LOST = ("premise", "lost")


def log(*epochs: int) -> tuple[Batch, ...]:
    return read_batches(b"".join(encode_batch(no_ops(1, offset, epoch)) for offset, epoch in enumerate(epochs)))


class Started(ClockedBench):
    """The bench of three controllers, which records what was done to them."""

    def __init__(self) -> None:
        super().__init__()
        self.done: list[str] = []
        self.processes = self

    def id_of(self, name: str) -> int:
        return int(name[-3:])

    def name_of(self, id: int) -> str:
        return f"controller-{id}"

    def expend(self, name: str, *, down: bool) -> None:
        self.done.append(f"{name} down")

    def renew(self, name: str, **more: Any) -> None:
        self.done.append(f"{name} up")

    def fate(self, name: str) -> None:
        return None


class Voters:
    """Three voters with the given faults."""

    cluster_id = "some"

    def __init__(self, *bugs: str) -> None:
        self.bench = Started()
        self.bugs = bugs
        self.controllers = list(NAMES)
        self.up: list[str] = []
        self.foreign = False

    def renew(self, name: str) -> None:
        self.up.append(name)

    @property
    def led(self) -> LeaderAndEpoch:
        return LED if len(self.up) > 1 or "lone-voter-leads" in self.bugs else LeaderAndEpoch(-1, 1)

    def looks(self, names: list[str], seconds: float) -> dict[str, list[LeaderAndEpoch]]:
        led = LeaderAndEpoch(102, 9) if "intruder-elects" in self.bugs else LED
        return {name: [led if len(names) > 1 else self.led] for name in names}

    def known_to(self, name: str) -> LeaderAndEpoch | None:
        return LeaderAndEpoch(-1, 1) if "never-elects" in self.bugs else self.led

    def agreed_leader(self) -> LeaderAndEpoch:
        return LED

    def one(self, role: str) -> str:
        return NAMES[0]

    def followers(self) -> list[str]:
        return NAMES[1:]

    def batches(self, name: str) -> tuple[Batch, ...]:
        return log(1, 3, 3) if name == NAMES[2] and "other-log" in self.bugs else log(3, 3, 3)

    def describe_by_leader(self) -> QuorumAnswer:
        return self.described(5)

    def described(self, end: int) -> QuorumAnswer:
        voters = tuple(QuorumReplica(replica_id=id, log_end_offset=end) for id in (101, 102, 103))
        return QuorumAnswer(
            version=2, topic="__cluster_metadata", partition=0, error=Error.NONE, leader_id=101, leader_epoch=3,
            high_watermark=3, current_voters=voters,
        )  # fmt: skip

    def client(self, name: str) -> Any:
        answer = self.described(7 if "intruder-fetches" in self.bugs else 5)
        if self.led.leader_id < 0 and len(self.up) == 1:
            answer = QuorumAnswer(
                version=2, topic="__cluster_metadata", partition=0, error=Error.NOT_LEADER_OR_FOLLOWER, leader_id=-1,
                leader_epoch=-1,
            )  # fmt: skip
        refusal = Error.NONE if "cluster-id-unchecked" in self.bugs else Error.INCONSISTENT_CLUSTER_ID
        refuse = lambda *_, **__: SimpleNamespace(error=refusal)  # noqa: E731
        return SimpleNamespace(describe_quorum=lambda: answer, vote=refuse, begin_quorum_epoch=refuse, fetch=refuse)


def judged(claims: Claims) -> list[tuple[str, str]]:
    """Return the results up to a lost premise, which ends an example."""
    found = results(claims)
    return found[: found.index(LOST)] if LOST in found else found


@pytest.mark.parametrize(
    ("bug", "broken"),
    [("", set()), ("lone-voter-leads", {"alone"}), ("never-elects", {"second"}), ("other-log", {"third"})],
)
def test_voters_start_one_by_one(bug: str, broken: set[str]) -> None:
    voters: Any = Voters(bug)
    found = judged(voters_start_one_by_one.body(voters, order=[0, 1, 2]))
    assert {case for case, result in found if result == "violated"} == broken
    assert voters.bench.done[:3] == [f"{name} down" for name in NAMES]
    assert voters.up[:2] == NAMES[:2]


@pytest.mark.parametrize(
    ("bug", "broken"),
    [
        ("", set()),
        ("intruder-elects", {"undisturbed"}),
        ("intruder-fetches", {"undisturbed"}),
        ("cluster-id-unchecked", {"refused"}),
    ],
)
def test_an_intruder_is_kept_out(bug: str, broken: set[str]) -> None:
    voters: Any = Voters(bug)
    voters.up = list(NAMES)
    found = judged(intruder_from_another_cluster.body(voters, follower=1, ahead=0))
    assert {case for case, result in found if result == "violated"} == broken
    assert voters.bench.done == [f"{NAMES[2]} down", f"{NAMES[2]} up"]


def test_logs_agree_as_far_as_both_reach() -> None:
    assert common_batches_agree(log(1, 1, 2), log(1, 1))
    assert not common_batches_agree(log(1, 1, 2), log(1, 2))
    assert not common_batches_agree(log(1), ())
