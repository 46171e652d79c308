"""Entries of replicas in a description of the quorum: an observer that stops to fetch, a follower that is frozen, a
voter that has not fetched yet (KIP-595, KIP-836)."""

from uuid import UUID

from hypothesis.strategies import integers, lists

from conformance.core.bench import Bench
from conformance.core.checks import Claims, Rig, held_if, kept_if, premise, probe
from conformance.core.topologies import CONTROLLERS
from conformance.core.waiting import WITHIN
from conformance.rigs.quorum.fetching import own_end
from conformance.rigs.quorum.frozen import FROZEN, PEERS, Frozen
from conformance.rigs.quorum.quorum import GHOSTS, QUORUM, Quorum, QuorumData, cluster_id_of
from protocol.codes import Error
from protocol.log import FetchedPartition, FetchOptions, FetchPartition, LeaderAndEpoch
from protocol.quorum import METADATA, QuorumAnswer, QuorumReplica
from protocol.since import since
from protocol.words import say

LISTED_FOR = 300.0
"""Seconds after its last fetch for which a leader lists an observer."""
FORGETS_WITHIN = 10.0
"""Seconds after that within which it is gone."""
NAMES_DIRECTORY_FROM = since("FetchRequest", "ReplicaDirectoryId")
GHOST = integers(GHOSTS.start, GHOSTS.stop - 1)


def fetch_as_observer(
    quorum: Quorum, led: LeaderAndEpoch, id: int, offset: int, directory: UUID | None = None
) -> FetchedPartition:
    wanted = FetchPartition(METADATA, 0, offset, led.leader_epoch, led.leader_epoch, replica_directory_id=directory)
    options = FetchOptions(replica_id=id, cluster_id=quorum.cluster_id)
    return quorum.client(quorum.bench.name_of(led.leader_id)).fetch(wanted, options)


def describe(quorum: Quorum, led: LeaderAndEpoch) -> QuorumAnswer:
    return quorum.client(quorum.bench.name_of(led.leader_id)).describe_quorum()


def entry_of(id: int, described: QuorumAnswer) -> QuorumReplica | None:
    """Return a replica's entry; None if it has none."""
    replicas = [*described.current_voters, *described.observers]
    return next((one for one in replicas if one.replica_id == id), None)


def is_led_by(described: QuorumAnswer, led: LeaderAndEpoch) -> bool:
    named = LeaderAndEpoch(described.leader_id, described.leader_epoch)
    return described.error is Error.NONE and named == led


@probe("KIP595-OBS-03", "KIP595-OBS-03-L", rig=QUORUM, cases=["listed"], smoke=False, id=GHOST)
def observer_is_listed(quorum: Quorum, expected: str, id: int) -> Claims:
    """A leader lists an observer with the offset and time of its last fetch: once, or from 3.9 on once for each directory."""
    led = quorum.agreed_leader()
    end = own_end(led.leader_id, describe(quorum, led))
    began = quorum.bench.now().unix_ms
    directories = [UUID(int=number) for number in (2, 3)] if quorum.version("Fetch") >= NAMES_DIRECTORY_FROM else [None]
    served = [fetch_as_observer(quorum, led, id, end, directory) for directory in directories]
    ended = quorum.bench.now().unix_ms
    after = describe(quorum, led)
    fetched = all(one.error is Error.NONE and one.diverging_epoch is None for one in served)
    yield premise(fetched, f"fetches that are served: {say(served)}")
    yield premise(is_led_by(after, led), f"still {say(led)}")
    known = [one for one in after.observers if one.replica_id == id]
    timed = after.version == 0 or all(began - 1 <= one.last_fetch_timestamp <= ended for one in known)
    entries = 2 if expected == "KEYED_BY_ID_AND_DIRECTORY" else 1
    right = len(known) == entries and all(one.log_end_offset == end for one in known) and timed
    yield held_if(right, *served, after, detail=f"{id} fetched at {end} between {began} and {ended}")
    yield kept_if("KIP595-OBS-03-L", len(known) == 2, after)


@probe("KIP595-OBS-03", rig=QUORUM, cases=["expires"], examples=1, smoke=False,
       ids=lists(GHOST, min_size=6, max_size=6, unique=True))  # fmt: skip
