"""The table of known deviations: what each entry asks for, and what is refused."""

from datetime import date
from pathlib import Path

import pytest

from conformance.catalogue import CatalogueError, shipped_rows
from conformance.catalogue.deviations import Deviation, load_deviations

SHIPPED = load_deviations(shipped_rows())
GOOD = 'requirement = "KIP320-LO-04"\nversions = ["3.8..3.9"]\nreason = "r"\ncases = ["empty-epoch"]\nsays = ["x"]\n'
DRAWN = 'requirement = "KIP101-INV-01"\nversions = ["3.3..3.7"]\nreason = "r"\ncases = ["replicas", "time"]\n'


def _write(folder: Path, text: str) -> Path:
    path = folder / "own.toml"
    path.write_text(text, encoding="utf-8")
    return path


def _known(row: str, version: str, case: str, *deeds: str, detail: str = "") -> list[Deviation]:
    return [one for one in SHIPPED if one.covers(row, version) and one.explains(case, detail, deeds)]


def test_the_shipped_table_names_rows_and_versions() -> None:
    assert {entry.requirement for entry in SHIPPED} >= {"KIP320-LO-04", "KIP360-INIT-10", "KIP595-LEAD-01"}
    assert all(entry.reason and entry.cases for entry in SHIPPED)


def test_an_entry_covers_the_patches_of_its_minors() -> None:
    (late,) = [entry for entry in SHIPPED if entry.requirement == "KIP320-LO-04"]
    assert late.covers("KIP320-LO-04", "3.7.2")
    assert not late.covers("KIP320-LO-04", "3.8.0")
    assert not late.covers("KIP320-LO-03", "3.7.2")


# --- schedules of other bugs

END = "end-transaction"
CRASH = ("cut-tail-above leader", "pause active controller")
DOWN = ("kill broker", "recreate-topic")
SLOW = ("rate-limit follower", "kill leader", "healed kill leader")


@pytest.mark.parametrize(
    ("row", "version", "case", "known", "others"),
    [
        ("KIP360-INV-06", "4.3.1", "tv2", ("kill leader", END), [("rate-limit follower", END), (END,)]),
        ("KIP360-INV-07", "4.4.0", "no-dangling", ("freeze broker", END), [("kill leader", "healed kill leader", END)]),
        ("KIP101-INV-01", "3.9.2", "time", CRASH, [("rate-limit voter",), ("kill voter", "healed kill voter", "kill leader")]),
        ("KIP101-INV-06", "3.7.2", "acknowledged", ("kill all nodes",), [("kill all brokers",), ("delay active controller",)]),
        ("KIP320-DR-02", "4.2.2", "low-watermark", None, [("kill follower", "delete-records leader"), ()]),
        ("GEN-10", "3.4.0", "start", ("freeze active controller",), [("kill broker",), ("kill active controller",)]),
        ("GEN-10", "3.6.2", "start", DOWN, [("kill broker", "healed kill broker", "delete-topic"), ("delete-topic",)]),
        ("KIP101-INV-02", "3.9.0", "prefix", SLOW, [("rate-limit follower",), ("pause broker",), ("delay voter", "kill leader")]),
        ("KIP101-INV-18", "3.6.2", "isr", DOWN, [("delete-topic", "kill broker"), ("freeze follower", "produce")]),
        ("GEN-11", "4.3.1", "acknowledged", ("stop broker", *["reassign-partition"] * 2), [("reassign-partition",)]),
        ("GEN-19", "4.3.1", "created-again", DOWN, [(DOWN[1], DOWN[0]), DOWN[1:]]),
    ],
    ids=["1", "1 at rest", "2", "2 again", "3", "4", "4 again", "5", "5 isr", "6", "19"],
)  # fmt: skip
def test_a_schedule_of_another_bug_is_not_known(
    row: str, version: str, case: str, known: tuple[str, ...] | None, others: list[tuple[str, ...]]
) -> None:
    """An entry asks for all that its bug needs: a near schedule without a part of it is news."""
    assert known is None or _known(row, version, case, *known)
    assert [deeds for deeds in others if _known(row, version, case, *deeds)] == []


TIMED_OUT = {
    "KIP360-INV-06": (
        "legacy",
        "the transaction of t: no EndTxn was answered with success; 0-0 of epoch 0 is aborted, 4-4 is without a marker",
        "the transaction of t: EndTxn aborted; 0-1 of epoch 0 is without a marker",
    ),
    "KIP360-INV-07": (
        "no-dangling",
        "t is Empty, and broker-1 describes a transaction of producer 7 on strict-0 as open from offset 2 on",
        "t is CompleteCommit, and broker-1 describes a transaction of producer 7 on strict-0 as open from offset 2 on",
    ),
}


