"""The wait for a step that did not happen: the nodes and subjects that it asked about, and what faults had done to them."""

from bisect import bisect_left
from functools import cached_property
from typing import Any

from conformance.judging.timeline import NEVER, NOTED, FaultSpan, Timeline
from history.due import START_TIMEOUT
from history.events import Answer, AnyEvent, Call, Ended, Fault, History, Overdue
from history.subjects import Kind, Subject, names_of_kind, partition, subjects_of
from protocol.cluster import CoordinatorType
from protocol.coordinators import LOGS, partition_for

CONTROLLERS_SERVE = frozenset(
    (
        "alter_partition_reassignments",
        "create_partitions",
        "create_topics",
        "delete_topics",
        "elect_leaders",
        "incremental_alter_configs",
        "init_producer_id",
        "update_features",
    )
)
"""The requests that a broker forwards to the active controller, or answers with its help."""
TRANSACTIONS_SERVE = frozenset(("add_offsets_to_txn", "add_partitions_to_txn", "end_txn", "init_producer_id"))
"""The requests that a transaction coordinator answers once its record is replicated, for which it waits as long as
request.timeout.ms (30 s)."""
T = 30.0
"""The bound of the general laws, in seconds."""
COORDINATED: dict[Kind, CoordinatorType] = {
    "group": CoordinatorType.GROUP,
    "transactional-id": CoordinatorType.TRANSACTION,
}
"""The kind of coordinator for each kind of subject that has one."""


