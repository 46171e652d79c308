"""Requests of users with and without a right on a topic: what a broker that looks at none, or at another one, shows."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from conformance.core.checks import ObservationClaim
from conformance.core.topologies import ADMINISTRATOR, BYSTANDER, NODE
from conformance.kip320.authorization import TRIES, request_needs_its_right
from protocol.codes import Error
from protocol.log import EpochEnd, FetchedPartition, FetchOptions, ListedOffset

DENIED = Error.TOPIC_AUTHORIZATION_FAILED
RIGHTS = {
    "describe": {(BYSTANDER, "described"), (BYSTANDER, "readable")},
    "read": {(BYSTANDER, "readable")},
    "cluster-action": {(NODE, topic) for topic in ("described", "readable", "closed", "absent")},
}
Bug = Callable[[str, str, str], bool]
"""True if a user may do a kind of request with a topic, right or wrong."""


class Broker:
    """A broker with topics of three records, as one user asks it."""

    def __init__(self, may: Bug, leaks: bool) -> None:
        self.may = may
        self.leaks = leaks
        self.bench = SimpleNamespace(
            column=SimpleNamespace(ranges={"Fetch": 17, "OffsetForLeaderEpoch": 4, "ListOffsets": 9})
        )
        self.user = ADMINISTRATOR

    def asked_by(self, user: str) -> Broker:
        self.user = user
        return self

    def partition(self, topic: str) -> Any:
        return SimpleNamespace(name=topic, fetch_from=lambda offset: topic)

    def _error(self, kind: str, topic: str) -> Error:
        if topic == "absent" and (self.leaks or self.may(kind, self.user, topic)):
            return Error.UNKNOWN_TOPIC_OR_PARTITION
        return Error.NONE if self.may(kind, self.user, topic) else DENIED

    def offset_for_leader_epoch(self, topic: str, partition: int, epoch: int, *, version: int) -> EpochEnd:
        error = self._error("lookup", topic)
        end = 3 if error is Error.NONE else -1
        return EpochEnd(
            topic=topic, partition=0, error=error, version=version, leader_epoch=min(end, 0), end_offset=end
        )

    def list_offsets(self, topic: str, partition: int, timestamp: int, *, version: int) -> ListedOffset:
        error = self._error("list", topic)
        end = 3 if error is Error.NONE else -1
        return ListedOffset(
            topic=topic, partition=0, error=error, version=version, leader_epoch=min(end, 0), offset=end
        )

    def fetch(self, topic: str, options: FetchOptions | None = None, *, version: int) -> FetchedPartition:
        error = self._error("read" if options is None else "replicate", topic)
        if error is Error.NONE and options is not None:
            error = Error.NOT_LEADER_OR_FOLLOWER
        return FetchedPartition(topic=topic, partition=0, error=error, version=version)


def right(kind: str, user: str, topic: str) -> bool:
    needs = {
        "lookup": ("describe", "cluster-action"),
        "list": ("describe",),
        "read": ("read",),
        "replicate": ("cluster-action",),
    }
    return user == ADMINISTRATOR or any((user, topic) in RIGHTS[one] for one in needs[kind])


def but(kind: str, wrong: Callable[[str, str], bool]) -> Bug:
    return lambda asked, user, topic: wrong(user, topic) if asked == kind else right(asked, user, topic)


BUGS: dict[str, tuple[Bug, set[str]]] = {
    "none": (right, set()),
    "lookups of any user": (but("lookup", lambda user, topic: True), {"describe", "cluster-action", "denied"}),
    "lookups of nodes only": (but("lookup", lambda user, topic: user in (NODE, ADMINISTRATOR)), {"describe"}),
    "lookups of readers, not of nodes": (
        but("lookup", lambda user, topic: user != NODE and right("lookup", user, topic)),
        {"cluster-action"},
    ),
    "any user replicates": (but("replicate", lambda user, topic: True), {"replica-fetch"}),
    "a reader replicates": (but("replicate", lambda user, topic: right("read", user, topic)), {"replica-fetch"}),
    "describing is reading": (but("read", lambda user, topic: right("list", user, topic)), {"consumer-fetch"}),
    "nodes read": (but("read", lambda user, topic: user == NODE or right("read", user, topic)), {"consumer-fetch"}),
    "nodes list": (but("list", lambda user, topic: user == NODE or right("list", user, topic)), {"list-offsets"}),
    "no user lists": (but("list", lambda user, topic: False), {"list-offsets"}),
}


def broken_cases(may: Bug, *, leaks: bool = False) -> set[str]:
    broken = set()
    for case in TRIES:
        [claim] = request_needs_its_right.body(Broker(may, leaks), case=case, back=0)
        assert isinstance(claim, ObservationClaim)
        broken |= {case} if claim.observation.result == "violated" else set()
    return broken


@pytest.mark.parametrize("bug", BUGS)
def test_a_broker_that_asks_for_another_right(bug: str) -> None:
    may, broken = BUGS[bug]
    assert broken_cases(may) == broken


def test_a_refusal_tells_not_whether_the_topic_exists() -> None:
    assert broken_cases(right, leaks=True) == {"denied"}
