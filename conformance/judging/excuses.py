"""The registry of what judges forgive: each excuse, permission, left-out and bound is a value here or in an `evidence` module.

A judge that cannot tell yields an `Excuse` with one of these in place of a finding; tests/contract/test_excuses.py has histories.
"""

from typing import Literal

import msgspec

Kind = Literal["excuse", "permission", "left-out", "precondition"]
"""An excuse leaves an instance undecided, a permission allows a loss, and a left-out is a fact that judges ignore. A precondition
names what the row itself excludes: such instances are counted, but do not weigh against the row."""


class Evidence(msgspec.Struct, frozen=True, order=True):
    """A reason to leave an instance undecided; `name` is its name in statistics and pages.

    `shown` is what was recorded; `about` is the node or subject that it concerns; it counts from `since` to `until`.
    """

    name: str
    shown: str
    about: str
    since: str
    until: str
    kind: Kind = "excuse"

    def __str__(self) -> str:
        return self.name


# --- answers that race with a change

RISEN = Evidence(
    "high-watermark-read-first",
    "a broker reads the high watermark of a Fetch before its other fields and records, which may be newer",
    about="one Fetch answer",
    since="its request",
    until="its answer",
)
CHANGED_MEANWHILE = Evidence(
    "changed-while-it-was-asked",
    "the first and the last answer of a sweep about an item differ",
    about="one item of a sweep",
    since="the first answer of the sweep",
    until="its last answer",
)
SWEEP_DISTURBED = Evidence(
    "sweep-disturbed",
    "a fault was active during a sweep, another request came between, or brokers describe a topic differently or not in full",
    about="one sweep",
    since="its first request",
    until="its last answer",
    kind="left-out",
)
TRUNCATED_MEANWHILE = Evidence(
    "truncated-while-it-was-read",
    "nothing shows the broker past the old epoch before the request, nor served at it later: its log may be truncated meanwhile",
    about="one Fetch answer",
    since="its request",
    until="its answer",
)
ELECTED_MEANWHILE = Evidence(
    "elected-meanwhile",
    "all controllers name a leader of a later epoch than before the request",
    about="the quorum",
    since="the request",
    until="its answer",
)
STATE_BEHIND = Evidence(
    "quorum-state-behind",
    "a voter's quorum-state is of an earlier epoch than the voter names, or lacks the leader that it names in that epoch",
    about="one read of quorum-state",
    since="the read",
    until="the read that is not behind, 2 s later at most",
)
GIVEN_UP = Evidence(
    "request-given-up",
    "a node sent a request again, since its timeout expired before the answer came",
    about="the node that asked",
    since="its first request",
    until="the request that follows",
)

WRITTEN_BEFORE = Evidence(
    "written-before-the-history",
    "the topic was created before the history, or deleted in it, and earlier requests to it are not known",
    about="one topic",
    since="the begin of the history",
    until="the first record that the history sent",
)
WRITTEN_BY_CLUSTER = Evidence(
    "written-by-the-cluster",
    "coordinators and controllers write the records of internal topics, no Produce request does",
    about="one internal topic",
    since="the begin of the history",
    until="its end",
)
DELETED_BY_SETTING = Evidence(
    "deleted-by-retention",
    "retention.ms or retention.bytes of the topic, or the cluster's if it has none, may have deleted segments by cleanup.policy",
    about="one topic",
    since="the request that set it, or the creation of the topic",
    until="30 s after the setting was taken back, for what is written later; a fault by then keeps it open",
)
MOVED_BY_FAULT = Evidence(
    "log-start-moved-by-a-fault",
    "the effects of a fault move log start offsets",
    about="one partition",
    since="the injection",
    until="the end of the history: a log start never falls back",
)
APPENDED_BY_FAULT = Evidence(
    "appended-by-a-fault",
    "the effects of a fault append records",
    about="one partition",
    since="the injection",
    until="the end of the history: its records stay",
)
SENT_AS_BYTES = Evidence(
    "sent-as-bytes",
    "a request sent bytes in place of a batch",
    about="one partition",
    since="the request",
    until="the end of the history: its records stay",
)
ASSIGNED_AGAIN = Evidence(
    "assigned-again",
    "the group of a consumer was rebalanced: a record comes again, or those up to a committed offset are passed over",
    about="one group",
    since="the record that a member handed out last",
    until="the next record that it hands out",
)

