"""The site, without a browser: what is on its pages, where its links lead, and what it refuses to load."""

from __future__ import annotations

import re
import shutil
from html.parser import HTMLParser
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from conformance.catalogue import shipped_rows
from conformance.catalogue.quotes import quotes_by_row
from conformance.judging.pooling import Attempts
from conformance.judging.verdicts import VERDICTS
from history.shards import AttemptCount
from reports.insights import Coverage, FaultMet, Firsts, Insights, PremiseReach, Spent, TrendPoint, Wavering
from reports.matrix import Matrix, Pooled
from reports.merge import Merged
from reports.site import write_site
from reports.site.render import raw_link, read_asset
from reports.texts.statement import statements
from reports.texts.wording import GLYPHS, MEANINGS
from tests.support.sample_matrix import ROW, all_cases, checks, known_deviation, matrix, violation

EVIL = "</td></pre><script>alert(1)</script><img src=x onerror=alert(2)> | `x` \x1b[31m\"'& \u202egnissap"
LONG = "long " * 2000
IMAGE = "4.3.1@registry.example/kafka:a b;$(id)"
COLUMNS = ("3.9.2", "4.3.1", IMAGE)
KNOWN = known_deviation(versions=("..",), reason="r " + EVIL, ticket="KAFKA-1")


def merged(found: Matrix, insights: Insights | None = None) -> Merged:
    return Merged(matrix=found, insights=insights or Insights())


class Page(HTMLParser):
    """The tags of a page with their attributes, its text, and the text of each cell of a table by row id."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.cells: dict[str, list[tuple[str, str]]] = {}
        self.text = ""
        self._row = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.append((tag, given))
        if tag == "tr":
            self._row = (given.get("id") or "").removeprefix("m-")
        if tag == "td":
            self.cells.setdefault(self._row, []).append((given.get("class") or "", ""))

    def handle_endtag(self, tag: str) -> None:
        if tag == "tr":
            self._row = ""

    def handle_data(self, data: str) -> None:
        self.text += data
        if found := self.cells.get(self._row):
            found[-1] = (found[-1][0], found[-1][1] + data)

    def values(self, tag: str, name: str) -> list[str]:
        return [attrs[name] or "" for found, attrs in self.tags if found == tag and name in attrs]


def insights() -> Insights:
    """One of each, all about the row that is tried, and all hostile."""
    trend = [
        TrendPoint(
            requirement=ROW, kafka_version=label, run_date=f"2026-11-{day}", run=EVIL, verdict="violated", observations=3,
            violations=1,
        )
        for label in COLUMNS
        for day in (20, 21)
    ]  # fmt: skip
    return Insights(
        firsts=[Firsts(requirement=ROW, bad=["4.3.1"], good=["3.9.2"], first_bad="4.3.1", last_good="3.9.2", first_good="")],
        wavering=[
            Wavering(
                requirement=ROW, kafka_version="4.3.1", check=EVIL, case=EVIL, inputs=EVIL, tries=7, violated=2,
                answers={EVIL: 5, "": 2},
            )
        ],
        coverage=[
            Coverage(requirement=ROW, kafka_version=label, examples=3, cases_reached=2, cases=3, faults={}) for label in COLUMNS
        ],
        premises=[
            PremiseReach(kafka_version="4.3.1", check="kip320.a", premise="was cut " + EVIL, met=0, unmet=4),
            PremiseReach(kafka_version="4.3.1", check="kip320.a", premise="was bumped", met=5, unmet=1),
        ],
        faults_met=[FaultMet(kafka_version="4.3.1", fault="zombie " + EVIL, examples=6, injected=6, witnessed=5, healed=6)],
        spent=[Spent(kafka_version="4.3.1", check=EVIL, examples=7, seconds=90.0, outcomes={"done": 1, EVIL: 1})],
        trend=trend,
    )  # fmt: skip


def sample() -> Merged:
    """3.9.2 is good; 4.3.1 and a user's image are broken, and everything that shards bring tries to break out."""
    fields = {"label": EVIL, "check": EVIL, "example": EVIL, "case": EVIL, "evidence": "evidence/x/1"}
    broken = COLUMNS[1:]
    pooled = Pooled(
        cases=[*all_cases("3.9.2"), *(line for label in broken for line in all_cases(label, violated=2))],
        checks=[checks("3.9.2"), *(checks(label, trouble=EVIL, errors=1) for label in broken)],
        violations=[
            *(violation(label, **fields, detail=detail) for label, detail in product(broken, (EVIL, LONG))),
            violation("4.3.1", **fields | {"evidence": "javascript:alert(3)", "history": "../../outside"}),
        ],
        paths=[{"kafka_version": "4.3.1", "requirement": ROW, "path": f"evidence/{EVIL}", "place": 1}],
        faults=[
            {"kafka_version": "4.3.1", "requirement": ROW, "fault": EVIL, "injected": 3, "witnessed": 2, "healed": 1}
        ],
    )
    facts: dict[str, Any] = {
        "topology": EVIL, "profile": EVIL, "run": EVIL, "kit": EVIL, "ranges": {"Fetch": 17, "x." + EVIL: 1},
    }  # fmt: skip
    found = matrix(pooled, *COLUMNS, deviations=[KNOWN], **facts)
    found.columns[-1].version = "4.3.1"
    return merged(found, insights())