@pytest.mark.parametrize("row", TIMED_OUT)
def test_a_time_out_ends_a_transaction_without_a_step(row: str) -> None:
    """A hunt on 4.4.0 showed this schedule and these words; the coordinator's log says that the partition was deleted."""
    case, words, other_words = TIMED_OUT[row]
    shown = ("write leader", "drop leader", "kill leader", "pause-past-fencing leader", "healed kill leader")
    assert [one.ticket for one in _known(row, "4.4.0", case, *shown, detail=words)] == ["KAFKA-20734"]
    near = {
        "of another release": _known(row, "4.2.2", case, *shown, detail=words),
        "without the loss of a leader": _known(row, "4.4.0", case, "write leader", "drop leader", detail=words),
        "with nothing open before it": _known(row, "4.4.0", case, "kill leader", "write leader", detail=words),
        "ended by a request": _known(row, "4.4.0", case, *shown, detail=other_words),
        "of another case": _known(row, "4.4.0", "tv2", *shown, detail=words),
    }
    assert [kind for kind, found in near.items() if found] == []


def test_an_open_end_has_a_date_on_which_the_entry_is_looked_at() -> None:
    """The seventh: a race without an end was never told as one that no longer holds."""
    races = [entry for entry in SHIPPED if entry.race and entry.versions[-1].endswith("..")]
    assert {entry.requirement for entry in races} >= {"KIP101-INV-18", "KIP360-INV-06", "GEN-05", "GEN-08", "GEN-11"}
    assert all(entry.look_again and date(2026, 12, 1) < entry.look_again <= date(2028, 1, 1) for entry in races)


def test_only_a_commit_that_names_no_member_is_known_to_be_refused() -> None:
    refused = "node-1 answered TxnOffsetCommit that names no member at epoch 0 of producer 181 with UNKNOWN_MEMBER_ID"
    assert _known("KIP360-INV-16", "3.9.2", "offset-commit-granted", detail=refused)
    for other in (
        "node-1 answered TxnOffsetCommit with UNKNOWN_MEMBER_ID",
        refused.replace("UNKNOWN_MEMBER_ID", "NONE"),
    ):
        assert not _known("KIP360-INV-16", "3.9.2", "offset-commit-granted", detail=other)


DESCRIBED = {
    "several times": "ConsumerGroupDescribe of group-5, no-such-group-5 for group-5, group-5: group-5 answered several times",
    "wrong-broker": (
        "broker-3, asked by ConsumerGroupDescribe v0 about no-such-group-5, "
        "answered GROUP_ID_NOT_FOUND where NOT_COORDINATOR or UNSUPPORTED_VERSION was due"
    ),
    "batch": (
        "broker-3, asked by ConsumerGroupDescribe v0 about no-such-group-5, answered NOT_COORDINATOR (16), "
        "and in a batch GROUP_ID_NOT_FOUND (69)"
    ),
}


@pytest.mark.parametrize(
    ("row", "case", "words", "others"),
    [
        (
            "GEN-03", "consumer-group-describe", DESCRIBED["several times"],
            ["broker-1 answered ConsumerGroupDescribe of group-5, no-such-group-5 for group-5: no-such-group-5 not answered"],
        ),
        (
            "GEN-04", "consumer-group-describe", DESCRIBED["batch"],
            [DESCRIBED["batch"].replace("batch GROUP_ID_NOT_FOUND (69)", "batch UNKNOWN_SERVER_ERROR (-1)")],
        ),
        (
            "GEN-05", "wrong-broker", DESCRIBED["wrong-broker"],
            [DESCRIBED["wrong-broker"].replace("answered GROUP_ID_NOT_FOUND", "answered NONE")],
        ),
    ],
)  # fmt: skip
def test_previews_are_known_to_describe_a_group_several_times(
    row: str, case: str, words: str, others: list[str]
) -> None:
    assert len(_known(row, "3.9.2", case, detail=words)) == 1
    assert [other for other in others if _known(row, "3.9.2", case, detail=other)] == []
    assert not _known(row, "4.0.2", case, detail=words)
    assert not _known("GEN-05", "3.9.2", "unknown", detail=words)


CREATED = "broker-1 answered UNKNOWN_SERVER_ERROR to CreateTopics topics (name {}, num partitions 10001)"
GROWN = "broker-1 answered UNKNOWN_SERVER_ERROR to CreatePartitions topic {}, count 10002"
MOVED = "Huge topic (1) sent to the broker: leader 3 at epoch 1, then leader 1 at epoch 2; answer: topics ({} (-1), name large-1)"


@pytest.mark.parametrize(
    ("row", "case", "words", "other", "versions"),
    [
        ("GEN-18", "large", MOVED.format("UNKNOWN_SERVER_ERROR"), MOVED.format("NONE"), ["3.3.2", "3.4.1"]),
        ("GEN-12", "create-topics", CREATED.format("large-1"), CREATED.format("small-1"), ["3.3.2", "3.4.1"]),
        ("GEN-12", "create-partitions", GROWN.format("large-1"), GROWN.format("small-1"), ["3.3.2", "3.4.1", "3.5.2", "4.3.1"]),
    ],
)  # fmt: skip
def test_only_too_large_requests_are_known_to_be_answered_with_an_internal_error(
    row: str, case: str, words: str, other: str, versions: list[str]
) -> None:
    asked = ["3.3.2", "3.4.1", "3.5.2", "4.3.1", "4.4.0"]
    assert [version for version in asked if _known(row, version, case, detail=words)] == versions
    assert [version for version in asked if _known(row, version, case, detail=other)] == []


