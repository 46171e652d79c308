"""The static site: many pages that work from a folder, ask for nothing elsewhere and are whole without JavaScript."""

from reports.site.pages import write_site

__all__ = ["write_site"]
