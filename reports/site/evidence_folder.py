"""Reading a violation's evidence folder, complete or not, which `conformance.running.evidence.folder` wrote.

Its content comes from brokers and may be torn: `lacking` names unreadable parts, and no function here raises for them.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from history.events import AnyEvent, End, Example, History, Line
from history.schema import WrongSchema, decode, require_current
from history.violation import DISKS, VIOLATION, FiledViolation

EVIDENCE = re.compile(r"evidence/\w[\w.@-]*/\w[\w.@-]*", re.ASCII)
"""The pattern of folders that get a page; a path in a shard may be any text."""
TEXT_BYTES = 4_096
"""The maximum number of bytes of a text file of a disk that are shown."""
LOG_BYTES = 16 * 2**20
"""The maximum number of bytes of a node's log that are shown, from its end."""


class TranscriptFrame(msgspec.Struct, frozen=True):
    """One line of the transcript. `decoded` is the frame's body as JSON."""

    time_ns: int
    node: str
    direction: str
    api: str
    version: int
    correlation_id: int
    raw: str
    decoded: msgspec.Raw


class StoredFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of the folder: its path in it, its size, and its text if that is short."""

    path: str
    size: int
    text: str = ""


class EvidenceFolder(msgspec.Struct, frozen=True, kw_only=True):
    """The content of an evidence folder. `violation` is None if it cannot be read, `disks` are the disks in words, `image` and
    `image_id` are the column's."""

    path: str
    history: History
    violation: FiledViolation | None
    disks: list[str]
    replay: str
    image: str
    image_id: str
    frames: list[TranscriptFrame]
    logs: dict[str, list[str]]
    disk: list[StoredFile]
    files: list[StoredFile]
    lacking: list[str]


def is_readable(run: Path, path: str) -> bool:
    """True if there is a folder at `path` that lies below `run`."""
    folder = run / path
    return bool(EVIDENCE.fullmatch(path)) and folder.is_dir() and folder.resolve().is_relative_to(run.resolve())


def read_folder(run: Path, path: str) -> EvidenceFolder:
    """Read the folder at `path` below `run`, which `is_readable`."""
    return _Reader(run / path, path).read()


class _Reader:
    def __init__(self, folder: Path, path: str) -> None:
        self._folder = folder
        self._path = path
        self._lacking: list[str] = []

    def read(self) -> EvidenceFolder:
        column = self._column()
        violation = self._violation()
        files = sorted(self._files(), key=lambda file: file.path)
        return EvidenceFolder(
            path=self._path,
            history=self._history(),
            violation=violation,
            disks=self._text(DISKS).splitlines(),
            replay=self._text("replay.txt").strip(),
            image=str(column.get("image", "")),
            image_id=str(column.get("image_id", "")),
            frames=list(self._frames()),
            logs={file.path[5:-4]: self._log(file.path) for file in files if file.path.startswith("logs/")},
            disk=[file for file in files if file.path.startswith("disk/")],
            files=files,
            lacking=[*(violation.lacking if violation else []), *self._lacking],
        )

    def _files(self) -> Iterator[StoredFile]:
        for path in self._folder.rglob("*"):
            if path.is_file() and not path.is_symlink():
                name, size = path.relative_to(self._folder).as_posix(), path.stat().st_size
                short = name.startswith("disk/") and size <= TEXT_BYTES
                yield StoredFile(path=name, size=size, text=_as_text(path.read_bytes()) if short else "")

    def _bytes(self, name: str) -> bytes:
        try:
            return (self._folder / name).read_bytes()
        except OSError as error:
            self._lacking.append(f"{name}: {error.strerror}")
            return b""

    def _text(self, name: str) -> str:
        return self._bytes(name).decode(errors="replace")

    def _log(self, name: str) -> list[str]:
        data = self._bytes(name)
        if len(data) > LOG_BYTES:
            self._lacking.append(f"{name}: only its last {LOG_BYTES >> 20} MB are shown from")
        return data[-LOG_BYTES:].decode(errors="replace").splitlines()

    def _column(self) -> dict[str, Any]:
        try:
            return dict(msgspec.json.decode(self._bytes("schedule.json"))["column"])
        except (msgspec.DecodeError, KeyError, TypeError, ValueError):
            self._lacking.append("schedule.json: it can't be read, so the image is not known")
            return {}

    def _violation(self) -> FiledViolation | None:
        data = self._bytes(VIOLATION)
        try:
            return decode(data, FiledViolation, VIOLATION) if data else None
        except (WrongSchema, msgspec.DecodeError) as error:
            self._lacking.append(f"{VIOLATION}: {error}")
            return None

    def _history(self) -> History:
        """Read the history up to its first torn line: later events can't be numbered."""
        example, end = Example(example=self._path.rpartition("/")[2], check="", column=""), None
        events: list[AnyEvent] = []
        for line in self._lines("history.jsonl", msgspec.json.Decoder(Line), numbered=True):
            match line:
                case Example():
                    example = line
                case End():
                    end = line
                case _ if line.n == len(events):
                    events.append(line)
                case _:
                    self._lacking.append(f"history.jsonl: event {len(events)} and all after it")
                    break
        return History(example=example, events=_events_before_cut(events), end=end)

    def _frames(self) -> Iterator[TranscriptFrame]:
        yield from self._lines("transcript.jsonl", msgspec.json.Decoder(TranscriptFrame))

    def _lines(self, name: str, decoder: msgspec.json.Decoder[Any], *, numbered: bool = False) -> Iterator[Any]:
        """Yield lines up to the first torn one. The first line of a `numbered` file has the schema of all."""
        for number, raw in enumerate(self._bytes(name).splitlines()):
            try:
                if numbered and not number:
                    require_current(raw, name)
                yield decoder.decode(raw)
            except WrongSchema as error:
                self._lacking.append(str(error))
                return
            except msgspec.DecodeError:
                self._lacking.append(f"{name}: line {number + 1} and all after it are torn")
                return


def _events_before_cut(events: list[AnyEvent]) -> list[AnyEvent]:
    """Return the events before the first answer whose call is missing."""
    sound = next((e.n for e in events if not 0 <= getattr(e, "call", 0) <= e.n), len(events))
    return events[:sound]


def _as_text(data: bytes) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return ""
    return text if all(char.isprintable() or char in "\n\t" for char in text) else ""


def names_short(text: str, example: str) -> str:
    """Drop the example's name from topics, groups and ids, which all carry it."""
    return text.replace(f"-{example}", "")
