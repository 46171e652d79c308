"""`./kit night tell` and `./kit night alarm`: who is told of a night, and of one that did not happen."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from conformance.campaign.night.archive import PublishedNight
from conformance.campaign.night.telling import IssueRequest, OpenIssue, RedRow, issue_requests
from fixtures.errors import WrongUse
from reports.matrix_file import read_compared
from reports.site.published import MATRIX, RUNS


def read_issues(path: Path | None) -> list[OpenIssue]:
    """Read the open issues. Raises WrongUse for a file that has none."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=list[OpenIssue]) if path else []
    except (OSError, msgspec.DecodeError) as error:
        raise WrongUse(f"{path}: {error}. Give what `gh issue list --json number,title,body` printed.") from error


def requests_of(
    night: PublishedNight, matrix: Path, merged: Path, found: Sequence[OpenIssue], page: str
) -> list[IssueRequest]:
    """Return the requests for a published night and its matrix; the evidence is in `merged`."""
    cells = {(cell.requirement, cell.kafka_version): cell for cell in read_compared(matrix).cells}
    verdicts = {place: cell.verdict for place, cell in cells.items()}

    def report_of(red: RedRow) -> str:
        cell = cells.get((red.row, red.leg))
        folders = [folder for folder in (cell.evidence if cell else ()) if ".." not in Path(folder).parts]
        reports = [merged / folder.lstrip("/") / "report.md" for folder in folders]
        text = next((path.read_text() for path in reports if path.is_file()), "No evidence was recorded.")
        link = f"{page.rstrip('/')}/{RUNS}/{night.night}/{MATRIX}/rows/{red.row}.html" if page else ""
        return "\n\n".join(filter(None, [link, text]))

    return issue_requests(night, verdicts, found, report_of)
