import pytest

from fixtures.waiting import Overdue, eventually


def test_the_first_answer_that_is_neither_none_nor_false() -> None:
    answers = iter([None, False, 0, 1])
    assert eventually(lambda: next(answers), within=5, what="an answer", every=0) == 0


def test_a_deadline_in_the_past_still_asks_once() -> None:
    assert eventually(lambda: "here", within=0, what="an answer") == "here"


def test_an_overdue_condition_says_what_and_shows_the_state() -> None:
    with pytest.raises(Overdue, match=r"the ISR is full: not within 0\.01 s\. Last state:\nISR \[1\]"):
        eventually(lambda: None, within=0.01, what="the ISR is full", state=lambda: "ISR [1]", every=0.001)


def test_what_the_probe_raises_goes_through() -> None:
    def broken() -> bool:
        raise ValueError("broken probe")

    with pytest.raises(ValueError, match="broken probe"):
        eventually(broken, within=5, what="anything")
