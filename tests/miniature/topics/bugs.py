"""Bugs of topics and configurations: their effects, and the row under which a judge must find them."""

from __future__ import annotations

from tests.miniature.bugs import Bug, by_name, of_row

BUGS: dict[str, Bug] = by_name(
    of_row(
        "GEN-01",
        (
            "refused-topic-created",
            "a topic whose configuration is refused is created without one",
            "refused-left-trace",
        ),
        (
            "refused-alteration-half-applied",
            "what stands before the refused value of an alteration is applied",
            "refused-left-trace",
        ),
        ("refused-growth-grows", "partitions are added although their assignment is refused", "refused-left-trace"),
    ),
    of_row("GEN-03", ("foreign-topic-answered", "the metadata of one topic has another beside it", "mispaired-answer")),
    of_row(
        "GEN-12",
        ("internal-error-answered", "an invalid configuration is answered with UNKNOWN_SERVER_ERROR", "internal-error"),
    ),
    of_row(
        "GEN-19",
        (
            "first-configuration-described",
            "one broker describes the first configuration of a topic forever",
            "configuration-not-described",
        ),
        ("deleted-value-kept", "deleting a value is acknowledged and not done", "configuration-not-described"),
        ("limit-not-in-force", "a batch larger than max.message.bytes is accepted", "configuration-not-in-force"),
    ),
)

ADMINISTRATION: dict[str, str] = {
    "deleted-topic-described": "one broker describes a deleted topic forever",
    "deleted-name-taken": "the name of a deleted topic cannot be used again",
    "last-partition-unheard": "one broker describes one partition less where there are several",
}
"""Bugs of the miniature without a row."""