@pytest.fixture(scope="module")
def made() -> Merged:
    return sample()


@pytest.fixture(scope="module")
def site(made: Merged, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a site, beside the folder of its run, where its evidence can be found."""
    folder = tmp_path_factory.mktemp("site")
    run, out = folder / "run 1", folder / "matrix"
    found = {path for cell in made.matrix.cells for v in cell.shown for path in (v.history, v.evidence)}
    for path in {*found, f"evidence/{EVIL}"} - {"../../outside", ""}:
        (run / path).mkdir(parents=True, exist_ok=True)
    write_site(made, shipped_rows(), out, run)
    for name in ("matrix.json", "matrix.md", *(f"statements/{name}.md" for name in statements(made.matrix))):
        (out / name).write_text("")
    return out


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Page]:
    return {
        str(path.relative_to(site)): Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))
    }


def row_page(pages: dict[str, Page]) -> Page:
    return pages[f"rows/{ROW}.html"]


def test_every_cell_is_on_the_page_with_its_sign_its_word_and_its_strength(
    made: Merged, pages: dict[str, Page]
) -> None:
    shown = pages["index.html"].cells
    for row in made.matrix.requirements:
        cells = [cell for cell in made.matrix.cells if cell.requirement == row.requirement]
        assert [found[0] for found in shown[row.requirement]] == [cell.verdict for cell in cells]
        for (_, text), cell in zip(shown[row.requirement], cells, strict=True):
            assert "".join(text.split()).rstrip("†") == GLYPHS[cell.verdict] + cell.verdict + row.level
    assert set(GLYPHS) == set(MEANINGS) == set(VERDICTS)
    assert len(set(GLYPHS.values())) == len(VERDICTS)


def test_every_link_leads_to_something(site: Path, pages: dict[str, Page]) -> None:
    ids = {name: [attrs["id"] or "" for _, attrs in page.tags if "id" in attrs] for name, page in pages.items()}
    for name, page in pages.items():
        assert len(ids[name]) == len(set(ids[name])), name
        for href in page.values("a", "href"):
            parts = urlsplit(href)
            if parts.scheme:
                assert href.startswith("https://issues.apache.org/jira/browse/"), (name, href)
                continue
            target = (site / name).parent / unquote(parts.path) if parts.path else site / name
            if name.startswith("evidence/") and not target.resolve().is_relative_to(site.resolve()):
                continue  # Links of an evidence page into the run are tested with that page.
            assert target.exists(), (name, href)
            inside = str(target.resolve().relative_to(site.resolve())) if target.suffix == ".html" else ""
            assert not parts.fragment or unquote(parts.fragment) in ids[inside], (name, href)


def test_nothing_is_loaded_but_the_site_s_own_files(site: Path, pages: dict[str, Page]) -> None:
    for name, page in pages.items():
        loads = [*page.values("link", "href"), *page.values("script", "src")]
        assert loads
        assert all(((site / name).parent / load).parent.resolve() == (site / "assets").resolve() for load in loads), (
            name
        )
        (policy,) = [value for value in page.values("meta", "content") if "default-src" in value]
        assert policy.startswith("default-src 'none'; style-src 'self' file:; script-src 'self' file:;")
        assert not {"img", "iframe", "object", "embed", "style", "base"} & {tag for tag, _ in page.tags}
    for file in (site / "assets").iterdir():
        assert not re.search(r"url\(|@import|https?:|fetch\(|XMLHttp|innerHTML|eval\(", file.read_text()), file.name


def test_what_shards_bring_stays_text(pages: dict[str, Page]) -> None:
    for name, page in pages.items():
        assert all("src" in attrs for tag, attrs in page.tags if tag == "script"), name
        assert not [attr for _, attrs in page.tags for attr in attrs if attr.startswith("on") or attr == "style"], name
        assert not re.search("[\u202e\x1b]", page.text), name
        for href in page.values("a", "href"):
            assert "script:" not in href, name
    for name in (f"rows/{ROW}.html", "faults.html", "runs.html"):
        assert "<script>alert(1)</script><img src=x" in pages[name].text
        assert "⟨U+202E⟩gnissap" in pages[name].text


def test_a_long_text_is_begun_and_the_rest_is_behind_more(site: Path) -> None:
    text = (site / f"rows/{ROW}.html").read_text(encoding="utf-8")
    folded = re.findall(
        r'<details class="quoted"><summary><span class="pre">([^<]*)</span>(.*?)</summary><pre>([^<]*)</pre>', text
    )
    assert folded
    assert all(
        len(begun) < 400 and f"more ({len(LONG)} characters)" in more and whole == LONG for begun, more, whole in folded
    )


def test_paths_of_a_shard_lead_nowhere_but_into_the_run(tmp_path: Path) -> None:
    link = raw_link(tmp_path / "out", tmp_path / "run 1", "rows/x.html")
    assert link("evidence/x/1") == "../../run%201/evidence/x/1"
    assert link("javascript:alert(3)") == "../../run%201/javascript%3Aalert%283%29"
    assert [link(path) for path in ("", "../x", "a/../../x", "/etc/passwd", "a\\..\\b")] == [""] * 5
    assert raw_link(tmp_path, None, "index.html")("evidence/x/1") == ""


def test_a_row_s_page_tells_all_of_it_without_a_script(made: Merged, pages: dict[str, Page]) -> None:
    row, page = shipped_rows()[ROW], row_page(pages)
    wanted = [
        row.title, row.statement, row.section, f"KIP-{row.kip}", row.level, row.kind, f"check-{ROW}", "KAFKA-1",
        "Broken since 4.3.1 (3.9.2 was good), last seen in 4.3.1.", f"Violated on 4.3.1, {IMAGE}; satisfied on 3.9.2.",
            "2 violated", "5 held", "3 inputs, 5 examples",
        "2026-11-20", "2 / 3", "1 healed", "7", "no answer",
        *(case.about for case in row.cases), *row.mutants,
    ]  # fmt: skip
    text = " ".join(page.text.split())
    assert [each for each in wanted if " ".join(each.split()) not in text] == []
    assert [label for label in COLUMNS if label not in text] == []


def test_a_row_s_page_tells_what_was_left_undecided_by_name(tmp_path: Path) -> None:
    attempts = Attempts({("kip320.a", "consumer"): AttemptCount(made=9, lost=4, errors=1)})
    cases = all_cases("4.3.1", excused={"open": 3}, left_out={"<b>gone</b>": 1})
    found = matrix(Pooled(cases=cases, checks=[checks("4.3.1", attempts=attempts)]), "4.3.1")
    write_site(merged(found), shipped_rows(), tmp_path, None)
    text = Page((tmp_path / "rows" / f"{ROW}.html").read_text()).text
    assert "3 excused (open 3)" in text
    assert "1 left out (<b>gone</b> 1)" in text
    assert "4 of 9 tries lost their premise" in text
    assert "kip320.a: 4 lost their premise and 1 ended in trouble of the kit of 9 examples" in text


def test_from_the_index_to_what_breaks_since_when_and_how_to_see_it_is_one_click(pages: dict[str, Page]) -> None:
    assert pages["index.html"].values("a", "href").count(f"rows/{ROW}.html") == 2
    text = " ".join(row_page(pages).text.split())
    for sentence in (
        "Broken since 4.3.1 (3.9.2 was good), last seen in 4.3.1.",
        f"./kit bisect {ROW}",
        "./kit pytest --kafka-version 4.3.1 --replay out/evidence/x/1/schedule.json",
    ):
        assert sentence in text


def test_a_command_with_a_user_s_image_is_safe_to_paste(pages: dict[str, Page]) -> None:
    text = row_page(pages).text
    assert f"./kit pytest --kafka-image 'kafka:{IMAGE}' --requirement {ROW} --all-that-see-it -k" in text
    assert f"./kit explain {ROW} --kafka-version '{IMAGE}'" in text
    assert "--replay 'out/javascript:alert(3)/schedule.json'" in text


def test_the_index_tells_findings_before_the_matrix_and_warns_of_what_is_missing(tmp_path: Path) -> None:
    cut = matrix(Pooled(cases=all_cases("4.3.1", violated=1), checks=[checks("4.3.1")]), "4.3.1", complete=False)
    text = Page(write_site(merged(cut), shipped_rows(), tmp_path, None).read_text(encoding="utf-8")).text
    assert "Column 4.3.1 is incomplete" in text
    assert 0 < text.index("Broken in 4.3.1, the newest column") < text.index("every cell leads to its row")


def test_an_index_tells_what_no_longer_holds(tmp_path: Path) -> None:
    known = known_deviation(ticket="KAFKA-1")
    green = matrix(Pooled(cases=all_cases("4.3.1"), checks=[checks("4.3.1")]), "4.3.1", deviations=[known])
    index = write_site(merged(green), shipped_rows(), tmp_path, None)
    assert "no longer holds on 4.3.1" in index.read_text(encoding="utf-8")


def test_an_index_tells_a_known_deviation_for_the_columns_that_have_it_only(tmp_path: Path) -> None:
    columns = ("3.9.2", "4.2.0", "4.3.1")
    broken = Pooled(cases=[line for label in columns for line in all_cases(label, violated=1)])
    known = known_deviation(versions=("..4.2",), ticket="KAFKA-1")
    index = write_site(merged(matrix(broken, *columns, deviations=[known])), shipped_rows(), tmp_path, None)
    text = " ".join(Page(index.read_text(encoding="utf-8")).text.split())
    assert "KAFKA-1 on 3.9.2–4.2.0 not known yet on 4.3.1" in text


def test_differences_of_neighbours_are_pages(pages: dict[str, Page]) -> None:
    page = pages["diff/3.9.2..4.3.1.html"]
    assert re.search(rf"Broke\s+1 row.*{ROW}.*satisfied.*violated", page.text, re.DOTALL)
    assert "No row differs" in next(page.text for name, page in pages.items() if name.startswith("diff/4.3.1..4.3.1-"))


def test_premises_never_met_and_faults_without_a_witness_stand_out(pages: dict[str, Page]) -> None:
    page = pages["faults.html"]
    text = " ".join(page.text.split())
    assert "1 premise never met on any column." in text
    assert text.rindex("was cut") < text.rindex("was bumped"), "those never met come first in their table"
    assert "2 / 3, 1 healed" in text
    assert re.search("2 / 3 ?67 %", text)
    assert re.search(r"zombie .*5 / 6 ?6 examples", text)


def test_each_column_has_a_statement_that_index_and_runs_lead_to(site: Path, pages: dict[str, Page]) -> None:
    for label in ("3.9.2", "4.3.1"):
        path = f"statements/{label}.html"
        assert path in pages["index.html"].values("a", "href")
        assert path in pages["runs.html"].values("a", "href")
        page = pages[path]
        assert f"../rows/{ROW}.html" in page.values("a", "href"), "a row that it names is one click away"
        assert f"../statements/{label}.md" in page.values("a", "href")
        assert not page.values("td", "style"), "the policy forbids styles in the page"
    assert "alert(1)" in pages["statements/4.3.1.html"].text, "foreign text is shown, and escaped"
    assert len(list((site / "statements").glob("*.html"))) == len(COLUMNS)


def test_a_row_quotes_its_document_with_its_source(pages: dict[str, Page]) -> None:
    quote = quotes_by_row()[ROW]
    text = " ".join(row_page(pages).text.split())
    assert f"“{quote.text}”{quote.source}" in text
    assert "quote" not in pages["rows/GEN-12.html"].values("blockquote", "class")


def test_runs_tell_images_seeds_and_time(pages: dict[str, Page]) -> None:
    text = " ".join(pages["runs.html"].text.split())
    assert re.search(r"sha256:4\.3\.1\b.*Profile.*Seeds ?7 ?Kit", text)
    assert re.search(r"1\.5 ?7 examples", text)


@pytest.mark.parametrize(("job", "is_linked"), [("https://ci/8", True), ("javascript:alert(1)", False)])
def test_runs_tell_where_they_come_from(job: str, tmp_path: Path, *, is_linked: bool) -> None:
    origin: dict[str, Any] = {
        "began": "2026-11-21T01:17:00+00:00",
        "host": "<b>runner",
        "commit": "abc (changed)",
        "attempt": 2,
    }
    write_site(merged(matrix(Pooled(), "4.3.1", job=job, **origin)), shipped_rows(), tmp_path, None)
    page = (tmp_path / "runs.html").read_text()
    assert "r1 began at 2026-11-21T01:17:00+00:00 on &lt;b&gt;runner, kit at abc (changed)" in page
    assert (f'<a href="{job}">' in page) == is_linked
    assert "attempt 2" in page


def test_the_same_merge_gives_the_same_bytes(site: Path, tmp_path: Path) -> None:
    shutil.copytree(site.parent / "run 1", tmp_path / "run 1")
    write_site(sample(), shipped_rows(), tmp_path / "matrix", tmp_path / "run 1")
    first = {path.relative_to(site): path.read_bytes() for path in site.rglob("*.html")}
    assert first == {
        path.relative_to(tmp_path / "matrix"): path.read_bytes() for path in tmp_path.rglob("matrix/**/*.html")
    }


def test_a_merge_into_the_same_folder_leaves_no_page_of_the_one_before(made: Merged, tmp_path: Path) -> None:
    write_site(made, shipped_rows(), tmp_path, None)
    (tmp_path / "diff" / "own.txt").write_text("not the site's")
    write_site(merged(matrix(Pooled(), "4.3.1")), shipped_rows(), tmp_path, None)
    assert [path.name for path in (tmp_path / "diff").iterdir()] == ["own.txt"]


def test_the_matrix_of_twelve_columns_weighs_little(tmp_path: Path) -> None:
    versions = [f"{major}.{minor}.1" for major in (3, 4) for minor in range(3, 9)]
    found = matrix(Pooled(cases=[line for version in versions for line in all_cases(version, violated=1)]), *versions)
    assert write_site(merged(found), shipped_rows(), tmp_path, None).stat().st_size < 1_500_000


def colours(scheme: str) -> dict[str, str]:
    light, dark = read_asset("style.css").split("@media (prefers-color-scheme: dark)")
    found = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", light))
    return found | (dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", dark)) if scheme == "dark" else {})


def contrast(one: str, other: str) -> float:
    """The contrast that WCAG 2 defines, for colours such as `#1a2b3c`."""

    def light(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read_on_what_it_lies_on(scheme: str) -> None:
    found = colours(scheme)
    texts = ("ink", "soft", "link", *(verdict for verdict in VERDICTS))
    pairs = [*product(texts, ("page", "card", "head")), ("solid-ink", "violated-solid")]
    pairs += [(verdict, f"{verdict}-bg") for verdict in VERDICTS if f"{verdict}-bg" in found]
    assert len(pairs) == 12 * 3 + 1 + 6
    low = {pair: round(ratio, 2) for pair in pairs if (ratio := contrast(found[pair[0]], found[pair[1]])) < 4.5}
    assert low == {}
