"""All operations of the kit's client, by their names in histories."""

from typing import Any

from protocol import cluster, configs, controller, groups, log, quorum, streams, topics, transactions
from protocol.messages import Operation

AREAS = (cluster, configs, controller, groups, log, quorum, streams, topics, transactions)
OPERATIONS: dict[str, type[Operation[Any]]] = {
    kind.op: kind
    for area in AREAS
    for kind in vars(area).values()
    if isinstance(kind, type) and issubclass(kind, Operation) and hasattr(kind, "answer")
}
