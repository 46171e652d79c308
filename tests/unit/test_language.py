"""The word list: it finds the phrases that it is for, and leaves plain English alone."""

from __future__ import annotations

import pytest

from tests.language import findings, found, misshapen, tracked

DIALECT = (
    "Who has the vote of an epoch gets it again; nobody else does, however long his log.",
    "Whoever led before commits nothing",
    '"""What a column that never came up would declare is unknown: then yes."""',
    "Did the epoch have a leader, as far as anybody said?",
    "the process certainly began anew",
    "an epoch had so many records",
    "The last word on the shortest is worth its time",
    "What there is of each version of which there is something",
    "class EndTold(msgspec.Struct):",
    "def _said(answer: Answer) -> str:",
    "a genuine pair of the leader's log",
    "Without the epoch file it gives up all but the committed.",
    "the fetch that is parked at the follower",
    "    told = answer.leader_epoch",
    "    for said in lines:",
    "def test_a_run_that_ended_begins_anew() -> None:",
    "read_committed consumers wait for ever",
    "12 columns with 6 workers each, one of whom has most of it",
    "the cluster of the moment",
    "every stamp has an entry in the epoch map",
    "appends to its dead tail",
)
PLAIN = (
    "A voter grants its vote again to the candidate it chose in this epoch, and to no other.",
    "Who may import whom?",
    "there are so many that the cleaner takes minutes",
    "The broker is told its epoch by the controller, and the new leader fences the old one.",
    "Without leader-epoch-checkpoint the follower must truncate to the high watermark.",
    "what the follower fetched",
    "other heads there were",
    "as it said in the log",
    "a consumer waits forever for the leader epoch cache",
)


@pytest.mark.parametrize("text", DIALECT)
def test_a_listed_phrase_is_found(text: str) -> None:
    assert list(found("a.py", text))


@pytest.mark.parametrize("text", PLAIN)
def test_plain_english_passes(text: str) -> None:
    assert not list(found("a.py", text))


MISSHAPEN = (
    'def batches(self):\n    """Of each leader epoch, the batches."""',
    'def is_led(self):\n    """Whether the partition has a leader."""',
    'class Reads:\n    """By node, what was read."""',
    "def answered(self): ...",
    "def seen(self): ...",
    "def _(call): ...",
)
WELL_SHAPED = (
    'def batches(self):\n    """Yields the batches of each leader epoch."""',
    'def is_led(self):\n    """True if the partition has a leader."""',
    'class Reads:\n    """Reads by node."""',
    "def answered_calls(self): ...",
    "def _answered(self): ...",
    "def feed(self): ...",
    "class _Sent: ...",
)


@pytest.mark.parametrize("text", MISSHAPEN)
def test_a_misshapen_definition_is_found(text: str) -> None:
    assert list(misshapen("a.py", text))


@pytest.mark.parametrize("text", WELL_SHAPED)
def test_a_well_shaped_definition_passes(text: str) -> None:
    assert not list(misshapen("a.py", text))


def test_tests_may_name_their_helpers_by_participles() -> None:
    assert not list(misshapen("tests/a.py", "def answered(self): ..."))


def test_a_finding_names_file_line_and_what_to_write_instead() -> None:
    [finding] = found("a/b.py", "fine\nbegan anew\n")
    assert str(finding) == "a/b.py:2: 'anew': again, restarted"


def test_no_file_holds_a_listed_phrase() -> None:
    assert not findings(tracked())
