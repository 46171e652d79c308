"""A running cluster, with everything that one worker's checks share on it, and its condition after an example."""

from typing import Any

import msgspec

from conformance.core.bench import ClientKey
from conformance.judging.earlier_examples import EarlierExamples
from fixtures.cluster import KRaftCluster
from fixtures.faults.base.watch import Watch
from fixtures.wire import NodeClient
from history.shards import Column

HEAL_TIMEOUT, HURRIED_HEAL_TIMEOUT = 150.0, 30.0
"""Seconds for healing a cluster after an example, normally and once the check's time is up. After that the cluster is
replaced."""
BROKEN_HEAL_TIMEOUT = 15.0
"""The same after an example that broke its own row, and may have left the cluster broken: another boots in that time."""

REPLACED_NOTE = "the cluster was replaced"
"""The note in the history of the example after which a cluster was given up. The note's data has the reason."""


class Standing(msgspec.Struct, kw_only=True):
    """A running cluster, with its column, the data of its shared rigs, and the earlier examples of each.

    `examples` are those whose topics were not deleted.
    """

    cluster: KRaftCluster
    watch: Watch
    column: Column
    rigs: dict[str, dict[str, Any]] = {}
    earlier: dict[str, EarlierExamples] = {}
    examples: list[str] = []
    clients: dict[ClientKey, NodeClient] = {}


def with_reason(detail: str, replaced: str) -> str:
    """Return an example's outcome, followed by the reason if the cluster was replaced after it."""
    return "\n".join(filter(None, [detail, f"{REPLACED_NOTE}: {replaced}" if replaced else ""]))
