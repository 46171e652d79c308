"""The published site: no link leads out of it or nowhere, and the oldest nights shrink first."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from conformance.catalogue import shipped_rows
from reports.insights import Insights
from reports.matrix import Pooled, encode_matrix
from reports.merge import Merged
from reports.site.pages import write_site
from reports.site.published import NightLine, copy_run, drop_evidence, keep_within, size_of, write_nights
from tests.support.sample_matrix import ROW, all_cases, checks, matrix, violation

EVIDENCE, HISTORY = f"evidence/{ROW}/r1-1", "histories/r1/a b.jsonl"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A merged run with a violated cell: its evidence is there, the history of another violation is gone."""
    run = tmp_path / "merged"
    shown = [
        violation("4.3.1", evidence=EVIDENCE, history=HISTORY),
        violation("4.3.1", evidence="", history="histories/r1/gone.jsonl"),
    ]
    found = matrix(Pooled(cases=all_cases("4.3.1", violated=2), checks=[checks("4.3.1")], violations=shown), "4.3.1")
    for path, text in {
        f"{EVIDENCE}/report.md": "it <b>broke</b>",
        f"{EVIDENCE}/logs/n.log": "x" * 5000,
        HISTORY: "{}",
    }.items():
        (run / path).parent.mkdir(parents=True, exist_ok=True)
        (run / path).write_text(text)
    (run / "evidence" / "unlinked").mkdir()
    write_site(Merged(matrix=found, insights=Insights()), shipped_rows(), run / "matrix", run)
    (run / "matrix" / "parquet").mkdir()
    for name in ("matrix.json", "matrix.md"):
        (run / "matrix" / name).write_bytes(encode_matrix(found))
    (run / "matrix" / "badges").mkdir()
    (run / "matrix" / "badges" / "all.json").write_text("{}")
    return run


def dead_links(site: Path) -> Iterator[str]:
    """Yield each local link of a site that leads out of it, or to nothing that a server of static files has."""
    for page in site.rglob("*.html"):
        for href in re.findall(r'(?:href|url)="?=?([^"]*)"', page.read_text()):
            parts = urlsplit(href)
            target = (page.parent / unquote(parts.path)).resolve()
            is_there = target.is_file() or (target / "index.html").is_file()
            if not parts.scheme and parts.path and not (target.is_relative_to(site.resolve()) and is_there):
                yield f"{page.relative_to(site)}: {href}"


def line(night: str) -> NightLine:
    return NightLine(night, "2026-11-27T03:00:00+00:00", 11, ["A on 4.3.1"], [], [], ["3.8.1"], 5400)


def published(run: Path, site: Path, *nights: str) -> Path:
    for night in nights:
        copy_run(run, site / "runs" / night)
    write_nights(site, [line(night) for night in reversed(nights)])
    return site


def test_no_link_leads_out_of_the_site_or_nowhere(run: Path, tmp_path: Path) -> None:
    assert [*dead_links(run / "matrix")], "the merge's own pages lead to what is beside them"
    site = published(run, tmp_path / "site", "1", "2")
    assert [*dead_links(site)] == []
    copied = site / "runs" / "2"
    assert (copied / HISTORY).is_file()
    assert (copied / EVIDENCE / "logs" / "n.log").is_file()
    assert not (copied / "evidence" / "unlinked").exists()
    assert not (copied / "matrix" / "parquet").exists()
    row = (copied / "matrix" / "rows" / f"{ROW}.html").read_text()
    assert "histories/r1/gone.jsonl" in row
    assert 'gone.jsonl"' not in row, "its name is left, without a link"


def test_each_page_of_a_night_names_it_and_leads_to_all_others(run: Path, tmp_path: Path) -> None:
    copied = published(run, tmp_path / "site", "1") / "runs" / "1"
    index, row = copied / "matrix" / "index.html", copied / "matrix" / "rows" / f"{ROW}.html"
    for _ in range(2):
        assert '<a href="../../../index.html">Night 1</a>' in index.read_text()
        assert '<a href="../../../../index.html">Night 1</a>' in row.read_text()
        drop_evidence(copied)