TOPIC_DOUBTED = Evidence(
    "topic-may-be-deleted",
    "a DeleteTopics of unknown outcome, or none of a recreated topic's ids, tells which topic of the name an answer is about; or "
    "a broker was asked by the id of a deleted one, and does not certainly serve the next one yet",
    about="one topic, and the process that answered",
    since="the DeleteTopics request",
    until="the next Metadata answer of that process with the topic's id, which admits all facts since then",
    kind="left-out",
)

COMPACTED = Evidence(
    "compacted",
    "cleanup.policy may have been compact: offsets have gaps, and replicas hold different bytes",
    about="one topic",
    since="the request that sets it",
    until="the end of the history: what is compacted stays so",
    kind="precondition",
)
BYTES_FLIPPED = Evidence(
    "bytes-flipped-by-a-fault",
    "a fault flipped bytes of a log on a disk",
    about="one partition",
    since="the injection",
    until="the end of the history: followers may have copied them",
    kind="left-out",
)
DAMAGED_REPLICA = Evidence(
    "replica-damaged",
    "a fault cost a replica records or its leader epoch cache, and it has not rejoined the ISR",
    about="one replica",
    since="the injection",
    until="the first Metadata answer after its return that has it in the ISR",
    kind="left-out",
)
REASSIGNED = Evidence(
    "reassigned",
    "a request or a fault may have given the partition other replicas: one that is added again starts with an empty log",
    about="one replica of a partition",
    since="the request or the injection, or the first answer without the replica",
    until="the end of the history",
    kind="left-out",
)
NOT_REACHED = Evidence(
    "follower-not-reached",
    "no broker described a follower as alive and in the ISR before and after DeleteRecords, or a fault was active: it need not "
    "have heard of the new log start",
    about="one follower that starts below it, in the process that ran at the request",
    since="the DeleteRecords request",
    until="the next request that reaches it",
    kind="left-out",
)
LOG_START_SET_BACK = Evidence(
    "log-start-set-back",
    "a log was trimmed, its broker restarted, and its log start is below that of the trim: it may be below the first entry of "
    "its leader epoch cache",
    about="one replica",
    since="the restart",
    until="the next answer with the log start of the trim",
    kind="left-out",
)
MIN_ISR_ALTERED = Evidence(
    "min-isr-altered",
    "min.insync.replicas may have had several values, under which the row says different things",
    about="one partition, and the leader that has to learn of it",
    since="the request that alters it",
    until="10 s after its answer, or the heal of a fault on the leader; the answer that settles an unknown outcome",
    kind="left-out",
)
EPOCH_CACHE_LOST = Evidence(
    "leader-epoch-cache-lost",
    "a replica lost leader-epoch-checkpoint, and does not learn the epochs of batches that it kept",
    about="one replica",
    since="the injection",
    until="the end of the history",
    kind="left-out",
)

# --- producers

PRODUCER_STATE_DELETED = Evidence(
    "producer-state-deleted",
    "DeleteRecords or retention may have deleted the batch, and a broker that restarts or copies the log forgets it",
    about="one batch of a partition",
    since="the request that deletes",
    until="the end of the history: what is forgotten stays so",
)
PRODUCER_STATE_LOST = Evidence(
    "producer-state-lost",
    "a fault cost the leader records or producer state snapshots",
    about="one replica",
    since="the injection, for what was appended before it was over",
    until="the node rejoined the ISR; the end of the history where only snapshots were lost, which nothing makes up for",
)
PRODUCER_STATE_EXPIRED = Evidence(
    "producer-state-expired",
    "a setting of the cluster, or a fault, lets brokers forget producers that have no open transaction",
    about="one producer of a partition",
    since="the timestamp of the batch that it may have forgotten, or the injection",
    until="the heal; a setting holds for the whole history",
)
BUMPED_BY_FENCED = Evidence(
    "bumped-by-a-fenced-producer",
    "a fenced instance asked for the next epoch, which releases grant in some cases: KIP360-INIT-10 judges that",
    about="one transactional id",
    since="the request",
    until="the next InitProducerId of another instance",
)
TOO_FEW_REPLICAS = Evidence(
    "too-few-replicas",
    "a partition was reassigned to fewer replicas than its min.insync.replicas: it takes neither writes nor markers",
    about="one partition",
    since="the reassignment",
    until="the next reassignment",
)

