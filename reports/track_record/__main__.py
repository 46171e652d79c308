"""Write the pages of the findings, or with `--check` name the outdated ones: `python -m reports.track_record`."""

import sys
from pathlib import Path

from conformance.catalogue.rows import CatalogueError
from history.exit_codes import EXIT_WRONG_USE
from reports.track_record.writing import stale_findings, write_findings

ROOT = Path(__file__).parents[2]


def main(words: list[str]) -> str | int:
    """Return an exit code, or the text of an error."""
    try:
        if words != ["--check"]:
            write_findings(ROOT)
            return 0
        stale = stale_findings(ROOT)
    except CatalogueError as error:
        print(error, file=sys.stderr)
        return EXIT_WRONG_USE
    return "\n".join(f"{page} is stale: run ./kit python -m reports.track_record" for page in stale) or 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