def test_the_page_of_the_nights_names_each_cell_for_a_phone(run: Path, tmp_path: Path) -> None:
    index = (published(run, tmp_path / "site", "1") / "index.html").read_text()
    assert '<td data-label="New" class="violated"><span>A on 4.3.1</span></td>' in index
    assert '<td data-label="Mended" class="none">–</td>' in index
    assert '<td data-label="Dead legs" class="flaky">3.8.1</td>' in index


def test_the_newest_run_has_an_address_that_stays(run: Path, tmp_path: Path) -> None:
    site = published(run, tmp_path / "site", "1", "2")
    latest = (site / "latest" / "rows" / f"{ROW}.html").read_text()
    assert f"url=../../runs/2/matrix/rows/{ROW}.html" in latest
    assert (site / "latest" / "badges" / "all.json").read_text() == "{}"
    index = (site / "index.html").read_text()
    assert index.index('id="night-2"') < index.index('id="night-1"')
    assert '<a href="runs/2/matrix/index.html">2</a>' in index
    assert "90</td>" in index, "minutes"


def test_the_oldest_nights_lose_evidence_first_then_pages_and_never_the_matrix(run: Path, tmp_path: Path) -> None:
    site = published(run, tmp_path / "site", "1", "2", "3")
    runs = [site / "runs" / night for night in ("1", "2", "3")]
    before = [size_of(one) for one in runs]
    keep_within(runs, sum(before))
    assert [size_of(one) for one in runs] == before
    keep_within(runs, sum(before) - 1)
    assert [(one / "evidence").exists() for one in runs] == [False, True, True]
    keep_within(runs, size_of(runs[0]) + size_of(runs[1]) + size_of(runs[2]) - 9000)
    assert [(one / "evidence").exists() for one in runs] == [False, False, False]
    assert all((one / "matrix" / "index.html").exists() for one in runs)
    keep_within(runs, 0)
    assert [(one / "matrix" / "index.html").exists() for one in runs] == [False, False, True]
    assert (runs[-1] / "matrix" / "matrix.json").is_file()
    kept = [gzip.decompress((one / "matrix" / "matrix.json.gz").read_bytes()) for one in runs[:-1]]
    assert kept == [(run / "matrix" / "matrix.json").read_bytes()] * 2, "the matrix is never lost"
    keep_within(runs, 0)
    write_nights(site, [line(night) for night in ("3", "2", "1")])
    assert [*dead_links(site)] == []
    assert '<a href="runs/1/matrix/matrix.json.gz">1</a>' in (site / "index.html").read_text()


def test_the_page_of_a_folder_leads_to_a_file_whatever_its_name_has(run: Path, tmp_path: Path) -> None:
    (run / EVIDENCE / "javascript:alert(1)#.log").write_text("{}")
    copied = published(run, tmp_path / "site", "1") / "runs" / "1"
    assert 'href="javascript%3Aalert%281%29%23.log"' in (copied / EVIDENCE / "index.html").read_text()


def test_what_a_browser_would_run_and_what_leads_out_is_not_copied(run: Path, tmp_path: Path) -> None:
    outside = tmp_path / "secret"
    outside.write_text("secret")
    for name in ("evil.HTML", "evil.shtml", "evil.xht", "evil.mjs"):
        (run / EVIDENCE / name).write_text("<script>alert(1)</script>")
    (run / EVIDENCE / "link").symlink_to(outside)
    (run / "matrix" / "faults.html").write_text(
        '<a href="../../secret">see</a> <a class="x" href="https://a.b/">far</a>'
    )
    copied = published(run, tmp_path / "site", "1") / "runs" / "1"
    assert sorted(path.name for path in (copied / EVIDENCE).iterdir()) == ["index.html", "logs", "report.md"]
    assert (copied / "matrix" / "faults.html").read_text() == 'see <a class="x" href="https://a.b/">far</a>'
