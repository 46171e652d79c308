"""The shards that a merge refuses: those without any that counts, and two builds with one label."""

from collections.abc import Iterable

from conformance.catalogue import Catalogue
from conformance.judging import intake
from conformance.judging.intake import ColumnFacts, Intake, Quarantine, ShardSummary
from reports.errors import ReportError


def sort_shards(
    summaries: Iterable[ShardSummary], catalogue: Catalogue, empty_files: bool = False, by_run: bool = False
) -> Intake:
    """Sort shards as judging does. Raises ReportError if no shard counts, or one label stands for two builds."""
    found = intake.sort_shards(summaries, catalogue, empty_files, by_run)
    if not found.shards:
        raise ReportError(_why_none_counts(found.quarantine))
    for column in found.columns:
        _refuse_two_builds(column)
    return found


def _why_none_counts(quarantine: Quarantine) -> str:
    found = [f"shard {entry.shard}: {entry.reason}" for entry in quarantine.shards]
    if quarantine.unreadable:
        found.append(f"{quarantine.unreadable} lines are torn, or are not lines of a shard")
    if quarantine.empty_files:
        found.append("a file is empty")
    return (
        f"No shard can be read: {'; '.join(found)}. A shard is a file of JSON lines that opens with a header, as "
        "pytest writes it. Remove files that are not shards; if no shard is left, run the column again."
    )


def _refuse_two_builds(column: ColumnFacts) -> None:
    """Raise ReportError unless all shards ran the same jars with the same configuration."""
    builds = {(header.column.digest, header.column.version) for header in column.headers}
    if len(builds) > 1:
        named = " and ".join(f"{digest[:12]} (Kafka {version})" for digest, version in sorted(builds))
        raise ReportError(
            f"Column {column.label!r} was run on two builds: {named}. Two builds never share a column: merge the shards "
            f"of one only ({', '.join(header.shard for header in column.headers)}), or run the other under a name of its "
            "own with --label."
        )
