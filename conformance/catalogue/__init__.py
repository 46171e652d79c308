"""The rows: one testable sentence each, as data in `*.toml`, loaded with errors that name file and row."""

from conformance.catalogue.applicability import Facts
from conformance.catalogue.load import Catalogue, load, shipped_rows
from conformance.catalogue.rows import Case, CatalogueError, Expectation, Requirement

__all__ = ["Case", "Catalogue", "CatalogueError", "Expectation", "Facts", "Requirement", "load", "shipped_rows"]
