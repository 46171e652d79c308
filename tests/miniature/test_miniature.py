"""The miniature itself: its answers match those of live brokers."""

from __future__ import annotations

import pytest

from conformance.core.bench import Bench
from conformance.rigs.log.partition import Partition, new_partition
from conformance.rigs.log.quiescence import at_rest, read_whole
from fixtures.faults.kinds.files import RemoveEpochCheckpoint
from fixtures.faults.kinds.process import Kill
from fixtures.faults.kinds.shapes import Isolate
from fixtures.faults.kinds.unclean import UncleanElection
from fixtures.faults.kinds.zombies import CutOffFromControllers, PausedZombie
from fixtures.wire import NodeClient
from protocol.codes import Error
from protocol.errors import KitError
from protocol.groups import NewOffset
from protocol.log import DEBUGGER, EARLIEST, LATEST, MAX_TIMESTAMP, EpochAndOffset, FetchOptions
from protocol.messages import Topic
from protocol.records import batch
from protocol.topics import ElectionType
from tests.miniature.bench import mini_bench
from tests.miniature.core.cluster import MiniCluster
from tests.miniature.log.bugs import BUGS

NOW = 1_790_000_000_000


def a_bench(*bugs: str) -> Bench:
    return mini_bench(MiniCluster(bugs))


def a_partition(bench: Bench, **configs: str) -> Partition:
    return new_partition(bench, (), **configs)


def values(node: NodeClient, partition: Partition) -> list[tuple[int, int, bytes | None]]:
    """Return offset, leader epoch and value of all records on the replica."""
    read = read_whole(partition, node, -1).batches
    return [(record.offset, one.leader_epoch, record.value) for one in read for record in one.records]


def ends(partition: Partition, epochs: range) -> list[tuple[int, int]]:
    state = partition.wait_until_whole()
    asked = [partition.leader().offset_for_leader_epoch(partition.name, 0, epoch) for epoch in epochs]
    assert {answer.error for answer in asked} == {Error.NONE}, state
    return [(answer.leader_epoch, answer.end_offset) for answer in asked]


@pytest.fixture
def bench() -> Bench:
    return a_bench()


@pytest.fixture
def partition(bench: Bench) -> Partition:
    return a_partition(bench, min_insync_replicas="2")


# --- writing and reading


def test_what_is_acknowledged_is_on_all_replicas_at_rest(bench: Bench, partition: Partition) -> None:
    partition.write(b"a", b"b")
    partition.write(b"c")
    assert at_rest(partition)
    for id in (1, 2, 3):
        assert values(bench.node(id), partition) == [(0, 0, b"a"), (1, 0, b"b"), (2, 0, b"c")]
    digests = {
        tuple(one.digest for one in held.batches) for held in bench.replicas({str(partition): bench.brokers}).replicas
    }
    assert len(digests) == 1
    assert bench.read_file("broker-1", f"{partition.name}-0/leader-epoch-checkpoint").text == "0\n1\n0 0\n"


def test_the_leader_stamps_whatever_the_producer_wrote(bench: Bench, partition: Partition) -> None:
    partition.append(batch(b"a", leader_epoch=999))
    [read] = read_whole(partition, partition.leader(), -1).batches
    assert (read.leader_epoch, read.crc_valid) == (0, True)


def test_a_high_watermark_lags_behind_the_log_end_on_followers(bench: Bench, partition: Partition) -> None:
    leader = partition.leader()
    leader.produce(partition.topic, 0, batch(b"a"), acks=1)
    seen = [leader.fetch(partition.fetch_from(0)).high_watermark for _ in range(8)]
    assert seen[0] == 0
    assert seen[-1] == 1
    followers = [bench.node(id).fetch(partition.fetch_from(0)).high_watermark for id in (2, 3)]
    assert followers == [0, 0], "they hear of it with the next record, or when their fetch has waited for long"
    assert leader.list_offsets(partition.name, 0, LATEST, replica_id=DEBUGGER).offset == 1


def test_acks_all_is_refused_while_too_few_are_in_sync(bench: Bench, partition: Partition) -> None:
    faults = bench.faults(partition.topic)
    first, second = Kill(role="follower"), Kill(role="follower")
    faults.inject(first)
    partition.await_agreement(["broker-1", "broker-3"])
    faults.inject(second)
    assert bench.node(1).produce(partition.topic, 0, batch(b"a")).error is Error.NOT_ENOUGH_REPLICAS
    assert bench.node(1).produce(partition.topic, 0, batch(b"a"), acks=1).error is Error.NONE
    assert bench.node(1).fetch(partition.fetch_from(0)).high_watermark == 0
    faults.heal_all()
    assert at_rest(partition)


