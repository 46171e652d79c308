"""The kit's client and cluster before a voter in memory, and its probes run on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec

from conformance.core.bench import Bench
from conformance.core.checks import Check
from conformance.core.cluster import Moment
from conformance.core.evaluate import ExampleOutcome, evaluate_check
from conformance.rigs.quorum.frozen import FROZEN
from fixtures.tape import LiveTape
from fixtures.waiting import Overdue
from fixtures.wire import NodeClient, Tap, Unanswered
from fixtures.wire.calls import Reply
from history.due import Due
from history.events import Example, ProcessEnd
from history.readings import Received
from history.shards import Column
from protocol.messages import PendingRequest
from tests.support.control_records import LeaderChangeMessage
from tests.support.declared import facts_of
from tests.support.scripted_voter import HIGHEST, MEMBERS, NAME, Voter
from tests.support.unwritten import Unwritten

T = TypeVar("T")

RANGES = {**facts_of("4.3.1").ranges, **{f"controller.{api}": high for api, high in HIGHEST.items()}}
COLUMN = Column(label="4.3.1", version="4.3.1", image="some", image_id="some", ranges=RANGES)


class VoterClient(NodeClient):
    """The kit's own client, down to the fields of the schema."""

    def __init__(self, voter: Voter, tap: Tap) -> None:
        super().__init__(NAME, "", 0, None, tap)  # type: ignore[arg-type]  # nothing is encoded
        self._voter = voter

    def choose_version(self, api: str, version: int | None = None, *, at_most: int | None = None) -> int:
        return HIGHEST[api] if version is None else version

    def has_field(self, api: str, field: str, version: int) -> bool:
        return True

    def call(self, api: str, version: int | None = None, *, wait_ms: int = 0, **fields: Any) -> Reply:
        chosen = self.choose_version(api, version)
        return Reply(chosen, self._voter.call(api, chosen, fields))

    def park(self, api: str, version: int | None = None, **fields: Any) -> PendingRequest:
        self._delayed = (self._voter.epoch, fields)
        return PendingRequest(1, api, self.choose_version(api, version))

    def unpark(self, parked: PendingRequest, within: float) -> Reply:
        epoch, fields = self._delayed
        if self._voter.epoch == epoch or "fetches-stay-delayed" in self._voter.bugs:
            self._voter.pass_time(self._voter.now + within)
            raise Unanswered("a delayed fetch", within)
        return self.call(parked.api, parked.version, **fields)


class VoterCluster:
    """A `conformance.core.cluster.Cluster` and its scripted peers; `late` is what the starvation monitor reports."""

    def __init__(self, voter: Voter, late: float = 0.0) -> None:
        self.voter = voter
        self._late = late

    @property
    def peers(self) -> Any:
        return self

    def client(self, name: str, tap: Tap, *, controller: bool = False) -> NodeClient:
        return VoterClient(self.voter, tap)

    def node(self, name: str) -> Any:
        return self.voter

    container = node

    def write_file(self, name: str, path: str, content: bytes) -> None:
        self.voter.written[path] = content

    def remove_file(self, name: str, path: str) -> None:
        self.voter.stored, self.voter.forgot = (-1, self.voter.last_epoch, -1), True

    def message(self, name: str, artifacts: Sequence[str]) -> LeaderChangeMessage:
        return LeaderChangeMessage()

    def process_ends(self) -> dict[str, ProcessEnd]:
        return {}

    def cpu_pressure(self) -> float:
        return 0.0

    def now(self) -> Moment:
        return Moment(self.voter.now, int(self.voter.now * 1000))

    def seconds_late(self, since: float) -> float:
        return self._late

    def eventually(
        self, probe: Callable[[], T | None], what: str, within: float, every: float | None, due: Due | None
    ) -> T:
        ends = self.voter.now + within
        while True:
            answer = probe()
            if answer is not None and answer is not False:
                return answer
            if self.voter.now >= ends:
                raise Overdue(f"{what}: not within {within:g} s", due=due, within=within, late=self._late)
            self.voter.pass_time(self.voter.now + 0.02)

    # --- scripted peers

    def receive(self, api: str, peer: int | None, within: float) -> Received | None:
        until = self.voter.now + within
        while True:
            for one in self.voter.inbox:
                if api in ("", one.api) and peer in (None, one.peer) and one.at <= self.voter.now:
                    self.voter.inbox.remove(one)
                    self.voter.read.append(one)
                    return one
            if self.voter.now >= until:
                return None
            self.voter.pass_time(min(until, self.voter.now + 0.005))

    def recall(self) -> None:
        self.voter.inbox, self.voter.read = [*self.voter.read, *self.voter.inbox], []

    def reply(self, number: int, body: dict[str, Any]) -> bool:
        [asked] = [one for one in self.voter.read if one.number == number]
        self.voter.read.remove(asked)
        return self.voter.answer(asked, body)


def on_voter(
    check: Check, *bugs: str, case: str = "", lag: float = 0.001, late: float = 0.0, **inputs: Any
) -> ExampleOutcome:
    """Run one example of a probe on such a voter, after its rig was prepared."""
    cluster = VoterCluster(Voter(frozenset(bugs), lag), late)
    context = msgspec.to_builtins(FROZEN.prepare(bench_on(cluster, check, case))) if check.rig.shared else {}
    return evaluate_check(check, bench_on(cluster, check, case), inputs, context)


def bench_on(cluster: VoterCluster, check: Check, case: str) -> Bench:
    known = case or (check.cases[0] if check.cases else "")
    example = Example(
        example="e", check=check.id, column=COLUMN.label, case=known, members=msgspec.to_builtins(MEMBERS)
    )
    tape = LiveTape(Unwritten(), example)  # type: ignore[arg-type]  # all of a writer that a tape uses
    return Bench(tape, COLUMN, MEMBERS, cluster)  # type: ignore[arg-type]  # all of a cluster that these probes ask for
