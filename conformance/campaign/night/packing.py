"""The archive between two jobs: a whole copy, and what was added to it since, so that it is not saved whole each night.

`whole.json` in the archive names every file of its last whole copy. Additions are a folder with the files that are new or
other since, the names of those that are gone, and, written last, `added.json`.
"""

import hashlib
import shutil
from pathlib import Path, PurePosixPath
from typing import TypeVar

import msgspec

from conformance.campaign.night.archive import Archive
from conformance.campaign.night.plan import place_of
from conformance.campaign.plan import write_whole
from fixtures.errors import WrongUse

WHOLE, ADDED, FILES = "whole.json", "added.json", "files"
_Struct = TypeVar("_Struct", bound=msgspec.Struct)

DUE = 7
"""The number of nights after which the archive is saved whole again."""


class WholeCopy(msgspec.Struct, frozen=True, kw_only=True):
    """The newest night of a whole copy, and the digest of each file in it."""

    night: str
    files: dict[str, str]


class Additions(msgspec.Struct, frozen=True, kw_only=True):
    """The changes of an archive since its whole copy of this night, up to its `newest` one; `removed` are files that are gone."""

    night: str
    newest: str
    removed: list[str]


def pack_archive(archive: Archive, added: Path) -> bool:
    """Write what was added since the last whole copy; or note all files of a new one, if it is due, and return True."""
    newest, whole = archive.newest, _read(archive.folder / WHOLE, WholeCopy)
    if newest is None:
        raise WrongUse(f"{archive.folder} has no night: there is nothing to keep.")
    shutil.rmtree(added, ignore_errors=True)
    files = _digests(archive.folder)
    if whole is None or _nights_since(archive, whole) >= DUE:
        write_whole(archive.folder / WHOLE, msgspec.json.encode(WholeCopy(night=newest.night, files=files)))
        return True
    for name in (name for name, digest in files.items() if whole.files.get(name) != digest):
        target = added / FILES / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(archive.folder / name, target)
    removed = sorted(set(whole.files) - set(files))
    found = Additions(night=whole.night, newest=newest.night, removed=removed)
    write_whole(added / ADDED, msgspec.json.encode(found))
    return False


def unpack_archive(archive: Archive, added: Path) -> None:
    """Bring an archive's whole copy to what was added since. Raises WrongUse for what was added to another copy."""
    found, whole = _read(added / ADDED, Additions), _read(archive.folder / WHOLE, WholeCopy)
    if found is None:
        return
    if whole is None or whole.night != found.night:
        here = f"one of night {whole.night}" if whole else "none"
        raise WrongUse(f"{added} was added to the whole copy of night {found.night}, and {archive.folder} has {here}.")
    if outside := [name for name in found.removed if name not in whole.files]:
        raise WrongUse(f"{added / ADDED}: {outside[0]!r} is no file of the whole copy. Nothing is removed.")
    if (added / FILES).is_dir():
        shutil.copytree(added / FILES, archive.folder, dirs_exist_ok=True)
    for name in found.removed:
        (archive.folder / name).unlink(missing_ok=True)


def _nights_since(archive: Archive, whole: WholeCopy) -> int:
    return sum(place_of(night) > place_of(whole.night) for night in archive.names)


def _digests(folder: Path) -> dict[str, str]:
    """Return the digest of each file, by its name below the folder, but for the list itself."""
    files = {PurePosixPath(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    return {str(name): _digest(path) for name, path in sorted(files.items()) if str(name) != WHOLE}


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read(path: Path, kind: type[_Struct]) -> _Struct | None:
    if not path.exists():
        return None
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except msgspec.DecodeError as error:
        raise WrongUse(f"{path}: {error}. It is none of this kit's.") from error
