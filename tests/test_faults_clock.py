"""The moved clock: what the file says, how an image is seen to follow, and that the witness reads the broker's own time."""

import pytest

from fixtures.cluster import KRaftCluster
from fixtures.faults.clock import ClockShift
from fixtures.faults.injector import Injector, Unwitnessed
from fixtures.faults.lab import LAB
from fixtures.faults.scene import Scene
from fixtures.images import clock, obtain
from fixtures.runs import Run
from tests.fake_scene import scene_of


@pytest.mark.parametrize(("seconds", "text"), [(3600, b"+3600\n"), (-5, b"-5\n"), (0, b"+0\n")])
def test_the_file_holds_seconds_with_a_sign(seconds: int, text: bytes) -> None:
    assert clock.shift(seconds) == text


@pytest.mark.parametrize(
    ("said", "followed"),
    [
        pytest.param("[2083-01-09T17:53:07.855+0000] Using Serial\nopenjdk version", True, id="far in the future"),
        pytest.param("[2020-11-21T17:53:07.855+0000] Using Serial", False, id="the true date"),
        pytest.param("ERROR: ld.so: object cannot be preloaded: ignored.\nopenjdk version", False, id="not loaded"),
        pytest.param("", False, id="no java"),
    ],
)
def test_an_image_follows_when_its_java_tells_the_moved_date(said: str, followed: bool) -> None:
    assert clock.followed(said) is followed


def test_a_shift_that_cannot_be_measured_is_not_available() -> None:
    assert "cannot be told" in ClockShift(seconds=-3).available(scene_of({})).reason


@pytest.mark.docker
def test_a_file_that_does_not_change_is_noticed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """All is done but for the shift itself: the library is loaded, the file says nothing."""
    with KRaftCluster(LAB, obtain("4.3.1"), run).boot() as cluster, Scene.on(cluster) as scene:
        assert ClockShift(role="broker").available(scene)
        monkeypatch.setattr(clock, "shift", lambda seconds: b"+0\n")
        monkeypatch.setattr(ClockShift, "witness_within", 4.0)
        with pytest.raises(Unwitnessed):
            Injector(scene).inject(ClockShift(role="broker"))
