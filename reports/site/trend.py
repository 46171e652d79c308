"""A drawing of a row's verdicts over archived runs: columns downwards, runs to the right."""

from collections.abc import Sequence

import msgspec

from conformance.judging.verdicts import Verdict
from reports.insights import TrendPoint

_CELL, _HEAD, _SIDE = 20, 18, 8
"""The height and width of a cell, the height of the dates above, and a label's width per character, in pixels."""


class Name(msgspec.Struct, frozen=True, kw_only=True):
    x: int
    y: int
    text: str


class RunMark(msgspec.Struct, frozen=True, kw_only=True):
    x: int
    y: int
    verdict: Verdict
    text: str


class Trend(msgspec.Struct, frozen=True, kw_only=True):
    """The positions of the drawing, in pixels; `runs` from left to right."""

    width: int
    height: int
    runs: list[tuple[str, str]]
    names: list[Name]
    marks: list[RunMark]


def trend(points: Sequence[TrendPoint], labels: Sequence[str]) -> Trend | None:
    """Lay out the trend; return None if no archive has the row. Columns that only the archive has come last."""
    if not points:
        return None
    runs = sorted({(point.run_date, point.run) for point in points})
    seen = {point.kafka_version for point in points}
    lines = [label for label in labels if label in seen] + sorted(seen - set(labels))
    side = 12 + _SIDE * min(24, max(len(label) for label in lines))
    return Trend(
        width=side + _CELL * len(runs) + 80,
        height=_HEAD + _CELL * len(lines) + 4,
        runs=runs,
        names=[*_line_names(lines), *_run_dates(runs, side)],
        marks=[_run_mark(point, side, runs, lines) for point in points],
    )


def _line_names(lines: Sequence[str]) -> list[Name]:
    return [Name(x=4, y=_HEAD + _CELL * place + 13, text=label[:24]) for place, label in enumerate(lines)]


def _run_dates(runs: Sequence[tuple[str, str]], side: int) -> list[Name]:
    """Place each date above the first of its runs, unless it would overlap the previous date."""
    named: list[Name] = []
    for place, (date, _) in enumerate(runs):
        x = side + _CELL * place
        if not named or (date != named[-1].text and x - named[-1].x >= 74):
            named.append(Name(x=x, y=12, text=date))
    return named


def _run_mark(point: TrendPoint, side: int, runs: Sequence[tuple[str, str]], lines: Sequence[str]) -> RunMark:
    return RunMark(
        x=side + _CELL * runs.index((point.run_date, point.run)),
        y=_HEAD + _CELL * lines.index(point.kafka_version),
        verdict=point.verdict,
        text=f"{point.run_date} {point.run}, {point.kafka_version}: {point.verdict}, {point.violations} violations "
        f"in {point.observations} observations",
    )
