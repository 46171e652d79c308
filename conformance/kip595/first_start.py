"""Three controllers at their first start, one by one, and one with the disk of another cluster (KIP-595)."""

from hypothesis.strategies import integers, permutations, sampled_from

from conformance.core.bench import Bench
from conformance.core.checks import Claims, Rig, excuse, held_if, premise, probe, record_only
from conformance.core.topologies import FIRST_START
from conformance.core.waiting import WITHIN
from conformance.judging.excuses import STARVED
from conformance.rigs.quorum.fetching import own_end
from conformance.rigs.quorum.frozen import SEGMENT
from conformance.rigs.quorum.quorum import Quorum, QuorumData, cluster_id_of
from fixtures.wire import WireError
from fixtures.wire.records import read_batches
from history.due import START_TIMEOUT, is_starved
from protocol.codes import Error
from protocol.log import FetchedPartition, FetchOptions, FetchPartition, LeaderAndEpoch
from protocol.quorum import METADATA, RaftAnswer, VoteAnswer
from protocol.records import Batch
from protocol.words import say

WATCHED = 3 * 2.0
"""Seconds: three times the longest random election timeout at the default of a second."""
FOREIGN = "AAAAAAAAAAAAAAAAAAAAAA"
"""The id of another cluster."""


class FirstStart(Quorum):
    """The controllers. `controllers` are those that were started."""

    def renew(self, name: str) -> None:
        """Start a controller as at first, and wait until it answers."""
        self.bench.processes.renew(name)
        what = f"{name} answering after its first start"
        self.bench.eventually(lambda: self.known_to(name) is not None, what, START_TIMEOUT, due="node")

    def known_to(self, name: str) -> LeaderAndEpoch | None:
        """Return leader and epoch as the controller reports them; None if it does not answer."""
        try:
            return self.reported_leader(name)
        except WireError:
            return None

    def looks(self, names: list[str], seconds: float) -> dict[str, list[LeaderAndEpoch]]:
        """Ask controllers for leader and epoch for that many seconds; return what each reported."""
        until, found = self.bench.now().seconds + seconds, {name: list[LeaderAndEpoch]() for name in names}

        def is_over() -> bool:
            for name in names:
                if (known := self.known_to(name)) is not None and known not in found[name][-1:]:
                    found[name].append(known)
            return self.bench.now().seconds > until

        self.bench.eventually(is_over, "the end of a look", seconds + WITHIN, every=PACE, due=None)
        return found

    def batches(self, name: str) -> tuple[Batch, ...]:
        """Return the batches of the controller's log on disk."""
        return read_batches(self.bench.read_file(name, SEGMENT).content)


PACE = 0.1


def _prepare(bench: Bench) -> QuorumData:
    quorum = Quorum(bench, QuorumData(cluster_id_of(bench)))
    quorum.agreed_leader()
    return QuorumData(quorum.cluster_id)


FIRST = Rig(FIRST_START, _prepare, FirstStart)


@probe("KIP595-BOOT-01", rig=FIRST, examples=2, smoke=False, order=permutations([0, 1, 2]))
def voters_start_one_by_one(quorum: FirstStart, order: list[int]) -> Claims:
    """One of three voters alone never leads at its first start, two elect a leader, and a third copies its log."""
    first, second, third = (quorum.controllers[number] for number in order)
    for name in (first, second, third):
        quorum.bench.processes.expend(name, down=True)
    quorum.renew(first)
    seen = quorum.looks([first], WATCHED)[first]
    led = [known for known in seen if known.leader_id >= 0]
    described = quorum.client(first).describe_quorum()
    yield held_if(
        bool(seen) and not led and described.error is Error.NOT_LEADER_OR_FOLLOWER,
        described,
        case="alone",
        detail=f"{first} alone reported {say(seen)}",
    )
    quorum.renew(second)
    quorum.controllers = [first, second]
    elected = quorum.bench.wait.becomes_true(
        lambda: _names_one_of(quorum) is not None, f"{first} and {second} naming one of them as the leader", WITHIN
    )
    yield held_if(elected, case="second", detail=f"{first} and {second} have no leader after {WITHIN:g} s")
    yield premise(elected, "a leader of two")
    quorum.renew(third)
    copied = quorum.bench.wait.becomes_true(
        lambda: _has_copied(quorum, third), f"{third} with the leader's log", WITHIN
    )
    same = common_batches_agree(quorum.batches(quorum.one("leader")), quorum.batches(third))
    yield held_if(copied.require_also(same), case="third", detail=f"{third} has not the log of {first} and {second}")


