"""Where the archive of Spark's classes is, and when it is made."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reports.class_archive import archive_file, archive_flags, is_whole

MAKES, USES = "-XX:ArchiveClassesAtExit=", "-XX:SharedArchiveFile="


def _flag(option: str) -> Path:
    """The archive in the flags, which quote it."""
    return Path(archive_flags().partition(f'"{option}')[2].rstrip('"'))


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    java = tmp_path / "java home" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.touch(mode=0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "java home"))
    return java


def test_an_archive_is_made_once_and_then_used(java: Path, cache: Path) -> None:
    archive = _flag(MAKES)
    assert archive.parent == cache / "spark"
    archive.write_bytes(b"\xf0\x0b\xab\xa8 classes")
    assert _flag(USES) == archive


def test_an_archive_whose_writer_was_killed_is_made_again(java: Path, cache: Path) -> None:
    archive = _flag(MAKES)
    archive.write_bytes(bytes(4096) + b"classes")
    assert not is_whole(archive)
    assert _flag(MAKES) == archive


def test_another_java_makes_another_archive_and_removes_the_former(java: Path, tmp_path: Path) -> None:
    jars = [tmp_path / name for name in ("jars", "others")]
    for folder in jars:
        folder.mkdir()
    former, other = (archive_file(java, folder, tmp_path) for folder in jars)
    former.touch()
    other.touch()
    assert archive_file(java, jars[0], tmp_path) == former
    os.utime(java, (1, 1))
    assert archive_file(java, jars[0], tmp_path) != former
    assert (former.exists(), other.exists()) == (False, True)


def test_without_java_or_a_cache_there_is_no_archive(
    java: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("KAFKA_CONFORMANCE_CACHE", str(tmp_path / "file" / "cache"))
    assert archive_flags() == ""
    monkeypatch.setenv("KAFKA_CONFORMANCE_CACHE", str(tmp_path / "cache"))
    java.unlink()
    assert archive_flags() == ""
