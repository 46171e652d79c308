"""The relay of helper containers as a process of this machine."""

import socket
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from fixtures.helper.relay import READY_OFFSET
from fixtures.waiting import eventually
from tests.support.helper_program import helper_command


class RelayProcess:
    """A relay for some peers' ids; `ports` are the ports for nodes, by id."""

    def __init__(self, scratch: Path, ids: Sequence[int]) -> None:
        self.ports = {id: _free_port() for id in ids}
        self._command = helper_command(scratch, "relay", *self.ports.values())
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> dict[int, int]:
        self._process = subprocess.Popen(self._command)
        eventually(lambda: all(map(_relays, self.ports.values())), within=20, what="relay listening")
        return {id: port + READY_OFFSET for id, port in self.ports.items()}

    def remove(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()


def _free_port() -> int:
    """Return a free port; the port for the kit's connections is free, too."""
    while True:
        with socket.socket() as node, socket.socket() as kit, suppress(OSError, OverflowError):
            node.bind(("127.0.0.1", 0))
            kit.bind(("127.0.0.1", node.getsockname()[1] + READY_OFFSET))
            return int(node.getsockname()[1])


def _relays(port: int) -> bool:
    """True if the relay joins a node's connection with one of the kit's; both are closed then."""
    try:
        node = socket.create_connection(("127.0.0.1", port), timeout=5)
    except ConnectionRefusedError:
        return False
    with node, socket.create_connection(("127.0.0.1", port + READY_OFFSET), timeout=5) as kit:
        node.sendall(b"first")
        return kit.recv(5, socket.MSG_WAITALL) == b"first"
