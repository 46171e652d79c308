"""Writes everything but the site and the tables, for tools and pull requests."""

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

BADGES = "badges"


def write_texts(matrix: Matrix, insights: Insights, out: Path, baseline: ComparedMatrix | None = None) -> None:
    """Write matrix.json, insights.json, matrix.md, summary.md, junit.xml and badges/ below `out`."""
    texts = {
        "matrix.json": matrix_module.encode_matrix(matrix),
        INSIGHTS: insights_module.encode_insights(insights),
        "matrix.md": markdown(matrix, baseline).encode(),
        "summary.md": summary(matrix, baseline).encode(),
        "junit.xml": junit(matrix),
    }
    for name, text in texts.items():
        (out / name).write_bytes(text)
    _write_badges(matrix, out / BADGES)


def _write_badges(matrix: Matrix, folder: Path) -> None:
    """Write the badges; remove those of columns that only an earlier merge into the same folder had."""
    folder.mkdir(exist_ok=True)
    wanted = badges(matrix)
    for found in folder.glob("*.json"):
        if found.name not in wanted:
            found.unlink()
    for name, badge in wanted.items():
        (folder / name).write_bytes(msgspec.json.encode(badge) + b"\n")
