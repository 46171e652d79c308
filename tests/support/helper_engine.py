"""An engine whose helper containers are processes of this machine; what they mount is a directory."""

from __future__ import annotations

import io
import socket
import struct
import subprocess
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

import docker.errors
import pytest

from fixtures.cluster import disks, helper
from tests.support.helper_program import helper_command


class HelperEngine:
    """`containers` are the helpers that were created, in order; `refusal` is the error of the next creation."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.created: list[HelperProcess] = []
        self.refusal: docker.errors.APIError | None = None

    @classmethod
    def installed(cls, folder: Path, monkeypatch: pytest.MonkeyPatch) -> HelperEngine:
        """Return an engine that the kit takes for the local one; a node's data are in the folder of its name."""
        engine = cls(folder)
        monkeypatch.setattr(helper, "connect", lambda: engine)
        monkeypatch.setattr(helper, "base", lambda *_: "base")
        monkeypatch.setattr(disks, "_NODES", str(folder))
        return engine

    @property
    def containers(self) -> HelperEngine:
        return self

    def create(self, image: str, command: list[str], **options: Any) -> HelperProcess:
        refusal, self.refusal = self.refusal, None
        if refusal is not None:
            raise refusal
        self.created.append(HelperProcess(helper_command(self.folder, "serve"), options))
        return self.created[-1]


class HelperProcess:
    """One helper; `options` are those of its creation."""

    def __init__(self, command: list[str], options: dict[str, Any]) -> None:
        self.options = options
        self.is_removed = False
        self._command = command
        self._kit, self._engine = socket.socketpair()

    def put_archive(self, path: str, archive: io.IOBase) -> None:
        """Do nothing: the command has the program already."""

    def attach_socket(self, params: dict[str, int]) -> socket.socket:
        return self._kit

    def start(self) -> None:
        piped = subprocess.PIPE
        self.process = subprocess.Popen(self._command, stdin=self._engine.fileno(), stdout=piped, stderr=piped)
        Thread(target=self._send_all, daemon=True).start()

    def _send_all(self) -> None:
        """Send both outputs in the engine's chunks, and end the stream after both."""
        errors = Thread(target=self._send, args=(2, self.process.stderr), daemon=True)
        errors.start()
        self._send(1, self.process.stdout)
        errors.join()
        self._engine.close()

    def _send(self, stream: int, output: Any) -> None:
        with output:
            while part := output.read1(1000):
                with suppress(OSError):  # the kit has hung up
                    self._engine.sendall(struct.pack(">BxxxL", stream, len(part)) + part)

    def remove(self, **_: object) -> None:
        if self.is_removed:
            raise docker.errors.NotFound("no such container")
        self.is_removed = True
        self.process.kill()
        self.process.wait()
        self._kit.close()
