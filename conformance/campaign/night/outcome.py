"""The outcome of a night: what each leg broke that was not broken when its column was last published."""

import html
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from conformance.campaign.night.archive import PublishedColumn
from conformance.campaign.night.attempts import FoundAttempt, why_dead
from conformance.campaign.night.canaries import CanaryOutcome
from conformance.campaign.night.confirming import Confirmations, is_missed
from conformance.campaign.night.plan import NightPlan
from conformance.judging.news import BROKEN, WELL, BrokenCase, Cells, ColumnNews, column_news, executed_rows
from history.exit_codes import EXIT_SATISFIED, EXIT_TROUBLE, EXIT_VIOLATED, exit_code_of

OLD = 7
"""The age in nights above which a column that is carried over is an error of its own."""
COLOURS = {EXIT_SATISFIED: "green", EXIT_VIOLATED: "red", EXIT_TROUBLE: "trouble"}


class LegOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """A leg's news beside its `baseline`, the night in which its column was last published; `attempts` are those that count.

    `not_seen_again` are new cases that no replay showed and no earlier night found; `confirmed` are the replays of new ones;
    `mended` are the rows that were broken there. New cases of provisional rows are apart. `to_remove` are rows with a known
    deviation that held neither there nor here; `executed` are those of which a check came to its end.
    """

    leg: str
    attempts: list[int]
    baseline: str
    news: ColumnNews
    not_seen_again: list[BrokenCase] = []
    confirmed: Confirmations = {}
    mended: list[str] = []
    provisional: list[BrokenCase] = []
    to_remove: list[str] = []
    executed: list[str] = []
    seconds: float = 0.0
    trouble: list[str] = []

    @property
    def exit_code(self) -> int:
        return exit_code_of(violated=bool(self.news.new or self.to_remove), troubled=bool(self.reasons))

    @property
    def reasons(self) -> list[str]:
        """The reasons why the leg is in trouble."""
        return [*self.trouble, *self.news.trouble, *self.news.too_little]

    def describe(self, case: BrokenCase) -> str:
        """Return a new case in words, with its replays if it has any."""
        return f"{case}, {self.confirmed[case]}" if case in self.confirmed else str(case)


def leg_outcome(
    leg: str,
    counting: Sequence[FoundAttempt],
    all_attempts: Iterable[FoundAttempt],
    now: Cells,
    before: PublishedColumn,
    young: Collection[str] = (),
    stale: Collection[str] = (),
) -> LegOutcome:
    """Compare a leg's column with the published one; a leg of which no attempt counts is dead.

    `young` are the provisional rows, `stale` those whose known deviation did not hold in this column.
    """
    dead = [why_dead(one) for one in all_attempts if one.attempt.leg == leg] or ["it never began"]
    dead += [f"its column is of night {before.night}, {before.age} nights old"] if before.age > OLD else []
    trouble = [reason for one in counting for reason in (one.end.trouble if one.end else [why_dead(one)])]
    news = column_news(now, before.cells, measure=before.fullest) if counting else ColumnNews()
    confirmed = {case: replays for one in counting for case, replays in one.confirmed.items()}
    well = {row for row, cell in now.items() if cell.verdict in WELL}
    provisional = [case for case in news.new if case.requirement in young]
    judged = [case for case in news.new if case not in provisional]
    unseen = [case for case in judged if is_missed(confirmed.get(case)) and case not in before.doubted]
    return LegOutcome(
        leg=leg,
        attempts=[one.attempt.number for one in counting],
        baseline=before.night,
        news=msgspec.structs.replace(news, new=[case for case in judged if case not in unseen]),
        provisional=provisional,
        to_remove=[row for row in stale if row in before.stale],
        executed=executed_rows(now),
        not_seen_again=unseen,
        confirmed=confirmed,
        mended=[row for row, cell in before.cells.items() if cell.verdict in BROKEN and row in well],
        seconds=sum(one.end.seconds for one in counting if one.end),
        trouble=trouble if counting else dead,
    )


def night_code(outcomes: Iterable[LegOutcome | CanaryOutcome]) -> int:
    codes = {one.exit_code for one in outcomes}
    return exit_code_of(violated=EXIT_VIOLATED in codes, troubled=EXIT_TROUBLE in codes)


def night_summary(
    plan: NightPlan, outcomes: Sequence[LegOutcome], canaries: Sequence[CanaryOutcome] = (), *, is_published: bool
) -> str:
    """Return Markdown whose first line says whether the night was published, and what is new."""
    counts: Mapping[str, int] = {
        colour: sum(one.exit_code == code for one in outcomes) for code, colour in COLOURS.items()
    }
    legs = ", ".join(f"{count} {colour}" for colour, count in counts.items() if count)
    if is_published:
        first = f"**Night {plan.night}: published.** Legs: {legs}."
    else:
        well = [f"canary {one.name} looks well: {one.looks_well}" for one in canaries if one.looks_well]
        why = "; ".join([*plan.missing, *well]) or "no leg left a column"
        is_part = "is partial and published nothing" if plan.missing else "published nothing"
        first = f"**Night {plan.night} {is_part}**: {_escape(why)}. Legs: {legs}."
    if not any(one.baseline for one in outcomes):
        first += " No column was published before: nothing can be new."
    lines = [f"- {_escape(f'{one.name}: ' + ('; '.join(one.reasons) or 'red, as it must be'))}" for one in canaries]
    rows = [
        "| Kafka | | Beside night | New | New, not seen again | Provisional | Judged for the first time | Known | Trouble |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    return "\n".join([first, "", *rows, *map(_table_row, outcomes), *(["", *lines] if lines else [])]) + "\n"


def _table_row(one: LegOutcome) -> str:
    news = one.news
    texts = [
        one.leg,
        COLOURS[one.exit_code],
        one.baseline or "none",
        "; ".join([*map(one.describe, news.new), *(f"{row}: mended? Remove the entry" for row in one.to_remove)]),
        "; ".join(map(one.describe, one.not_seen_again)),
        "; ".join(map(one.describe, one.provisional)),
        ", ".join(map(str, news.first_judged)),
        str(len(news.known)),
        "; ".join(one.reasons),
    ]
    return f"| {' | '.join(map(_escape, texts))} |"


def _escape(text: str) -> str:
    """Escape foreign text: no HTML, no second line, no new column, no link."""
    plain = html.escape(" ".join(text.split()), quote=False)
    for sign in "\\`*_[]|~":
        plain = plain.replace(sign, f"\\{sign}")
    return plain.replace("@", "@\u200b")
