"""The static site: pages that work from a folder, load nothing from elsewhere and are complete without JavaScript."""

from reports.site.pages import write_site

__all__ = ["write_site"]
