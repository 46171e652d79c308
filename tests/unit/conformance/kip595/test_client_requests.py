"""Requests of clients beside a leader that leads on, and beside one that resigns over them (GEN-18)."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from conformance.core.checks import ExcuseClaim, ObservationClaim, PremiseClaim
from conformance.core.cluster import Moment
from conformance.core.waiting import Settled
from conformance.kip595.client_requests import OPERATION_LIMIT, REQUESTS, client_moves_no_quorum
from fixtures.wire import NotSent, Unanswered
from protocol.codes import Error
from protocol.log import LeaderAndEpoch
from protocol.topics import CreatedTopic, CreateTopicsAnswer

LED = LeaderAndEpoch(101, 4)


class Requests:
    """A client that keeps what it was asked to send; a creation of too many partitions is unanswered if there is no `limit`."""

    def __init__(self, limit: bool, sends: bool, creates: bool) -> None:
        self.sent: list[tuple[str, Any]] = []
        self.largest = 0
        self._limit, self._sends = limit, sends
        self._made = Error.NONE if creates else Error.NOT_CONTROLLER
        self._partitions: dict[str, int] = {}

    def create_topics(self, topics: list[Any]) -> CreateTopicsAnswer:
        self._take("create_topics", topics, sum(max(0, one.num_partitions) for one in topics))
        if self._made is Error.NONE:
            self._partitions |= {one.name: one.num_partitions for one in topics}
        return CreateTopicsAnswer(
            version=7, topics=tuple(CreatedTopic(name=one.name, error=self._made) for one in topics)
        )

    def create_partitions(self, name: str, count: int) -> str:
        return self._take("create_partitions", name, count - self._partitions[name])

    def incremental_alter_configs(self, *asked: Any) -> str:
        return self._take("incremental_alter_configs", asked, 0)

    def delete_topics(self, names: list[str]) -> str:
        return self._take("delete_topics", names, 0)

    def _take(self, api: str, asked: Any, size: int) -> str:
        if not self._sends:
            raise NotSent("no connection")
        self.sent.append((api, asked))
        self.largest = max(self.largest, size)
        if size > OPERATION_LIMIT and not self._limit:
            raise Unanswered("no answer within 10 s", 10.0)
        return "an answer"


class QuorumOfThree:
    """A quorum whose leader is replaced by a request that is too large if there is no `limit`."""

    broker = "broker-1"

    def __init__(
        self, *, limit: bool = True, late: float = 0.0, serves: bool = True, sends: bool = True, creates: bool = True
    ) -> None:
        self.requests = Requests(limit, sends, creates)
        self._limit, self._late, self._serves = limit, late, serves
        self._seconds = 0.0
        self.bench = self.wait = self

    def agreed_leader(self) -> LeaderAndEpoch:
        moved = self.requests.largest > OPERATION_LIMIT and not self._limit
        return LeaderAndEpoch(102, LED.leader_epoch + 1) if moved else LED

    def name_of(self, id: int) -> str:
        return f"controller-{id}"

    def node(self, name: str, *, controller: bool) -> Requests:
        assert controller == name.startswith("controller")
        return self.requests

    def fresh_name(self, kind: str) -> str:
        return f"{kind}-1"

    def now(self) -> Moment:
        return Moment(self._seconds, 0)

    def await_write(self, gone: str, within: float) -> Settled:
        """Take a minute, of which the kit is late in the first seconds only."""
        self._seconds += 60.0
        return Settled(1, self._serves, within, 0.0)

    def recorded_late(self, within: float) -> float:
        return self._late if within >= self._seconds else 0.0


def result(quorum: QuorumOfThree, case: str, which: int = 0, number: int = 1, through: str = "broker") -> str:
    claims = client_moves_no_quorum.body(quorum, case=case, which=which, number=number, through=through)
    for one in claims:
        if isinstance(one, PremiseClaim) and not one.met:
            return "premise lost"
        if isinstance(one, ExcuseClaim):
            return one.evidence.name
        if isinstance(one, ObservationClaim):
            return one.observation.result
    return "nothing"


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5, 6, 7, 8, 500])
@pytest.mark.parametrize("which", range(6))
@pytest.mark.parametrize("case", REQUESTS)
def test_a_leader_that_leads_on(case: str, which: int, number: int) -> None:
    quorum = QuorumOfThree()
    assert result(quorum, case, which, number, "leader") == "held"
    assert quorum.requests.sent


@pytest.mark.parametrize("which", range(3))
@pytest.mark.parametrize("number", [1, 2, 3, 500])
def test_a_leader_that_resigns_over_a_large_request(which: int, number: int) -> None:
    assert result(QuorumOfThree(limit=False), "large", which, number) == "violated"


def test_an_election_on_a_machine_that_starved_since_the_request_says_nothing() -> None:
    assert result(QuorumOfThree(limit=False, late=30.0), "large") == "kit-starved"


def test_without_a_later_write_nothing_is_known() -> None:
    assert result(QuorumOfThree(serves=False), "refused") == "premise lost"


def test_a_large_request_is_larger_than_an_operation_may_be() -> None:
    sizes = set[int]()
    for which, number in product(range(3), [1, 2, 3, 4, 500]):
        result(quorum := QuorumOfThree(), "large", which, number)
        sizes.add(quorum.requests.largest)
    assert min(sizes) > OPERATION_LIMIT


@pytest.mark.parametrize(("case", "which"), [("large", 0), ("refused", 3)])
def test_a_request_that_is_never_sent_shows_nothing(case: str, which: int) -> None:
    assert result(QuorumOfThree(sends=False), case, which) == "premise lost"


@pytest.mark.parametrize(("case", "which"), [("large", 2), ("colliding", 1)])
def test_a_request_about_a_topic_needs_one(case: str, which: int) -> None:
    assert result(QuorumOfThree(creates=False), case, which) == "premise lost"


def test_a_topic_that_may_have_grown_is_deleted() -> None:
    result(quorum := QuorumOfThree(), "large", 2)
    assert [(api, asked) for api, asked in quorum.requests.sent if api == "delete_topics"] == [
        ("delete_topics", ["large-1"])
    ]