# --- logs and elections

EPOCHS_LOST = Evidence(
    "leader-epochs-lost",
    "a replica lost leader-epoch-checkpoint, and has not rejoined the ISR",
    about="one replica",
    since="the injection",
    until="the first Metadata answer after its return that has it in the ISR",
)
DISK_REPLACED = Evidence(
    "disk-replaced",
    "there is no leader, and each electable replica came back with an empty disk: GEN-08 judges whether one has to lead",
    about="one partition",
    since="the injection at the last of them",
    until="the next leader",
)
NOT_AT_REST = Evidence(
    "not-at-rest",
    "the replicas did not agree in time, and a broker did not answer to the end or was still starting, or a fault was active",
    about="one partition",
    since="the premise that all faults are healed",
    until="the end of the wait for agreement",
    kind="left-out",
)
QUORUM_STATE_LOST = Evidence(
    "quorum-state-lost",
    "a fault cost a controller its quorum-state, so it may vote twice, and two leaders of one epoch are legal",
    about="each fact of every partition",
    since="the injection",
    until="the end of the history",
    kind="left-out",
)
LOG_BEHIND = Evidence(
    "log-behind-the-epoch",
    "a log has no batch of the epoch in which a high watermark was named, nor of a later one: it may be that of a deposed "
    "leader, whose tail is not truncated yet",
    about="one controller's log",
    since="the read",
    until="the next read of that log",
    kind="precondition",
)
EPOCH_FILES_CHANGED = Evidence(
    "epoch-files-changed",
    "a controller's quorum-state or leader-epoch-checkpoint, read before its log and after it, changed in between",
    about="one controller's log",
    since="the read",
    until="its end",
)
REGISTERED_AGAIN = Evidence(
    "registered-again",
    "a restarted broker is fenced until it has caught up, and may be in the ISR all the while",
    about="one broker",
    since="its start",
    until="the first answer that lists it as alive",
)
ELECTION_DISTURBED = Evidence(
    "election-disturbed",
    "a fault was active on a live replica that may lead, on a controller, or on a broker that described the partition",
    about="one epoch without an acting leader, as these nodes know it",
    since="the first description of the wait for a leader",
    until="the first description after which no such fault is active",
    kind="left-out",
)
ELECTED_UNCLEANLY_ON_REQUEST = Evidence(
    "elected-uncleanly-on-request",
    "ElectLeaders for an unclean election was answered NONE, or its outcome is unknown",
    about="one partition",
    since="the request",
    until="the next change of its leader, if that was not clean; the election of the same leader, if that was granted",
    kind="permission",
)
ELECTED_UNCLEANLY_BY_FAULT = Evidence(
    "elected-uncleanly-by-fault",
    "a fault caused the election of a replica outside the ISR",
    about="one partition",
    since="the injection",
    until="the heal",
    kind="permission",
)
ELECTED_UNCLEANLY_BY_CONFIG = Evidence(
    "elected-uncleanly-by-config",
    "unclean.leader.election.enable may have been true, and the new leader was not in the ISR before",
    about="one partition",
    since="the last description of its former leader",
    until="the first answer that names the new one",
    kind="permission",
)
LAST_KNOWN_LEADER = Evidence(
    "last-known-leader",
    "with ISR and ELR empty the last leader was elected again, after an unclean shutdown (KIP-966); a record is lost only "
    "where a fault cut its log, or an epoch passed that no answer describes",
    about="one partition, from the log end on that the fault left",
    since="the description without ISR and ELR",
    until="the election",
    kind="permission",
)
DISKS_OF_MIN_ISR_LOST = Evidence(
    "disks-of-min-isr-lost",
    "faults cost as many ISR members records at one time as acks=all may have waited for when they were written: the leader "
    "too, or it may have had a successor of which no answer tells",
    about="one partition, from the log end on that the faults left",
    since="the injection at the last of them",
    until="the heal of the first of them",
    kind="permission",
)
DISK_LOST_BY_FAULT = Evidence(
    "disk-lost-by-fault",
    "the leader had lost records by a fault, and was in the ISR or ELR by the last answer before it led",
    about="one replica",
    since="the injection",
    until="the node rejoined the ISR",
    kind="permission",
)
EPOCH_FILE_LOST_BY_FAULT = Evidence(
    "epoch-file-lost-by-fault",
    "a replica without leader-epoch-checkpoint, which it needs to truncate, led before that fault was healed",
    about="one replica, from the high watermark on that it certainly had on its disk",
    since="the injection",
    until="the heal",
    kind="permission",
)

