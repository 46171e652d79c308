"""Real voters that lose their leader, while the kit plays the quorum's other voters (KIP-595)."""

from hypothesis.strategies import integers, sampled_from

from conformance.core.checks import Claims, held_if, premise, probe
from conformance.rigs.log.follower_fetches import frozen_broker
from conformance.rigs.quorum.fetching import majority_has, own_end
from conformance.rigs.quorum.frozen import PEERS, LogEnd
from conformance.rigs.quorum.mixed import MIXED, Mixed
from protocol.codes import Error
from protocol.log import CONSUMER, LeaderAndEpoch
from protocol.quorum import QuorumAnswer
from protocol.words import say

LATE = 20.0
"""The seconds after which an observer has asked one of the kit's voters. It asks the others at random, and each that still knows
the frozen leader sends it back there for a request timeout of 2 s; two of four are the kit's."""


@probe(
    "KIP595-HW-01", rig=MIXED, cases=["after-failover"], examples=2, smoke=False, voter=sampled_from(PEERS)
)  # fmt: skip
def successor_waits_for_a_record_of_its_epoch(mixed: Mixed, voter: int) -> Claims:
    """A killed leader's successor has no high watermark until a majority of voters has a record of its epoch."""
    led = mixed.lose_leader(voter)
    start = mixed.start_of(led)
    fresh = mixed.bench.eventually(lambda: others_have(mixed, led, start), "the other voter with the epoch's start")
    as_consumer = mixed.fetch_as(CONSUMER, led, start)
    yield premise(as_consumer.error is Error.NONE, "a leader that answers")
    yield held_if(fresh.high_watermark == as_consumer.high_watermark == -1, fresh, as_consumer)
    before = mixed.fetch_as(voter, led, start)
    yield premise(
        before.error is Error.NONE and bool(before.batches), "a third voter that has the log before the epoch"
    )
    still = mixed.describe(led)
    yield premise(still.error is Error.NONE, "it still leads")
    yield held_if(still.high_watermark == before.high_watermark == -1, before, still)
    past = mixed.fetch_as(voter, led, LogEnd(led.leader_epoch, start.offset + 1))
    yield premise(past.error is Error.NONE and past.diverging_epoch is None, "a third voter with the first record")
    after = mixed.describe(led)
    yield premise(after.error is Error.NONE, "it leads until the end")
    yield held_if(after.high_watermark >= start.offset + 1, past, after)


def others_have(mixed: Mixed, led: LeaderAndEpoch, start: LogEnd) -> QuorumAnswer | None:
    """Return the leader's DescribeQuorum answer once both real voters have its epoch's first record."""
    described = mixed.describe(led)
    real = {mixed.bench.id_of(name) for name in mixed.controllers}
    ends = [voter.log_end_offset for voter in described.current_voters if voter.replica_id in real]
    return described if len(ends) == len(real) and min(ends) > start.offset else None


def followed_by_observer(mixed: Mixed) -> LeaderAndEpoch | None:
    """Return the leader and its epoch, once the broker is its observer."""
    led = mixed.agreed_leader()
    known = {one.replica_id for one in mixed.describe(led).observers}
    return led if mixed.bench.id_of(mixed.observer) in known else None


@probe("KIP595-HW-02", rig=MIXED, cases=["majority"], examples=2, smoke=False, follower=integers(0, 1))
def high_watermark_waits_for_a_frozen_voter(mixed: Mixed, follower: int) -> Claims:
    """While one of the last three of five voters is frozen, the leader's log grows and its high watermark does not."""
    led, slow = mixed.agreed_leader(), mixed.followers()[follower]
    with frozen_broker(mixed.bench, slow):
        found = [grow_past(mixed, led, mixed.bench.id_of(slow)) for _ in range(GROWS)]
    answers = [answer for answer in found if answer is not None]
    yield premise(len(answers) == GROWS, "a leader whose log grows while a voter is frozen")
    for answer in answers:
        yield held_if(majority_has(answer), answer)


GROWS = 5
"""The number of DescribeQuorum answers in one example."""

LIVES = 4.0
"""The shortest time in seconds for which a leader without a majority stays leader: the fetch timeout."""


def grow_past(mixed: Mixed, led: LeaderAndEpoch, slow: int) -> QuorumAnswer | None:
    """Return the leader's answer once its log is ahead of a slow voter's; None if that takes longer than `LIVES`."""
    found: list[QuorumAnswer] = []

    def has_grown() -> bool:
        found.append(mixed.describe(led))
        return own_end(slow, found[-1]) < own_end(led.leader_id, found[-1])

    grown = mixed.bench.wait.becomes_true(has_grown, "a log beyond that of a frozen voter", LIVES)
    return found[-1] if grown.outcome else None


@probe("KIP595-FETCH-13", rig=MIXED, cases=["observer-asks-others"], examples=2, smoke=False)
def observer_fetches_from_others_when_its_leader_is_frozen(mixed: Mixed) -> Claims:
    """A broker whose leader is frozen and has no successor fetches from other voters."""
    led = mixed.bench.eventually(lambda: followed_by_observer(mixed), "the broker following the leader")
    with frozen_broker(mixed.bench, mixed.bench.name_of(led.leader_id)) as since:
        asked = mixed.fetch_of_observer(since, LATE)
    came = mixed.bench.wait.end_of_wait(asked is not None, LATE)
    yield held_if(came, detail=f"its {say(led)} was frozen at {since:.1f} s, and the others were asked {say(asked)}")
