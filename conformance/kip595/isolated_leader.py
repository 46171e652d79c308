"""A quorum leader that is cut off from the other voters resigns (KIP-595, Leader Progress Timeout)."""

from typing import Literal

from hypothesis.strategies import sampled_from

from conformance.core.bench import Bench
from conformance.core.checks import Claims, Rig, excuse, held_if, probe
from conformance.core.topologies import CONTROLLERS
from conformance.judging.excuses import STARVED
from conformance.rigs.log.partition import PartitionData, new_partition
from fixtures.faults.kinds.zombies import IsolatedControllerLeader
from history.due import is_starved
from protocol.codes import Error
from protocol.quorum import QuorumAnswer

FETCH_TIMEOUT = 2.0
"""The seconds of controller.quorum.fetch.timeout.ms, which CONTROLLERS leaves at its default."""


class Isolated:
    """Three real controllers whose leader is cut off from the others, while brokers and clients still reach it.

    Faults are aimed with a partition that these controllers manage.
    """

    def __init__(self, bench: Bench, data: PartitionData) -> None:
        self.bench = bench
        self.faults = bench.faults(data.topic, data.partition)

    def leads(self, name: str) -> QuorumAnswer | None:
        """Return the controller's own answer to DescribeQuorum if it considers itself the leader, else None."""
        answer = self.bench.node(name, controller=True).describe_quorum()
        leads = answer.error is Error.NONE and answer.leader_id == self.bench.id_of(name)
        return answer if leads else None


def _prepare(bench: Bench) -> PartitionData:
    return new_partition(bench).data


ISOLATED = Rig(CONTROLLERS, _prepare, Isolated)


GIVES_UP_WITHIN = 1.5 * FETCH_TIMEOUT + 2.0
ROUNDS = 2
"""The number of isolations in one example, each of the current leader."""


@probe(
    "KIP595-LIVE-06",
    "KIP595-LIVE-01",
    "GEN-08",
    rig=ISOLATED,
    cases=["cut"],
    smoke=False,
    verdict=sampled_from(["drop", "reject"]),
)
def isolated_leader_gives_up(isolated: Isolated, verdict: Literal["drop", "reject"]) -> Claims:
    """A leader that is cut off from both followers resigns in time; judges check the election that follows."""
    for _ in range(ROUNDS):
        fault = IsolatedControllerLeader(verdict=verdict)
        with isolated.faults.standing_fault(fault) as injected:
            cut = isolated.bench.now().seconds - injected.consequence_seconds - injected.witness_seconds
            yield from gives_up(isolated, injected.nodes[0], cut)


def gives_up(isolated: Isolated, leader: str, cut: float) -> Claims:
    """Check that the leader resigns in time (LIVE-06). Yield no claim if the first look came late and finds it
    resigned."""
    led = list[tuple[float, QuorumAnswer]]()
    looked = list[float]()

    def over() -> bool:
        looked.append(isolated.bench.now().seconds - cut)
        if (answer := isolated.leads(leader)) is not None:
            led.append((looked[-1], answer))
        return answer is None or looked[-1] > GIVES_UP_WITHIN

    isolated.bench.wait.comes_true(over, f"{leader} gives up", 2 * GIVES_UP_WITHIN)
    if led:
        seconds, answer = led[-1]
        detail = f"{leader} still led {seconds:.1f} s after it was cut off"
        if seconds > GIVES_UP_WITHIN and is_starved(
            isolated.bench.wait.recorded_late(GIVES_UP_WITHIN), GIVES_UP_WITHIN
        ):
            yield excuse(STARVED)
        else:
            yield held_if(seconds <= GIVES_UP_WITHIN, answer, detail=detail)
    elif looked[0] <= GIVES_UP_WITHIN:
        yield held_if(True)
