"""The site in a real browser: the ways through it that people take, with and without JavaScript, on a desk and on a phone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.browser import PHONE, Page, Scheme, Site, chromium, contrast
from tests.support.sample_evidence import shown_by, zombie
from tests.support.sample_matrix import ROW
from tests.support.sample_site import BAD, FAULT, build

pytestmark = pytest.mark.browser

EVIDENCE = f"evidence/{ROW}/e-1.html"
KINDS = ["index.html", f"rows/{ROW}.html", "rows/KIP101-INV-01.html", "faults.html", "runs.html", EVIDENCE]
SHOWN = shown_by(zombie())[0]
TABS = 400


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with chromium() as browser:
        yield Site(browser, build(tmp_path_factory.mktemp("run")))


def kinds(site: Site) -> list[str]:
    return [*KINDS, site.pages("diff/*.html")[0]]


# --- ways through it


@pytest.mark.parametrize("javascript", [True, False], ids=["js", "no-js"])
def test_who_breaks_a_row_since_when_and_how_to_see_it_takes_two_clicks(site: Site, javascript: bool) -> None:
    with site.visit(javascript=javascript) as page:
        page.locator(".findings").get_by_role("link", name=ROW).click()
        shown = page.inner_text("main")
        assert re.search(rf"since {BAD} \(3\.9\.2 was good\), mended in 4\.4\.0", shown)
        page.get_by_role("link", name="See it step by step").click()
        assert page.url == site.url(EVIDENCE)
        assert page.get_by_text(f"./kit pytest --kafka-version {BAD} --replay").is_visible()


def test_a_cell_of_the_matrix_leads_to_its_evidence(site: Site) -> None:
    with site.visit() as page:
        page.locator(f"#m-{ROW} td.violated a").click()
        page.get_by_role("link", name="See it step by step").click()
        assert "4 of 5 replays" in page.inner_text("#again")
        page.locator(".crumbs a").first.click()
        assert page.url == site.url(f"index.html#m-{ROW}")


def test_the_time_line_shows_the_faults_and_leads_to_the_events(site: Site) -> None:
    with site.visit(EVIDENCE, javascript=False) as page:
        board = page.locator(".over")
        assert board.get_by_text(f"{FAULT} (leader of the partition)", exact=True).is_visible()
        assert [board.locator(f".bar .{phase}").count() for phase in ("inject", "witness", "heal")] == [1, 1, 1]
        assert board.locator(".band text").all_text_contents() == ["leads at epoch 3", "leads at epoch 4"]
        board.locator(".mark.shown").click()
        assert page.url.endswith(f"#e{SHOWN}")
        assert page.locator(f"#e{SHOWN}.shown").is_visible()
        assert "rgb(0, 0, 0)" not in page.locator(".mark.ok circle").first.evaluate(
            "node => getComputedStyle(node).fill"
        )


def test_the_replay_command_is_one_button_away(site: Site) -> None:
    with site.visit(EVIDENCE) as page:
        page.get_by_role("button", name="Copy").click()
        assert page.evaluate("getSelection().toString()") == page.locator(".copy code").inner_text()


def test_a_link_to_what_is_folded_makes_the_browser_unfold_it(site: Site) -> None:
    with site.visit(f"{EVIDENCE}#e{SHOWN}") as page:
        page.evaluate(_FOLD, f"e{SHOWN}")
        assert not page.locator(f"#e{SHOWN}").is_visible()
        page.evaluate("(id) => { location.hash = id; }", f"e{SHOWN}")
        page.locator(f"#e{SHOWN}").wait_for(state="visible")


_FOLD = """(id) => {
  const list = document.getElementById(id).parentNode;
  const fold = document.createElement("details");
  list.before(fold);
  fold.append(list);
  location.hash = "";
}"""


# --- filters


def test_a_filter_is_in_the_url_and_comes_back_from_it(site: Site) -> None:
    rows = "table.matrix tr.row:visible"
    with site.visit() as page:
        every = page.locator(rows).count()
        page.locator("#filters select[name=verdict]").select_option("violated")
        page.wait_for_url("**/index.html#?*verdict=violated*")
        found, url = page.locator(rows).count(), page.url
        assert (found, page.locator(f"#m-{ROW}").is_visible()) == (1, True)
        page.get_by_role("button", name="Clear").click()
        page.wait_for_function("() => !location.hash.includes('verdict')")
        assert page.locator(rows).count() == every > 1
    with site.visit(url.rpartition("/")[2]) as page:
        assert page.locator(rows).count() == found
        assert page.locator("#filters select[name=verdict]").input_value() == "violated"


def test_two_columns_are_compared_by_url(site: Site) -> None:
    with site.visit(f"index.html#?diff=3.9.2..{BAD}") as page:
        assert page.locator("#filters select[name=new]").input_value() == BAD
        assert page.locator(f"#m-{ROW}").is_visible()
        assert "3.9.2" in page.locator("#compared").inner_text()


def test_everything_is_there_without_javascript(site: Site) -> None:
    with site.visit(javascript=False) as page:
        assert page.locator("table.matrix tr.row:visible").count() > 100
        assert not page.locator("#filters").is_visible()
        page.goto(site.url(EVIDENCE))
        assert not page.locator(".copy button").is_visible()
        page.locator("summary", has_text="History around it").click()
        assert page.locator(".event:visible").count() > 10


# --- for everybody


def test_the_keyboard_reaches_the_content_the_filter_and_a_cell(site: Site) -> None:
    with site.visit() as page:
        page.keyboard.press("Tab")
        assert focused(page, "a.skip")
        page.keyboard.press("Enter")
        assert page.url.endswith("#content")
        press_tab_until(page, "#filters input")
        press_tab_until(page, "table.matrix td a")
        page.keyboard.press("Enter")
        page.wait_for_url("**/rows/*.html*")


def focused(page: Page, selector: str) -> bool:
    return bool(page.evaluate("(selector) => document.activeElement.matches(selector)", selector))


def press_tab_until(page: Page, selector: str) -> None:
    for _ in range(TABS):
        page.keyboard.press("Tab")
        if focused(page, selector):
            return
    raise AssertionError(f"{TABS} times Tab, and {selector!r} never had the focus")


def test_nothing_is_wider_than_a_phone(site: Site) -> None:
    with site.visit(size=PHONE) as page:
        for kind in kinds(site):
            page.goto(site.url(kind))
            wide = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
            assert wide[0] <= wide[1] == PHONE[0], kind


def test_light_and_dark_differ_and_both_can_be_read(site: Site) -> None:
    grounds = set()
    schemes: list[Scheme] = ["light", "dark"]
    for scheme in schemes:
        with site.visit(scheme=scheme) as page:
            grounds.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
            for kind in kinds(site):
                page.goto(site.url(kind))
                texts = "main p, main a, main td, main th, main li, main summary, main pre, main dt, main dd, main b, main small"
                assert contrast(page, texts) >= 4.5, (scheme, kind)
    assert len(grounds) == 2


# --- the fixture itself


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('<img src="http://127.0.0.1:9/pixel.png">', "asked for http://127.0.0.1:9/pixel.png"),
        ('<img src="../secret.png">', "secret.png"),
        ("<script>console.error('no')</script>", "console error: no"),
        ("<script>throw new Error('no')</script>", "no"),
    ],
)
def test_a_page_that_leaves_its_folder_or_fails_is_reported(
    site: Site, tmp_path: Path, body: str, message: str
) -> None:
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "index.html").write_text(f"<!doctype html>{body}")
    with pytest.raises(AssertionError, match=message), Site(site.browser, folder).visit() as page:
        page.wait_for_load_state("networkidle")
