import stat
from pathlib import Path
from xml.etree import ElementTree

import pytest

from fixtures.errors import EngineTrouble, ImageUnavailable
from fixtures.images import maven
from fixtures.runs import quiet


@pytest.fixture
def mvn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path) -> Path:
    """A Maven that copies an empty jar per artifact of the pom; `before` runs first, and may refuse."""
    here = tmp_path / "bin"
    here.mkdir()
    script = here / "mvn"
    script.write_text(
        f"#!/bin/sh\nHERE={here}\n"
        'pom=$4; for option in "$@"; do case $option in -DoutputDirectory=*) out=${option#*=};; esac; done\n'
        "echo call >> $HERE/calls; cat $pom >> $HERE/poms\n[ -e $HERE/before ] && . $HERE/before\nmkdir -p $out\n"
        "touch $out/kafka_2.13-4.4.0.jar $out/slf4j-api-1.7.36.jar $out/log4j-core-2.25.4.jar\n"
    )
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{here}:/usr/bin:/bin")
    return here


def test_the_jars_are_fetched_once_with_their_log_binding(mvn: Path) -> None:
    kept = maven.jars("4.4.0", quiet)
    assert sorted(jar.name for jar in kept.iterdir()) == [
        "kafka_2.13-4.4.0.jar",
        "log4j-core-2.25.4.jar",
        "slf4j-api-1.7.36.jar",
    ]
    assert "log4j-slf4j-impl</artifactId><version>2.25.4" in (mvn / "poms").read_text()
    assert maven.jars("4.4.0", quiet) == kept
    assert (mvn / "calls").read_text().count("call") == 2


def test_what_was_never_published_is_left_out(mvn: Path) -> None:
    (mvn / "before").write_text(
        "grep -q '<exclusion>.*kafka-tools-api' $pom || "
        "{ echo '[ERROR] Could not find artifact org.apache.kafka:kafka-tools-api:jar:4.4.0'; exit 1; }\n"
    )
    assert (maven.jars("4.4.0", quiet) / "kafka_2.13-4.4.0.jar").exists()


def test_any_other_missing_artifact_is_said_with_a_way_out(mvn: Path, cache: Path) -> None:
    (mvn / "before").write_text("echo '[ERROR] Could not find artifact org.apache.kafka:kafka-clients'; exit 1\n")
    with pytest.raises(ImageUnavailable, match=r"(?s)mvn dependency:get.*settings\.xml.*kafka-clients"):
        maven.jars("4.4.0", quiet)
    assert list((cache / "jars").iterdir()) == []


def test_leftovers_of_an_interrupted_download_are_replaced(mvn: Path, cache: Path) -> None:
    left = cache / "jars" / ".4.4.0.killed" / "libs"
    left.mkdir(parents=True)
    maven.jars("4.4.0", quiet)
    assert [path.name for path in (cache / "jars").iterdir()] == ["4.4.0"]


def test_a_full_disk_is_no_missing_artifact(mvn: Path) -> None:
    (mvn / "before").write_text("echo '[ERROR] Failed to write: No space left on device'; exit 1\n")
    with pytest.raises(EngineTrouble, match="The disk is full"):
        maven.jars("4.4.0", quiet)


def test_without_maven_the_package_is_named(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ImageUnavailable, match="apt-get install -y maven"):
        maven.jars("4.4.0", quiet)


@pytest.mark.parametrize(
    ("names", "binding"),
    [
        (["slf4j-api-1.7.36.jar", "kafka-clients-3.9.2.jar"], ("org.slf4j", "slf4j-reload4j", "1.7.36")),
        (
            ["slf4j-api-1.7.36.jar", "log4j-core-2.25.4.jar"],
            ("org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.4"),
        ),
    ],
)
def test_the_log_binding_fits_the_jars(names: list[str], binding: maven.Artifact) -> None:
    assert maven.log_binding(names) == binding


def test_the_pom_is_well_formed_and_excludes_from_each_artifact() -> None:
    text = maven.project([("g", "a<b", "1"), ("g", "c", "2")], ["kafka-tools-api"])
    assert len(list(ElementTree.fromstring(text).iter("exclusion"))) == 2