# --- what a schedule has

TOGETHER = Deviation(
    requirement="R",
    versions=("3.3..3.9",),
    reason="r",
    cases=("c",),
    meets=(("kill leader",), ("kill voter", "delete-topic")),
)
IN_ORDER = Deviation(
    requirement="R", versions=("3.3..3.9",), reason="r", cases=("c",), takes=(("kill any",), ("delete-topic",))
)


@pytest.mark.parametrize(
    ("deeds", "shown"),
    [
        (["kill leader", "kill voter"], True),
        (["kill voter", "rate-limit leader", "kill leader"], True),
        (["kill leader", "delete-topic"], True),
        (["kill leader", "healed kill leader", "kill voter"], False),
        (["kill leader", "kill leader", "healed kill leader", "kill voter"], True),
        (["delete-topic", "kill leader"], False),
        (["kill follower", "kill voter"], False),
    ],
)
def test_what_meets_stands_at_the_same_time(deeds: list[str], shown: bool) -> None:
    assert TOGETHER.is_shown_by(deeds) == shown


@pytest.mark.parametrize(
    ("deeds", "shown"),
    [
        (["kill voter", "healed kill voter", "delete-topic"], True),
        (["delete-topic", "kill voter"], False),
        (["stop voter", "delete-topic"], False),
    ],
)
def test_what_is_taken_comes_in_order(deeds: list[str], shown: bool) -> None:
    assert IN_ORDER.is_shown_by(deeds) == shown


def test_a_schedule_has_another_shape_with_a_fault_that_is_not_asked_for() -> None:
    assert TOGETHER.foresees(["produce", "kill leader", "healed kill leader", "delete-topic"])
    assert not TOGETHER.foresees(["kill leader", "rate-limit leader"])


# --- bad input


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[deviation]\n", "own.toml"),
        (GOOD.replace("KIP320-LO-04", "KIP1-X-01"), "line 1: KIP1-X-01: 'KIP1-X-01' is no row of the catalogue"),
        (GOOD.replace('["3.8..3.9"]', "[]"), r"names no versions; write versions = \['3.3..3.5'\]"),
        (GOOD.replace("3.8..3.9", "3.3"), "not a version range"),
        (GOOD.replace("empty-epoch", "gone"), "there is no case gone; the cases of the row are empty-epoch, written-epoch"),
        (GOOD.replace('cases = ["empty-epoch"]\n', ""), "the entry names no cases; the cases of the row are"),
        (GOOD.replace("versions", "version"), "line 1: .*unknown field"),
        (GOOD.replace("3.8..3.9", "3.8.."), r"versions '3.8..' have no end; give the newest version .* look_again = 20"),
        (GOOD + "race = true\n", r"no run tells that it is mended; give the date .* look_again = 20"),
        (GOOD + 'takes = ["kill leader"]\n', "no run tells that it is mended"),
        (GOOD + 'meets = ["kill leader"]\n', "no run tells that it is mended"),
        (GOOD + 'takes = ["kil leader"]\n', "'kil leader': 'kil' is neither a step nor a fault"),
        (GOOD + 'takes = [["kill leader", "kill ledaer"]]\n', "kill has no role 'ledaer'; write one of leader, follower"),
        (GOOD + 'meets = ["kill"]\n', "'kill' names no role; write one of leader"),
        (GOOD + 'takes = ["delete-topik"]\n', "neither a step nor a fault; conformance/catalogue/schedule-words.toml has"),
        (GOOD + "takes = [[]]\n", "one of them is empty"),
        (DRAWN, "neither `takes` nor `meets`, so that it can match every schedule of its row; name the steps and faults"),
        (DRAWN + 'takes = ["produce"]\n', "it can match every schedule of its row"),
        (DRAWN.replace('"replicas", ', "") + "race = true\n", "it can match every schedule of its row"),
        (f"{GOOD}\n[[deviation]]\n{GOOD}", "line 8: KIP320-LO-04: the entry overlaps that of own.toml, line 1"),
        (GOOD.replace("3.8..3.9", "3.7..3.9"), r"overlaps that of known-deviations.toml, line \d+: both are about KIP320-LO"),
    ],
)  # fmt: skip
def test_a_broken_entry_is_refused_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(CatalogueError, match=message):
        load_deviations(shipped_rows(), _write(tmp_path, f"[[deviation]]\n{text}" if text[0] != "[" else text))


def test_a_file_of_ones_own_is_added_to_the_shipped_one(tmp_path: Path) -> None:
    own = DRAWN.replace("3.3..3.7", "4.0..4.0") + 'takes = ["a cut", "delete-topic"]\nlook_again = 2027-06-01\n'
    path = _write(tmp_path, f'[choices]\n"a cut" = ["drop leader"]\n[[deviation]]\n{own}')
    *shipped, added = load_deviations(shipped_rows(), path)
    assert (shipped, added.takes) == (SHIPPED, (("drop leader",), ("delete-topic",)))


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CatalogueError, match=r"none.toml: .*No such file"):
        load_deviations(shipped_rows(), tmp_path / "none.toml")
