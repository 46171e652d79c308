"""Jars of Kafka's releases that this machine has already fetched; tables of protocol facts are compared with them."""

import struct
from pathlib import Path
from zipfile import ZipFile

import pytest

from history.paths import cache_dir

UTF8, CLASS = 1, 7
TWO_SLOTS = (5, 6)
SIZES = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}
"""The bytes of an entry of the constant pool after its tag, by tag."""


def jars_at_hand(artifact: str = "kafka-clients") -> list[Path]:
    """Return an artifact's jars in the kit's cache, one per release; none on a machine that never built an image.

    Images may be built while tests are collected, so a test that calls this is marked `jars`: it runs when they are
    complete.
    """
    return sorted(cache_dir().glob(f"jars/*/{artifact}-[0-9]*.jar"))


def jars_or_skip() -> list[Path]:
    """Return the jars of kafka-clients; skip the test if there are none."""
    if not (jars := jars_at_hand()):
        pytest.skip(f"no release's jars are in {cache_dir()}: run ./kit setup --kafka-version 4.3.1")
    return jars


def superclasses(jar: Path, package: str) -> dict[str, str]:
    """Return the superclass of each class of a package such as `org/apache/kafka/common/errors`, by simple names."""
    with ZipFile(jar) as archive:
        names = [name for name in archive.namelist() if name.rpartition("/")[0] == package and name.endswith(".class")]
        found = [_this_and_super(archive.read(name)) for name in names]
    return {this.rpartition("/")[2]: above.rpartition("/")[2] for this, above in found}


def _this_and_super(content: bytes) -> tuple[str, str]:
    """Return a class file's class and superclass (The Java Virtual Machine Specification, section 4.1)."""
    texts: dict[int, str] = {}
    classes: dict[int, int] = {}
    at, index = 10, 1
    [entries] = struct.unpack_from(">H", content, 8)
    while index < entries:
        tag = content[at]
        [value] = struct.unpack_from(">H", content, at + 1)
        if tag == UTF8:
            texts[index] = content[at + 3 : at + 3 + value].decode(errors="replace")
        elif tag == CLASS:
            classes[index] = value
        at += value + 3 if tag == UTF8 else 1 + SIZES[tag]
        index += 2 if tag in TWO_SLOTS else 1
    this, above = struct.unpack_from(">HH", content, at + 2)
    return texts[classes[this]], texts[classes[above]]
