"""Bugs of producers and transactions: their effects, and the rows and labels under which judges must find them."""

from __future__ import annotations

from tests.miniature.bugs import Bug, by_name, of_row

BUGS: dict[str, Bug] = by_name(
    of_row(
        "KIP360-INV-01",
        ("duplicates-appended", "a batch that comes again is appended again", "second-copy"),
        also=("KIP360-INV-03", "KIP360-INV-04", "KIP360-INV-16", "GEN-02", "GEN-16"),
    ),
    of_row(
        "KIP360-INV-01",
        ("open-transaction-expires", "a producer expires with its transaction open", "second-copy"),
        also=("KIP360-INV-03", "KIP360-INV-06", "KIP360-INV-07", "KIP360-INV-16", "GEN-02", "GEN-16", "GEN-17"),
    ),
    of_row(
        "KIP360-INV-02",
        ("acknowledged-at-one-offset", "every third acknowledgement names the offset before its own", "lost-write"),
        also=("GEN-16",),
    ),
    of_row(
        "KIP360-INV-03",
        ("old-epoch-appended", "a leader appends batches of older epochs than it knows", "epoch-regression"),
        ("gap-appended", "a batch whose sequence is too high is appended", "sequence-hole"),
        also=("KIP360-INV-16",),
    ),
    of_row(
        "KIP360-INV-04",
        ("retries-appended", "a batch whose first copy was not answered with success is appended again", "second-copy"),
        also=("KIP360-INV-01", "KIP360-INV-03", "GEN-16"),
    ),
    of_row(
        "KIP360-INV-05",
        ("fenced-request-granted", "the coordinator grants requests of any epoch", "fenced-request-granted"),
        ("fenced-epoch-appended", "leaders append batches of any epoch, unverified", "fenced-write"),
        also=("KIP360-INV-03", "KIP360-INV-06", "KIP360-INV-07", "KIP360-INV-12", "KIP360-INV-16"),
    ),
    of_row(
        "KIP360-INV-06",
        ("every-third-commit-aborted", "at every third offset a commit is marked as aborted", "other-outcome"),
        ("last-partition-unmarked", "of several partitions the last one gets no marker", "other-outcome"),
        ("aborted-offsets-kept", "the offsets of an aborted transaction are kept", "aborted-offset"),
        (
            "prepared-reopened",
            "the next coordinator takes a committed transaction without markers for open",
            "other-outcome",
        ),
        also=("KIP360-INV-07", "KIP360-INV-16"),
    ),
    of_row(
        "KIP360-INV-07",
        ("open-transactions-shown", "the last stable offset is the high watermark", "past-open-transaction"),
        ("markers-end-nothing", "a leader keeps a transaction open beyond its marker", "dangling-transaction"),
        (
            "spread-transaction-stays-prepared",
            "a transaction of several partitions has its markers, and stays prepared",
            "unfinished-transaction",
        ),
        also=("GEN-17",),
    ),
    of_row(
        "KIP360-INV-12",
        ("ids-given-twice", "every second producer id was given before", "repeated-id"),
        ("epoch-not-raised", "a new instance gets the epoch of the one before", "epoch-regression"),
        ("last-epoch-passed", "epochs go on after the last one of a producer id", "epoch-beyond-last"),
        also=("KIP360-INV-16",),
    ),
    of_row(
        "KIP360-INV-13",
        ("follower-forgets-producers", "a follower describes no producer", "different-producer-state"),
    ),
    of_row(
        "KIP360-INV-15",
        ("every-third-write-fenced", "at every third offset a producer is refused for its epoch", "spurious-refusal"),
        ("third-instance-never-given", "from epoch 2 on a coordinator has always something to complete", "never-given"),
        also=("KIP360-INV-16",),
    ),
    of_row(
        "KIP360-INV-16",
        ("fenced-write-as-producer-fenced", "a write at an old epoch is refused with PRODUCER_FENCED", "wrong-answer"),
        ("gap-refused-as-fenced", "a sequence that is too high is refused with INVALID_PRODUCER_EPOCH", "wrong-answer"),
        ("fenced-end-as-invalid-state", "EndTxn at an old epoch is refused with INVALID_TXN_STATE", "wrong-answer"),
        ("epoch-skipped", "InitProducerId raises the epoch by two", "wrong-answer"),
        ("offsets-without-group", "offsets of a group that was not added are accepted", "wrong-answer"),
        ("busy-at-rest", "the first request of an epoch is answered CONCURRENT_TRANSACTIONS", "wrong-answer"),
        ("rotated-again", "who asks again after the last epoch is given yet another producer id", "wrong-answer"),
        ("end-of-nothing-granted", "the end of a transaction that never began is granted", "wrong-answer"),
    ),
    of_row(
        "KIP360-INV-16",
        ("late-commit-granted", "a commit is granted after the transaction was aborted", "wrong-answer"),
        also=("KIP360-INV-06",),
    ),
)
