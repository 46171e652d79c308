"""Errors that stop a merge."""


class ReportError(Exception):
    """Wrong use, or shards that contradict each other: exit code 2. Text: value, rule, way out."""

    exit_code = 2


class SparkMissing(ReportError):
    """Spark cannot be started on this machine: exit code 3."""

    exit_code = 3


def spark_missing(package: str) -> str:
    """The text of SparkMissing where a Python package is lacking."""
    return (
        f"The merge runs in Spark, and {package} is not installed here: pip install 'kafka-conformance-kit[spark]'. Shards that "
        "were recorded can be merged on another machine."
    )