# --- coordinators

STALE_COORDINATOR = Evidence(
    "coordinator-cut-off",
    "a fault delays what a coordinator hears from the controllers, so it may answer from an old state",
    about="the node that answered",
    since="the injection",
    until="the heal; what it dropped of a topic that it did not know, when it upgraded a group, until the next owner has it",
)
UNSTABLE_OFFSETS = Evidence(
    "offsets-not-stable",
    "after a fault, an OffsetFetch without RequireStable: a new coordinator shows what is below its high watermark (KAFKA-14499)",
    about="one group",
    since="the commit",
    until="60 s after the last fault: by then it has loaded the group",
)
OFFSETS_LOST = Evidence(
    "offsets-partition-lost",
    "the coordinator that took the commit, or the one that answers, lost records by a fault; or an election was unclean",
    about="the two nodes, or a partition of __consumer_offsets",
    since="the commit",
    until="the answer",
)

TRANSIENT_ERROR = Evidence(
    "transient-error",
    "a broker that moves, loads, learns of a topic or is short of replicas answers with an error that passes by itself",
    about="one broker, and what it leads or coordinates",
    since="the first of such answers in a row",
    until="30 s later, or after the last fault, reassignment or change of leader or ISR; the end of an ISR that is too small",
    kind="left-out",
)
REFUSED_BY_GROUP = Evidence(
    "refused-by-the-group",
    "the group refuses the member, instance or generation that a TxnOffsetCommit names (KIP-447), which KIP-1251 judges",
    about="one request",
    since="the request",
    until="its answer",
    kind="left-out",
)
NOT_LED = Evidence(
    "not-the-leader",
    "the broker that answers a batch did not lead the partition all the time, so it may know less of the producer",
    about="one request",
    since="the request",
    until="the next description of the leader",
    kind="left-out",
)
STATE_UNKNOWN = Evidence(
    "state-not-known",
    "too many states of the transactional id are possible, or an earlier answer contradicted all that were",
    about="one transactional id",
    since="the answer after which no state is known",
    until="the next description, or the next producer id that is given",
    kind="left-out",
)

# --- steps that are due

