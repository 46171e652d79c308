"""A node that answers as a test says, byte by byte, on a port of this machine."""

import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from typing import NamedTuple

from fixtures.wire.schemas import Schemas
from protocol.framing import with_size


class Asked(NamedTuple):
    """A request's header and body."""

    api_key: int
    version: int
    correlation_id: int
    body: bytes


Script = Callable[[socket.socket, Asked], None]


@contextlib.contextmanager
def scripted_node(schemas: Schemas, script: Script) -> Iterator[int]:
    """Call `script` for each request; yield the port. `script` may close its socket to end the connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=_accept, args=(server, schemas, script))
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


def respond(peer: socket.socket, correlation_id: int, body: bytes) -> None:
    peer.sendall(with_size(struct.pack(">i", correlation_id) + body))


def _accept(server: socket.socket, schemas: Schemas, script: Script) -> None:
    served: list[threading.Thread] = []
    with contextlib.suppress(OSError):
        while True:
            peer, _ = server.accept()
            served.append(threading.Thread(target=_serve, args=(peer, schemas, script)))
            served[-1].start()
    for thread in served:
        thread.join()


def _serve(peer: socket.socket, schemas: Schemas, script: Script) -> None:
    with peer, contextlib.suppress(OSError):
        while size := peer.recv(4, socket.MSG_WAITALL):
            frame = peer.recv(struct.unpack(">i", size)[0], socket.MSG_WAITALL)
            script(peer, _asked(schemas, frame))


def _asked(schemas: Schemas, frame: bytes) -> Asked:
    key, version = struct.unpack_from(">hh", frame)
    name = schemas.name_of_key[key]
    flexible = schemas.api(name).request.is_flexible(version)
    header, end = schemas.message("RequestHeader").decode_from(frame, 2 if flexible else 1)
    return Asked(key, version, header["correlation_id"], frame[end:])
