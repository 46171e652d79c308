"""The matrix's filters, comparison and keys in a real browser. Their state is in the URL, and restored from it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.support.browser import PHONE, Page, Site, chromium
from tests.support.sample_matrix import ROW
from tests.support.sample_site import BAD, VERSIONS, build

pytestmark = pytest.mark.browser

OLD, _, NEW = VERSIONS
ROWS = "table.matrix tr.row:visible"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with chromium() as browser:
        yield Site(browser, build(tmp_path_factory.mktemp("run")))


def heads(page: Page) -> list[str]:
    return page.locator("table.matrix thead th:visible .label").all_inner_texts()


def test_words_find_rows_by_id_and_title_without_filling_the_history(site: Site) -> None:
    with site.visit() as page:
        before = page.evaluate("history.length")
        page.get_by_role("searchbox").press_sequentially(f"{ROW.lower()} ")
        assert page.locator(ROWS).get_attribute("id") == f"m-{ROW}"
        assert page.locator("#filters output").inner_text().startswith("1 of ")
        assert f"#?text={ROW.lower()}" in page.url
        assert page.evaluate("history.length") == before
        page.get_by_role("searchbox").fill("no such row")
        assert page.locator(ROWS).count() == 0
        assert page.locator("tr.family:visible").count() == 0


def test_each_choice_can_be_taken_back_with_the_browser_s_button(site: Site) -> None:
    with site.visit() as page:
        every = page.locator(ROWS).count()
        page.locator("[name=family]").select_option("KIP-320")
        of_family = page.locator(ROWS).count()
        page.locator("[name=level]").select_option("informational")
        page.locator("[name=priority]").select_option("P1")
        assert page.locator(ROWS).count() < of_family < every
        page.go_back()
        page.go_back()
        page.wait_for_function(
            "(count) => document.querySelectorAll('tr.row:not([hidden])').length === count", arg=of_family
        )
        assert [page.locator(f"[name={name}]").input_value() for name in ("family", "level", "priority")] == [
            "KIP-320",
            "",
            "",
        ]


def test_columns_can_be_left_out(site: Site) -> None:
    with site.visit() as page:
        assert heads(page) == list(VERSIONS)
        page.get_by_text("Columns", exact=True).click()
        page.get_by_role("checkbox", name=BAD).uncheck()
        assert heads(page) == [OLD, NEW]
        assert page.locator(f"#m-{ROW} td:visible").count() == 2
        page.locator("[name=differs]").check()
        assert not page.locator(f"#m-{ROW}").is_visible()
        url = page.url
    with site.visit(url.rpartition("/")[2]) as page:
        assert heads(page) == [OLD, NEW]
        assert page.locator("[name=differs]").is_checked()


@pytest.mark.parametrize(
    ("old", "new", "text", "mark"),
    [(OLD, BAD, "1 broke, 0 mended", "broke"), (BAD, NEW, "0 broke, 1 mended", "mended")],
)
def test_a_comparison_shows_two_columns_and_what_became_of_rows(
    site: Site, old: str, new: str, text: str, mark: str
) -> None:
    with site.visit(f"index.html#?diff={old}..{new}") as page:
        assert heads(page) == [old, new]
        counted = page.locator("#compared").inner_text()
        assert text in counted
        assert page.locator(ROWS).count() == sum(int(count) for count in re.findall(r"(\d+) [bmc]", counted))
        name = page.locator(f"#m-{ROW} th a")
        assert mark in name.evaluate("node => getComputedStyle(node, '::after').content")


def test_a_query_that_somebody_typed_counts_like_the_hash(site: Site) -> None:
    with site.visit() as page:
        page.goto(f"{site.url('index.html')}?diff={OLD}..{BAD}")
        assert heads(page) == [OLD, BAD]
        page.goto(f"{site.url('index.html')}?diff={OLD}..nonsense&family=nonsense")
        assert heads(page) == list(VERSIONS)
        assert page.locator("[name=family]").input_value() == ""


def test_a_count_leads_to_its_rows_and_a_link_to_a_hidden_row_shows_it(site: Site) -> None:
    with site.visit() as page:
        page.locator(".counts td.violated a").click()
        page.wait_for_function("() => document.querySelectorAll('tr.row:not([hidden])').length === 1")
        assert page.locator("[name=on]").input_value() == BAD
        page.evaluate("location.hash = 'm-KIP101-INV-01'")
        page.locator("#m-KIP101-INV-01").wait_for(state="visible")
        assert page.locator("[name=verdict]").input_value() == ""


def test_one_cell_takes_part_in_tabbing_and_arrows_go_on_from_it(site: Site) -> None:
    with site.visit(f"index.html#?text={ROW}") as page:
        assert page.locator("table.matrix td a[tabindex='0']").count() == 1
        page.locator(f"#m-{ROW} th a").focus()
        seen = []
        for key in ("ArrowRight", "ArrowRight", "ArrowDown", "ArrowLeft"):
            page.keyboard.press(key)
            seen.append(page.evaluate("document.activeElement.parentNode.cellIndex"))
        assert seen == [1, 2, 2, 1]
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/rows/{ROW}.html#at-{OLD}")
        assert page.locator("tr:target").inner_text().startswith(OLD)


@pytest.mark.parametrize("size", [PHONE, (1440, 900)], ids=["phone", "desk"])
def test_heads_and_names_stay_while_the_matrix_scrolls_in_its_box(site: Site, size: tuple[int, int]) -> None:
    with site.visit(size=size) as page:
        box = page.get_by_role("region", name="Matrix of verdicts")
        box.evaluate("node => { node.scrollIntoView(); node.scrollTop = 2000; node.scrollLeft = 60; }")
        at = box.bounding_box()
        head = page.locator("table.matrix thead th").first.bounding_box()
        assert at is not None
        assert head is not None
        assert abs(head["y"] - at["y"]) <= 2
        assert abs(head["x"] - at["x"]) <= 2
        assert page.evaluate("scrollX") == 0