def test_a_write_without_acks_is_there_all_the_same(bench: Bench, partition: Partition) -> None:
    assert partition.leader().produce(partition.topic, 0, batch(b"a"), acks=0).base_offset == -1
    assert at_rest(partition)
    assert values(bench.node(3), partition) == [(0, 0, b"a")]


def test_who_does_not_lead_or_host_says_so(bench: Bench) -> None:
    partition = new_partition(bench, (1, 2))
    assert bench.node(2).produce(partition.topic, 0, batch(b"a")).error is Error.NOT_LEADER_OR_FOLLOWER
    assert bench.node(3).fetch(partition.fetch_from(0)).error is Error.NOT_LEADER_OR_FOLLOWER
    assert bench.node(3).list_offsets("nothing", 0).error is Error.UNKNOWN_TOPIC_OR_PARTITION
    assert bench.node(2).list_offsets(partition.name, 0).error is Error.NOT_LEADER_OR_FOLLOWER
    assert bench.node(2).list_offsets(partition.name, 0, replica_id=DEBUGGER).error is Error.NONE


def test_offsets_are_listed_with_the_epoch_of_what_they_name(bench: Bench, partition: Partition) -> None:
    partition.append(batch(b"a", timestamp=NOW))
    partition.move_leader()
    partition.append(batch(b"b", timestamp=NOW + 10))
    partition.move_leader()
    leader = partition.leader()
    asked = (EARLIEST, LATEST, MAX_TIMESTAMP, NOW + 5, NOW + 50)
    answers_so_far = [leader.list_offsets(partition.name, 0, timestamp) for timestamp in asked]
    assert [(one.offset, one.leader_epoch) for one in answers_so_far] == [(0, 0), (2, 2), (1, 1), (1, 1), (-1, -1)]


# --- epochs


def test_another_epoch_is_refused_first_of_all(bench: Bench, partition: Partition) -> None:
    partition.move_leader()
    state = partition.wait_until_whole()
    follower = next(id for id in state.replicas if id != state.leader)
    errors = {0: Error.FENCED_LEADER_EPOCH, 2: Error.UNKNOWN_LEADER_EPOCH}
    for cur, error in errors.items():
        for id in (state.leader, follower):
            node = bench.node(id)
            fetched = node.fetch(partition.fetch_from(0, current_leader_epoch=cur))
            assert (fetched.error, fetched.high_watermark) == (error, -1)
            assert node.list_offsets(partition.name, 0, current_leader_epoch=cur).error is error
            assert node.offset_for_leader_epoch(partition.name, 0, 0, current_leader_epoch=cur).error is error
    assert bench.node(follower).offset_for_leader_epoch(partition.name, 0, 0).error is Error.NOT_LEADER_OR_FOLLOWER
    assert bench.node(follower).fetch(partition.fetch_from(0, current_leader_epoch=1)).error is Error.NONE


def test_the_ends_of_epochs_are_those_of_the_catalogue(bench: Bench, partition: Partition) -> None:
    partition.write(b"a", b"b")
    partition.move_leader()
    partition.write(b"c")
    partition.move_leader()
    assert ends(partition, range(-2, 5)) == [(-2, 0), (-1, -1), (0, 2), (1, 3), (2, 3), (-1, -1), (-1, -1)]


def test_an_epoch_between_two_entries_is_answered_with_its_floor(bench: Bench, partition: Partition) -> None:
    partition.write(b"a")
    partition.move_leader(2)
    partition.move_leader(1)
    partition.write(b"b")
    assert ends(partition, range(3)) == [(0, 1), (0, 1), (2, 2)]


def test_positions_in_an_ended_epoch_diverge_and_those_out_of_range_do_not(bench: Bench, partition: Partition) -> None:
    partition.write(b"a", b"b")
    partition.move_leader()
    partition.write(b"c")
    leader = partition.leader()
    answers_so_far = {
        at: leader.fetch(partition.fetch_from(at, last_fetched_epoch=last)) for at, last in ((2, 0), (3, 0), (4, 1))
    }
    assert answers_so_far[2].diverging_epoch is None
    assert [record.value for one in answers_so_far[2].batches for record in one.records] == [b"c"]
    assert answers_so_far[3].diverging_epoch == EpochAndOffset(0, 2)
    assert answers_so_far[4].diverging_epoch == EpochAndOffset(1, 3)
    assert leader.fetch(partition.fetch_from(4)).error is Error.OFFSET_OUT_OF_RANGE
    assert leader.fetch(partition.fetch_from(1, last_fetched_epoch=7)).error is Error.OFFSET_OUT_OF_RANGE


