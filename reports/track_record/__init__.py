"""Findings in released Kafka: a file for each, and the pages generated from them."""

from conformance.catalogue.findings import Finding
from reports.track_record.load import load_findings
from reports.track_record.writing import stale_findings, write_findings

__all__ = ["Finding", "load_findings", "stale_findings", "write_findings"]
