"""Evidence by which judges of groups forgive, as in `conformance.judging.excuses`."""

from conformance.judging.excuses import Evidence

MAY_BE_REMOVED = Evidence(
    "member-may-be-removed",
    "0.9 of a member's session or rebalance timeout is over without a heartbeat, or without what it had to acknowledge; the "
    "latter also since another member may have begun a rebalance of a classic group",
    about="one member",
    since="0.9 of the timeout after the request that began it",
    until="the next answer that grants the member a request, or its acknowledgement; but not if a heartbeat is granted later, "
    "without a join before it",
)
CLIENT_REMOVED = Evidence(
    "client-removed",
    "a record of the group removes the member of a client, or a description lacks it, before the partition is given to another",
    about="one client, librdkafka's or Java's, by its member id, and one partition",
    since="the record that gives the member the partition, or the client's word that it has it",
    until="the record that gives it to the next owner, or the next owner's word; not if the former one is given it again before",
)
GROUP_MAY_BE_DELETED = Evidence(
    "group-may-be-deleted",
    "the group may have been without members: then it may be deleted, and begins again with low epochs",
    about="one group",
    since="the last answer that shows a member in it",
    until="the next one",
)
MEMBER_NOT_KNOWN = Evidence(
    "member-not-known",
    "a request of the member is in flight, or was not answered, or with an error that leaves its outcome open",
    about="one member",
    since="the request",
    until="two later answers, or its own",
    kind="left-out",
)
DESCRIPTION_NOT_STABLE = Evidence(
    "description-not-stable",
    "a coordinator that took over after a fault describes a group by what is below its high watermark (KAFKA-14499)",
    about="one description",
    since="the fault",
    until="the first heartbeat that this coordinator grants",
)
GENERATION_NOT_STORED = Evidence(
    "generation-not-stored",
    "JoinGroup answered a generation of which no SyncGroup was granted: a classic group stores it with the leader's assignment, "
    "so a coordinator that loads the group may begin at the one before",
    about="one generation",
    since="the answer to JoinGroup",
    until="the first granted SyncGroup of the generation",
)
ASSIGNMENT_NOT_KNOWN = Evidence(
    "assignment-not-known",
    "an answer that may have had the assignment was lost, or a heartbeat left out a partition that the member had not been told "
    "to give up, which the coordinator may keep for it",
    about="one member, and partitions that it has not by its answers",
    since="the heartbeat",
    until="the next answer with the assignment",
    kind="left-out",
)
FORMER_RELEASE = Evidence(
    "former-release",
    "a node whose own log names a release without assignment epochs granted the member a heartbeat or answers the commit: it "
    "admits the current epoch only, and other releases take the member epoch in its records as the assignment epoch",
    about="one member, and commits below the epoch that was granted",
    since="the upgrade of the node that answered",
    until="the release is taken back, for its own answers; for the assignment of its records, the end of the ownership",
)
LOG_COMPACTED = Evidence(
    "group-log-compacted",
    "a read of the group's partition of __consumer_offsets lacks offsets, so states of the group are not known",
    about="one read of one partition",
    since="the first offset that it lacks",
    until="the end of the read",
    kind="left-out",
)
