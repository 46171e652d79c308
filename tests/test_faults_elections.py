"""Elections and clients that were replaced, without a cluster: Java's hash, versions, and which clusters they are for."""

from pathlib import Path

import pytest

from fixtures.faults.elections import partition_for, release
from fixtures.faults.unclean import UncleanElection, UncleanElectionByConfig
from fixtures.faults.zombie_clients import LateConsumer, LateMember
from fixtures.images import Image
from tests.fake_scene import scene_of


@pytest.mark.parametrize(
    ("key", "hash"),
    [
        pytest.param("", 0, id="nothing"),
        pytest.param("abc", 96354, id="as String.hashCode documents it"),
        pytest.param("é", 233, id="beyond ASCII"),
        pytest.param("polygenelubricants", 0, id="the one integer without an opposite counts as 0"),
    ],
)
def test_a_group_belongs_to_the_partition_that_brokers_give_it(key: str, hash: int) -> None:
    assert partition_for(key, 50) == hash % 50


@pytest.mark.parametrize("version", ["3.9.2", "3.9.2-custom", "3.9.0-SNAPSHOT"])
def test_what_follows_the_minor_version_does_not_count(version: str) -> None:
    assert release(version) == (3, 9)


@pytest.mark.parametrize(("version", "has"), [("3.8.1", False), ("3.9.2", True), ("4.3.1", True)])
def test_configuration_elects_uncleanly_from_3_9_on(version: str, has: bool) -> None:
    availability = UncleanElectionByConfig().available(scene_of({}, image_of(version)))
    assert bool(availability) is has
    assert ("KAFKA-12670" in availability.reason) is not has


def test_an_unclean_election_needs_somebody_who_stays() -> None:
    scene = scene_of({})
    scene.cluster.brokers.pop()
    assert "three brokers" in UncleanElection().available(scene).reason


def test_a_session_that_cannot_be_short_is_named() -> None:
    assert LateMember().available(scene_of({"group.min.session.timeout.ms": "1000"}))
    assert "group.min.session.timeout.ms is 6000" in LateMember().available(scene_of({})).reason


def test_the_consumer_protocol_is_there_from_4_0_on() -> None:
    short = {"group.consumer.session.timeout.ms": "1000"}
    assert LateConsumer().available(scene_of(short, image_of("4.0.0")))
    assert "switched off" in LateConsumer().available(scene_of(short, image_of("3.9.2"))).reason


def image_of(version: str) -> Image:
    return Image("described", "sha256:0", version, version, (), (), Path("kafka-clients.jar"), cds=None)
