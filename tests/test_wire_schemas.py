"""Messages are encoded and decoded from a jar's schemas, next to kafka-python's own classes."""

import random
import uuid
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kafka.protocol.api_header import ResponseClassRegistry
from kafka.protocol.metadata import MetadataRequest, MetadataResponse

from fixtures.images.image import version_of
from fixtures.paths import cache_dir
from fixtures.wire.schemas import Message, SchemaError, Schemas, Versions
from tests.wire_jar import tiny_jar, tiny_schemas

PING = {
    "text": "hé",
    "small": -3,
    "port": 65535,
    "ratio": 0.5,
    "flag": False,
    "topic_id": uuid.UUID(int=7),
    "data": b"\x00\xff",
    "ids": [1, -1],
    "deadline": 5,
    "leader": {"id": 3},
    "cursor": {"at": 4},
    "voters": [{"id": 1, "host": {"name": "a"}}, {"id": 2, "host": {"name": ""}}],
}
PORT_TO_TOPIC_ID = "ffff3fe00000000000000000000000000000000000000000000007"


@pytest.fixture(scope="module")
def schemas() -> Schemas:
    return tiny_schemas()


def cached_jars() -> list[Path]:
    """One kafka-clients jar for each version that the kit has an image of."""
    jars = cache_dir().glob("images/*/kafka-clients.jar")
    return list({version_of(jar): jar for jar in sorted(jars)}.values())


class TestForm:
    def test_flexible_version(self, schemas: Schemas) -> None:
        """Compact lengths plus one, tagged fields at the end of each struct, a byte before a nullable
        struct.
        """
        encoded = schemas.message("PingRequest").encode(PING, 2)
        assert encoded.hex() == (
            "0468c3a9"
            "fd" + PORT_TO_TOPIC_ID + "0300ff"
            "0300000001ffffffff"
            "010000000400"
            "03"
            "00000001026100"
            "00"
            "00000002"
            "0100"
            "00"
            "02"
            "0008"
            "0000000000000005"
            "0105"
            "0000000300"
        )

    def test_older_version(self, schemas: Schemas) -> None:
        old = {name: value for name, value in PING.items() if name not in ("small", "deadline", "leader", "cursor")}
        old["voters"] = [{"id": 1}]
        encoded = schemas.message("PingRequest").encode(old, 0)
        assert encoded.hex() == (
            "000368c3a9" + PORT_TO_TOPIC_ID + "0000000200ff0000000200000001ffffffff0000000100000001"
        )

    def test_defaults_fill_what_is_left_out(self, schemas: Schemas) -> None:
        ping = schemas.message("PingRequest")
        decoded = ping.decode(ping.encode({}, 2), 2)
        assert (decoded["text"], decoded["small"], decoded["flag"], decoded["cursor"]) == (
            None,
            -1,
            True,
            None,
        )
        assert not {"deadline", "leader"} & decoded.keys(), "a tagged field that was left out stays out"

    def test_a_tagged_field_may_leave_its_versions_to_the_tag(self) -> None:
        """As ReplicaState does in the FetchRequest of 3.5."""
        tagged = {"name": "Late", "type": "int32", "taggedVersions": "1+", "tag": 0}
        message = Message(
            {"name": "M", "type": "data", "validVersions": "0-1", "flexibleVersions": "0+", "fields": [tagged]}
        )
        assert message.decode(message.encode({"late": 7}, 1), 1) == {"late": 7}
        assert not message.has("late", 0)

    def test_a_client_id_is_never_compact(self, schemas: Schemas) -> None:
        header = {"request_api_key": 1, "request_api_version": 2, "correlation_id": 3, "client_id": "a"}
        assert schemas.message("RequestHeader").encode(header, 2).hex() == "000100020000000300016100"


