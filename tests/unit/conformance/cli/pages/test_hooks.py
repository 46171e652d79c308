"""Links of the repository become links of the site."""

from __future__ import annotations

import pytest

from conformance.cli.pages.hooks import move_links

PAGES = {
    "index.md",
    "concepts.md",
    "findings/index.md",
    "findings/a/index.md",
    "project/contributing.md",
    "first-run.png",
}


@pytest.mark.parametrize(
    ("path", "text", "becomes"),
    [
        ("index.md", "[words](docs/concepts.md)", "[words](concepts.md)"),
        ("index.md", "![picture](docs/first-run.png)", "![picture](first-run.png)"),
        ("index.md", "[rows](CONTRIBUTING.md#add-a-row)", "[rows](project/contributing.md#add-a-row)"),
        ("project/contributing.md", "[words](docs/concepts.md)", "[words](../concepts.md)"),
        ("concepts.md", "[rows](../CONTRIBUTING.md#add-a-row)", "[rows](project/contributing.md#add-a-row)"),
        ("findings/a/index.md", "[all](../index.md)", "[all](../index.md)"),
        ("index.md", "see [LICENSE](LICENSE).", "see LICENSE."),
        ("index.md", "[elsewhere](https://kafka.apache.org/x)", "[elsewhere](https://kafka.apache.org/x)"),
        ("concepts.md", "[gone](gone.md)", "[gone](gone.md)"),
    ],
)
def test_links(path: str, text: str, becomes: str) -> None:
    assert move_links(text, path, PAGES) == becomes
