"""The proxy of frames between two sockets on this machine: what it does to requests and answers, and to nothing else."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from fixtures.faults.frames import PROXY, done_by
from fixtures.waiting import eventually

pytestmark = pytest.mark.skipif(shutil.which("perl") is None, reason="the proxy is written in perl")

PRODUCE, METADATA, API_VERSIONS = 0, 3, 18


def request(key: int, correlation_id: int, payload: bytes = b"") -> bytes:
    return framed(struct.pack(">hhi", key, 0, correlation_id) + payload)


def answer(correlation_id: int, payload: bytes = b"") -> bytes:
    return framed(struct.pack(">i", correlation_id) + payload)


def framed(content: bytes) -> bytes:
    return struct.pack(">i", len(content)) + content


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Between:
    """A proxy in front of a listening socket; `connect` gives both ends of a connection through it."""

    def __init__(self, scratch: Path, *what: str) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._listening.settimeout(5)
        self._open: list[socket.socket] = [self._listening]
        self._port, self._log = free_port(), scratch / "log"
        pid_file, server = scratch / "pid", f"127.0.0.1:{self._listening.getsockname()[1]}"
        own = ["10.0.0.1", str(self._port), str(os.getuid())]
        subprocess.run(["perl", PROXY, pid_file, self._log, *own, *what, server], check=True)
        self.pid = int(pid_file.read_text())

    def connect(self) -> tuple[socket.socket, socket.socket]:
        client = socket.create_connection(("127.0.0.1", self._port), timeout=5)
        server, _ = self._listening.accept()
        server.settimeout(5)
        self._open += [client, server]
        return client, server

    def done(self) -> dict[str, dict[str, dict[int, int]]]:
        lines = self._log.read_text().splitlines()
        return done_by("\n".join(f"1 {line}" for line in lines))

    def close(self) -> None:
        for end in self._open:
            end.close()
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


@pytest.fixture
def between(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Between]:
    proxy = Between(tmp_path, *request.param)
    yield proxy
    proxy.close()


def doing(*what: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("between", [what], indirect=True, ids=[" ".join(what)])


def silent(end: socket.socket) -> bool:
    end.settimeout(0.2)
    try:
        return end.recv(1, socket.MSG_PEEK) == b"never"
    except TimeoutError:
        return True
    finally:
        end.settimeout(5)


def test_log_lines_are_counted_by_what_was_done_to_whom() -> None:
    told = "      2 cut 10.0.0.2 3\n      1 cut 10.0.0.2 18\n      7 held 10.0.0.3 1"
    assert done_by(told) == {"cut": {"10.0.0.2": {3: 2, 18: 1}}, "held": {"10.0.0.3": {1: 7}}}


@doing("pass", "0", "-1")
def test_large_frames_pass_whole_and_in_order(between: Between) -> None:
    client, server = between.connect()
    sent = [request(METADATA, i, os.urandom(i * 50_000)) for i in range(8)]
    for one in sent:
        client.sendall(one)
    assert read(server, len(b"".join(sent))) == b"".join(sent)
    assert not between.done()


@doing("delay", "200", "-1")
def test_both_ways_are_delayed_and_order_is_kept(between: Between) -> None:
    client, server = between.connect()
    sent = [request(METADATA, 1), request(PRODUCE, 2)]
    began = time.monotonic()
    client.sendall(b"".join(sent))
    assert read(server, len(b"".join(sent))) == b"".join(sent)
    assert time.monotonic() - began >= 0.2
    server.sendall(answer(1) + answer(2))
    assert read(client, 16) == answer(1) + answer(2)
    assert 0.4 <= time.monotonic() - began < 2
    assert between.done() == {"delayed": {"127.0.0.1": {METADATA: 2, PRODUCE: 2}}}


@doing("hold", "0", "-1")
def test_held_requests_arrive_after_release_though_their_sender_has_gone(between: Between) -> None:
    client, server = between.connect()
    sent = request(PRODUCE, 1) + request(PRODUCE, 2)
    client.sendall(sent)
    eventually(lambda: between.done().get("held"), within=5, what="frames held")
    client.close()
    assert silent(server)
    os.kill(between.pid, signal.SIGHUP)
    assert read(server, len(sent)) == sent
    assert server.recv(1) == b""
    eventually(lambda: between.done().get("released") == between.done()["held"], within=5, what="frames released")


@doing("hold", "0", "-1")
def test_what_nobody_is_there_to_get_is_lost(between: Between) -> None:
    client, server = between.connect()
    client.sendall(request(PRODUCE, 1))
    eventually(lambda: between.done().get("held"), within=5, what="frames held")
    server.close()
    assert read(client, 1) == b""
    eventually(lambda: between.done().get("lost") == between.done()["held"], within=5, what="frames lost")


@doing("hold", "0", str(PRODUCE))
def test_what_follows_a_held_request_waits_and_other_connections_do_not(between: Between) -> None:
    client, server = between.connect()
    client.sendall(request(METADATA, 1) + request(PRODUCE, 2) + request(METADATA, 3))
    assert read(server, 12) == request(METADATA, 1)
    assert silent(server)
    other_client, other_server = between.connect()
    other_client.sendall(request(METADATA, 4))
    assert read(other_server, 12) == request(METADATA, 4)


@doing("cut", "2", "-1")
def test_the_connection_ends_after_a_whole_request(between: Between) -> None:
    client, server = between.connect()
    sent = [request(API_VERSIONS, 1), request(PRODUCE, 2, b"x" * 500_000), request(METADATA, 3)]
    client.sendall(sent[0])
    server.sendall(answer(1))
    assert read(client, 8) == answer(1)
    client.sendall(sent[1] + sent[2])
    assert read(server, 1 << 22) == sent[0] + sent[1]
    assert ended(client)
    assert between.done() == {"cut": {"127.0.0.1": {PRODUCE: 1}}}


@doing("drop", "0", str(PRODUCE))
def test_the_request_is_delivered_and_its_answer_is_not(between: Between) -> None:
    client, server = between.connect()
    # The second one has acks=0 and gets no answer.
    client.sendall(request(METADATA, 1) + request(PRODUCE, 2) + request(METADATA, 3) + request(PRODUCE, 4))
    assert len(read(server, 48)) == 48
    server.sendall(answer(1, b"first") + answer(3, b"third") + answer(4, b"lost"))
    assert read(client, 1 << 16) == answer(1, b"first") + answer(3, b"third")
    assert ended(server)
    assert between.done() == {"dropped": {"127.0.0.1": {PRODUCE: 1}}}


@doing("hold", "0", "-1")
def test_api_versions_is_not_held_with_all_others(between: Between) -> None:
    client, server = between.connect()
    client.sendall(request(API_VERSIONS, 1) + request(METADATA, 2))
    assert read(server, 12) == request(API_VERSIONS, 1)
    assert silent(server)


@doing("drop", "0", "-1")
def test_answers_to_api_versions_are_not_dropped_with_all_others(between: Between) -> None:
    client, server = between.connect()
    client.sendall(request(API_VERSIONS, 1) + request(METADATA, 2))
    read(server, 24)
    server.sendall(answer(1) + answer(2))
    assert read(client, 1 << 16) == answer(1)


@doing("delay", "100", "-1")
def test_half_a_frame_is_never_sent_on(between: Between) -> None:
    client, server = between.connect()
    whole = request(METADATA, 1, b"payload")
    client.sendall(whole[:-1])
    client.close()
    assert read(server, 100) == b""


def read(end: socket.socket, most: int) -> bytes:
    """Up to `most` bytes, less at the connection's end."""
    got = b""
    while len(got) < most and (part := end.recv(most - len(got))):
        got += part
    return got


def ended(end: socket.socket) -> bool:
    try:
        return end.recv(1) == b""
    except ConnectionResetError:
        return True
