"""`statements/*.html`: the conformance statements of the site's columns as pages, which lead to the rows."""

import re
from collections.abc import Collection, Iterator

import markdown_it
from markupsafe import Markup

from reports.matrix import ColumnReport, Matrix
from reports.site.render import render_page, with_visible_controls
from reports.texts.badges import file_of
from reports.texts.markdown import MENTION
from reports.texts.statement import STATEMENTS, statements

_ID = re.compile(r"\b(?:KIP\d+|GEN)-[\w-]+\b")


def statement_path(column: ColumnReport, ending: str = "html") -> str:
    """Return the path of a column's statement, relative to `index.html`'s folder."""
    return f"{STATEMENTS}/{file_of(column).removesuffix('.json')}.{ending}"


def statement_pages(matrix: Matrix) -> Iterator[tuple[str, str]]:
    """Yield path and text of each column's page."""
    rows = {row.requirement for row in matrix.requirements}
    texts = statements(matrix)
    for column in matrix.columns:
        path, source = statement_path(column), statement_path(column, "md")
        text = texts[source.removeprefix(f"{STATEMENTS}/").removesuffix(".md")]
        yield path, render_page("statement.html.j2", path, column=column, source=source, text=_as_html(text, rows))


def _as_html(text: str, rows: Collection[str]) -> Markup:
    """Render Markdown, in which foreign text is escaped, with links to the rows that it names."""
    renderer = markdown_it.MarkdownIt("commonmark", {"html": False}).enable("table")
    made = renderer.render(with_visible_controls(text.replace(MENTION, "@")))
    made = made.replace(' style="text-align:right"', ' class="n"')
    made = made.replace("<table>", '<div class="scroll"><table>').replace("</table>", "</table></div>")

    def link(found: re.Match[str]) -> str:
        return f'<a href="../rows/{found[0]}.html">{found[0]}</a>' if found[0] in rows else found[0]

    return Markup(_ID.sub(link, made))
