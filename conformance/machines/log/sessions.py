"""The fetch sessions of the log machine (KIP-227)."""

from conformance.rigs.log.partition import Partition
from fixtures.wire import NodeClient
from protocol.codes import Error
from protocol.log import FetchOptions, FetchPartition


class FetchSessions:
    """One fetch session per node, which may end it at any time: the next fetch then begins another."""

    def __init__(self) -> None:
        self._next: dict[str, tuple[int, int]] = {}

    def fetch(self, partition: Partition, node: NodeClient, offset: int, epoch: int) -> None:
        """Fetch the partition from `offset` at the current leader epoch `epoch`. The session's other partitions stay as
        they are."""
        wanted = FetchPartition(
            topic=partition.topic, partition=partition.index, fetch_offset=offset, current_leader_epoch=epoch
        )
        session, at = self._next.pop(node.node, (0, 0))
        answer = node.fetch_many([wanted], FetchOptions(session_id=session, session_epoch=at))
        if answer.error is Error.NONE and answer.session_id:
            self._next[node.node] = (answer.session_id, at + 1)
