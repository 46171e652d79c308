"""Write the page of the census."""

from pathlib import Path

from tests.contract.forgiven.census import PAGE, page

Path(PAGE).write_text("\n".join(page()) + "\n", encoding="utf-8")
