"""Writes the site."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.catalogue import Catalogue
from conformance.catalogue.quotes import quotes_by_row
from conformance.catalogue.sources import citation
from conformance.judging.verdicts import VERDICTS
from reports.insights import Insights
from reports.matrix import Matrix
from reports.rule_changes import with_observations
from reports.site import overview, views
from reports.site.evidence import evidence_pages
from reports.site.render import ASSETS, put_file, raw_link, read_asset, render_page
from reports.site.statement_pages import statement_pages, statement_path
from reports.site.trend import trend
from reports.site.views import anchor_of_label
from reports.texts.wording import ALARMING, column_problems, commands_again, doubtful_deviations

if TYPE_CHECKING:
    from reports.merge import Merged

KINDS = {
    "probe": "requests with drawn inputs, and what they were answered",
    "property": "judged over the histories of random schedules with faults",
    "scenario": "a fixed schedule, judged over its whole history",
}


def write_site(merged: Merged, catalogue: Catalogue, out: Path, run: Path | None) -> Path:
    """Write all pages below `out`, deterministic to the byte; return the path of `index.html`.

    `run` is the local folder that histories and evidence are relative to; None if it cannot be linked to.
    """
    matrix, insights = merged.matrix, merged.insights
    groups = views.group_views(matrix, insights, catalogue)
    differences = views.neighbours(groups, matrix.kafka_versions)
    evidence = evidence_pages(matrix, out, run)
    pages = [f"assets/{name}" for name in ASSETS]
    for name in ASSETS:
        put_file(out, f"assets/{name}", read_asset(name))
    put_file(out, "index.html", _index_page(matrix, groups, differences))
    put_file(out, "faults.html", _faults_page(matrix, insights, groups))
    put_file(out, "runs.html", _runs_page(matrix, insights))
    pages += _write_rows(matrix, groups, evidence, out, run)
    pages += _write_differences(differences, out)
    for path, text in statement_pages(matrix):
        put_file(out, path, text)
    _remove_old_pages(out, pages)
    return out / "index.html"


def _index_page(matrix: Matrix, groups: Sequence[views.FamilyView], differences: Sequence[views.VersionStep]) -> str:
    used = [verdict for verdict in VERDICTS if any(column.verdicts.get(verdict) for column in matrix.columns)]
    return render_page(
        "index.html.j2",
        "index.html",
        matrix=matrix,
        groups=groups,
        differences=differences,
        kinds=[kind for kind in views.KINDS if any(kind in difference.kinds for difference in differences)],
        findings=views.findings(groups, matrix.kafka_versions[-1]),
        rule_changes=with_observations(matrix.rule_changes),
        paths={view.row.id: view.path for group in groups for view in group.rows},
        problems=column_problems(matrix),
        doubtful=doubtful_deviations(matrix),
        used=used,
        alarming=ALARMING,
        anchors=[anchor_of_label(label) for label in matrix.kafka_versions],
        statement_path=statement_path,
    )


def _faults_page(matrix: Matrix, insights: Insights, groups: Sequence[views.FamilyView]) -> str:
    labels = matrix.kafka_versions
    premises = overview.premises(insights.premises, labels)
    return render_page(
        "faults.html.j2",
        "faults.html",
        labels=labels,
        faults=overview.faults(groups, insights.faults_met, labels),
        coverage=overview.coverage(groups, labels),
        premises=premises,
        never_met=overview.never_met(premises),
    )


def _runs_page(matrix: Matrix, insights: Insights) -> str:
    spent = overview.spent_views(insights.spent, matrix.kafka_versions)
    return render_page("runs.html.j2", "runs.html", matrix=matrix, spent=spent, statement_path=statement_path)


def _write_rows(
    matrix: Matrix, groups: Sequence[views.FamilyView], evidence: dict[str, str], out: Path, run: Path | None
) -> list[str]:
    all_rows = list(chain.from_iterable(group.rows for group in groups))
    columns = {column.kafka_version: column for column in matrix.columns}
    link = raw_link(out, run, "rows/x.html")
    for place, view in enumerate(all_rows):
        shown = [cell for cell in view.cells if cell.shown]
        at = (shown or view.cells)[-1].kafka_version
        text = render_page(
            "row.html.j2",
            view.path,
            view=view,
            shown=shown,
            evidenced=[cell for cell in view.cells if cell.evidence],
            evidence=evidence,
            link=link,
            targets={label: column.selection for label, column in columns.items()},
            at=at,
            again=commands_again(next(c for c in view.cells if c.kafka_version == at), columns[at].selection),
            kinds=KINDS,
            cited=citation(view.row),
            quote=quotes_by_row().get(view.row.id),
            trend=trend(view.trend, matrix.kafka_versions),
            before=all_rows[place - 1] if place else None,
            after=all_rows[place + 1] if place + 1 < len(all_rows) else None,
        )
        put_file(out, view.path, text)
    return [view.path for view in all_rows]


def _write_differences(differences: Sequence[views.VersionStep], out: Path) -> list[str]:
    for place, difference in enumerate(differences):
        text = render_page(
            "diff.html.j2",
            difference.path,
            difference=difference,
            before=differences[place - 1] if place else None,
            after=differences[place + 1] if place + 1 < len(differences) else None,
        )
        put_file(out, difference.path, text)
    return [difference.path for difference in differences]


def _remove_old_pages(out: Path, pages: Sequence[str]) -> None:
    """Remove the pages of rows and differences that only an earlier merge into the same folder had."""
    kept = {out / page for page in pages}
    for folder in ("rows", "diff"):
        for found in sorted((out / folder).glob("*.html")):
            if found not in kept:
                found.unlink()
