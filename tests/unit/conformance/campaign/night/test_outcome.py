"""The colour of a leg and of a night, and the words about them."""

from collections.abc import Sequence
from pathlib import Path

from conformance.campaign.hunt.findings import Replays
from conformance.campaign.night.archive import PublishedColumn
from conformance.campaign.night.attempts import Attempt, AttemptEnd, FoundAttempt
from conformance.campaign.night.confirming import Confirmations
from conformance.campaign.night.outcome import LegOutcome, leg_outcome, night_code, night_summary
from conformance.campaign.night.plan import NightPlan
from conformance.judging.news import BrokenCase, JudgedCell
from conformance.judging.verdicts import Verdict

ROW, OTHER = "KIP101-INV-01", "KIP101-INV-02"


def column(verdict: Verdict) -> dict[str, JudgedCell]:
    verdicts: dict[str, Verdict] = {ROW: verdict, OTHER: "satisfied"}
    return {row: JudgedCell(requirement=row, kafka_version="4.3.1", verdict=each) for row, each in verdicts.items()}


def outcome(
    now: Verdict = "satisfied",
    before: Verdict | None = "satisfied",
    end: AttemptEnd | None = None,
    *,
    confirmed: Confirmations | None = None,
    doubted: Sequence[BrokenCase] = (),
    young: Sequence[str] = (),
    stale: Sequence[str] = (),
    stale_before: Sequence[str] = (),
) -> LegOutcome:
    one = FoundAttempt(
        attempt=Attempt(night="2", leg="4.3.1", number=1),
        folder=Path(),
        end=end or AttemptEnd(is_whole=True),
        confirmed=confirmed or {},
    )
    cells = column(before) if before else {}
    published = PublishedColumn("1", 1, cells, doubted, stale_before, cells) if before else PublishedColumn()
    return leg_outcome("4.3.1", [one] if one.is_whole else [], [one], column(now), published, young, stale)


DEAD = AttemptEnd(is_whole=False, trouble=["no <image>\n| at all"])
PLAN = NightPlan(night="2", missing=[], legs=["4.3.1"], options=[])


def test_a_leg_is_red_for_what_is_new_and_in_trouble_if_it_is_dead() -> None:
    assert outcome().exit_code == 0
    assert outcome("violated", "violated").exit_code == 0
    assert outcome("violated").exit_code == 1
    assert outcome("error").exit_code == 3
    assert outcome(end=DEAD).exit_code == 3
    assert outcome(end=AttemptEnd(is_whole=True, trouble=["its run ended with 3"])).exit_code == 3
    never = leg_outcome("4.3.1", [], [], {}, PublishedColumn())
    assert (never.exit_code, never.reasons) == (3, ["it never began"])


def test_what_a_provisional_row_finds_is_apart_and_never_red() -> None:
    found = outcome("violated", young=[ROW])
    assert (found.exit_code, found.news.new, [str(case) for case in found.provisional]) == (0, [], [ROW])
    assert outcome("violated", young=[OTHER]).exit_code == 1
    missed = {BrokenCase(ROW, ""): Replays(seen=0, tries=5)}
    assert outcome("violated", young=[ROW], confirmed=missed).not_seen_again == []


def test_what_no_replay_showed_is_red_only_in_a_second_night() -> None:
    case = BrokenCase(ROW, "")
    missed, seen = {case: Replays(seen=0, tries=5)}, {case: Replays(seen=1, tries=5)}
    first = outcome("violated", confirmed=missed)
    assert (first.exit_code, first.not_seen_again, first.news.new) == (0, [case], [])
    assert outcome("violated", confirmed=seen).exit_code == 1
    assert outcome("violated", confirmed={case: Replays(seen=0, tries=0, trouble=5)}).exit_code == 1
    assert outcome("violated", confirmed=missed, doubted=[case]).exit_code == 1
    assert outcome("violated", confirmed=missed, doubted=[BrokenCase(OTHER, "")]).exit_code == 0


def test_a_deviation_that_no_longer_holds_is_red_in_the_second_night() -> None:
    assert outcome(stale=[ROW]).exit_code == 0
    assert outcome(stale_before=[ROW]).exit_code == 0
    both = outcome(stale=[ROW], stale_before=[ROW, OTHER])
    assert (both.exit_code, both.to_remove) == (1, [ROW])
    assert f"{ROW}: mended? Remove the entry" in night_summary(PLAN, [both], is_published=True)


def test_mended_rows_are_listed() -> None:
    assert outcome("satisfied", "violated").mended == [ROW]
    assert outcome("inconclusive", "violated").mended == outcome("violated", "violated").mended == []


def test_the_first_night_of_a_column_has_no_news() -> None:
    found = outcome("violated", None)
    assert (found.exit_code, found.baseline, [str(case) for case in found.news.first_judged]) == (0, "", [ROW])


def test_a_column_that_is_carried_over_for_too_long_is_an_error_of_its_own() -> None:
    week = leg_outcome("4.3.1", [], [], {}, PublishedColumn("1", 7, column("satisfied")))
    longer = leg_outcome("4.3.1", [], [], {}, PublishedColumn("1", 8, column("satisfied")))
    assert week.reasons == ["it never began"]
    assert longer.reasons == ["it never began", "its column is of night 1, 8 nights old"]


def test_a_night_is_as_red_as_its_reddest_leg() -> None:
    assert night_code([outcome()]) == 0
    assert night_code([outcome(), outcome(end=DEAD)]) == 3
    assert night_code([outcome(end=DEAD), outcome("violated")]) == 1


def test_the_first_line_says_what_was_published() -> None:
    first = night_summary(PLAN, [outcome(), outcome("violated")], is_published=True).splitlines()[0]
    assert first == "**Night 2: published.** Legs: 1 green, 1 red."
    partial = NightPlan(night="2", missing=["it has only the rows KIP320-*"], legs=["4.3.1"], options=[])
    first = night_summary(partial, [outcome()], is_published=False).splitlines()[0]
    assert first == "**Night 2 is partial and published nothing**: it has only the rows KIP320-\\*. Legs: 1 green."


def test_the_first_line_says_that_a_first_night_has_no_news() -> None:
    first = night_summary(PLAN, [outcome("violated", None)], is_published=True).splitlines()[0]
    assert first.endswith("Legs: 1 green. No column was published before: nothing can be new.")
    later = night_summary(PLAN, [outcome("violated", None), outcome()], is_published=True).splitlines()[0]
    assert later.endswith("Legs: 2 green.")


def test_foreign_text_is_no_markdown() -> None:
    lines = night_summary(PLAN, [outcome(end=DEAD)], is_published=False).splitlines()
    assert lines[0].startswith("**Night 2 published nothing**: no leg left a column.")
    assert "attempt 1: no &lt;image&gt; \\| at all" in lines[-1]
