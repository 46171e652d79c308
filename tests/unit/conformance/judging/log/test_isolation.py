"""GEN-20: bad histories of a broker that lost a log directory, each next to a legal one that comes close."""

from __future__ import annotations

from conformance.judging.log.isolation import other_log_directories_stay_online as LAW
from history.effects import Effects
from protocol.codes import Error
from tests.support.histories import LogHistory, stamped
from tests.support.judging import broken, held, judged_by

FAILED = Effects(process="restarts-when-healed", abrupt=True, fails_writes=True)
REFUSED = Error.KAFKA_STORAGE_ERROR


def failed(**how: bool) -> LogHistory:
    """One of the directories of 1, which leads, has failed."""
    return (
        LogHistory()
        .settled(1, 0)
        .hit("failed-directory", 1, effects=FAILED, partition="other-0")
        .beside_failed(1, **how)
    )


def test_a_replica_in_another_directory_is_refused() -> None:
    assert broken(LAW, failed().produce(1, "a", error=REFUSED)) == ["offline-directory"]
    assert broken(LAW, failed().refused(1, 0, REFUSED)) == ["offline-directory"]


def test_a_replica_in_another_directory_is_written_to_and_read() -> None:
    history = failed().produce(1, "a", at=0).fetch(1, stamped(0, 0, "a"), epoch=0, hw=1)
    assert held(LAW, history) == ["offline-directory"] * 2


def test_a_replica_in_the_failed_directory_is_refused() -> None:
    assert judged_by(LAW, failed(here=True).produce(1, "a", error=REFUSED)) == []


def test_it_is_not_known_where_the_replica_is() -> None:
    history = LogHistory().settled(1, 0).hit("failed-directory", 1, effects=FAILED)
    assert judged_by(LAW, history.produce(1, "a", error=REFUSED).beside_failed(1)) == []
    assert judged_by(LAW, failed().produce(2, "a", error=REFUSED)) == []


def test_no_directory_has_failed() -> None:
    assert judged_by(LAW, failed(failed=False).produce(1, "a", error=REFUSED)) == []


def test_the_other_directory_fails_too_or_the_broker_is_restarted() -> None:
    again = failed().hit("failed-directory", 1, effects=FAILED, partition="topic-0")
    assert judged_by(LAW, again.produce(1, "a", error=REFUSED)) == []
    assert judged_by(LAW, failed().healing("failed-directory").produce(1, "a", error=REFUSED)) == []


def test_other_refusals_and_writes_without_an_answer_tell_nothing() -> None:
    history = failed().produce(1, "a", error=Error.NOT_LEADER_OR_FOLLOWER).produce(1, "b", acks=0, error=REFUSED)
    assert judged_by(LAW, history.produce(1, "c", lost=True)) == []
