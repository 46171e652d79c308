"""The columns that are asked for, and what is said of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.core.topologies import TOPOLOGIES, UPGRADED_QUORUM, adapt_topology, knows_level, where_kit_sets
from conformance.running.columns import Overrides, wanted_columns
from conformance.running.lab import column_of
from conformance.running.session import _early_end, _refuse_twice
from conformance.running.settings import Settings
from fixtures.errors import WrongUse
from fixtures.images import Image


def image(**fields: str) -> Image:
    facts = {"reference": "r", "id": "i", "version": "3.9.2", "label": "mine", "build": "7.9.0-ccs", "jars": "j1"}
    return Image(class_path=(), kafka_opts=(), clients_jar=Path(), cds=None, **(facts | fields))


def test_each_is_a_column_of_its_own_in_one_command() -> None:
    overrides = Overrides(
        labels=["/opt/vendor=vendor"], judged_as=["/opt/vendor=3.9.2"], libs=["other:1=/usr/share/java/kafka"]
    )
    found = wanted_columns(["3.9.2"], ["other:1"], ["/opt/vendor", "/opt/trunk"], overrides)
    assert [column.selection for column in found] == [
        ["--kafka-version", "3.9.2"],
        ["--kafka-image", "other:1", "--kafka-libs", "/usr/share/java/kafka"],
        ["--kafka-home", "/opt/vendor", "--label", "vendor", "--as", "3.9.2"],
        ["--kafka-home", "/opt/trunk"],
    ]
    assert [column.title for column in found] == ["3.9.2", "other:1", "vendor", "/opt/trunk"]


def test_the_only_column_need_not_be_named() -> None:
    [found] = wanted_columns([], [], ["/opt/vendor"], Overrides(labels=["vendor 7.9"], judged_as=["3.9.2"]))
    assert (found.title, found.judged_as) == ("vendor 7.9", "3.9.2")


def test_a_build_whose_name_begins_another_ones_is_told_apart() -> None:
    found = wanted_columns([], [], ["/opt/k", "/opt/k=2"], Overrides(labels=["/opt/k=2=second", "/opt/k=first"]))
    assert [column.label for column in found] == ["first", "second"]


def test_a_name_by_itself_is_for_the_only_build_of_ones_own() -> None:
    """Released versions beside it have names."""
    released, own = wanted_columns(["4.3.1"], [], ["/opt/mine"], Overrides(labels=["mine"]))
    assert (released.title, own.title) == ("4.3.1", "mine")


def test_one_of_two_builds_has_to_be_named() -> None:
    why = r"--label 'x' is for one column, and there are 2: /opt/mine, /opt/other\. Write --label /opt/mine=x"
    with pytest.raises(ValueError, match=why):
        wanted_columns(["4.3.1"], [], ["/opt/mine", "/opt/other"], Overrides(labels=["x"]))


@pytest.mark.parametrize(
    ("overrides", "why"),
    [
        (Overrides(libs=["/libs"]), r"--kafka-libs '/libs' is for one image, and there is none"),
        (Overrides(labels=["/opt/mine=4.4.0"]), r"is the name of a released Kafka's own column"),
        (Overrides(judged_as=["4.3.1=3.9.2"]), r"--as '4\.3\.1=3\.9\.2': write the version of Apache Kafka"),
        (Overrides(judged_as=["/opt/mine="]), r"there is no value"),
        (Overrides(judged_as=["3.9"]), r"--as '3\.9': write the version"),
        (Overrides(labels=["/opt/mine=4.3.1"]), r"is the name of a released Kafka's own column"),
        (Overrides(labels=["/opt/mine=a", "/opt/mine=b"]), r"/opt/mine has 'a' already"),
        (Overrides(labels=["/opt/mine=a", "4.3.1=a"]), r"'a' is the name of two columns"),
        (Overrides(labels=["/opt/mine=[1]"]), r"--label '\[1\]': a column's name has up to 100"),
    ],
)
def test_what_cannot_be_meant_is_refused(overrides: Overrides, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        wanted_columns(["4.3.1"], [], ["/opt/mine"], overrides)


def test_the_folder_of_an_images_jars_is_absolute() -> None:
    with pytest.raises(ValueError, match=r"--kafka-libs 'libs': write the absolute path"):
        wanted_columns([], ["mine:1"], [], Overrides(libs=["libs"]))


def test_a_column_is_its_jars_and_its_configuration() -> None:
    """Two machines build images with other ids from the same jars; what else differs makes another column."""
    settings = Settings(
        versions=[], properties={"log.cleaner.threads": "2"}, selections={"mine": ["--kafka-home", "/x"]}
    )
    here, there = (column_of("mine", image(id=id), {}, settings) for id in ("sha256:1", "sha256:2"))
    others = [
        column_of("mine", image(jars="j2"), {}, settings),
        column_of("mine", image(version="4.0.0"), {}, settings),
        column_of("mine", image(), {}, Settings(versions=[])),
        column_of("mine", image(), {}, Settings(versions=[], features={"group.version": "1"})),
    ]
    assert here.digest == there.digest
    assert len({here.digest, *(other.digest for other in others)}) == 5
    assert (here.version, here.build, here.selection) == ("3.9.2", "7.9.0-ccs", ["--kafka-home", "/x"])


def test_settings_go_to_every_node_of_a_topology() -> None:
    for topology in TOPOLOGIES:
        assert adapt_topology(topology, "4.3.1", {}, {"license.key": "k"}).config["license.key"] == "k"


@pytest.mark.parametrize(
    ("version", "known"), [("3.8.1", False), ("3.9.2", True), ("4.0.0-rc1", True), ("4.3.1", True)]
)
def test_no_release_is_formatted_at_a_level_that_it_does_not_know(version: str, known: bool) -> None:
    assert knows_level(UPGRADED_QUORUM, version) is known
    assert knows_level(TOPOLOGIES[0], version)


@pytest.mark.parametrize(
    "setting", ["node.id", "listeners", "log.dirs", "broker.session.timeout.ms", "replica.lag.time.max.ms"]
)
def test_settings_that_checks_rely_on_are_the_kits(setting: str) -> None:
    assert where_kit_sets(setting)


def test_other_settings_are_free() -> None:
    assert where_kit_sets("confluent.license.topic.replication.factor") == ""


def test_a_release_keeps_its_name_and_nothing_else_gets_it() -> None:
    [released] = wanted_columns(["4.3.1"], overrides=Overrides(labels=["4.3.1"]))
    assert released.label == "4.3.1"
    with pytest.raises(ValueError, match="a released Kafka's own column"):
        wanted_columns([], ["4.3.1"], overrides=Overrides(labels=["4.3.1"]))


def test_a_distribution_is_found_again_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    [found] = wanted_columns([], [], ["./kafka"], Overrides(judged_as=["./kafka=3.9.2"]))
    assert found.selection == ["--kafka-home", str(tmp_path / "kafka"), "--as", "3.9.2"]


def test_two_builds_of_one_name_are_wrong_use() -> None:
    first = image(id="sha256:1")
    _refuse_twice("mine", first, {"mine": first, "another": image(id="sha256:2")})
    with pytest.raises(WrongUse, match="two builds never share a column"):
        _refuse_twice("mine", image(id="sha256:2"), {"mine": first})


@pytest.mark.parametrize(
    ("code", "hung", "why"),
    [(pytest.ExitCode.INTERRUPTED, "", "interrupted"), (pytest.ExitCode.OK, "no check ended", "hung")]
    + [(code, "", "") for code in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.USAGE_ERROR)],
)
def test_only_a_run_that_was_cut_short_ended_early(code: int, hung: str, why: str) -> None:
    assert _early_end(code, hung) == why
