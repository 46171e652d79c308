"""The loss that a user would notice: for a known deviation in the words of its finding, else as the row entails it."""

from __future__ import annotations

import re
import tomllib
from fnmatch import fnmatchcase

from conformance.catalogue import shipped_rows
from conformance.catalogue.deviations import Deviation, load_deviations
from conformance.catalogue.findings import shipped_findings
from conformance.catalogue.notice import SHIPPED, kind_of_loss, what_a_user_notices
from conformance.catalogue.rows import RECORDED

TABLE = tomllib.loads(SHIPPED.read_text(encoding="utf-8"))["notice"]


def test_each_row_that_is_judged_has_its_kind_of_loss() -> None:
    assert [row.id for row in shipped_rows() if row.level not in RECORDED and not kind_of_loss(row.id)] == []


def test_each_name_of_the_table_is_of_a_row_and_there_once() -> None:
    names = [name for entry in TABLE for name in entry["rows"]]
    assert len(names) == len(set(names))
    assert [name for name in names if not any(fnmatchcase(row.id, name) for row in shipped_rows())] == []


def test_the_name_of_a_row_counts_more_than_a_glob() -> None:
    assert kind_of_loss("GEN-10").startswith("A node ends by itself")
    assert kind_of_loss("KIP320-REPL-08") != kind_of_loss("KIP320-REPL-01")
    assert kind_of_loss("KIP320-REPL-01") != kind_of_loss("KIP320-FETCH-01")
    assert kind_of_loss("OWN-01") == ""


def test_a_known_deviation_is_told_by_its_finding() -> None:
    [entry] = [one for one in load_deviations(shipped_rows()) if one.requirement == "KIP360-TXN-04"]
    [told] = what_a_user_notices("KIP360-TXN-04", [entry])
    [finding] = [one for one in shipped_findings() if one.name == "abort-after-the-coordinators-own"]
    assert told.startswith(" ".join(finding.harm.split()))
    assert told.endswith("Known: KAFKA-19367, docs/findings/abort-after-the-coordinators-own.")


def test_each_finding_is_told_in_plain_text() -> None:
    """Texts of findings are Markdown, which a terminal does not show."""
    entries = load_deviations(shipped_rows())
    texts = [text for entry in entries for text in what_a_user_notices(entry.requirement, [entry])]
    assert any(" (inference)" in text for text in texts)
    assert [text for text in texts if re.search(r"[*`]\w|\n", text)] == []


def test_one_of_the_users_own_is_told_by_its_reason() -> None:
    own = Deviation(requirement="GEN-10", versions=("4.9.9",), reason="It\nends.", cases=("started",))
    assert what_a_user_notices("GEN-10", [own]) == ["It ends. Known: no ticket."]


def test_what_is_not_known_is_told_by_the_kind_of_promise() -> None:
    assert what_a_user_notices("GEN-10", []) == [kind_of_loss("GEN-10")]
    assert what_a_user_notices("OWN-01", []) == []


def test_an_entry_that_names_its_finding_is_told_by_that_alone() -> None:
    entries = [one for one in load_deviations(shipped_rows()) if one.finding]
    assert {one.finding for one in entries} <= {one.name for one in shipped_findings()}
    for entry in entries:
        assert [one.name for one in shipped_findings() if one.tells(entry)] == [entry.finding]
