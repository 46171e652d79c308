"""Writes everything but the site and the tables, for tools and pull requests."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from reports import insights as insights_module
from reports import matrix as matrix_module
from reports.insights import Insights
from reports.matrix import Matrix
from reports.matrix_file import INSIGHTS, ComparedMatrix
from reports.texts.badges import badges
from reports.texts.junit import junit
from reports.texts.markdown import markdown, summary
from reports.texts.statement import STATEMENTS, statements

BADGES = "badges"


def write_texts(matrix: Matrix, insights: Insights, out: Path, baseline: ComparedMatrix | None = None) -> None:
    """Write matrix.json, insights.json, matrix.md, summary.md, junit.xml, badges/ and statements/ below `out`."""
    texts = {
        "matrix.json": matrix_module.encode_matrix(matrix),
        INSIGHTS: insights_module.encode_insights(insights),
        "matrix.md": markdown(matrix, baseline).encode(),
        "summary.md": summary(matrix, baseline).encode(),
        "junit.xml": junit(matrix),
    }
    for name, text in texts.items():
        (out / name).write_bytes(text)
    encoded = {name: msgspec.json.encode(badge) + b"\n" for name, badge in badges(matrix).items()}
    _write_folder(out / BADGES, encoded)
    _write_folder(out / STATEMENTS, {f"{name}.md": text.encode() for name, text in statements(matrix).items()})


def _write_folder(folder: Path, wanted: Mapping[str, bytes]) -> None:
    """Write a file for each column; remove those of columns that only an earlier merge into the same folder had."""
    folder.mkdir(exist_ok=True)
    for found in folder.iterdir():
        if found.name not in wanted:
            found.unlink()
    for name, content in wanted.items():
        (folder / name).write_bytes(content)
