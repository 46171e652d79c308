"""Bugs of replicated logs: their effects, and the rows and labels under which judges must find them."""

from __future__ import annotations

from tests.miniature.bugs import Bug, by_name, of_row

BUGS: dict[str, Bug] = by_name(
    of_row(
        "GEN-04",
        ("first-offset-for-all", "ListOffsets answers the offset of its first partition for all", "differs-in-batch"),
    ),
    of_row(
        "GEN-05",
        (
            "old-version-misnames-wrong-broker",
            "below version 9 ListOffsets of another broker's partition is answered with UNKNOWN_TOPIC_OR_PARTITION",
            "differs-by-version",
        ),
    ),
    of_row(
        "KIP101-INV-01",
        (
            "rewritten-while-copied",
            "a follower that starts over encodes the copied batches again, with its own time",
            "divergent-prefix",
        ),
        also=("KIP101-STAMP-03",),
    ),
    of_row(
        "KIP101-INV-02",
        (
            "divergent-tail-kept",
            "a follower that is told to truncate goes on from its log end",
            "divergent-prefix",
        ),
        also=("KIP101-STAMP-03", "KIP101-INV-18", "KIP320-REPL-09"),
    ),
    of_row(
        "KIP101-INV-03",
        ("stamp-of-first-reign", "a leader stamps with the first epoch it ever led", "epoch-regression"),
    ),
    of_row(
        "KIP101-STAMP-03",
        ("restamping-follower", "a follower stamps what it copies with its own epoch", "divergent-prefix"),
        also=("KIP101-INV-02", "KIP101-INV-03", "KIP101-INV-18"),
    ),
    of_row(
        "KIP101-INV-04",
        ("epoch-map-shifted", "after a restart the later entries of the leader epoch cache begin one offset too high"),
        also=("KIP101-INV-18",),
    ),
    of_row(
        "KIP320-OFLE-08",
        ("epoch-entry-not-trimmed", "trimming the log leaves the leader epoch cache as it was"),
        ("epoch-end-echoed", "an epoch that this log lacks is echoed, with the log end"),
        also=("KIP101-INV-04", "KIP101-INV-14"),
    ),
    of_row(
        "KIP101-INV-05",
        ("acks-all-by-leader-alone", "acks=all is answered before any follower has it", "lost-write"),
        ("truncated-to-watermark", "at a change of leader replicas cut to their high watermark", "lost-write"),
        (
            "phantom-truncation",
            "at a change of leader replicas cut their last batch, committed or not",
            "lost-write",
        ),
        also=("KIP101-INV-06", "KIP101-INV-07", "KIP101-INV-15"),
    ),
    of_row(
        "KIP101-INV-06",
        (
            "acknowledged-at-one-offset",
            "every third acknowledgement names the offset before its own",
            "inconsistent-offsets",
        ),
        also=("KIP101-INV-05",),
    ),
    of_row(
        "KIP101-INV-07",
        ("reads-past-watermark", "consumers are served what is not committed", "inconsistent-offsets"),
    ),
    of_row(
        "KIP101-INV-08",
        (
            "watermark-falls",
            "a follower that enters the ISR takes the high watermark down by one",
            "hw-regression",
        ),
        (
            "log-start-falls",
            "a follower that enters the ISR brings back what was trimmed of a batch",
            "log-start-regression",
        ),
    ),
    of_row(
        "KIP101-INV-09",
        ("latest-beyond-end", "the high watermark that is told is one above the log end"),
        ("stable-beyond-watermark", "the last stable offset that is told is the log end"),
    ),
    of_row(
        "KIP101-INV-10",
        (
            "metadata-epoch-falls",
            "who is let in again tells old and new metadata in turn",
            "epoch-regression",
        ),
    ),
    of_row(
        "KIP101-INV-11",
        ("two-leaders-in-one-epoch", "an election between living leaders keeps the epoch"),
        also=("KIP101-EPOCH-02",),
    ),
    of_row(
        "KIP101-EPOCH-04",
        (
            "epoch-resumed",
            "an only replica that crashed and returns leads on at its epoch",
            "epoch-regression",
        ),
    ),
    of_row(
        "KIP101-INV-12",
        ("future-stamps", "a leader stamps one epoch ahead", "fence-leak"),
        ("fence-leak", "a fetch with an older current epoch is served", "fence-leak"),
        also=("KIP320-FETCH-02", "KIP101-INV-14", "KIP320-OFLE-08"),
    ),
    of_row(
        "KIP320-FETCH-01",
        ("false-fence", "for a while after an election the new leader refuses its own epoch", "false-fence"),
        also=("KIP320-OFLE-06", "KIP320-LO-05"),
    ),
    of_row(
        "KIP101-INV-13",
        ("unsound-divergence", "DivergingEpoch names an end beyond the log end"),
    ),
    of_row(
        "KIP101-INV-14",
        ("epoch-ends-fall", "older epochs end later than newer ones"),
        also=("KIP320-OFLE-08",),
    ),
    of_row(
        "KIP101-INV-15",
        ("stale-leader-commits", "a leader that no controller hears commits alone", "fence-leak"),
        also=("KIP101-INV-05", "KIP101-INV-06"),
    ),
    of_row("KIP101-INV-16", ("fenced-in-isr", "a fenced follower that fetches is let into the ISR")),
    of_row("KIP101-INV-17", ("success-below-min-isr", "acks=all succeeds whatever the size of the ISR")),
    of_row(
        "KIP101-INV-18",
        ("never-unparked", "a follower that was fenced once never fetches again", "stuck"),
        ("epoch-beyond-log-end", "truncating the log leaves the leader epoch cache as it was", "stuck"),
        also=("KIP320-REPL-09", "KIP101-STAMP-03"),
    ),
    of_row("KIP101-INV-19", ("committed-epoch-lost", "committed offsets come back without their epoch", "lost-commit")),
    of_row(
        "KIP101-INV-20",
        ("genuine-pair-flagged", "the end of an older epoch is told one too low", "false-truncation"),
        ("epoch-end-by-watermark", "the newest epoch ends at the high watermark", "false-truncation"),
        also=("KIP320-OFLE-08", "KIP320-FETCH-09"),
    ),
    of_row(
        "KIP320-FETCH-06",
        ("silent-truncation", "a diverged fetch is answered with records", "silent-truncation"),
        also=("KIP320-CONS-02",),
    ),
    of_row(
        "KIP320-CONS-01",
        (
            "older-epoch-skipped",
            "a fetch that names its epoch is served from the start of the newest epoch",
            "poll-skip",
        ),
        also=("KIP101-INV-05",),
    ),
    of_row(
        "KIP320-DR-02",
        ("deleted-record-returned", "a fetch below the log start is served", "deleted-record-returned"),
    ),
    of_row(
        "GEN-08",
        ("no-next-leader", "a partition without a leader gets none when its replica is back", "stuck"),
    ),
    of_row(
        "GEN-09",
        (
            "elected-out-of-isr",
            "a partition without a leader is led by the first replica that is back",
            "unclean-leader",
        ),
        also=("KIP101-INV-05",),
    ),
    of_row("KIP320-FETCH-02", ("newer-epoch-served", "a request with a newer current epoch is served", "fence-leak")),
    of_row(
        "GEN-06",
        (
            "stable-behind-log-start",
            "trimming leaves the last stable offset that is told where it was",
            "contradiction",
        ),
        (
            "eligible-in-isr",
            "the first member of an ISR that is not full is described as an eligible leader replica too",
            "contradiction",
        ),
    ),
    of_row(
        "GEN-02",
        ("former-id-deletes", "a deletion by the id of a former topic deletes the next one", "late-copy-acted"),
    ),
    of_row(
        "GEN-11",
        ("reassigned-early", "a reassignment completes while the new replica is not in the ISR", "too-few-copies"),
        ("cancelled-by-half", "a cancelled reassignment leaves the new replica", "not-restored"),
    ),
    of_row(
        "GEN-15",
        ("trimmed-too-far", "DeleteRecords deletes one record more than was asked for", "deleted-too-much"),
        also=("KIP320-DR-02", "KIP101-INV-05"),
    ),
    of_row(
        "KIP320-LO-01",
        ("latest-by-log-end", "the latest offset that is listed is the log end"),
        also=("KIP101-INV-09",),
    ),
    of_row("GEN-16", ("appended-twice", "a leader appends every third batch twice", "never-written")),
    of_row(
        "GEN-17",
        ("uncommitted-at-followers", "a follower serves consumers up to its log end", "uncommitted-read"),
        also=("KIP320-FETCH-04", "KIP320-FETCH-07"),
    ),
)

OF_PROBES: dict[str, Bug] = by_name(
    of_row(
        "KIP320-LO-05",
        ("own-end-by-watermark", "a follower answers replica id -2 with its high watermark"),
        ("own-end-by-leader", "a follower answers replica id -2 with the log end of its leader"),
    ),
    of_row("KIP320-DR-01", ("empty-log-without-epoch", "the earliest offset of an empty log has no epoch")),
    of_row("KIP320-FETCH-10", ("failed-fetch-counts", "a replica's fetch counts as progress before it is checked")),
    of_row(
        "KIP320-FETCH-11",
        ("diverging-left-out-of-session", "incremental answers leave partitions out that diverge"),
    ),
    of_row("KIP320-FETCH-13", ("stranger-in-progress-table", "a leader keeps the log end of an id that is no replica")),
    of_row("KIP320-OFLE-07", ("first-end-for-all", "each partition of a lookup ends where the first of them ends")),
)
"""Bugs that no step of a machine meets, so that probes must find them."""
