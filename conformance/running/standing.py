"""A cluster that stands, with all that checks of one worker share on it, and how it is left after an example."""

from typing import Any

import msgspec

from conformance.core.bench import ClientKey
from conformance.judging.earlier_examples import Earlier
from fixtures.cluster import KRaftCluster
from fixtures.faults.base.watch import Watch
from fixtures.wire import NodeClient
from history.shards import Column

HEALED_WITHIN, HURRIED = 150.0, 30.0
"""Seconds to heal a cluster after an example, and once the check's time is up. Then the cluster is replaced."""

REPLACED_NOTE = "the cluster was replaced"
"""The note in the history of the example after which a cluster was given up; its data holds the reason."""


class Standing(msgspec.Struct, kw_only=True):
    """A running cluster, its column, and the data of the shared rigs on it, with what was done to these."""

    cluster: KRaftCluster
    watch: Watch
    column: Column
    rigs: dict[str, dict[str, Any]] = {}
    earlier: dict[str, Earlier] = {}
    clients: dict[ClientKey, NodeClient] = {}


def with_reason(detail: str, replaced: str) -> str:
    """Return the outcome of an example, with the reason if the cluster was replaced after it."""
    return "\n".join(filter(None, [detail, f"{REPLACED_NOTE}: {replaced}" if replaced else ""]))
