"""A jar with a few schemas, so that the wire client's tests need no Kafka."""

import zipfile
from pathlib import Path

from fixtures.wire.schemas import Schemas

SCHEMAS = {
    "RequestHeader": """// a comment
    {"type": "header", "name": "RequestHeader", "validVersions": "1-2", "flexibleVersions": "2+", "fields": [
      {"name": "RequestApiKey", "type": "int16", "versions": "0+"},
      {"name": "RequestApiVersion", "type": "int16", "versions": "0+"},
      {"name": "CorrelationId", "type": "int32", "versions": "0+"},
      {"name": "ClientId", "type": "string", "versions": "1+", "nullableVersions": "1+", "flexibleVersions":
      "none"} ]}""",
    "ResponseHeader": """
    {"type": "header", "name": "ResponseHeader", "validVersions": "0-1", "flexibleVersions": "1+", "fields": [
      {"name": "CorrelationId", "type": "int32", "versions": "0+"}]}""",
    "ApiVersionsRequest": """
    {"apiKey": 18, "type": "request", "name": "ApiVersionsRequest", "validVersions": "0-3",
     "flexibleVersions": "3+", "fields": [
      {"name": "ClientSoftwareName", "type": "string", "versions": "3+"},
      {"name": "ClientSoftwareVersion", "type": "string", "versions": "3+"}]}""",
    "ApiVersionsResponse": """
    {"apiKey": 18, "type": "response", "name": "ApiVersionsResponse", "validVersions": "0-3",
     "flexibleVersions": "3+", "fields": [
      {"name": "ErrorCode", "type": "int16", "versions": "0+"},
      {"name": "ApiKeys", "type": "[]ApiVersion", "versions": "0+", "fields": [
        {"name": "ApiKey", "type": "int16", "versions": "0+", "mapKey": true},
        {"name": "MinVersion", "type": "int16", "versions": "0+"},
        {"name": "MaxVersion", "type": "int16", "versions": "0+"}]},
      {"name": "ThrottleTimeMs", "type": "int32", "versions": "1+", "ignorable": true}]}""",
    "PingRequest": """
    {"apiKey": 900, "type": "request", "name": "PingRequest", "validVersions": "0-2", "flexibleVersions":
    "2+", "latestVersionUnstable": true, "fields": [
      // Fields of each kind.
      {"name": "Text", "type": "string", "versions": "0+", "nullableVersions": "1+", "default": "null"},
      {"name": "Small", "type": "int8", "versions": "1+", "default": "-1"},
      {"name": "Port", "type": "uint16", "versions": "0+"},
      {"name": "Ratio", "type": "float64", "versions": "0+"},
      {"name": "Flag", "type": "bool", "versions": "0+", "default": "true"},
      {"name": "TopicId", "type": "uuid", "versions": "0+"},
      {"name": "Data", "type": "records", "versions": "0+", "nullableVersions": "0+"},
      {"name": "Ids", "type": "[]int32", "versions": "0+", "nullableVersions": "1+"},
      {"name": "Deadline", "type": "int64", "versions": "2+", "default": "0x7fffffff", "taggedVersions": "2+",
      "tag": 0}, {"name": "Leader", "type": "Leader", "versions": "2+", "taggedVersions": "2+", "tag": 1,
      "fields": [ {"name": "Id", "type": "int32", "versions": "2+", "default": "-1"}]},
      {"name": "Cursor", "type": "Cursor", "versions": "1+", "nullableVersions": "1+", "default": "null",
      "fields": [ {"name": "At", "type": "int32", "versions": "1+"}]},
      {"name": "Voters", "type": "[]Voter", "versions": "0+"}],
     "commonStructs": [{"name": "Voter", "versions": "0+", "fields": [
      {"name": "Id", "type": "int32", "versions": "0+"},
      {"name": "Host", "type": "Host", "versions": "1+"}]},
      {"name": "Host", "versions": "0+", "fields": [{"name": "Name", "type": "string", "versions":
      "0+"}]}]}""",
    "PingResponse": """
    {"apiKey": 900, "type": "response", "name": "PingResponse", "validVersions": "0-2", "flexibleVersions":
    "2+", "fields": [{"name": "ErrorCode", "type": "int16", "versions": "0+"},
                {"name": "Text", "type": "string", "versions": "0+"}]}""",
    "StopRequest": """
    {"apiKey": 5, "type": "request", "name": "StopRequest", "validVersions": "none", "fields": []}""",
    "StopResponse": """
    {"apiKey": 5, "type": "response", "name": "StopResponse", "validVersions": "none", "fields": []}""",
    "LeaderChangeMessage": """
    {"type": "data", "name": "LeaderChangeMessage", "validVersions": "0", "flexibleVersions": "0+", "fields":
    [ {"name": "Version", "type": "int16", "versions": "0+"},
      {"name": "LeaderId", "type": "int32", "versions": "0+"}]}""",
}


def tiny_jar(directory: Path) -> Path:
    jar = directory / "tiny.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr("org/apache/kafka/Some.class", b"\xca\xfe")
        for name, schema in SCHEMAS.items():
            archive.writestr(f"common/message/{name}.json", schema)
    return jar


def tiny_schemas() -> Schemas:
    return Schemas(SCHEMAS, "tiny.jar")