def observer_expires(quorum: Quorum, ids: list[int]) -> Claims:
    """A leader lists an observer for 300 s after its last fetch; one that goes on fetching stays."""
    *gone, stays = ids
    led = quorum.agreed_leader()
    end = own_end(led.leader_id, describe(quorum, led))
    for id in ids:
        fetch_as_observer(quorum, led, id, end)
    fetched = quorum.bench.now().seconds
    before = is_listed_until(quorum, led, stays, fetched + LISTED_FOR - FORGETS_WITHIN)
    yield premise(is_led_by(before, led), f"still {say(led)}")
    late = describe(quorum, led)
    after = is_listed_until(quorum, led, stays, fetched + LISTED_FOR + FORGETS_WITHIN)
    yield premise(is_led_by(late, led) and is_led_by(after, led), f"still {say(led)}")
    for id in gone:
        there, left = entry_of(id, late) is not None, entry_of(id, after) is None
        yield held_if(there and left, detail=f"{id} listed before 300 s: {say(there)}; gone after: {say(left)}")
    yield held_if(entry_of(stays, after) is not None, after, detail=f"{stays} went on fetching")


def is_listed_until(quorum: Quorum, led: LeaderAndEpoch, stays: int, moment: float) -> QuorumAnswer:
    """Fetch as one observer until a moment of the kit's clock; return the leader's description then."""

    def is_over() -> bool:
        fetch_as_observer(quorum, led, stays, 1)
        return quorum.bench.now().seconds > moment

    left = max(0.0, moment - quorum.bench.now().seconds)
    quorum.bench.eventually(is_over, "the time for which an observer is listed", left + WITHIN, every=2.0, due=None)
    return describe(quorum, led)


# --- voters


def _prepare(bench: Bench) -> QuorumData:
    return QuorumData(cluster_id_of(bench))


SETTLED = Rig(CONTROLLERS, _prepare, Quorum)
READS = 3


@probe("KIP595-OBS-04", rig=SETTLED, cases=["paused", "resumed"], examples=2, smoke=False, follower=integers(0, 1))
def frozen_follower_stands_still(quorum: Quorum, follower: int) -> Claims:
    """The entry of a frozen follower does not change while the leader's log grows, and does so again once it is resumed."""
    led, frozen = quorum.agreed_leader(), quorum.followers()[follower]
    id = quorum.bench.id_of(frozen)
    quorum.bench.processes.pause(frozen, role="voter")
    seen = [describe(quorum, led)]
    for _ in range(READS + 1):
        seen.append(await_growth(quorum, led, seen[-1]))
    quorum.bench.processes.resume(frozen)
    yield premise(all(is_led_by(one, led) for one in seen), f"still {say(led)}")
    # A fetch that was under way when it was frozen may arrive before the log grows for the first time.
    first = entry_of(id, seen[1])
    for later in seen[2:]:
        yield held_if(first is not None and entry_of(id, later) == first, seen[1], later, case="paused")
    target = own_end(led.leader_id, seen[-1])
    caught_up = quorum.bench.wait.becomes_true(
        lambda: is_recovered(quorum, id, target, first), f"{frozen} with an entry at {target}", WITHIN
    )
    yield held_if(caught_up, case="resumed", detail=f"{frozen} was at {say(first)}, and the log ended at {target}")


def await_growth(quorum: Quorum, led: LeaderAndEpoch, last: QuorumAnswer) -> QuorumAnswer:
    """Return the leader's description once its log has grown: it writes a no-op record every half second."""

    def if_grown() -> QuorumAnswer | None:
        now = describe(quorum, led)
        lost = not is_led_by(now, led)
        return now if lost or own_end(led.leader_id, now) > own_end(led.leader_id, last) else None

    return quorum.bench.eventually(if_grown, "a log that grows while a follower is frozen")


def is_recovered(quorum: Quorum, id: int, offset: int, before: QuorumReplica | None) -> bool:
    """True if the current leader, which may be the voter itself, describes it with that log end or a later one, and with
    later times than before."""
    now = quorum.describe_by_leader()
    known = entry_of(id, now)
    if known is None or known.log_end_offset < offset:
        return False
    if now.version == 0 or before is None:
        return True
    caught_up = known.last_caught_up_timestamp > before.last_caught_up_timestamp
    return caught_up and known.last_fetch_timestamp > before.last_fetch_timestamp


@probe("KIP595-OBS-04", rig=FROZEN, cases=["not-yet-fetched"], smoke=False, leader=integers(0, 1), ahead=integers(1, 5))
def voters_that_have_not_fetched(frozen: Frozen, leader: int, ahead: int) -> Claims:
    """A new leader describes the other voters with -1 for offset and times until they fetch in its epoch."""
    frozen.lead(PEERS[leader], ahead)
    fresh = frozen.client.describe_quorum()
    yield premise(fresh.error is Error.NONE, "a leader that describes the quorum", promised=("KIP595-DQ-01", "leader"))
    entries = [entry_of(peer, fresh) for peer in PEERS]
    for known in entries:
        bare = known is not None and known.log_end_offset == -1
        timeless = known is not None and known.last_fetch_timestamp == known.last_caught_up_timestamp == -1
        yield held_if(bare and timeless, fresh)
