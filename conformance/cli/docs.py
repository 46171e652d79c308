"""`./kit docs`: the pages in docs/ as a site with search, which needs no network."""

from pathlib import Path
from typing import Final

import click

from conformance.cli.group import HELP
from fixtures.errors import WrongUse
from protocol.errors import KitError

ROOT: Final = Path(__file__).parents[2]
WITHOUT_PAGES: Final = (
    "docs: the pages are in the kit's repository and are not installed. Run ./kit docs in a checkout."
)


@click.command(context_settings=HELP)
@click.option("--serve", is_flag=True, help="show the site on this machine, and build it again when a page changes")
@click.option("--port", default=8000, show_default=True, type=click.IntRange(1, 65535), help="with --serve: its port")
@click.option("--out", default="out/docs", show_default=True, metavar="DIR", help="where the site goes")
def docs(serve: bool, port: int, out: str) -> None:
    """Build the documentation; a dead link or a page that is in no menu is an error.

    DIR/index.html works from the disk, search included. The pages of options, requirements and requests are made of the
    command line, the catalogue and the stored examples.
    """
    if not (ROOT / "mkdocs.yml").is_file():
        raise WrongUse(WITHOUT_PAGES)
    try:
        from conformance.cli.pages.building import build_site, serve_site
    except ImportError as error:
        raise KitError(
            f"docs: {error.name} is not installed. Run ./kit again, which installs what is locked."
        ) from error
    if serve:
        serve_site(ROOT, port)
    else:
        click.echo(build_site(ROOT, Path(out)))
