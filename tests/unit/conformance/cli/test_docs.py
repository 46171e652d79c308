"""`./kit docs`: the site is built strictly, without network, and what is wrong is told in one sentence."""

from __future__ import annotations

import re
import shutil
import socket
from pathlib import Path

import pytest

from conformance.cli import docs
from conformance.cli.app import main

ROOT = Path(__file__).parents[4]
LOADED = re.compile(r"""<(?:script|link|img|iframe)\b[^>]*(?:src|href)=["']?https?://[^"'\s>]+""")


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a page of its own and no more."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("# Home\n")
    (tmp_path / "mkdocs.yml").write_text("site_name: kit\nnav: [index.md]\nvalidation: {nav: {omitted_files: warn}}\n")
    monkeypatch.setattr(docs, "ROOT", tmp_path)
    return tmp_path


@pytest.mark.usefixtures("offline")
def test_all_pages_are_built(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["docs", "--out", str(tmp_path / "site")])
    output = capsys.readouterr()
    assert (code, output.err) == (0, "")
    assert output.out.strip() == str(tmp_path / "site" / "index.html")
    pages = list((tmp_path / "site").rglob("*.html"))
    assert {"options.html", "requests.html", "api.html", "concepts.html"} <= {page.name for page in pages}
    assert [page.name for page in pages if LOADED.search(page.read_text())] == []
    assert (tmp_path / "site" / "search" / "search_index.js").is_file()


@pytest.mark.parametrize(
    ("page", "text", "says"),
    [
        ("index.md", "# Home\n\n[gone](gone.md)\n", "gone.md"),
        ("unlisted.md", "# Unlisted\n", "unlisted.md"),
    ],
)
def test_a_page_that_is_wrong_is_refused_in_one_sentence(
    checkout: Path, page: str, text: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (checkout / "docs" / page).write_text(text)
    assert main(["docs", "--out", str(checkout / "site")]) == 3
    error = capsys.readouterr().err
    assert error.startswith("docs: ")
    assert says in error
    assert len(error.splitlines()) == 1


def test_a_finding_that_is_wrong_is_refused_by_file_and_field(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(ROOT / "docs" / "findings", checkout / "docs" / "findings")
    finding = checkout / "docs" / "findings" / "watermark-not-learned" / "finding.toml"
    finding.write_text(re.sub(r"(?m)^title = .*$", "", finding.read_text()))
    assert main(["docs", "--out", str(checkout / "site")]) == 3
    error = capsys.readouterr().err
    assert "watermark-not-learned/finding.toml" in error
    assert "`title`" in error


def test_a_port_that_is_taken_is_refused(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(["docs", "--serve", "--port", str(port)]) == 3
    assert f"port {port}" in capsys.readouterr().err


def test_the_wheel_has_no_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(docs, "ROOT", tmp_path)
    assert main(["docs"]) == 2
    assert "Run ./kit docs in a checkout" in capsys.readouterr().err
