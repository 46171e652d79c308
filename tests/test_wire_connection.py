"""What a connection and a client say when a node answers, keeps silent, goes away or never was there."""

import socket
import struct
import threading
import time
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from fixtures.waiting import eventually
from fixtures.wire import ConnectionClosed, Error, NodeClient, NotSent, PassThrough, Transcript, Unanswered
from fixtures.wire.calls import Answer, Parked, typed
from fixtures.wire.client import NotOffered
from fixtures.wire.connection import Connection
from fixtures.wire.schemas import SchemaError
from tests.scripted_node import Asked, respond, scripted_node
from tests.wire_jar import tiny_schemas

SCHEMAS = tiny_schemas()
PING = SCHEMAS.api("Ping")
FLEXIBLE = b"\x00"  # no tagged fields in a response header


class Node:
    """Offers Ping 0 to 2 and ApiVersions 0 to 3, and answers pings with their text."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.ping_range = (0, 2)
        self.api_versions_high = 3
        self.silent = False
        self.closes_after = 10**9

    def script(self, peer: socket.socket, asked: Asked) -> None:
        self.asked.append(asked)
        if asked.api_key == 18:
            respond(peer, asked.correlation_id, self.api_versions(asked.version))
        elif self.silent:
            return
        else:
            text = PING.request.decode(asked.body, asked.version)["text"]
            body = PING.response.encode({"error_code": 0, "text": text}, asked.version)
            respond(peer, asked.correlation_id, (FLEXIBLE if asked.version >= 2 else b"") + body)
        if len(self.asked) >= self.closes_after:
            peer.shutdown(socket.SHUT_RDWR)

    def api_versions(self, version: int) -> bytes:
        refused = version > self.api_versions_high
        keys = [(900, *self.ping_range), (18, 0, self.api_versions_high), (4000, 0, 1)]
        fields = {
            "error_code": Error.UNSUPPORTED_VERSION if refused else 0,
            "api_keys": [{"api_key": k, "min_version": low, "max_version": high} for k, low, high in keys],
        }
        return SCHEMAS.message("ApiVersionsResponse").encode(fields, 0 if refused else version)


@pytest.fixture
def node() -> Node:
    return Node()


@pytest.fixture
def client(node: Node) -> Iterator[NodeClient]:
    with (
        scripted_node(SCHEMAS, node.script) as port,
        NodeClient("n1", "127.0.0.1", port, SCHEMAS, timeout=5) as client,
    ):
        yield client


def nobodys_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


class TestVersions:
    def test_the_highest_common_one_is_spoken(self, client: NodeClient) -> None:
        assert client.call("Ping", text="a") == (2, {"error_code": 0, "text": "a"})

    @pytest.mark.parametrize(
        ("ping_range", "at_most", "chosen"), [((0, 1), None, 1), ((0, 9), None, 2), ((0, 2), 1, 1)]
    )
    def test_choice(
        self, node: Node, client: NodeClient, ping_range: tuple[int, int], at_most: int | None, chosen: int
    ) -> None:
        node.ping_range = ping_range
        assert client.choose("Ping", at_most=at_most) == chosen

    @pytest.mark.parametrize(("ping_range", "at_most"), [((3, 4), None), ((2, 2), 1)])
    def test_no_common_version(
        self, node: Node, client: NodeClient, ping_range: tuple[int, int], at_most: int | None
    ) -> None:
        node.ping_range = ping_range
        with pytest.raises(NotOffered, match="no common version"):
            client.choose("Ping", at_most=at_most)

    @pytest.mark.parametrize("api", ["Stop", "Pong"])
    def test_not_offered_or_unknown(self, client: NodeClient, api: str) -> None:
        with pytest.raises(NotOffered):
            client.call(api)

    def test_a_given_version_is_spoken_without_asking(self, node: Node, client: NodeClient) -> None:
        node.ping_range = (0, 0)
        assert client.call("Ping", 1, text="a").version == 1
        assert [asked.api_key for asked in node.asked] == [900]

    def test_a_version_outside_of_the_schema(self, client: NodeClient) -> None:
        with pytest.raises(SchemaError, match="has 0-2"):
            client.call("Ping", 3)

    def test_an_older_node_refuses_our_api_versions(self, node: Node, client: NodeClient) -> None:
        node.api_versions_high = 1
        assert client.choose("Ping") == 2
        assert [asked.version for asked in node.asked] == [3, 0]
        refused = client.api_versions(version=3)
        assert (refused.error, refused.ranges["Ping"].high) == (Error.UNSUPPORTED_VERSION, 2)

    def test_ranges_go_by_name_or_key(self, client: NodeClient) -> None:
        assert set(client.api_versions().ranges) == {"Ping", "ApiVersions", "4000"}

    def test_they_are_asked_once_for_each_connection(self, node: Node, client: NodeClient) -> None:
        for _ in range(3):
            client.call("Ping", text="a")
        assert [asked.api_key for asked in node.asked] == [18, 900, 900, 900]


class TestLoss:
    def test_no_node(self) -> None:
        with pytest.raises(NotSent, match=r"n1 at 127\.0\.0\.1:\d+: no connection within 5 s"):
            NodeClient("n1", "127.0.0.1", nobodys_port(), SCHEMAS, timeout=5).call("Ping", text="a")

    def test_silence(self, node: Node, client: NodeClient) -> None:
        client.choose("Ping")
        node.silent, client.timeout = True, 0.05
        with pytest.raises(Unanswered, match=r"Ping v2 \(correlation id \d+\) got no answer within 0.05 s"):
            client.call("Ping", text="a")

    def test_after_silence_a_new_connection_is_opened(self, node: Node, client: NodeClient) -> None:
        self.test_silence(node, client)
        node.silent, client.timeout = False, 5
        assert client.call("Ping", text="b").body["text"] == "b"
        assert client.generation == 2

    def test_the_peer_closes_before_it_answers(self) -> None:
        def closing(peer: socket.socket, asked: Asked) -> None:
            peer.shutdown(socket.SHUT_RDWR)

        with scripted_node(SCHEMAS, closing) as port, NodeClient("n2", "127.0.0.1", port, SCHEMAS) as other:
            with pytest.raises(ConnectionClosed, match="may have had its effect"):
                other.call("Ping", 1, text="a")
            with pytest.raises(NotSent, match="can't be asked for its versions"):
                other.call("Ping", text="a")

    def test_an_idle_connection_that_ended_is_replaced_unharmed(self, node: Node, client: NodeClient) -> None:
        node.closes_after = 2
        client.call("Ping", text="a")
        assert client._connection is not None
        eventually(client._connection.was_closed_by_peer, within=5, what="the end of the connection")
        node.closes_after = 10**9
        assert client.call("Ping", text="b").body["text"] == "b"
        assert client.generation == 2

    def test_a_frame_that_stops_halfway(self) -> None:
        def half(peer: socket.socket, asked: Asked) -> None:
            peer.sendall(struct.pack(">ii", 100, asked.correlation_id))

        with (
            scripted_node(SCHEMAS, half) as port,
            NodeClient("n", "127.0.0.1", port, SCHEMAS, timeout=0.1) as client,
            pytest.raises(Unanswered),
        ):
            client.call("Ping", 1, text="a")

    def test_a_slow_frame_is_put_together(self) -> None:
        def slow(peer: socket.socket, asked: Asked) -> None:
            body = PING.response.encode({"text": "slow"}, 1)
            for byte in struct.pack(">ii", 4 + len(body), asked.correlation_id) + body:
                peer.sendall(bytes([byte]))

        with scripted_node(SCHEMAS, slow) as port, NodeClient("n", "127.0.0.1", port, SCHEMAS) as client:
            assert client.call("Ping", 1, text="a").body["text"] == "slow"


class TestInFlight:
    def test_answers_are_told_apart_by_correlation_id(self) -> None:
        waiting: list[Asked] = []

        def in_reverse(peer: socket.socket, asked: Asked) -> None:
            waiting.append(asked)
            if len(waiting) == 2:
                for each in reversed(waiting):
                    text = PING.request.decode(each.body, 1)["text"]
                    respond(peer, each.correlation_id, PING.response.encode({"text": text}, 1))

        with scripted_node(SCHEMAS, in_reverse) as port:
            connection = Connection("n", "127.0.0.1", port, SCHEMAS, client_id="c", transcript=Transcript(), within=5)
            first, second = (connection.send(PING, 1, {"text": text}, 5) for text in "ab")
            assert connection.receive(first, 5)["text"] == "a"
            assert connection.receive(second, 5)["text"] == "b"
            connection.close()

    def test_a_parked_request_holds_nothing_up(self) -> None:
        release = threading.Event()

        def parking(peer: socket.socket, asked: Asked) -> None:
            text = PING.request.decode(asked.body, 1)["text"]
            assert text != "parked" or release.wait(5)
            respond(peer, asked.correlation_id, PING.response.encode({"text": text}, 1))

        with scripted_node(SCHEMAS, parking) as port, NodeClient("n", "127.0.0.1", port, SCHEMAS) as client:
            parked = client.park("Ping", 1, text="parked")
            assert client.call("Ping", 1, text="other").body["text"] == "other"
            release.set()
            assert client.unpark(parked, 5) == (1, {"error_code": 0, "text": "parked"})
            with pytest.raises(NotSent, match="each can be asked for once"):
                client.unpark(parked, 5)

    def test_parked_requests_are_given_up_at_close(self, node: Node, client: NodeClient) -> None:
        parked = client.park("Ping", 1, text="a")
        client.close()
        with pytest.raises(NotSent):
            client.unpark(parked, 1)
        assert isinstance(parked, Parked)


class TestTranscript:
    def test_it_holds_bytes_and_words(self, client: NodeClient) -> None:
        client.call("Ping", 2, text="a", data=b"\xff")
        sent, received = client.transcript.entries()
        assert (sent.node, sent.direction, sent.api, sent.version) == ("n1", "sent", "Ping", 2)
        assert (received.direction, received.decoded) == ("received", {"error_code": 0, "text": "a"})
        assert sent.decoded["data"] == "ff"
        assert sent.correlation_id == received.correlation_id
        assert sent.time_ns <= received.time_ns <= time.time_ns()
        assert bytes.fromhex(sent.raw)[:4] == struct.pack(">hh", 900, 2)
        msgspec.json.encode(sent)

    def test_it_is_bounded(self, node: Node, client: NodeClient) -> None:
        client.transcript = Transcript(frames=3)
        for text in "abc":
            client.call("Ping", 1, text=text)
        assert len(client.transcript.entries()) <= 3

    def test_it_is_bounded_in_bytes(self) -> None:
        transcript = Transcript(size=100)
        for correlation_id in range(5):
            transcript.note("n", "sent", PING.request, 0, correlation_id, bytes(40), 0)
        assert [entry.correlation_id for entry in transcript.entries()] == [3, 4]

    def test_bytes_that_do_not_follow_the_schema_are_kept(self) -> None:
        transcript = Transcript()
        transcript.note("n", "received", PING.response, 1, 1, b"\x00\x00\x00\x01\xff", 4)
        [entry] = transcript.entries()
        assert entry.raw == "00000001ff"
        assert "Not a PingResponse v1" in entry.decoded


class PongAnswer(Answer, frozen=True, kw_only=True):
    text: str
    error: Error = Error.NONE


class PingingClient(NodeClient):
    @typed
    def ping(self, text: str = "default", data: bytes | None = None, *, version: int | None = None) -> PongAnswer:
        return self.ask(PongAnswer, "Ping", version, text=text, data=data)


class Recording(PassThrough):
    def __init__(self) -> None:
        self.seen: list[tuple[str, str, dict[str, Any]]] = []

    def call(self, node: str, op: str, request: dict[str, Any], answer: type[Any], do: Any) -> Any:
        self.seen.append((node, op, request))
        return super().call(node, op, request, answer, do)


class TestTypedCalls:
    def test_arguments_and_answer_pass_the_tap(self, node: Node) -> None:
        tap = Recording()
        with (
            scripted_node(SCHEMAS, node.script) as port,
            PingingClient("n", "127.0.0.1", port, SCHEMAS, tap) as client,
        ):
            assert client.ping(data=b"\x01") == PongAnswer(version=2, text="default")
        assert tap.seen == [("n", "ping", {"text": "default", "data": "AQ==", "version": None})]

    def test_a_tap_may_answer_itself(self) -> None:
        class Stored:
            def call(self, node: str, op: str, request: dict[str, Any], answer: type[Any], do: Any) -> Any:
                return msgspec.convert({"version": 1, "text": "stored", "error_code": 74}, answer)

        client = PingingClient("n", "127.0.0.1", nobodys_port(), SCHEMAS, Stored())
        assert client.ping("a") == PongAnswer(version=1, text="stored", error=Error.FENCED_LEADER_EPOCH)

    def test_losses_pass_the_tap(self) -> None:
        seen: list[str] = []

        class Noting(PassThrough):
            def call(self, node: str, op: str, request: dict[str, Any], answer: type[Any], do: Any) -> Any:
                try:
                    return super().call(node, op, request, answer, do)
                except NotSent as error:
                    seen.append(type(error).__name__)
                    raise

        with pytest.raises(NotSent):
            PingingClient("n", "127.0.0.1", nobodys_port(), SCHEMAS, Noting()).ping()
        assert seen == ["NotSent"]


class TestError:
    def test_kafkas_names(self) -> None:
        assert (Error.UNKNOWN_SERVER_ERROR, Error.NONE, Error(76)) == (
            -1,
            0,
            Error.UNSUPPORTED_COMPRESSION_TYPE,
        )

    def test_an_unknown_code_is_kept(self) -> None:
        answer = PongAnswer(version=1, text="", error=Error(999))
        assert answer.error.name == "UNLISTED_999"
        assert msgspec.json.decode(msgspec.json.encode(answer), type=PongAnswer) == answer
