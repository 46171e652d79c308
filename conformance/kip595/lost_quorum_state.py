"""A leader that restarts without quorum-state while another voter still names it as the leader (KIP595-QS-05)."""

from hypothesis.strategies import booleans

from conformance.core.bench import Bench
from conformance.core.checks import Claims, Rig, probe, record_only
from conformance.core.topologies import CONTROLLERS
from conformance.rigs.log.partition import PartitionData, new_partition
from fixtures.faults.kinds.files import LoseQuorumState
from fixtures.faults.kinds.process import Stop
from fixtures.wire import WireError
from protocol.quorum import QuorumAnswer
from protocol.words import say

SHOWS_AFTER = 12.0
"""The seconds after its start in which a voter exits, if it does; 3 to 10 s were seen."""
RUNS_ON, ENDS = "runs on", "ends itself"


class Voters:
    """Three real controllers. Faults are aimed with a partition that they manage."""

    def __init__(self, bench: Bench, data: PartitionData) -> None:
        self.bench = bench
        self.faults = bench.faults(data.topic, data.partition)

    def described_by(self, name: str) -> QuorumAnswer | None:
        """Return the controller's answer to DescribeQuorum; None if it gives none."""
        try:
            return self.bench.node(name, controller=True).describe_quorum()
        except WireError:
            return None


def _prepare(bench: Bench) -> PartitionData:
    return new_partition(bench).data


@probe("KIP595-QS-05", rig=Rig(CONTROLLERS, _prepare, Voters), cases=["deleted"], smoke=False, clean=booleans())
def leader_comes_back_without_its_file(voters: Voters, clean: bool) -> Claims:
    """While one voter is down, the leader loses quorum-state, and the third voter still names it; GEN-10 judges whether
    it exits."""
    faults, lost = voters.faults, LoseQuorumState(role="active controller", clean=clean)
    with faults.standing_fault(Stop(role="voter")):
        [leader] = faults.inject(lost, follow=False).nodes
        faults.heal(lost)
        began = voters.bench.now().seconds
        voters.bench.eventually(lambda: voters.bench.now().seconds - began > SHOWS_AFTER, "time to show", every=0.5)
        answer = voters.described_by(leader)
        detail = f"{leader}, which led and lost quorum-state, answers {say(answer)} beside one other voter"
        yield record_only(answer, case="deleted", detail=detail, variant=RUNS_ON if answer else ENDS)