class TestMistakes:
    @pytest.mark.parametrize(
        ("fields", "version", "said"),
        [
            ({"txt": "a"}, 2, "no field 'txt'"),
            ({"small": 3}, 0, "doesn't carry 'small'"),
            ({"leader": {"ID": 3}}, 2, "leader has no field 'ID'"),
            ({"voters": [7]}, 2, "give a dict"),
            ({"port": "x"}, 2, "can't be encoded"),
            ({"port": 65536}, 2, "can't be encoded"),
            ({}, 3, "has 0-2"),
        ],
    )
    def test_encoding(self, schemas: Schemas, fields: dict[str, Any], version: int, said: str) -> None:
        with pytest.raises(SchemaError, match=said):
            schemas.message("PingRequest").encode(fields, version)

    def test_a_default_may_be_given_where_it_is_not_carried(self, schemas: Schemas) -> None:
        ping = schemas.message("PingRequest")
        assert ping.encode({"small": -1}, 0) == ping.encode({}, 0)

    @pytest.mark.parametrize("damage", [lambda data: data[:-3], lambda data: data + b"\x00"])
    def test_bytes_that_do_not_fit(self, schemas: Schemas, damage: Any) -> None:
        ping = schemas.message("PingRequest")
        with pytest.raises(SchemaError, match="Not a PingRequest v1"):
            ping.decode(damage(ping.encode({"text": "abc"}, 1)), 1)

    def test_withdrawn_api(self, schemas: Schemas) -> None:
        assert schemas.api("Stop").request.versions is None
        with pytest.raises(SchemaError, match="withdrawn"):
            schemas.message("StopRequest").encode({}, 0)

    def test_unknown_message(self, schemas: Schemas) -> None:
        with pytest.raises(SchemaError, match="'PinRequest', but PingRequest"):
            schemas.message("PinRequest")


class TestJar:
    def test_reads_what_a_jar_holds(self, tmp_path: Path) -> None:
        schemas = Schemas.of_jar(tiny_jar(tmp_path))
        assert [(api.key, api.name) for api in schemas.apis()] == [
            (5, "Stop"),
            (18, "ApiVersions"),
            (900, "Ping"),
        ]
        assert schemas.message("LeaderChangeMessage").type == "data"
        assert schemas.message("PingRequest").latest_version_unstable
        assert schemas.message("PingRequest").versions == Versions(0, 2)
        assert schemas.message("PingRequest").has("voters.host.name", 1)
        assert not schemas.message("PingRequest").has("voters.host.name", 0)

    def test_no_jar(self, tmp_path: Path) -> None:
        (tmp_path / "text.jar").write_text("no jar")
        with pytest.raises(SchemaError, match="can't be read as a jar"):
            Schemas.of_jar(tmp_path / "text.jar")

    def test_jar_without_schemas(self, tmp_path: Path) -> None:
        with zipfile.ZipFile(tmp_path / "empty.jar", "w") as archive:
            archive.writestr("a.class", b"")
        with pytest.raises(SchemaError, match="no message schemas"):
            Schemas.of_jar(tmp_path / "empty.jar")

    def test_all_messages_and_versions_come_back(self, tmp_path: Path) -> None:
        """Of the tiny jar, and of each Kafka version that the kit has an image of."""
        for jar in [tiny_jar(tmp_path), *cached_jars()]:
            for message, version in _messages(Schemas.of_jar(jar)):
                values = _sample(message._struct, version, random.Random(f"{message.name} {version}"))
                assert message.decode(message.encode(values, version), version) == values, (
                    jar,
                    message.name,
                    version,
                )

    def test_kafka_pythons_own_classes_stay(self, tmp_path: Path) -> None:
        before = dict(ResponseClassRegistry._response_class_registry)
        for jar in [tiny_jar(tmp_path), *cached_jars()]:
            for message, version in _messages(Schemas.of_jar(jar)):
                message.encode({}, version)
        assert ResponseClassRegistry._response_class_registry == before
        request = MetadataRequest[1](topics=[])
        request.with_header(correlation_id=1)
        assert request.header.get_response_class()[None] is MetadataResponse


def _messages(schemas: Schemas) -> Iterator[tuple[Message, int]]:
    for message in map(schemas.message, schemas.names()):
        if message.versions is not None:
            for version in range(message.versions.low, message.versions.high + 1):
                yield message, version


def _sample(struct: Any, version: int, chance: random.Random) -> dict[str, Any]:
    """Values unlike the defaults for all fields of a version."""
    fields = (field for field in struct.fields.values() if field.for_version_q(version))
    return {field.name: _value(field, version, chance) for field in fields}


def _value(field: Any, version: int, chance: random.Random) -> Any:
    if field.is_struct():
        return _sample(field, version, chance)
    if field.is_struct_array():
        return [_sample(field.array_of, version, chance) for _ in range(2)]
    if field.is_array():
        return [_simple(field.array_of.type_str.removeprefix("[]"), chance) for _ in range(2)]
    return not field.default if field.type_str == "bool" else _simple(field.type_str, chance)


def _simple(kind: str, chance: random.Random) -> Any:
    match kind:
        case "string":
            return "é" + str(chance.random())
        case "bytes" | "records":
            return chance.randbytes(200)
        case "uuid":
            return uuid.UUID(int=chance.getrandbits(128))
        case "float64":
            return chance.random()
        case "uint16":
            return chance.randrange(1, 2**16)
    bits = int(kind.removeprefix("int"))
    return chance.randrange(-(2 ** (bits - 1)), 2 ** (bits - 1))