class FailedWait:
    """A wait that failed. It concerns the subjects of its requests, if the event lists them."""

    def __init__(self, history: History, overdue: Overdue) -> None:
        self._history = history
        self._due, self._within = overdue.due, overdue.within
        self.lost = _unanswered_request(history, overdue) if overdue.due == "answer" else None
        """The request that got no answer, and the end of its wait, where an answer was due."""
        self.began, self.over = overdue.began, overdue.over if overdue.over >= 0 else overdue.n
        if self.lost is not None and self.began < 0:
            self.began, self.over = self.lost[0].n, self.lost[1].n

    @cached_property
    def _requests(self) -> list[Call]:
        first = self.began if self.began >= 0 else self.over
        return [event for event in self._history.events[first : self.over] if isinstance(event, Call)]

    @cached_property
    def _subjects(self) -> set[Subject]:
        return {subject for request in self._requests for subject in subjects_of(request)}

    @property
    def _nodes(self) -> set[str]:
        """The nodes that were asked. A combined node has another name as a controller."""
        return {request.node.partition("/")[0] for request in self._requests}

    # --- partitions

    def concerns(self, topic: str, index: int, of: int) -> bool:
        """True if the step depends on a partition of a topic that has `of` partitions: a request named the partition, the topic
        without partitions, or a group or transactional id that the partition's leader coordinates.

        If no request named any of these, any partition counts.
        """
        if Subject("topic", topic) in self._subjects and not self._names_partition_of(topic):
            return True
        held = [(LOGS[kind], key) for name, kind in COORDINATED.items() for key in names_of_kind(self._subjects, name)]
        if any(log == topic and partition_for(key, of) == index for log, key in held):
            return True
        return partition(topic, index) in self._subjects or not self._is_known

    def _names_partition_of(self, topic: str) -> bool:
        names = names_of_kind(self._subjects, "partition")
        return any(name.rpartition("-")[0] == topic for name in names)

    @property
    def _is_known(self) -> bool:
        return any(subject.kind in ("partition", "topic", *COORDINATED) for subject in self._subjects)

    # --- nodes

    @cached_property
    def _timeline(self) -> Timeline:
        """The timeline up to the end of the wait."""
        timeline = Timeline(self._history.example, self._history.events)
        for event in self._history.events[: self.over]:
            if not isinstance(event, Answer) and (not isinstance(event, Call) or event.op in NOTED):
                timeline.feed(event)
        return timeline

    def should_be_up(self, id: int) -> bool:
        """True if a broker's process runs, and the last fault on it ended so long ago that it must have started."""
        node = self._timeline.names.get(id, "")
        back = self._timeline.last_return(node)
        if back == NEVER or any(end.node == node and end.n > back for end in self._ends):
            return False
        events = self._history.events
        began = bisect_left(events, events[self.over].t - self._within, key=lambda event: event.t)
        return self._within + self._timeline.fault_free_seconds(node, began) >= START_TIMEOUT

    @property
    def _ends(self) -> list[Ended]:
        return [event for event in self._history.events if isinstance(event, Ended)]

    @property
    def hit_by_fault(self) -> bool:
        """True if a fault was active on the node while a request to it waited for its answer, or so shortly before that its
        consequences may last; or on a controller that serves the node, or on a broker that may replicate what it has to write.
        """
        if self.lost is None:
            return False
        asked, _ = self.lost
        nodes = {asked.node.partition("/")[0]}
        if asked.op in CONTROLLERS_SERVE:
            nodes |= {*self._timeline.ids} - self._timeline.broker_names
        if asked.op in TRANSACTIONS_SERVE:
            nodes |= self._timeline.broker_names
        return any(self._lasts(span) for node in nodes for span in self._timeline.faults_on(node))

    def _lasts(self, span: FaultSpan) -> bool:
        """True if a fault, or what it entails, may have lasted while the lost request waited for its answer."""
        assert self.lost is not None
        asked, over = self.lost
        return span.ended > asked.n or over.t - self._history.events[span.ended].t < T

    # --- ends of processes

    @property
    def only_node_ended(self) -> bool:
        """True if the process of the cluster's only node had ended by itself by then, and had not been started again."""
        return len(self._history.example.members) == 1 and any(map(self._was_gone, self._ends))

    @property
    def ran_out_of_memory(self) -> bool:
        """True if a node that the step depends on was killed for lack of memory by then, and had not been started again.

        The end of a process is noticed late: it may have ended at any time after its last answer.
        """
        return any(self._depends_on(end.node) and self._was_gone(end) for end in self._ends if end.out_of_memory)

    def _was_gone(self, end: Ended) -> bool:
        asked = ((call.node, answer) for call, answer in self._history.answered_calls() if answer.n < end.n)
        last = max((answer.n for node, answer in asked if node == end.node and answer.outcome == "ok"), default=-1)
        starts = (event.n for event in self._history.events[end.n :] if _starts(event, end.node))
        return last < self.over and max(self.began, 0) < next(starts, NEVER)

    def _depends_on(self, node: str) -> bool:
        """True if only this node was asked, if it leads a partition that the step concerns, or if it was asked without naming a
        partition.

        If it is unknown which nodes were asked, any node counts.
        """
        if not self._requests or self._nodes == {node}:
            return True
        return node in self._hosts if self._is_known else node in self._nodes

    @cached_property
    def _hosts(self) -> set[str]:
        """The last known leaders of the partitions that the step concerns; all their replicas, if the step is due from these."""
        found: dict[tuple[str, int], list[int]] = {}
        for call, answer in self._history.answered_calls():
            if call.op == "metadata" and answer.outcome == "ok" and answer.n < self.over:
                for topic in answer.value["topics"]:
                    found |= self._hosts_of(topic["name"], topic["partitions"])
        return {self._timeline.names.get(id, "") for ids in found.values() for id in ids}

    def _hosts_of(self, topic: str, partitions: list[dict[str, Any]]) -> dict[tuple[str, int], list[int]]:
        concerned = [one for one in partitions if self.concerns(topic, one["partition_index"], len(partitions))]
        if self._due == "replica":
            return {(topic, one["partition_index"]): one["replica_nodes"] for one in concerned}
        return {(topic, one["partition_index"]): [one["leader_id"]] for one in concerned if one["leader_id"] >= 0}


def _starts(event: AnyEvent, node: str) -> bool:
    return isinstance(event, Fault) and event.phase == "heal" and node in event.node.split(",")


def _unanswered_request(history: History, overdue: Overdue) -> tuple[Call, Answer] | None:
    """Return the last request before the end of the wait that got no answer, and the event that records this."""
    lost = ((call, answer) for call, answer in reversed(history.answered_calls()) if answer.n < overdue.n)
    return next((pair for pair in lost if pair[1].kind == "Unanswered"), None)
