"""The recognition of Python structures in text, which no sentence for people may have."""

import re
from collections.abc import Iterable
from functools import cache

import msgspec

from conformance.core.checks import import_checks

_TEXTS = re.compile(
    r"<[A-Z]\w*\.\w+: -?\d+>"  # an enum
    r"|\b(?:frozenset|set|dict_keys|dict_values|mappingproxy|defaultdict|OrderedDict|Counter|UUID|Decimal|PosixPath)\("
    r"|(?<![.\w])[a-z_]+=(?:None|True|False|-?\d|['\"(\[{<]|[A-Z]\w*\()"  # a field of a struct
    r"|(?<!['\w])b'|\b(?:None|True|False)\b"
    r"|\{\}|\[\]|\(\)|\(-?\w+,\)|\('|\['|\{'|\{\d|\(-?\d+, -?\d+[,)]"
    r"|<[\w.]+ object at "
)


@cache
def _names() -> re.Pattern[str]:
    import_checks()
    found, open_ = set[str](), [msgspec.Struct]
    while open_:
        below = open_.pop().__subclasses__()
        found |= {one.__name__ for one in below}
        open_ += below
    return re.compile(rf"\b(?:{'|'.join(sorted(found))})\(")


def structures(text: str) -> list[str]:
    """Return the parts of a text that look like Python structures."""
    return [one.group() for pattern in (_TEXTS, _names()) for one in pattern.finditer(text)]


def with_structures(texts: Iterable[str]) -> dict[str, list[str]]:
    """Return the texts with such parts, each with its parts."""
    return {text: found for text in texts if (found := structures(text))}
