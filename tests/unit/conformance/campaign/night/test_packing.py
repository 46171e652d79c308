"""An archive that is saved whole now and then, and between by what was added to it."""

import json
import shutil
from pathlib import Path

import msgspec
import pytest

from conformance.campaign.night.archive import Archive, PublishedNight
from conformance.campaign.night.packing import ADDED, DUE, FILES, WHOLE, pack_archive, unpack_archive
from fixtures.errors import WrongUse


class Kept:
    """An archive on a machine, and what is kept of it elsewhere."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.archive, self.added = Archive(folder / "nights"), folder / "added"

    def publish(self, night: int) -> bool:
        self.archive.publish(PublishedNight(night=f"{night}", legs={}), f"matrix {night}".encode())
        (self.archive.folder / "site").mkdir(exist_ok=True)
        (self.archive.folder / "site" / "index.html").write_text(f"{night}")
        return pack_archive(self.archive, self.added)

    def copy_whole(self) -> Path:
        return Path(shutil.copytree(self.archive.folder, self.folder / "whole", dirs_exist_ok=True))


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path)


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_only_what_was_added_is_kept_until_a_whole_copy_is_due(kept: Kept) -> None:
    assert [kept.publish(night) for night in range(1, DUE + 3)] == [True, *[False] * (DUE - 1), True, False]
    assert sorted(files_of(kept.added / FILES)) == ["nights/9/matrix.json", "nights/9/night.json", "site/index.html"]


def test_a_whole_copy_and_what_was_added_are_the_archive_again(kept: Kept) -> None:
    kept.publish(1)
    whole = Archive(kept.copy_whole())
    (kept.archive.folder / "nights" / "1" / "matrix.json").unlink()
    kept.publish(2)
    kept.publish(3)
    unpack_archive(whole, kept.added)
    unpack_archive(whole, kept.added)
    assert files_of(whole.folder) == files_of(kept.archive.folder)
    assert "nights/1/matrix.json" not in files_of(whole.folder)


def test_nothing_was_added_since_a_whole_copy(kept: Kept, tmp_path: Path) -> None:
    kept.publish(1)
    unpack_archive(kept.archive, tmp_path / "none")
    assert not pack_archive(kept.archive, kept.added)
    before = files_of(kept.archive.folder)
    unpack_archive(kept.archive, kept.added)
    assert files_of(kept.archive.folder) == before


def test_what_was_added_to_another_copy_is_refused(kept: Kept, tmp_path: Path) -> None:
    kept.publish(1)
    whole = kept.copy_whole()
    kept.publish(2)
    (whole / WHOLE).write_bytes((whole / WHOLE).read_bytes().replace(b'"night":"1"', b'"night":"0"'))
    with pytest.raises(WrongUse, match=r"added to the whole copy of night 1, and .* has one of night 0"):
        unpack_archive(Archive(whole), kept.added)
    with pytest.raises(WrongUse, match=r"whole copy of night 1, and .* has none"):
        unpack_archive(Archive(tmp_path / "empty"), kept.added)


def test_no_file_outside_of_the_copy_is_removed(kept: Kept) -> None:
    kept.publish(1)
    whole = Archive(kept.copy_whole())
    kept.publish(2)
    listed = json.loads((kept.added / ADDED).read_text())
    (kept.added / ADDED).write_text(json.dumps(listed | {"removed": ["../mine"]}))
    (kept.folder / "mine").touch()
    with pytest.raises(WrongUse, match=r"'\.\./mine' is no file of the whole copy"):
        unpack_archive(whole, kept.added)
    assert (kept.folder / "mine").exists()


def test_an_empty_archive_and_a_file_of_another_kind_are_refused(kept: Kept) -> None:
    with pytest.raises(WrongUse, match="there is nothing to keep"):
        pack_archive(kept.archive, kept.added)
    kept.publish(1)
    kept.publish(2)
    (kept.added / ADDED).write_bytes(msgspec.json.encode([1]))
    with pytest.raises(WrongUse, match="none of this kit's"):
        unpack_archive(kept.archive, kept.added)
