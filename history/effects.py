"""A fault's effects on its target: data stored with its injection, so that readers need not know its name."""

from typing import Literal

import msgspec

Process = Literal["runs", "frozen", "may-restart", "may-end", "restarts", "restarts-when-healed", "down"]
"""The fate of a process.

- runs: it goes on;
- frozen: it is suspended, and goes on when the fault is healed, not before;
- may-restart: it is not known whether it ended;
- may-end: it may end by itself, as requests ask for; a new one runs once the fault is healed;
- restarts: it ended, and a new one runs before the fault is healed;
- restarts-when-healed: it goes on, and is stopped and started again to heal the fault;
- down: it ended, and stays down until the fault is healed.
"""

Loss = Literal[
    "log-tail",
    "log-bytes",
    "epoch-checkpoint",
    "watermark-checkpoint",
    "recovery-point-checkpoint",
    "log-start-checkpoint",
    "clean-shutdown",
    "producer-snapshots",
    "index",
    "replica",
    "log-dir",
    "quorum-state",
]
"""The data that a disk loses: the end of the log, bytes inside the log, leader-epoch-checkpoint,
replication-offset-checkpoint, recovery-point-offset-checkpoint, log-start-offset-checkpoint, .kafka_cleanshutdown,
the producer snapshots, the index files, a replica's directory, a log directory, quorum-state."""

LOG_LOSSES: frozenset[Loss] = frozenset(("log-tail", "log-bytes", "replica", "log-dir"))
"""The losses that include records of the log."""


class Effects(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The possible effects of a fault, from its injection until it is healed.

    - `abrupt`: a process ends without a controlled shutdown.
    - `every_broker`: processes of all brokers are hit, not only those of the nodes that the event names.
    - `disk`: the data that the nodes lose, of the partition that the event names or, with `every_partition`, of all.
    - `election`: the kind of leader election that follows in that partition.
    - `moves_log_start`: records are deleted without a DeleteRecords request in the history.
    - `start_inside_segment`: the log start may lie inside a segment, as after DeleteRecords, so a crash sets it back.
    - `retention`: the topic's setting by which old segments of all its partitions are deleted.
    - `appends`: it appends records of its own to that partition, without a Produce request in the history.
    - `cut_off`: from the witness on, the nodes that the event names exchange nothing with controllers.
    - `fails_writes`: the disks of these nodes refuse writes, so log directories fail; a broker halts once all have.
      With `restarts-when-healed` it has others: only the log directory of the partition that the event names fails.
    - `moves_replicas`: the partition gets other replicas.
    - `forgets_producers`: replicas forget producers that have no open transaction.
    - `spares_nodes`: it is made of requests, and hits no process, link or disk.
    - `stands`: false for a fault that is over as soon as it is injected.
    """

    process: Process = "runs"
    abrupt: bool = False
    every_broker: bool = False
    disk: tuple[Loss, ...] = ()
    every_partition: bool = False
    election: Literal["none", "clean", "unclean"] = "none"
    moves_log_start: bool = False
    start_inside_segment: bool = False
    retention: Literal["none", "by-size", "by-time"] = "none"
    appends: bool = False
    cut_off: bool = False
    fails_writes: bool = False
    moves_replicas: bool = False
    forgets_producers: bool = False
    spares_nodes: bool = False
    stands: bool = True

    @property
    def begins_incarnation(self) -> bool:
        """True if a process may be a new incarnation afterwards."""
        return self.process not in ("runs", "frozen")

    @property
    def idles_processes(self) -> bool:
        """True if the processes do nothing from the witness until they are resumed or started again."""
        return self.process in ("frozen", "down")

    @property
    def certainly_restarts(self) -> bool:
        """True if the processes certainly end and are started again."""
        return self.process in ("restarts", "restarts-when-healed", "down")

    @property
    def certainly_crashes(self) -> bool:
        """True if the processes certainly end without a controlled shutdown."""
        return self.certainly_restarts and self.abrupt

    @property
    def certainly_shuts_down(self) -> bool:
        """True if the processes certainly end with a controlled shutdown, and nothing takes its mark from their disks."""
        return self.certainly_restarts and not self.certainly_starts_uncleanly

    @property
    def certainly_starts_uncleanly(self) -> bool:
        """True if the next start certainly finds no .kafka_cleanshutdown, after a crash or because the fault removed
        it.
        """
        return self.certainly_crashes or (
            self.certainly_restarts and not {"clean-shutdown", "log-dir"}.isdisjoint(self.disk)
        )

    @property
    def may_delay_messages(self) -> bool:
        """True if messages to and from the nodes may be late or lost, as with a fault that has no other effect."""
        return self.process != "runs" or self.cut_off or self == Effects()

    @property
    def elects_uncleanly(self) -> bool:
        return self.election == "unclean"

    @property
    def damages_log(self) -> bool:
        """True if a replica loses records that it had."""
        return not LOG_LOSSES.isdisjoint(self.disk)

    @property
    def loses_producers(self) -> bool:
        """True if a replica may lose producer state, which it rebuilds from a snapshot and the log after that."""
        return self.damages_log or "producer-snapshots" in self.disk

    @property
    def loses_log_dir(self) -> bool:
        """True if the nodes lose all data in a log directory."""
        return "log-dir" in self.disk

    @property
    def fails_directory(self) -> bool:
        """True if one of several log directories fails without losing data."""
        return self.fails_writes and self.process == "restarts-when-healed"

    @property
    def loses_epochs(self) -> bool:
        """True if leader-epoch-checkpoint is lost or altered."""
        return "epoch-checkpoint" in self.disk
