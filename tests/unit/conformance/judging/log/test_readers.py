"""The judge of the kit's own reader: it catches what a reader misses, and is silent where the reader goes back as it must."""

from __future__ import annotations

from conformance.judging.log import readers
from tests.support.histories import LogHistory, stamped
from tests.support.judging import broken, held, judged_by

A, B, C = stamped(0, 0, "a"), stamped(0, 1, "b"), stamped(0, 2, "c")
NEW = (A, stamped(1, 1, "x"), stamped(1, 2, "y"))
JUDGE = readers.readers_miss_nothing_that_survives


def behind() -> LogHistory:
    """A reader has all of epoch 0; 2 is elected uncleanly, with the first record only."""
    history = LogHistory().settled(1, 0).whole(1, A, B, C, epoch=0, hw=3).fetch(1, A, B, C, epoch=0, hw=3)
    history.step("deliver", (3, 0), (0, 0, "a"), (1, 0, "b"), (2, 0, "c"))
    return history.elect_uncleanly(2).settled(2, 1).whole(2, *NEW, epoch=1, hw=3)


def test_a_reader_that_goes_back_to_the_common_prefix() -> None:
    history = behind().epoch_end(2, 0, (0, 1), 1).step("rewind", (1, 0), told=(0, 1))
    assert held(JUDGE, history.fetch(2, *NEW[1:], epoch=1, hw=3, offset=1).step("deliver", (2, 1), (1, 1, "x"))) == [
        "lookup"
    ]
    history = behind().fetch(2, epoch=1, hw=3, offset=3, last=0, diverging=(0, 1)).step("rewind", (1, 0), told=(0, 1))
    assert held(JUDGE, on(history, 1)) == ["fetch"]


def on(history: LogHistory, start: int, epoch: int = 1) -> LogHistory:
    """It reads on from there."""
    rest = [one for one in NEW if one.base_offset >= start]
    records = [(one.base_offset, one.leader_epoch, "new") for one in rest]
    return history.fetch(2, *rest, epoch=epoch, hw=3, offset=start).step("deliver", (3, 1), *records)


def test_a_reader_that_is_told_an_end_too_high_or_too_low() -> None:
    for end in (0, 2):
        history = behind().epoch_end(2, 0, (0, end), 1).step("rewind", (end, 0), told=(0, end))
        assert "lookup" in broken(JUDGE, on(history, end))


def test_several_unclean_elections() -> None:
    """It may go back further than it must, but not less far."""
    for end, result in ((0, "held"), (1, "held"), (2, "violated")):
        history = behind().settled(1, 2).elect_uncleanly(2).settled(2, 3).whole(2, *NEW, epoch=3, hw=3)
        history.epoch_end(2, 0, (0, end), 3).step("rewind", (end, 0), told=(0, end))
        assert next((o.case, o.result) for o in judged_by(JUDGE, on(history, end, 3))) == ("repeated", result)


def test_several_rounds_of_going_back() -> None:
    """Each names an older epoch; where the last one ended counts."""
    history = behind().epoch_end(2, 0, (0, 2), 1).step("rewind", (2, 0), told=(0, 2))
    history.epoch_end(2, 0, (0, 1), 1).step("rewind", (1, 0), told=(0, 1))
    assert held(JUDGE, on(history, 1)) == ["lookup"]


def test_a_reader_without_a_diverging_epoch() -> None:
    log = (*NEW, stamped(1, 3, "z"))
    history = behind().whole(2, *log, epoch=1, hw=4).fetch(2, log[-1], epoch=1, hw=4, offset=3)
    history.step("deliver", (4, 1), (3, 1, "z"))
    assert [(o.case, o.label) for o in judged_by(JUDGE, history)] == [("lookup", "silent-truncation")]


def test_records_that_are_skipped_or_handed_out_again() -> None:
    history = LogHistory().settled(1, 0).whole(1, A, B, C, epoch=0, hw=3).fetch(1, B, C, epoch=0, hw=3, offset=0)
    assert [o.label for o in judged_by(JUDGE, history.step("deliver", (3, 0), (1, 0, "b"), (2, 0, "c")))] == [
        "poll-skip"
    ]
    history.fetch(1, C, epoch=0, hw=3, offset=3).step("deliver", (3, 0), (2, 0, "c"))
    assert [o.label for o in judged_by(JUDGE, history)] == ["poll-skip", "nonmonotonic-poll"]


def test_a_restart_at_the_log_start() -> None:
    history = behind().step("restart", (2, -1)).fetch(2, NEW[-1], epoch=1, hw=3, offset=2)
    assert held(JUDGE, history.step("deliver", (3, 1), (2, 1, "y"))) == []


def test_holes_between_records_are_no_skips() -> None:
    """A marker of a transaction has an offset and is nothing to hand out."""
    marker = stamped(0, 0, "commit", control=True)
    history = LogHistory().settled(1, 0).whole(1, marker, B, epoch=0, hw=2).fetch(1, marker, B, epoch=0, hw=2)
    assert held(JUDGE, history.step("deliver", (2, 0), (1, 0, "b"))) == []


def test_a_log_that_nobody_knows() -> None:
    history = LogHistory().settled(1, 0).fetch(1, C, epoch=0, hw=3, offset=0).step("deliver", (3, 0), (2, 0, "c"))
    assert held(JUDGE, history) == []
