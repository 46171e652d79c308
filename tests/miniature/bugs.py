"""The bugs that can be switched on: what each does, and the row and label under which a judge has to find it."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Bug:
    """`rows` are those that may find it first; several where one wrong deed breaks several rules at once."""

    name: str
    does: str
    rows: tuple[str, ...]
    label: str = ""


def _bug(name: str, does: str, *rows: int | str, label: str = "") -> Bug:
    return Bug(name, does, tuple(f"KIP101-INV-{row:02}" if isinstance(row, int) else row for row in rows), label)


BUGS: dict[str, Bug] = {
    bug.name: bug
    for bug in (
        _bug(
            "rewritten-while-copied",
            "a follower that starts anew encodes what it copies again, with its own time",
            1,
            label="divergent-prefix",
        ),
        _bug(
            "divergent-tail-kept",
            "a follower that is told to truncate goes on from its log end",
            2,
            label="divergent-prefix",
        ),
        _bug("stamp-of-first-reign", "a leader stamps with the first epoch it ever led", 3, label="epoch-regression"),
        _bug(
            "restamping-follower", "a follower stamps what it copies with its own epoch", 3, 1, label="epoch-regression"
        ),
        _bug("epoch-map-shifted", "after a restart the entries of the epoch map begin one offset later", 4),
        _bug("epoch-entry-not-trimmed", "trimming the log leaves the epoch map as it was", 4),
        _bug("epoch-beyond-log-end", "truncating the log leaves the epoch map as it was", 4),
        _bug("acks-all-by-leader-alone", "acks=all is answered before any follower has it", 5, label="lost-write"),
        _bug(
            "truncated-to-watermark",
            "at a change of leader replicas cut to their high watermark",
            5,
            label="lost-write",
        ),
        _bug(
            "phantom-truncation",
            "at a change of leader replicas cut their last batch, committed or not",
            5,
            label="phantom-truncation",
        ),
        _bug("acknowledged-at-one-offset", "every third acknowledgement names the offset before its own", 6, 5),
        _bug("reads-past-watermark", "consumers are served what is not committed", 7),
        _bug(
            "watermark-falls",
            "a follower that enters the ISR takes the watermark down by one",
            8,
            label="hw-regression",
        ),
        _bug(
            "log-start-falls",
            "a follower that enters the ISR brings back what was trimmed of a batch",
            8,
            label="log-start-regression",
        ),
        _bug("latest-beyond-end", "the high watermark that is told is one above the log end", 9),
        _bug("stable-beyond-watermark", "the last stable offset that is told is the log end", 9),
        _bug("deleted-record-returned", "a fetch below the log start is served", 9, label="deleted-record-returned"),
        _bug(
            "metadata-epoch-falls",
            "who is let in again tells old and new metadata in turn",
            10,
            label="epoch-regression",
        ),
        _bug("two-leaders-in-one-epoch", "an election between living leaders keeps the epoch", 11),
        _bug("future-stamps", "a leader stamps one epoch ahead", 12),
        _bug("fence-leak", "a fetch with an older current epoch is served", 12, label="fence-leak"),
        _bug("newer-epoch-served", "a request with a newer current epoch is served", 10, 12),
        _bug("false-fence", "after a move the current epoch is refused as old", 10, label="false-fence"),
        _bug("unsound-divergence", "DivergingEpoch names an end beyond the log end", 13),
        _bug("silent-truncation", "a diverged fetch is answered with records", 13, label="silent-truncation"),
        _bug("epoch-end-by-watermark", "the newest epoch ends at the high watermark", 14),
        _bug("epoch-end-echoed", "an epoch that is gone is echoed with the log end", 14),
        _bug("epoch-ends-fall", "older epochs end later than newer ones", 14),
        _bug("stale-leader-commits", "a leader that no controller hears commits alone", 15),
        _bug("fenced-in-isr", "a fenced follower stays in the ISR", 16),
        _bug("success-below-min-isr", "acks=all succeeds whatever the size of the ISR", 17),
        _bug("never-unparked", "a follower that was fenced once never fetches again", 18, label="stuck"),
        _bug("committed-epoch-lost", "committed offsets come back without their epoch", 19),
        _bug("genuine-pair-flagged", "the end of an older epoch is told one too low", 20),
    )
}


def no_bugs() -> frozenset[str]:
    return frozenset()
