"""The log of a replica when it answered, by the full reads around the answer."""

from __future__ import annotations

import pytest

from conformance.judging.log.responding_replica import ReplicaLog, ReplicaLogs
from protocol.codes import Error
from protocol.records import Batch
from tests.support.histories import LogHistory, stamped
from tests.support.judging import partition_story

A, B, C = stamped(0, 0, "a"), stamped(1, 1, "b"), stamped(1, 2, "c")
OTHER = stamped(0, 1, "other")


def at_refusal(history: LogHistory) -> ReplicaLog | None:
    """The log of the replica that refused the last request."""
    story = partition_story(history)
    return story.derive(ReplicaLogs).log_of_responder(story.errors[-1])


def held(log: ReplicaLog | None) -> list[int] | None:
    """The base offsets that are known."""
    return None if log is None else [batch.base for batch in log.held]


def led() -> LogHistory:
    """Broker 1 led epoch 0, and leads epoch 1."""
    return LogHistory().settled(1, 0).settled(1, 1)


def refused(history: LogHistory, broker: int = 1) -> LogHistory:
    return history.refused(broker, 1, Error.OFFSET_OUT_OF_RANGE)


class TestALeader:
    """It only appends while its epoch lasts."""

    def test_it_still_had_what_was_read_before(self) -> None:
        found = at_refusal(refused(led().whole(1, A, B, epoch=1, hw=2)))
        assert found is not None
        assert (held(found), found.end, found.low, found.start, found.appended) == ([0, 1], -1, 0, -1, -1)
        assert found.known_from == 0

    def test_it_had_what_is_read_after_but_for_what_it_may_have_appended_since(self) -> None:
        found = at_refusal(refused(led()).whole(1, A, B, C, epoch=1, hw=3))
        assert found is not None
        assert (held(found), found.end, found.low, found.start, found.appended) == ([0, 1, 2], 3, -1, 0, 1)
        assert found.batch_at(0) is not None
        assert found.batch_at(1) is None

    def test_its_log_ended_no_later_than_it_does_afterwards(self) -> None:
        found = at_refusal(refused(led().whole(1, A, epoch=1, hw=1)).whole(1, A, B, epoch=1, hw=2, start=0))
        assert found is not None
        assert (held(found), found.end, found.appended) == ([0], 2, -1)

    @pytest.mark.parametrize(
        "history",
        [
            refused(led()),
            refused(led().whole(1, A, epoch=1, hw=1).restart(1)),
            refused(led().whole(2, A, epoch=1, hw=1)),
            refused(led().whole(1, A, epoch=0, hw=1)),
            refused(led().whole(1, A, epoch=-1, hw=1)),
            refused(led().fetch(1, A, epoch=1, hw=1)),
        ],
        ids=["no read", "restarted", "another broker", "another epoch", "no epoch", "not a full read"],
    )
    def test_nothing_is_known_without_a_full_read_of_its_life(self, history: LogHistory) -> None:
        assert at_refusal(history) is None


class TestAFollower:
    """It may have truncated and appended in between, so both reads are needed."""

    @pytest.mark.parametrize(
        ("before", "after", "expected"),
        [
            ((A,), (A,), [0]),
            ((A,), (A, B), [0]),
            ((A, B), (A,), None),
            ((A, OTHER), (A, B), None),
            ((), (A,), []),
        ],
        ids=["same", "longer", "shorter", "other", "nothing before"],
    )
    def test_one_read_has_to_be_a_beginning_of_the_other(
        self, before: tuple[Batch, ...], after: tuple[Batch, ...], expected: list[int] | None
    ) -> None:
        history = led().whole(2, *before, epoch=1, hw=1)
        assert held(at_refusal(refused(history, 2).whole(2, *after, epoch=1, hw=1))) == expected

    def test_one_read_alone_shows_nothing(self) -> None:
        assert at_refusal(refused(led().whole(2, A, epoch=1, hw=1), 2)) is None
        assert at_refusal(refused(led(), 2).whole(2, A, epoch=1, hw=1)) is None

    def test_what_was_deleted_below_the_later_log_start_need_not_be_there(self) -> None:
        found = at_refusal(
            refused(led().whole(2, A, B, epoch=1, hw=2), 2).whole(2, B, C, epoch=1, hw=3, start=1),
        )
        assert found is not None
        assert (held(found), found.end, found.low, found.start) == ([0, 1], 3, 0, 1)

    def test_a_log_start_that_falls_is_no_extension(self) -> None:
        history = refused(led().whole(2, B, epoch=1, hw=2, start=1), 2).whole(2, B, epoch=1, hw=2, start=0)
        assert at_refusal(history) is None


class TestWhatIsCertain:
    """Look-ups in a log of epochs 0, 0, 1, 1."""

    def log(self, appended: int = -1) -> ReplicaLog:
        batches = (stamped(0, 0, "a", "b"), stamped(0, 2, "c"), stamped(1, 4, "d"), stamped(1, 5, "e"))
        story = partition_story(LogHistory().settled(1, 1).whole(1, *batches, epoch=1, hw=6))
        return ReplicaLog(story.full_reads[0].batches, 6, -1, 0, appended)

    @pytest.mark.parametrize(
        ("offset", "at", "from_offset"), [(0, 0, 0), (1, 0, 0), (2, 2, 2), (3, None, 4), (5, 5, 5), (6, None, None)]
    )
    def test_an_offset_is_in_a_batch_or_in_a_gap_before_one(
        self, offset: int, at: int | None, from_offset: int | None
    ) -> None:
        log = self.log()
        found, first = log.batch_at(offset), log.from_offset(offset)
        assert (None if found is None else found.base) == at
        assert (None if first is None else first.base) == from_offset

    @pytest.mark.parametrize(
        ("epoch", "appended", "after", "last"),
        [
            (-1, -1, 0, None),
            (0, -1, 4, 2),
            (1, -1, None, 5),
            (0, 1, None, 2),
            (1, 1, None, None),
            (2, -1, None, None),
        ],
    )
    def test_an_epoch_ends_with_its_last_batch_and_another_begins(
        self, epoch: int, appended: int, after: int | None, last: int | None
    ) -> None:
        log = self.log(appended)
        following, final = log.first_after_epoch(epoch), log.last_of_epoch(epoch)
        assert (None if following is None else following.base) == after
        assert (None if final is None else final.base) == last

    def test_it_begins_at_the_later_log_start_where_the_earlier_is_unknown(self) -> None:
        assert self.log().known_from == 0
        assert ReplicaLog((), 0, 3, 5, -1).known_from == 3
        assert ReplicaLog((), 0, -1, 5, -1).known_from == 5
