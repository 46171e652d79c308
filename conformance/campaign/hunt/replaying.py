"""Pending replays of a hunt's findings: on a fresh cluster of the same column, then over the releases."""

from collections.abc import Sequence

import msgspec

from conformance.campaign.bisection import next_versions, skipped_versions, verdict_boundaries
from conformance.campaign.hunt.findings import HuntFinding
from conformance.campaign.hunt.state import Hunt
from conformance.campaign.plan import ColumnRun, column_runs_for
from conformance.running.columns import wanted_columns
from fixtures.images import newest_patches


class PendingReplay(msgspec.Struct, frozen=True):
    """A finding, and a column on which its schedule is still to be replayed."""

    finding: HuntFinding
    column: ColumnRun
    options: list[str]


def replays_to_confirm(hunt: Hunt) -> list[PendingReplay]:
    """Return the findings without a replay on a fresh cluster of their own column, except for settled ones."""
    waiting = [one for one in hunt.findings if one.source.column not in one.replays and not one.is_settled]
    return [_replay_of_finding(hunt, one) for one in waiting]


def _replay_of_finding(hunt: Hunt, finding: HuntFinding) -> PendingReplay:
    found = hunt.rounds[finding.source.round - 1]
    return PendingReplay(finding, ColumnRun(name=found.column, selection=found.selection), found.options)


def replays_to_search(hunt: Hunt, releases: Sequence[str]) -> list[PendingReplay]:
    """Return the next versions to try for each confirmed, unsettled finding whose changes are not all narrowed down.

    `releases` are those that can be run, oldest first.
    """
    confirmed = [one for one in hunt.findings if one.rate and not one.is_settled]
    return [
        PendingReplay(one, column, hunt.rounds[one.source.round - 1].options)
        for one in confirmed
        for column in column_runs_for(wanted_columns(next_versions(releases, _anchor_releases(releases), one.outcomes)))
    ]


def _anchor_releases(releases: Sequence[str]) -> list[str]:
    return [version for version in releases if version in newest_patches()] or list(releases)


def describe_changes(finding: HuntFinding, releases: Sequence[str]) -> list[str]:
    """Describe the changes that the replays show, and name the skipped releases; empty without any."""
    outcomes = finding.outcomes
    decided = [version for version in releases if outcomes.get(version)]
    if len(decided) < 2:
        return []
    lines = [str(change) for change in verdict_boundaries(releases, outcomes)]
    lines = lines or [f"no change: {outcomes[decided[0]]} on {', '.join(decided)}"]
    left_out = skipped_versions(releases, outcomes)
    return [*lines, *([f"not replayed: {', '.join(left_out)}"] if left_out else [])]
