"""The table of coverage by package that closes the first part of the kit's own tests."""

from tests.__main__ import Package, by_package, table


def test_files_are_added_up_by_their_first_two_folders() -> None:
    files = [
        ("conformance/core/bench.py", Package(10, 5)),
        ("conformance/core/checks.py", Package(10, 10)),
        ("conformance/judging/log/story.py", Package(4, 1)),
        ("history/store.py", Package(1, 1)),
    ]
    assert by_package(files) == {
        "conformance/core": Package(20, 15),
        "conformance/judging": Package(4, 1),
        "history": Package(1, 1),
    }


def test_a_line_stands_for_a_package_and_the_last_for_all() -> None:
    lines = table({"history": Package(8, 6), "reports": Package(2, 2)}, Package(10, 8)).splitlines()
    assert [line.split() for line in lines[1:]] == [
        ["history", "8", "75.0", "%"],
        ["reports", "2", "100.0", "%"],
        ["all", "10", "80.0", "%"],
    ]


def test_what_has_no_statements_lacks_none() -> None:
    assert Package(0, 0).percent == 100
