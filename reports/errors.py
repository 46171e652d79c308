"""Errors that stop a merge."""

from history.exit_codes import EXIT_TROUBLE, EXIT_WRONG_USE


class ReportError(Exception):
    """Wrong use, or shards that contradict each other: exit code 2. The text has the value, the rule and a way out."""

    exit_code = EXIT_WRONG_USE


class SparkMissing(ReportError):
    """Spark cannot be started on this machine: exit code 3."""

    exit_code = EXIT_TROUBLE


def spark_missing(package: str) -> str:
    """Return the text of SparkMissing for a Python package that is not installed."""
    return (
        f"The merge runs in Spark, and {package} is not installed here: pip install 'kafka-conformance-kit[spark]'. Shards that "
        "were recorded can be merged on another machine."
    )
