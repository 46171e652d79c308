"""How a node takes a request in a version that its schemas do not have: an answer, an end, or silence."""

import socket

import pytest

from fixtures.wire import NodeClient, Unanswered
from tests.scripted_node import Asked, Script, respond, scripted_node
from tests.wire_jar import tiny_schemas

SCHEMAS = tiny_schemas()
REMOVED = 77


def taken(script: Script) -> bool:
    with (
        scripted_node(SCHEMAS, script) as port,
        NodeClient("node-1", "127.0.0.1", port, SCHEMAS, timeout=0.5) as client,
    ):
        return client.reception("Ping", REMOVED, b"as it is").answered


def test_an_answer_is_seen_and_the_bytes_arrive_as_they_were() -> None:
    asked: list[Asked] = []

    def answer(peer: socket.socket, request: Asked) -> None:
        asked.append(request)
        respond(peer, request.correlation_id, b"whatever")

    assert taken(answer)
    assert [(request.version, request.body) for request in asked] == [(REMOVED, b"as it is")]


def test_a_closed_connection_is_no_answer() -> None:
    assert not taken(lambda peer, _: peer.shutdown(socket.SHUT_RDWR))


def test_silence_is_neither() -> None:
    with pytest.raises(Unanswered, match="v77"):
        taken(lambda peer, request: None)
