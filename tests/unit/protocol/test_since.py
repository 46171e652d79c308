"""The table of first versions against the schemas of whatever release is at hand."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from protocol.since import FIELDS, SUPPORT, since
from tests.support.release_jars import jars_at_hand, jars_or_skip

ANNOUNCED = ("PRODUCER_FENCED", "TRANSACTION_ABORTABLE")
COMMENT = re.compile(r"^\s*//.*$", re.MULTILINE)

Texts = list[tuple[str, str]]
"""Each message of each release with its schema."""


def schemas(jar: Path) -> Iterator[tuple[str, str]]:
    with ZipFile(jar) as archive:
        for name in archive.namelist():
            if name.startswith("common/message/") and name.endswith(".json"):
                yield Path(name).stem, archive.read(name).decode()


@pytest.fixture(scope="module")
def texts() -> Texts:
    jars = [*jars_or_skip(), *jars_at_hand("kafka-group-coordinator")]
    return [found for jar in jars for found in schemas(jar)]


def fields(schema: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for field in [*schema.get("fields", ()), *schema.get("commonStructs", ())]:
        # A tagged field may have no other versions than those in which it is tagged.
        yield field["name"], field.get("versions") or field["taggedVersions"]
        yield from fields(field)


def first_versions(text: str, field: str) -> set[int]:
    """The lowest version of each field of that name."""
    named = [versions for name, versions in fields(json.loads(COMMENT.sub("", text))) if name == field]
    return {int(re.split(r"[+-]", versions)[0]) for versions in named}


def highest_version(text: str) -> int:
    """The highest version that a schema offers; -1 for one that is withdrawn."""
    offered = json.loads(COMMENT.sub("", text))["validVersions"]
    return -1 if offered == "none" else int(re.split(r"[+-]", offered)[-1])


def test_a_bound_is_found_by_message_and_field_or_by_api_and_what_it_supports() -> None:
    assert since("FetchRequest", "LastFetchedEpoch") == 12
    assert since("InitProducerId", "PRODUCER_FENCED") == 4
    with pytest.raises(KeyError):
        since("FetchRequest", "NoSuchField")


def test_no_name_is_in_both_tables() -> None:
    assert not set(FIELDS) & set(SUPPORT)


def announced(texts: Texts, api: str, words: str) -> set[int]:
    """The versions that the schemas of an API's request announce in these words."""
    requests = [text for name, text in texts if name == f"{api}Request"]
    return {int(version) for text in requests for version in re.findall(words, text)}


def expected(texts: Texts, api: str, what: str) -> set[int]:
    """The version of the table, if a release at hand has come so far."""
    version = since(api, what)
    return {version for name, text in texts if name == f"{api}Request" and highest_version(text) >= version}


@pytest.mark.jars
@pytest.mark.parametrize(("message", "field"), [(message, field) for message in FIELDS for field in FIELDS[message]])
def test_each_field_is_in_the_schemas_since_that_version(texts: Texts, message: str, field: str) -> None:
    """The first place of a field that moved counts. A release without the field offers no version that would have it."""
    named = [text for name, text in texts if name == message]
    first = [first_versions(text, field) for text in named]
    assert {min(found) for found in first if found} <= {since(message, field)}
    without = [highest_version(text) for text, found in zip(named, first, strict=True) if not found]
    assert all(highest < since(message, field) for highest in without)


@pytest.mark.jars
@pytest.mark.parametrize(
    ("api", "error"), [(api, code) for api in SUPPORT for code in SUPPORT[api] if code in ANNOUNCED]
)
def test_each_error_code_is_announced_for_that_version(texts: Texts, api: str, error: str) -> None:
    # Some releases write "Verison".
    words = rf"Ver\w+ (\d+) adds (?:the )?support for new error code {error}"
    assert announced(texts, api, words) == expected(texts, api, error)


@pytest.mark.jars
@pytest.mark.parametrize(
    ("api", "what", "words"),
    [
        ("Produce", "transaction V2", r"Version (\d+) is the same as version \d+ \(KIP-890\)"),
        ("TxnOffsetCommit", "transaction V2", r"Version (\d+) is the same as version \d+ \(KIP-890\)"),
        ("EndTxn", "transaction V2", r"Version (\d+) enables bumping epoch on every transaction"),
        (
            "Fetch",
            "magic 2",
            r"tarting in version (\d+), the req\w+ must be\s+// able to handle Kafka log message format",
        ),
        ("ConsumerGroupHeartbeat", "regular expressions", r"Version (\d+) adds SubscribedTopicRegex"),
        ("Fetch", "zstd", r"Version (\d+) indicates that we can use the ZStd compression algorithm"),
        ("DescribeGroups", "GROUP_ID_NOT_FOUND", r"Version (\d+) returns error code GROUP_ID_NOT_FOUND"),
        ("ListOffsets", "MAX_TIMESTAMP", r"Version (\d+) enables listing offsets by max timestamp"),
        ("JoinGroup", "MEMBER_ID_REQUIRED", r"Starting from version (\d+), the client needs to issue a second request"),
    ],
)
def test_what_else_a_version_supports_is_announced_for_it(texts: Texts, api: str, what: str, words: str) -> None:
    assert announced(texts, api, words) == expected(texts, api, what)
