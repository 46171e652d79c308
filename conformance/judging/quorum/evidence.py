"""Evidence by which judges of the quorum forgive, as in `conformance.judging.excuses`."""

from conformance.judging.excuses import Evidence

VOTER_LOG_LOST = Evidence(
    "voter-log-lost",
    "a fault cost a voter records of the metadata log, so that its log may end below the high watermark",
    about="one leader epoch of the quorum",
    since="the injection",
    until="the first description of a later epoch than the one described next",
    kind="left-out",
)
VOTERS_CHANGED = Evidence(
    "voters-changed",
    "the quorum is described with other voters than before, of which a majority need not have what former ones had",
    about="one leader epoch of the quorum",
    since="the first description of the other voters",
    until="the next leader epoch",
    kind="left-out",
)
CONTROLLER_DISK_LOST = Evidence(
    "controller-disk-lost",
    "a fault cost a controller its quorum-state or records of the metadata log, which the row excludes",
    about="the quorum",
    since="the injection",
    until="the end of the history",
    kind="precondition",
)
VOTERS_SCRIPTED = Evidence(
    "voters-scripted",
    "the kit plays voters of the quorum, and says in their names what no voter would: only what a node says of itself is judged",
    about="the quorum",
    since="the begin of the history",
    until="its end",
    kind="precondition",
)
REQUEST_FORGED = Evidence(
    "request-forged",
    "the kit sent a Vote, BeginQuorumEpoch, EndQuorumEpoch or Fetch under the id of a voter, and it was not refused",
    about="the quorum",
    since="the request",
    until="the end of the history",
    kind="precondition",
)
METADATA_LOG_TORN = Evidence(
    "metadata-log-torn",
    "the file of a metadata log ended within a batch when it was read, since the node appends to it: what follows is unknown",
    about="one controller's log",
    since="the read",
    until="its end",
)
