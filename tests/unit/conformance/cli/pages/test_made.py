"""The pages that are made have what they are made of."""

from __future__ import annotations

import click
import pytest

from conformance.catalogue import shipped_rows
from conformance.cli.app import COMMANDS, kit
from conformance.cli.group import HELP
from conformance.cli.pages.catalogue import catalogue_pages, page_of
from conformance.cli.pages.options import PASSING, options_page
from conformance.cli.pages.sent_requests import PLACES, request_name, requests_page, rows_by_request, sent_by_checks
from conformance.running.settings import OPTIONS


def test_each_option_is_on_its_page() -> None:
    page = options_page()
    assert [option.flag for option in OPTIONS if f"| `{option.flag}" not in page] == []
    for name in COMMANDS:
        command = kit.get_command(click.Context(kit), name)
        assert command is not None
        flags = (
            [] if name in PASSING else [flag for one in command.params for flag in one.opts if flag.startswith("--")]
        )
        assert f"\n## {name}\n" in page
        assert [flag for flag in flags if flag not in page] == []
        if name not in PASSING:
            option = command.get_help_option(click.Context(command, **HELP))
            assert option is not None
            assert option.opts == ["-h", "--help"]


def test_each_row_is_on_the_page_of_its_kip() -> None:
    pages = dict(catalogue_pages())
    for row in shipped_rows():
        text = pages[page_of(row.kip)].partition(f"\n## {row.id}\n")[2].partition("\n## ")[0]
        assert row.statement in text
        assert row.section in text
        assert [case.id for case in row.cases if f"| {case.id} | " not in text] == []
        assert all(expectation.about.split()[0] in text for expectation in row.expectations)


@pytest.mark.parametrize(
    ("op", "name"),
    [
        ("fetch", "Fetch"),
        ("park_fetch", "Fetch"),
        ("parked_produce", "Produce"),
        ("list_offsets_many", "ListOffsets"),
        ("add_partitions_to_txns", "AddPartitionsToTxn"),
        ("describe_transaction", "DescribeTransactions"),
    ],
)
def test_an_operation_has_the_name_of_its_request(op: str, name: str) -> None:
    assert request_name(op) == name


def test_each_request_of_the_map_was_sent_and_has_rows() -> None:
    sent = sent_by_checks()
    requests = {name for places in PLACES.values() for name in places}
    assert requests - set().union(*sent.values()) == set()
    rows = rows_by_request(sent)
    assert "KIP320-OFLE-01" in {row.id for row in rows["OffsetForLeaderEpoch"]}
    assert "KIP360-INIT-10" in {row.id for row in rows["InitProducerId"]}
    assert "KIP360-INIT-10" not in {row.id for row in rows["Fetch"]}


def test_a_place_names_groups_of_rows_with_their_number() -> None:
    line = next(line for line in requests_page().splitlines() if "LeaderEpochFileCache" in line)
    assert "`KIP320-OFLE-*` (" in line
