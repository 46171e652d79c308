"""Bounds of the log start offset: by requests, by settings of the topic, by faults."""

from __future__ import annotations

from math import inf
from uuid import UUID

import msgspec
import pytest

from conformance.judging.excuses import DELETED_BY_SETTING, MOVED_BY_FAULT, WRITTEN_BEFORE, Evidence
from conformance.judging.log.log_start_moves import log_start_moves_for_a_reason
from conformance.judging.log.log_starts import LogStarts
from conformance.judging.log.settings import SETTLED_AFTER
from conformance.judging.timeline import NEVER
from history.effects import Effects
from protocol.codes import Error
from tests.support.histories import LogHistory
from tests.support.judging import broken, excused, partition_story


def starts(history: LogHistory) -> LogStarts:
    return partition_story(history).derive(LogStarts)


def begun(**configs: str) -> LogHistory:
    return LogHistory().created(**configs).settled(1, 0)


def begun_where_all_go(**configs: str) -> LogHistory:
    return LogHistory().started_with(log_retention_ms="1").created(**configs).settled(1, 0)


@pytest.mark.parametrize(
    ("offset", "low", "error", "bound"),
    [
        (3, 3, Error.NONE, 3),
        (-1, 5, Error.NONE, 5),
        (-1, -1, Error.REQUEST_TIMED_OUT, inf),
        (3, -1, Error.REQUEST_TIMED_OUT, 3),
        (3, -1, Error.OFFSET_OUT_OF_RANGE, 0),
    ],
)
def test_a_log_starts_where_requests_may_have_moved_it(offset: int, low: int, error: Error, bound: float) -> None:
    history = begun()
    before = len(history.events)
    found = starts(history.trim(1, offset, low, error=error))
    assert found.highest_explained(before) == 0
    assert found.highest_explained(len(history.events)) == bound


def test_a_log_starts_anywhere_once_a_fault_may_have_moved_it() -> None:
    history = begun()
    before = len(history.events)
    found = starts(history.hit("retain", 1, effects=Effects(moves_log_start=True)))
    assert (found.highest_explained(before), found.highest_explained(len(history.events)), found.highest) == (
        0,
        inf,
        inf,
    )
    assert found.excuse(len(history.events)) == MOVED_BY_FAULT


DELETING = {
    "created with it": lambda: begun(retention_ms="1000"),
    "altered to it": lambda: begun().altered("retention.bytes", "100"),
    "an unknown outcome": lambda: begun().altered("retention.ms", "1", lost=True),
    "the default of all topics": lambda: begun().altered("log.retention.ms", "1", of=""),
    "taken back: what is deleted stays so": lambda: begun(retention_ms="1").altered("retention.ms", None),
    "one of the policies": lambda: begun(cleanup_policy="compact,delete", retention_ms="1"),
    "before another policy": lambda: begun(retention_ms="1").altered("cleanup.policy", "compact"),
    "the cluster's until the topic has its own": lambda: begun_where_all_go().altered("retention.ms", "604800000"),
}
KEEPING = {
    "refused": lambda: begun().altered("retention.ms", "1", error=Error.INVALID_CONFIG),
    "forever": lambda: begun(retention_ms="-1", retention_bytes="-1"),
    "of tombstones": lambda: begun(delete_retention_ms="1"),
    "the setting is deleted": lambda: begun().altered("retention.ms", None),
    "of another topic": lambda: begun().altered("retention.ms", "1", of="other"),
    "longer than any history": lambda: begun(retention_ms="604800000"),
    "of the cluster, but the topic was created with its own": lambda: begun_where_all_go(retention_ms="-1"),
    "of the cluster later, but the topic has its own": lambda: begun(retention_ms="604800000").altered(
        "log.retention.ms", "1", of=""
    ),
    "the topic is only compacted": lambda: begun(cleanup_policy="compact", retention_ms="1"),
    "all topics are only compacted": lambda: (
        LogHistory().started_with(log_cleanup_policy="compact").created(retention_bytes="1")
    ),
    "after the policy was changed": lambda: begun().altered("cleanup.policy", "compact").altered("retention.ms", "1"),
    "of the former topic": lambda: (
        LogHistory().created_as(UUID(int=1), {"retention.ms": "1"}).deleted().created_as(UUID(int=2))
    ),
}


@pytest.mark.parametrize("name", DELETING)
def test_a_log_starts_anywhere_by_a_setting_of_its_topic(name: str) -> None:
    history = DELETING[name]().settled(1, 0)
    found, end = starts(history), len(history.events)
    assert found.highest_explained(end) == inf
    assert found.excuse(end) == DELETED_BY_SETTING


@pytest.mark.parametrize("name", KEEPING)
def test_a_setting_that_deletes_nothing_of_this_log(name: str) -> None:
    history = KEEPING[name]().settled(1, 0)
    assert starts(history).highest_explained(len(history.events)) == 0


def test_a_setting_explains_nothing_before_its_request() -> None:
    history = begun().settled(1, 0)
    asked = len(history.events)
    found = starts(history.altered("retention.ms", "1"))
    assert (found.highest_explained(asked), found.highest_explained(asked + 1)) == (0, inf)