def test_a_trimmed_history_gives_consistent_answers(bench: Bench, partition: Partition) -> None:
    partition.write(b"a", b"b")
    partition.move_leader()
    partition.write(b"c", b"d")
    leader = partition.leader()
    assert leader.delete_records(partition.name, 0, 3).low_watermark == 3
    assert (leader.list_offsets(partition.name, 0, EARLIEST).offset) == 3
    assert ends(partition, range(3)) == [(0, 3), (1, 4), (-1, -1)]
    assert leader.fetch(partition.fetch_from(2, last_fetched_epoch=0)).error is Error.OFFSET_OUT_OF_RANGE
    assert leader.fetch(partition.fetch_from(4, last_fetched_epoch=0)).diverging_epoch == EpochAndOffset(0, 3)
    assert leader.delete_records(partition.name, 0, 9).error is Error.OFFSET_OUT_OF_RANGE
    assert leader.delete_records(partition.name, 0, -1).low_watermark == 4
    assert at_rest(partition)
    assert bench.read_file("broker-3", f"{partition.name}-0/leader-epoch-checkpoint").text == "0\n1\n1 4\n"


def test_a_follower_is_impersonated(bench: Bench, partition: Partition) -> None:
    """Catalogue, tool T6: a fetch in a follower's name counts, unless it is refused or diverges."""
    partition.write(b"a")
    bench.processes.pause("broker-2")
    bench.processes.pause("broker-3")
    leader = bench.node(1)
    leader.produce(partition.topic, 0, batch(b"b"), acks=1)
    for id in (2, 3):
        leader.fetch(partition.fetch_from(2, current_leader_epoch=5), FetchOptions(replica_id=id))
    assert leader.fetch(partition.fetch_from(0)).high_watermark == 1
    for id in (2, 3):
        leader.fetch(partition.fetch_from(2, current_leader_epoch=0), FetchOptions(replica_id=id))
    assert leader.fetch(partition.fetch_from(0)).high_watermark == 2
    assert leader.fetch(partition.fetch_from(2), FetchOptions(replica_id=77)).error is Error.NOT_LEADER_OR_FOLLOWER
    bench.heal_all()


# --- truncation


def test_a_stale_leader_commits_nothing_and_its_tail_is_cut(bench: Bench, partition: Partition) -> None:
    """SC-05."""
    partition.write(b"a")
    faults = bench.faults(partition.topic)
    cut = CutOffFromControllers(role="leader")
    faults.inject(cut)
    old, new = bench.node(1), partition.await_agreement(["broker-2", "broker-3"])
    assert old.offset_for_leader_epoch(partition.name, 0, 0, current_leader_epoch=0).error is Error.NONE
    assert old.fetch(partition.fetch_from(0, current_leader_epoch=1)).error is Error.UNKNOWN_LEADER_EPOCH
    assert old.produce(partition.topic, 0, batch(b"doomed"), acks=1).error is Error.NONE
    assert old.produce(partition.topic, 0, batch(b"too"), acks=-1).error is Error.REQUEST_TIMED_OUT
    assert old.fetch(partition.fetch_from(0)).high_watermark == 1
    bench.node(new.leader).produce(partition.topic, 0, batch(b"kept"), acks=-1)
    assert values(old, partition) == [(0, 0, b"a"), (1, 0, b"doomed"), (2, 0, b"too")]
    faults.heal(cut)
    assert at_rest(partition)
    for id in (1, 2, 3):
        assert values(bench.node(id), partition) == [(0, 0, b"a"), (1, 1, b"kept")]


def test_an_unclean_election_loses_what_was_acknowledged(bench: Bench) -> None:
    """SC-03."""
    partition = a_partition(bench, min_insync_replicas="1")
    partition.write(b"a")
    faults = bench.faults(partition.topic)
    unclean = UncleanElection(own_topic=False, records=4, by="kill")
    injected = faults.inject(unclean)
    assert injected.witness["last ISR"] == [1]
    leader = bench.node(injected.witness["leader"][1])
    assert leader.fetch(partition.fetch_from(6)).error is Error.OFFSET_OUT_OF_RANGE
    assert leader.fetch(partition.fetch_from(6, last_fetched_epoch=0)).diverging_epoch == EpochAndOffset(0, 2)
    faults.heal(unclean)
    assert at_rest(partition)
    assert [offset for offset, _, _ in values(bench.node(1), partition)] == [0, 1]


def test_a_replica_without_a_map_falls_back_to_its_watermark(bench: Bench, partition: Partition) -> None:
    partition.write(b"a", b"b")
    with bench.faults(partition.topic).standing_fault(RemoveEpochCheckpoint(role="follower", clean=True)):
        pass
    assert at_rest(partition)


