"""What people read: page, Markdown and terminal."""

import io
import re
from html.parser import HTMLParser
from typing import Any

import pytest

from conformance.catalogue import shipped
from conformance.catalogue.deviations import Deviation
from conformance.judges.verdicts import VERDICTS
from reports import terminal
from reports.markdown import markdown
from reports.matrix import Matrix, Pooled
from reports.page import bar, in_words, page
from reports.shown import GLYPHS, MEANINGS
from tests.sample_matrix import ROW, all_cases, checks, matrix, violation

EVIL = "</td><script>alert(1)</script><img src=x onerror=alert(2)> | `x` \x1b[31m\"'&"
V = "4.3.1"


class Tags(HTMLParser):
    """Collects the tags of a page, with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def values(self, tag: str, name: str) -> list[str]:
        return [attrs[name] or "" for found, attrs in self.found if found == tag and name in attrs]


@pytest.fixture(scope="module")
def evil() -> Matrix:
    """A matrix in which everything that a shard brings tries to break out."""
    said = {
        "label": EVIL,
        "detail": EVIL,
        "check": EVIL,
        "example": EVIL,
        "evidence": "javascript:alert(3)",
        "case": EVIL,
    }
    pooled = Pooled(
        cases=all_cases(V, violated=2),
        checks=[checks(V, trouble=EVIL, errors=1)],
        violations=[violation(V, **said)],
        paths=[{"kafka_version": V, "requirement": ROW, "path": f"evidence/{EVIL}", "place": 1}],
        faults=[{"kafka_version": V, "requirement": ROW, "fault": EVIL, "injected": 1, "witnessed": 1, "healed": 1}],
    )
    facts: dict[str, Any] = {
        "topology": EVIL,
        "profile": EVIL,
        "run": EVIL,
        "kit": EVIL,
        "image_id": EVIL,
        "ranges": {"Fetch": 17, "x." + EVIL: 1},
    }
    return matrix(pooled, V, **facts)


def test_nothing_from_a_shard_becomes_a_tag_or_a_scheme(evil: Matrix) -> None:
    text = page(evil, shipped(), "..")
    tags = Tags(text)
    assert [tag for tag, _ in tags.found].count("script") == 1
    assert "img" not in {tag for tag, _ in tags.found}
    assert not [name for _, attrs in tags.found for name in attrs if name.startswith("on")]
    assert not [href for href in tags.values("a", "href") if href.lower().startswith("javascript:")]
    assert "&lt;script&gt;alert(1)" in text


def test_the_page_asks_for_nothing_from_elsewhere(evil: Matrix) -> None:
    text = page(evil, shipped(), "..")
    tags = Tags(text)
    assert not {"link", "iframe", "object", "embed"} & {tag for tag, _ in tags.found}
    assert not [value for tag, attrs in tags.found for name, value in attrs.items() if name == "src"]
    assert not re.findall(r"url\(|@import", text)
    (policy,) = [v for v in tags.values("meta", "content") if "default-src" in v]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")


def test_every_row_and_cell_can_be_reached(evil: Matrix) -> None:
    tags = Tags(page(evil, shipped(), ".."))
    ids = [attrs["id"] for _, attrs in tags.found if "id" in attrs]
    assert len(ids) == len(set(ids))
    local = {href[1:] for href in tags.values("a", "href") if href.startswith("#")}
    assert {row.id for row in shipped()} <= local <= set(ids)


def test_the_verdict_is_told_by_word_and_glyph(evil: Matrix) -> None:
    text = page(evil, shipped(), "..")
    assert re.search(r'<td class="violated"><a [^>]*><b aria-hidden="true">✗</b> violated', text)
    assert set(GLYPHS) == set(MEANINGS) == set(VERDICTS)
    assert len(set(GLYPHS.values())) == len(VERDICTS)


def test_evidence_is_linked_relative_to_the_run(evil: Matrix) -> None:
    hrefs = Tags(page(evil, shipped(), "../run 1")).values("a", "href")
    assert "../run%201/javascript%3Aalert%283%29" in hrefs


def test_the_page_says_what_is_incomplete_and_what_no_longer_holds() -> None:
    known = Deviation(requirement=ROW, versions=("4.3..",), reason="r", ticket="KAFKA-1")
    green = Pooled(cases=all_cases(V), checks=[checks(V)])
    assert "no longer holds on 4.3.1" in page(matrix(green, V, deviations=[known]), shipped(), "..")
    assert "Column 4.3.1 is incomplete" in page(matrix(green, V, complete=False), shipped(), "..")
    red = Pooled(cases=all_cases(V, violated=1), checks=[checks(V)])
    assert "† Known deviation" in page(matrix(red, V, deviations=[known]), shipped(), "..")


def test_what_is_shown_is_deterministic(evil: Matrix) -> None:
    assert page(evil, shipped(), "..") == page(evil, shipped(), "..")
    assert markdown(evil) == markdown(evil)


def test_the_terminal_gets_counts_and_cells_and_no_control_characters(evil: Matrix) -> None:
    out = io.StringIO()
    terminal.show(evil, out)
    assert "\x1b" not in out.getvalue()
    assert re.search(rf"✗ violated +4\.3\.1  {ROW}: \d+ observations break the row", out.getvalue())
    assert re.search(r"4\.3\.1 +1 ", out.getvalue())


def test_the_bar_has_a_segment_for_each_verdict_side_by_side() -> None:
    segments = bar({"violated": 2, "satisfied": 5})
    assert [(s.verdict, s.start, s.count) for s in segments] == [("satisfied", 0, 5), ("violated", 5, 2)]


@pytest.mark.parametrize(
    ("versions", "words"),
    [("3.3..3.7", "3.3 to 3.7"), ("4.3..", "4.3 and later"), ("..3.9", "up to 3.9"), ("..", "every version")],
)
def test_ranges_are_put_in_words(versions: str, words: str) -> None:
    assert in_words(versions) == words
