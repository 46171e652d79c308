"""Invented nights, played by the workflow files' own steps, and their table in docs/nightly.md.

`python -m tests.support.played_nights` writes the table.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from conformance.campaign.night.canaries import PlantedBug
from conformance.cli.means import Means
from conformance.cli.night import night
from fixtures.errors import EngineMissing
from fixtures.images import select_versions
from history.exit_codes import EXIT_TROUBLE
from protocol.errors import KitError
from tests.support.fake_column_run import OTHER
from tests.support.merged_night import merge_here
from tests.support.workflows import HOME, Forge, Job, Run

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "nightly.md"
NIGHTLY, ALARM = (ROOT / ".github" / "workflows" / name for name in ("nightly.yml", "alarm.yml"))
OLD, NEWEST = VERSIONS = ["3.9.2", "4.4.0"]
BUG, EMPTY = "canary-planted", "canary-empty"
WELL = ["satisfied", "other-satisfied"]
BROKEN = ["satisfied", "violated"]
FAKE = (sys.executable, "-m", "tests.support.fake_column_run")
BEGIN, END = "<!-- played nights: begin -->\n", "<!-- played nights: end -->"


@dataclass
class Played:
    """A night as it was played: what its jobs came to, and what is published, kept and told after it."""

    title: str
    run: Run
    published: list[int]
    kept: list[int]
    told: list[str]

    def colour(self, job: str) -> str:
        results = self.run.results(job)
        bad = [name for name, one in self.run.jobs.items() if name.startswith(f"{job} ") and one.result == "failure"]
        if len(results) > 1 and bad:
            return f"red: {', '.join(name.removeprefix(f'{job} ') for name in bad)}"
        worst = max(results, key="skipped success failure".index, default="skipped")
        return {"success": "green", "failure": "red", "skipped": "–"}[worst]

    @property
    def line(self) -> str:
        jobs = (self.colour(job) for job in ("plan", "leg", "merge", "issues", "pages"))
        lists = (_ranges(self.published), _ranges(self.kept), ", ".join(self.told) or "–")
        return f"| {' | '.join([self.title, *jobs, *lists])} |"


def _ranges(numbers: Sequence[int]) -> str:
    """Return ascending numbers in a few words: `1–3, 5`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}–{run[-1]}" if run[1:] else f"{run[0]}" for run in runs) or "–"


@dataclass
class Night:
    """The events of a night: the words of each leg's column, and the legs that die or are cut off."""

    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    dead: Sequence[str] = ()
    cut: Sequence[str] = ()