def written_after(history: LogHistory, seconds: float = SETTLED_AFTER + 1) -> LogHistory:
    """Retention is taken back, and a record is written some seconds later."""
    return history.altered("retention.ms", None).later(seconds).produce(1, "c", at=7)


UNBOUNDED = {
    "not for long": lambda: written_after(begun(retention_ms="1"), SETTLED_AFTER - 2),
    "set again": lambda: written_after(begun(retention_ms="1")).altered("retention.ms", "1"),
    "by the other setting": lambda: written_after(begun(retention_ms="1", retention_bytes="1")),
    "unacknowledged": lambda: written_after(
        begun().altered("retention.ms", "1", lost=True).altered("retention.ms", "2")
    ),
    "a fault stood": lambda: written_after(begun(retention_ms="1").hit("cut", 2)),
    "an unclean election": lambda: written_after(begun(retention_ms="1", unclean_leader_election_enable="true")),
}


def test_retention_that_was_taken_back_leaves_what_is_written_later() -> None:
    history = written_after(begun(retention_ms="1"))
    wrote = len(history.events)
    found = starts(history.trim(1, 3))
    assert (found.highest_explained(wrote - 1), found.highest_explained(wrote), found.highest_explained(NEVER)) == (
        inf,
        7,
        7,
    )
    assert starts(history.trim(1, 9)).highest_explained(NEVER) == 9
    seen = starts(written_after(begun(retention_ms="1").whole(1, epoch=0, hw=8, start=8)))
    assert seen.highest_explained(NEVER) == 8


@pytest.mark.parametrize("name", UNBOUNDED)
def test_retention_that_may_still_delete(name: str) -> None:
    assert starts(UNBOUNDED[name]()).highest_explained(NEVER) == inf


def test_a_topic_from_before_the_history_may_start_anywhere() -> None:
    history = LogHistory().settled(1, 0)
    history.example = msgspec.structs.replace(history.example, context={"topic": "topic"})
    found = starts(history)
    assert found.highest_explained(0) == inf
    assert found.excuse(0) == WRITTEN_BEFORE


def on_a_shared_rig(**bounds: int) -> LogHistory:
    """A history of a topic whose partition 0 earlier examples trimmed, if they tell how far."""
    history = LogHistory()
    log_starts = {f"topic-{index[1:]}": bound for index, bound in bounds.items()}
    history.example = msgspec.structs.replace(history.example, context={"topic": "topic"}, log_starts=log_starts)
    return history.settled(1, 0)


def test_a_log_starts_where_earlier_examples_asked_for_it() -> None:
    found = starts(on_a_shared_rig(_0=3))
    assert (found.highest_explained(0), found.highest, found.may_fall(0)) == (3, 3, True)
    untrimmed = starts(on_a_shared_rig(_0=0))
    assert (untrimmed.highest_explained(NEVER), untrimmed.may_fall(NEVER)) == (0, False)
    higher = on_a_shared_rig(_0=3).trim(1, 2).trim(1, 5)
    assert [starts(higher).highest_explained(event) for event in (len(higher.events) - 2, NEVER)] == [3, 5]


def test_a_log_start_that_no_request_of_an_earlier_example_explains() -> None:
    def judged(history: LogHistory, start: int) -> tuple[list[str], list[tuple[str, Evidence]]]:
        history.whole(1, epoch=0, hw=7, start=start)
        return broken(log_start_moves_for_a_reason, history), excused(log_start_moves_for_a_reason, history)

    assert judged(on_a_shared_rig(_0=3), 3) == ([], [])
    assert judged(on_a_shared_rig(_0=3), 4) == (["trim"], [])
    assert judged(on_a_shared_rig(_1=3), 3) == ([], [("trim", WRITTEN_BEFORE)])


def test_retention_counts_for_all_partitions_of_the_topic_from_its_fault_on() -> None:
    history = begun()
    before = len(history.events)
    history.hit("retain", 1, effects=Effects(retention="by-size"), partition="topic-7")
    history.hit("retain", 1, effects=Effects(retention="by-time"), partition="other-0")
    found = starts(history)
    assert found.retentions_before(before) == []
    assert found.retentions_before(len(history.events)) == ["retention-by-size"]
    assert found.highest_explained(len(history.events)) == inf


def test_the_highest_log_start_is_the_highest_that_was_asked_for_or_read() -> None:
    assert starts(begun().trim(1, 4).whole(1, epoch=0, hw=5, start=2)).highest == 4
    assert starts(begun().trim(1, 1).whole(1, epoch=0, hw=5, start=2)).highest == 2
    assert starts(begun().trim(1, -1, 3)).highest == inf


def test_a_log_start_may_fall_once_it_was_moved_into_a_segment() -> None:
    inside = Effects(start_inside_segment=True)
    assert not starts(begun()).may_fall(NEVER)
    for history in (begun().trim(1, 1), begun().hit("trim", 1, effects=inside)):
        assert [starts(history).may_fall(event) for event in (1, NEVER)] == [False, True]
    for history in (
        begun().trim(1, 1, error=Error.OFFSET_OUT_OF_RANGE),
        begun().hit("trim", 1, effects=inside, partition="other-0"),
    ):
        assert not starts(history).may_fall(NEVER)