STARVED = Evidence(
    "kit-starved",
    "the kit itself woke late while it waited, by a quarter of the bound or more",
    about="one wait of the kit",
    since="its begin",
    until="its end",
)
HOST_SLEPT = Evidence(
    "host-slept",
    "the kit itself woke ten seconds late or more while it waited, as on a host that slept: sessions may have ended meanwhile",
    about="one wait of a check, and what it shows; or the session or the open transaction of which an answer tells that it ended",
    since="the begin of the wait; the member's last accepted heartbeat; the first request of the transaction",
    until="the end of the wait; the answer, if the session or the timeout has passed by then",
)
LOOKED_TOO_RARELY = Evidence(
    "looked-too-rarely",
    "nothing was recorded for a quarter of the bound, as on a host that slept, or a wait recorded that the kit woke so late",
    about="one bound of a judge",
    since="the look with which the bound begins",
    until="the first look at which the bound passed with something recorded in each quarter",
)
CHECKPOINT_NOT_DUE = Evidence(
    "checkpoint-not-due",
    "leader-epoch-checkpoint is written asynchronously from 3.8 on, and was read before the bound had passed",
    about="one replica",
    since="the last DeleteRecords or fault",
    until="30 s later",
)
OUT_OF_MEMORY = Evidence(
    "out-of-memory",
    "a process of the cluster was killed for lack of memory",
    about="the node, and steps of which it alone was asked, or whose partition it led",
    since="the last answer of the node: its end is noticed late",
    until="its next start",
)
ONLY_NODE_ENDED = Evidence(
    "only-node-ended",
    "the process of the cluster's only node ended by itself, which GEN-10 judges: it takes no step afterwards",
    about="the only node of a cluster",
    since="its last answer: its end is noticed late",
    until="its next start",
)
NO_REPLICA_MAY_LEAD = Evidence(
    "no-replica-may-lead",
    "a broker last described a partition without a leader, no replica in its ISR or ELR is alive, and a fault keeps each down",
    about="one partition that the requests of the wait name, by its topic, or by the group or id that its leader coordinates",
    since="the last return of a node",
    until="the end of the wait, or the time that a broker has to start, after its return",
)
PREFERRED_OUT_OF_SYNC = Evidence(
    "preferred-leader-out-of-sync",
    "a preferred election was answered PREFERRED_LEADER_NOT_AVAILABLE, and a broker shows that replica out of the ISR",
    about="one partition that the requests of the wait name, by its topic, or by the group or id that its leader coordinates",
    since="the last return of a node",
    until="the end of the wait",
)
ENDED_BY_FAULT = Evidence(
    "ended-by-fault",
    "a fault took a log directory of the node away, and the last log lines of its process tell that it ended for that",
    about="one node",
    since="the injection",
    until="its first answer after the heal",
)
EXPENDED = Evidence(
    "expected-to-end",
    "the check declared that the voter may end: it got what it cannot go on from, or was started with what it must refuse",
    about="one node",
    since="the declaration",
    until="the node is created again",
)
FAULT_STOOD = Evidence(
    "fault-standing",
    "a fault was active while a request waited for its answer, or less than 30 s before that wait was over: on the node that was "
    "asked, on a controller that serves the request, or on a broker that may replicate a transaction coordinator's record",
    about="the nodes on which the answer depends",
    since="the injection",
    until="30 s after it was healed",
)
NOT_READ = Evidence(
    "state-not-read",
    "the kit's last request for the state that would show the reaction failed",
    about="one reaction to a fault",
    since="the injection",
    until="the end of the wait",
)
NODE_SLOW = Evidence(
    "node-slow",
    "just before, the node was similarly slow in a step in which it has nothing to wait for",
    about="one node",
    since="the step before",
    until="the step that is judged",
)

NOT_ANSWERED = Evidence(
    "request-not-answered",
    "a request that changes a topic or its configuration got no answer",
    about="one request",
    since="the request",
    until="the first answer that describes what it would have changed",
)
ANSWERED_OPEN = Evidence(
    "outcome-left-open",
    "a request was answered with an error that leaves it open whether it took effect",
    about="one request",
    since="the request",
    until="the first answer that describes what it would have changed",
)
DELETION_TIMED_OUT = Evidence(
    "deletion-timed-out",
    "DeleteRecords was answered REQUEST_TIMED_OUT, which names no low watermark and breaks no promise",
    about="one request",
    since="the request",
    until="its answer",
)
SENT_TWICE = Evidence(
    "request-sent-twice",
    "a broker may have sent a forwarded request again: a fault delayed its messages, or those of a controller",
    about="one request",
    since="the request",
    until="its answer",
)

INAPPLICABLE = Evidence(
    "case-does-not-apply",
    "the case that would be broken does not apply to what the column declares, so it was never promised",
    about="one observation",
    since="the begin of the history",
    until="its end",
    kind="precondition",
)
