"""Log faults without a cluster: what their witnesses make of offsets, and which clusters they are for."""

import pytest

from fixtures.faults.logs import Compaction, RetentionByTime
from fixtures.faults.replicas import moved
from tests.fake_scene import scene_of

OFTEN = {"log.initial.task.delay.ms": "500", "log.retention.check.interval.ms": "500", "log.cleaner.backoff.ms": "500"}


def test_a_log_start_moved_when_all_that_tell_have_a_higher_one() -> None:
    assert moved({"a": 3, "b": 3}, {"a": 5, "b": 4}) == {"a": [3, 5], "b": [3, 4]}


@pytest.mark.parametrize(
    "now",
    [
        pytest.param({"a": 5, "b": 3}, id="one replica is where it was"),
        pytest.param({"a": 5, "b": 2}, id="one replica fell back"),
        pytest.param({}, id="nobody is in sync"),
        pytest.param(None, id="one does not answer"),
    ],
)
def test_else_it_did_not(now: dict[str, int] | None) -> None:
    assert moved({"a": 3, "b": 3}, now) is None


def test_a_replica_that_was_behind_does_not_count_for_having_caught_up() -> None:
    """The log start of one may lag; it has to pass the highest of before."""
    assert moved({"a": 3, "b": 0}, {"a": 3, "b": 3}) is None


def test_brokers_that_look_for_work_often_enough_can_have_them() -> None:
    scene = scene_of(OFTEN)
    assert RetentionByTime().available(scene)
    assert Compaction(role="all brokers").available(scene)


@pytest.mark.parametrize("setting", ["log.initial.task.delay.ms", "log.retention.check.interval.ms"])
def test_others_are_told_which_setting_is_too_long(setting: str) -> None:
    scene = scene_of({key: value for key, value in OFTEN.items() if key != setting})
    assert setting in RetentionByTime().available(scene).reason