def test_alternating_tails_converge(bench: Bench) -> None:
    """SC-06: each leader in turn takes records that no other replica gets."""
    partition = a_partition(bench, min_insync_replicas="1")
    partition.write(b"a")
    for number in range(4):
        state = partition.wait_until_whole()
        leader = bench.node(state.leader)
        with bench.faults(partition.topic).standing_fault(Isolate(role="leader")):
            for tail in range(number):
                leader.produce(partition.topic, 0, batch(b"tail %d" % tail), acks=1)
            others = [bench.name_of(id) for id in state.replicas if id != state.leader]
            after = partition.await_agreement(others)
            bench.node(after.leader).produce(partition.topic, 0, batch(b"kept %d" % number))
    assert at_rest(partition)
    assert [value for _, _, value in values(bench.node(3), partition)] == [b"a", *(b"kept %d" % n for n in range(4))]


def test_a_follower_left_behind_a_trim_begins_at_the_leaders_start(bench: Bench, partition: Partition) -> None:
    """SC-07."""
    partition.write(b"a", b"b")
    kill = Kill(role="follower", pick=1)
    faults = bench.faults(partition.topic)
    faults.inject(kill)
    leader = bench.node(1)
    leader.produce(partition.topic, 0, batch(b"c", b"d"))
    assert leader.delete_records(partition.name, 0, -1).low_watermark == 4
    faults.heal(kill)
    assert at_rest(partition)
    assert bench.node(3).list_offsets(partition.name, 0, EARLIEST, replica_id=DEBUGGER).offset == 4


# --- elections


def test_elections_that_are_not_to_be_had(bench: Bench, partition: Partition) -> None:
    def elected(kind: ElectionType) -> Error:
        return bench.node(1).elect_leaders([(partition.name, 0)], kind).partitions[0].error

    assert elected(ElectionType.PREFERRED) is Error.ELECTION_NOT_NEEDED
    assert elected(ElectionType.UNCLEAN) is Error.ELECTION_NOT_NEEDED
    with bench.faults(partition.topic).standing_fault(Kill(role="leader")):
        partition.await_agreement(["broker-2", "broker-3"])
        found = bench.node(2).elect_leaders([(partition.name, 0)], ElectionType.PREFERRED).partitions[0].error
    assert found is Error.PREFERRED_LEADER_NOT_AVAILABLE


def test_a_leaderless_partition_raises_the_epoch_twice(bench: Bench) -> None:
    partition = new_partition(bench, (1,))
    with bench.processes.down("broker-1"):
        bench.eventually(lambda: partition.state_by("broker-2").leader == -1, "no leader")
        assert partition.state_by("broker-2").leader_epoch == 1
    assert partition.await_agreement().leader_epoch == 2


# --- groups


def test_committed_offsets_come_back_with_their_epoch(bench: Bench, partition: Partition) -> None:
    coordinator = bench.node(bench.node(1).find_coordinator("group").node_id)
    committed = coordinator.offset_commit("group", [NewOffset(partition.topic, 0, 7, 3)])
    assert committed.all_answered(Error.NONE)
    found = coordinator.offset_fetch("group", [(partition.topic, 0)]).only_partition
    assert (found.offset, found.leader_epoch) == (7, 3)
    assert coordinator.offset_fetch("other", [(Topic(partition.name), 0)]).only_partition.offset == -1


# --- the clock


def test_the_same_questions_get_the_same_answers() -> None:
    def answers_so_far() -> list[object]:
        bench = a_bench()
        partition = a_partition(bench, min_insync_replicas="2")
        partition.append(batch(b"a", timestamp=NOW))
        with bench.faults(partition.topic).standing_fault(PausedZombie(role="leader")):
            pass
        at_rest(partition)
        return [getattr(event, "value", None) for event in bench.tape.history.events]

    assert answers_so_far() == answers_so_far()


def test_a_wait_that_is_not_met_is_overdue_by_the_logical_clock(bench: Bench) -> None:
    began = bench.now().seconds
    with pytest.raises(KitError, match="never"):
        bench.eventually(lambda: None, "never")
    assert bench.wait.becomes_true(lambda: False, "neither", 5.0).outcome is False
    assert bench.now().seconds - began == pytest.approx(35.0)


# --- bugs


@pytest.mark.parametrize("name", list(BUGS))
def test_a_bug_does_not_keep_the_miniature_from_working(name: str) -> None:
    """Each is a switch that changes what is answered now and then, not a cluster that falls over."""
    bench = a_bench(name)
    partition = a_partition(bench, min_insync_replicas="1")
    partition.leader().produce(partition.topic, 0, batch(b"a"))
    at_rest(partition)