class Nights:
    """Nights, one after the other, on one forge."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self._patch = patch
        self.forge = Forge(folder, self._kit)
        self._night = Night()
        patch.setattr("conformance.cli.night.select_versions", _select_versions)
        patch.setattr("conformance.cli.night.planted_bugs", lambda _: [PlantedBug(name="planted", red=[OTHER], may=[])])
        patch.setenv("PYTHONPATH", str(ROOT))

    def play(self, title: str, night_: Night | None = None, event: str = "schedule", **inputs: str | bool) -> Played:
        self._night = night_ or Night()
        return self._played(title, lambda: self.forge.begin(NIGHTLY, event, **inputs))

    def again(self, title: str, run: Run, night_: Night | None = None, *, only_failed: bool = False) -> Played:
        self._night = night_ or Night()

        def attempt() -> Run:
            self.forge.attempt(NIGHTLY, run, only_failed=only_failed)
            return run

        return self._played(title, attempt)

    def alarm(self, title: str, age: timedelta) -> Played:
        """Play the alarm as if the newest night had been published this long ago."""
        cached = self.forge.cached("", ["published-"])
        assert cached is not None
        newest = json.loads((cached).read_text())
        newest["published"] = (datetime.now(UTC) - age).isoformat()
        cached.write_text(json.dumps(newest))
        return self._played(title, lambda: self.forge.begin(ALARM))

    @property
    def issues(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads((self.forge.folder / "issues.json").read_text())
        return found

    def _played(self, title: str, play: Callable[[], Run]) -> Played:
        before = {one["number"]: one["state"] for one in self.issues}
        run = play()
        changed = [one for one in self.issues if before.get(one["number"]) != one["state"]]
        issues = [f"{one['title']}: {'opened' if one['state'] == 'open' else 'closed'}" for one in changed]
        issues += ["alarm"] if run.results("alarm") == ["failure"] else []
        jobs = {name: Job(one.result, dict(one.outputs)) for name, one in run.jobs.items()}
        shown = Run(run.workflow, run.number, run.event, run.inputs, run.attempt, jobs)
        return Played(title, shown, self.published, self.kept, issues)

    @property
    def published(self) -> list[int]:
        return sorted(int(path.name) for path in self.forge.folder.glob("pages/runs/*"))

    @property
    def kept(self) -> list[int]:
        """The nights of the newest whole copy, and those that were added to it."""
        whole = self.forge.cached("", ["nights-"])
        added = whole and self.forge.cached("", [f"added-{whole.name}-"])
        return sorted(
            {int(path.parent.name) for place in (whole, added) if place for path in place.rglob("night.json")}
        )

    # --- the kit

    def _kit(self, folder: Path, words: Sequence[str], environment: Mapping[str, str]) -> int:
        columns = {f"{BUG.removeprefix('canary-')}:1": ["violated"], "empty:1": ["error"]}
        columns |= dict.fromkeys(VERSIONS, WELL) | {_image(leg): [*each] for leg, each in self._night.columns.items()}
        with self._patch.context() as patch, redirect_stdout(StringIO()):
            patch.chdir(folder)
            for name, value in {
                **environment,
                "KAFKA_CONFORMANCE_ATTEMPT": "",
                "FAKE_COLUMNS": json.dumps(columns),
            }.items():
                patch.setenv(name, value)
            code = self._ended(words)
            os.environ.pop("KAFKA_CONFORMANCE_WHOLE_NIGHT", None)
        if words[0] == "leg" and words[1] in self._night.cut:
            for path in folder.rglob("ended.json"):
                path.unlink()
            return 137
        return code

    def _ended(self, words: Sequence[str]) -> int:
        means = Means(prepare=self._prepare, pytest=FAKE, merge=merge_here, canary=lambda bug, _: f"{bug or 'empty'}:1")
        try:
            code: int = night.main([*words], standalone_mode=False, obj=means) or 0
        except KitError as error:
            print(error, file=sys.stderr)
            return EXIT_TROUBLE
        return code

    def _prepare(self, versions: Sequence[str]) -> None:
        if dead := [version for version in versions if version in self._night.dead]:
            raise EngineMissing(f"the registry does not answer for {dead[0]}")
        downloads = Path(HOME) / ".cache" / "kafka-conformance"
        downloads.mkdir(parents=True, exist_ok=True)
        (downloads / f"{versions[0]}.jar").touch()


def _select_versions(texts: Sequence[str]) -> list[str]:
    return VERSIONS if list(texts) == ["all"] else [*select_versions(texts)]


def _image(leg: str) -> str:
    return f"{leg.removeprefix('canary-')}:1" if leg.startswith("canary-") else leg


# --- what is played


def one_after_the_other(nights: Nights) -> list[Played]:
    """Nights that go well and badly, each after the ones before it."""
    broken = Night({NEWEST: BROKEN})
    played = [
        nights.play("1: all well"),
        nights.play("2: one leg dead at the image", Night(dead=[OLD])),
        nights.play("3: one leg cut off in the middle", Night(cut=[OLD])),
        nights.play("4: a part by hand", broken, "workflow_dispatch", versions=NEWEST, requirements="KIP320-*"),
        nights.play("5: a new violation", broken),
    ]
    played.append(nights.again("5, failed jobs again", played[-1].run, broken, only_failed=True))
    played.append(nights.again("5, all jobs again", played[-1].run, broken))
    played.append(nights.play("6: it stays", broken))
    played.append(nights.play("7: it is gone"))
    played.append(nights.play("8: new, not seen again", Night({NEWEST: [*BROKEN, "missed"]})))
    played.append(nights.play("9: seen in a second night", Night({NEWEST: [*BROKEN, "missed"]})))
    played.append(nights.play("10: a canary that stays green", Night({BUG: WELL})))
    played.append(nights.play("11: an empty cluster that satisfies a row", Night({EMPTY: WELL})))
    nights.forge.saves = False
    played.append(nights.play("12: a cache that cannot be saved"))
    nights.forge.saves = True
    played.append(nights.play("13: no leg left anything", Night(dead=VERSIONS)))
    kept = [*nights.forge.caches]
    nights.forge.caches[:] = [key for key in kept if not key.startswith("nights-")]
    played.append(nights.play("14: the archive is lost"))
    nights.forge.caches[:] = kept
    played.append(nights.play("15: all well again"))
    kept = [*nights.forge.caches]
    nights.forge.caches[:] = [key for key in kept if not key.startswith("added-")]
    played.append(nights.play("16: what was added is lost"))
    nights.forge.caches[:] = kept
    played.append(nights.alarm("no night for 36 hours", timedelta(hours=35.9)))
    played.append(nights.alarm("no night for 37 hours", timedelta(hours=37)))
    return played


def table(played: Sequence[Played]) -> str:
    head = "| Night | Plan | Legs | Merge | Issues | Pages | Published | Kept | Told |"
    return "\n".join([head, f"|{'---|' * 9}", *(one.line for one in played)]) + "\n"


def with_table(page: str, text: str) -> str:
    """Return a page with another table between its marks."""
    return re.sub(f"(?<={re.escape(BEGIN)}).*(?={re.escape(END)})", lambda _: text, page, flags=re.DOTALL)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        text = table(one_after_the_other(Nights(Path(folder) / "forge", patch)))
    PAGE.write_text(with_table(PAGE.read_text(), text))


if __name__ == "__main__":
    main()
