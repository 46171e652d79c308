"""Which attempts of a leg count."""

from pathlib import Path

import pytest

from conformance.campaign.night.attempts import (
    BEGUN,
    Attempt,
    AttemptEnd,
    begin_attempt,
    counting_attempts,
    end_attempt,
    find_attempts,
    next_number,
)
from conformance.campaign.night.plan import NightPlan
from fixtures.errors import WrongUse
from tests.support.sample_shards import ShardBuilder

NIGHT = "2026-11-27"
PLAN = NightPlan(night=NIGHT, missing=[], legs=["3.9.2", "4.3.1"], options=[])


def made(
    folder: Path, number: int, end: str, *, leg: str = "4.3.1", night: str = NIGHT, column: str = "", digest: str = "d"
) -> None:
    own = folder / f"{night}-{leg}-{number}"
    begin_attempt(own, Attempt(night=night, leg=leg, number=number))
    if end != "dead":
        shard = ShardBuilder(f"r{number}-gw0", "4.3.1", label=column or leg, run=f"r{number}", digest=digest)
        shard.finish().write(own / "shards")
    if end != "cut off":
        end_attempt(own, AttemptEnd(is_whole=end == "whole"))


def numbers(folder: Path, *pooled: str) -> list[int]:
    return [one.attempt.number for one in counting_attempts(find_attempts(folder, PLAN), "4.3.1", pooled)]


@pytest.mark.parametrize(
    ("ends", "counting"),
    [
        (["whole"], [1]),
        (["whole", "whole"], [2]),
        (["dead", "whole"], [2]),
        (["cut off", "whole"], [2]),
        (["whole", "dead"], [1]),
        (["whole", "cut off"], [1]),
        (["cut off"], []),
        (["dead"], []),
        ([], []),
    ],
)
def test_the_newest_whole_attempt_counts(ends: list[str], counting: list[int], tmp_path: Path) -> None:
    for number, end in enumerate(ends, start=1):
        made(tmp_path, number, end)
    assert numbers(tmp_path) == counting


def test_the_order_is_that_of_numbers_not_of_names(tmp_path: Path) -> None:
    made(tmp_path, 9, "whole")
    made(tmp_path, 10, "whole")
    assert numbers(tmp_path) == [10]
    assert next_number(tmp_path, PLAN, "4.3.1") == 11
    assert next_number(tmp_path, PLAN, "3.9.2") == 1


def test_cut_off_attempts_are_pooled_only_for_a_leg_that_is_marked_so(tmp_path: Path) -> None:
    made(tmp_path, 1, "cut off")
    made(tmp_path, 2, "dead")
    made(tmp_path, 3, "whole")
    assert numbers(tmp_path, "3.9.2") == [3]
    assert numbers(tmp_path, "4.3.1") == [1, 3]


def test_attempts_of_another_night_and_leg_do_not_count(tmp_path: Path) -> None:
    made(tmp_path, 1, "whole", night="2026-11-26")
    made(tmp_path, 1, "whole", leg="3.9.2")
    assert numbers(tmp_path) == []


def test_what_does_not_fit_is_refused_by_its_name(tmp_path: Path) -> None:
    made(tmp_path / "column", 1, "whole", column="3.9.2")
    with pytest.raises(WrongUse, match=r"attempt 1 of leg 4.3.1 has a shard of column '3.9.2'"):
        numbers(tmp_path / "column")
    made(tmp_path / "builds", 1, "cut off", digest="d")
    made(tmp_path / "builds", 2, "whole", digest="e")
    with pytest.raises(WrongUse, match=r"leg 4.3.1: its attempts ran 2 builds"):
        numbers(tmp_path / "builds", "4.3.1")
    made(tmp_path / "twice" / "a", 1, "whole")
    made(tmp_path / "twice" / "b", 1, "whole")
    with pytest.raises(WrongUse, match=r"attempt 1 of leg 4.3.1 is in .*a.* and in .*b"):
        numbers(tmp_path / "twice")
    made(tmp_path / "stray", 1, "whole", leg="9.9.9")
    with pytest.raises(WrongUse, match=r"leg '9.9.9' is not in the plan"):
        numbers(tmp_path / "stray")
    made(tmp_path / "torn", 1, "whole")
    next((tmp_path / "torn").rglob(BEGUN)).write_text("{")
    with pytest.raises(WrongUse, match=r"It is no attempt"):
        numbers(tmp_path / "torn")


def test_a_folder_holds_one_attempt(tmp_path: Path) -> None:
    made(tmp_path, 1, "whole")
    with pytest.raises(WrongUse, match="was begun before"):
        made(tmp_path, 1, "whole")
