"""The judge of the kit's own reader: it catches what a reader is not told of, and is silent where it goes back as it must."""

from __future__ import annotations

from conformance.judging.log import readers
from tests.support.histories import LogHistory, stamped
from tests.support.judging import broken, held, judged_by

A, B, C = stamped(0, 0, "a"), stamped(0, 1, "b"), stamped(0, 2, "c")
NEW = (A, stamped(1, 1, "x"), stamped(1, 2, "y"))
JUDGE = readers.readers_miss_nothing_that_survives


def behind() -> LogHistory:
    """A reader has all of epoch 0; 2 is elected uncleanly, with the first record only."""
    told = LogHistory().settled(1, 0).whole(1, A, B, C, epoch=0, hw=3).fetch(1, A, B, C, epoch=0, hw=3)
    told.step("deliver", (3, 0), (0, 0, "a"), (1, 0, "b"), (2, 0, "c"))
    return told.elect_uncleanly(2).settled(2, 1).whole(2, *NEW, epoch=1, hw=3)


def test_a_reader_that_goes_back_to_the_common_prefix() -> None:
    told = behind().epoch_end(2, 0, (0, 1), 1).step("rewind", (1, 0), told=(0, 1))
    assert held(JUDGE, told.fetch(2, *NEW[1:], epoch=1, hw=3, offset=1).step("deliver", (2, 1), (1, 1, "x"))) == [
        "lookup"
    ]
    told = behind().fetch(2, epoch=1, hw=3, offset=3, last=0, diverging=(0, 1)).step("rewind", (1, 0), told=(0, 1))
    assert held(JUDGE, on(told, 1)) == ["fetch"]


def on(told: LogHistory, start: int, epoch: int = 1) -> LogHistory:
    """It reads on from there."""
    rest = [one for one in NEW if one.base_offset >= start]
    records = [(one.base_offset, one.leader_epoch, "new") for one in rest]
    return told.fetch(2, *rest, epoch=epoch, hw=3, offset=start).step("deliver", (3, 1), *records)


def test_a_reader_that_is_told_an_end_too_high_or_too_low() -> None:
    for end in (0, 2):
        told = behind().epoch_end(2, 0, (0, end), 1).step("rewind", (end, 0), told=(0, end))
        assert "lookup" in broken(JUDGE, on(told, end))


def test_several_unclean_elections() -> None:
    """It may go back further than it must, but not less far."""
    for end, result in ((0, "held"), (1, "held"), (2, "violated")):
        told = behind().elect_uncleanly(2).settled(2, 3).whole(2, *NEW, epoch=3, hw=3)
        told.epoch_end(2, 0, (0, end), 3).step("rewind", (end, 0), told=(0, end))
        assert next((o.case, o.result) for o in judged_by(JUDGE, on(told, end, 3))) == ("repeated", result)


def test_several_rounds_of_going_back() -> None:
    """Each names an older epoch; where the last one ended counts."""
    told = behind().epoch_end(2, 0, (0, 2), 1).step("rewind", (2, 0), told=(0, 2))
    told.epoch_end(2, 0, (0, 1), 1).step("rewind", (1, 0), told=(0, 1))
    assert held(JUDGE, on(told, 1)) == ["lookup"]


def test_a_reader_without_a_diverging_epoch() -> None:
    log = (*NEW, stamped(1, 3, "z"))
    told = behind().whole(2, *log, epoch=1, hw=4).fetch(2, log[-1], epoch=1, hw=4, offset=3)
    told.step("deliver", (4, 1), (3, 1, "z"))
    assert [(o.case, o.label) for o in judged_by(JUDGE, told)] == [("lookup", "silent-truncation")]


def test_records_that_are_skipped_or_handed_out_again() -> None:
    told = LogHistory().settled(1, 0).whole(1, A, B, C, epoch=0, hw=3).fetch(1, B, C, epoch=0, hw=3, offset=0)
    assert [o.label for o in judged_by(JUDGE, told.step("deliver", (3, 0), (1, 0, "b"), (2, 0, "c")))] == ["poll-skip"]
    told.fetch(1, C, epoch=0, hw=3, offset=3).step("deliver", (3, 0), (2, 0, "c"))
    assert [o.label for o in judged_by(JUDGE, told)] == ["poll-skip", "nonmonotonic-poll"]


def test_a_restart_at_the_log_start() -> None:
    told = behind().step("restart", (2, -1)).fetch(2, NEW[-1], epoch=1, hw=3, offset=2)
    assert held(JUDGE, told.step("deliver", (3, 1), (2, 1, "y"))) == []


def test_holes_between_records_are_no_skips() -> None:
    """A marker of a transaction has an offset and is nothing to hand out."""
    marker = stamped(0, 0, "commit", control=True)
    told = LogHistory().settled(1, 0).whole(1, marker, B, epoch=0, hw=2).fetch(1, marker, B, epoch=0, hw=2)
    assert held(JUDGE, told.step("deliver", (2, 0), (1, 0, "b"))) == []


def test_a_log_that_nobody_knows() -> None:
    told = LogHistory().settled(1, 0).fetch(1, C, epoch=0, hw=3, offset=0).step("deliver", (3, 0), (2, 0, "c"))
    assert held(JUDGE, told) == []
