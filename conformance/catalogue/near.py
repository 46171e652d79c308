"""Suggestions for ids that the catalogue does not have."""

from difflib import get_close_matches

from conformance.catalogue.load import shipped_rows
from history.command import COMMAND

MOST = 3


def similar_rows(row: str) -> str:
    """Return sentences that name the rows with the most similar ids, if any, and say where all are listed."""
    ids = [one.id for one in shipped_rows()]
    alike = [row.upper()] if row.upper() in ids else get_close_matches(row.upper(), ids, n=MOST)
    meant = f"Did you mean {' or '.join(alike)}? " if alike else ""
    return f"{meant}`{COMMAND} rows` lists all of them."
