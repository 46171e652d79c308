"""The pages of a finding show what its files say."""

from pathlib import Path

from conformance.catalogue import shipped_rows
from conformance.catalogue.deviations import Deviation
from conformance.catalogue.findings import Finding
from reports.track_record.pages import finding_page, index_page, readme_list, record_table

KNOWN = Deviation(
    requirement="KIP360-INIT-10", versions=("3.3..",), reason="The epoch is\nnot checked.", cases=("legacy",)
)
ONE = Finding(
    name="zombie",
    title="A zombie aborts",
    kind="gap",
    ticket="",
    rows={"KIP360-INIT-10": ("legacy",)},
    bad=("3.3.1..4.4.0",),
    good=(),
    sure="always",
    found="a probe",
    command="./kit rows",
    seen="5 of 5",
    story="A story.",
    harm="A transaction.",
    standing="A gap.",
    inferred="Nothing.",
    readme=1,
    in_short="a zombie aborts",
)


def _page(folder: Path) -> str:
    return finding_page(ONE, folder, shipped_rows(), [KNOWN])


def test_a_page_tells_facts_texts_rows_and_marks(tmp_path: Path) -> None:
    page = _page(tmp_path)
    for part in (
        "| broken in | 3.3.1–4.4.0 |",
        "A transaction.",
        "**KIP360-INIT-10**",
        "3.3 and later: The epoch is not checked.",
    ):
        assert part in page
    assert "reproduce.py" not in page


def test_a_page_shows_the_newest_output_of_each_ending(tmp_path: Path) -> None:
    (tmp_path / "reproduce.py").touch()
    (tmp_path / "output").mkdir()
    for version, words, code in (("4.4.0", "newest", 1), ("4.3.1", "older", 1), ("3.9.2", "right", 0)):
        (tmp_path / f"output/{version}.txt").write_text(f"{words}\nexit {code}, as was seen, after 12 s\n")
    page = _page(tmp_path)
    assert "| 4.3.1 | 1 | 12 |" in page
    assert "newest" in page
    assert "right" in page
    assert "older\n" not in page


def test_tables_link_to_the_page(tmp_path: Path) -> None:
    assert "| [A zombie aborts](zombie/index.md) | 3.3.1 | – | none known to us | – |" in index_page([ONE], tmp_path)
    assert "[A zombie aborts](docs/findings/zombie/index.md)" in record_table([ONE])
    assert readme_list([ONE]) == "- a zombie aborts ([no ticket known](docs/findings/zombie/index.md))."