def _names_one_of(quorum: FirstStart) -> LeaderAndEpoch | None:
    """Return the leader that all started controllers name, once it is one of them."""
    known = {quorum.known_to(name) for name in quorum.controllers}
    one = known.pop()
    ids = {quorum.bench.id_of(name) for name in quorum.controllers}
    return one if one is not None and not known and one.leader_id in ids else None


def _has_copied(quorum: FirstStart, third: str) -> bool:
    """True if the leader knows a high watermark, and that the third voter's log reaches it."""
    known = _names_one_of(quorum)
    if known is None:
        return False
    described = quorum.client(quorum.bench.name_of(known.leader_id)).describe_quorum()
    id = quorum.bench.id_of(third)
    return described.error is Error.NONE and own_end(id, described) >= described.high_watermark >= 0


def common_batches_agree(one: tuple[Batch, ...], other: tuple[Batch, ...]) -> bool:
    """True if both logs have batches, and the same ones as far as both reach."""
    shorter = min(len(one), len(other))
    return shorter > 0 and one[:shorter] == other[:shorter]


@probe("KIP595-BOOT-03", rig=FIRST, cases=["undisturbed", "refused"], examples=2, smoke=False, follower=integers(0, 1),
       ahead=sampled_from([0, 1, 5]))  # fmt: skip
def intruder_from_another_cluster(quorum: FirstStart, follower: int, ahead: int) -> Claims:
    """A controller with the disk of another cluster never joins, does not change leader and epoch, and is refused."""
    intruder = quorum.followers()[follower]
    others = [name for name in quorum.controllers if name != intruder]
    processes, id = quorum.bench.processes, quorum.bench.id_of(intruder)
    processes.expend(intruder, down=True)
    quorum.controllers = others
    settled = quorum.agreed_leader()
    before = quorum.describe_by_leader()
    processes.renew(intruder, cluster_id=FOREIGN)
    seen = quorum.looks(others, WATCHED)
    after = quorum.client(quorum.bench.name_of(settled.leader_id)).describe_quorum()
    same = all(set(known) == {settled} for known in seen.values())
    apart = after.error is Error.NONE and own_end(id, after) <= own_end(id, before)
    if not (same and apart) and is_starved(quorum.bench.wait.recorded_late(WATCHED), WATCHED):
        yield excuse(STARVED, case="undisturbed")
    else:
        detail = f"beside {intruder} of another cluster, {say(settled)} became {say(seen)}"
        yield held_if(same and apart, before, after, case="undisturbed", detail=detail)
    end = processes.fate(intruder)
    yield record_only(
        case="undisturbed", detail=f"{intruder}: {say(end)}", variant="runs on" if end is None else "ends itself"
    )
    for name in others:
        for answer in ask_as_foreign(quorum, name, id, settled.leader_epoch + ahead):
            yield held_if(answer.error is Error.INCONSISTENT_CLUSTER_ID, answer, case="refused")


def ask_as_foreign(
    quorum: FirstStart, name: str, id: int, epoch: int
) -> list[RaftAnswer | VoteAnswer | FetchedPartition]:
    """Send a voter's requests under the id of another cluster; return the answers."""
    client = quorum.client(name)
    return [
        client.vote(id, epoch, last_offset=1, last_offset_epoch=0, cluster_id=FOREIGN, version=0),
        client.begin_quorum_epoch(id, epoch, cluster_id=FOREIGN, version=0),
        client.fetch(FetchPartition(METADATA, 0, 0, epoch, 0), FetchOptions(replica_id=id, cluster_id=FOREIGN)),
    ]
