"""The run of a machine on one column: its opening, then drawn examples. Each is recorded, and findings are investigated."""

import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from conformance.catalogue import shipped_rows
from conformance.catalogue.floors import FLOORS
from conformance.core.machines import AnyMachine
from conformance.running.check_run import MAX_ERRORS, CheckRun
from conformance.running.evidence.folder import Schedule as RecordedSchedule
from conformance.running.lab import Hindered, Lab, path_slug
from conformance.running.machine.beginning import Beginning
from conformance.running.machine.discovery import Discovery, ReplayedBreach
from conformance.running.machine.example import Ending, ExampleRun, FinishedExample, Schedule, Stops
from conformance.running.machine.explorer import BATCH, DrawSettings, Explorer
from conformance.running.machine.investigator import Investigator
from conformance.running.machine.reach import FOLDER, Reach
from conformance.running.planning.budget import EXPLORING, PARTS, SHRINKING
from conformance.running.violations import Breach, breach_of, breaks_its_row, first_of_each_breach
from history.observations import Observation
from protocol.errors import KitError

DRAWN_EXAMPLES = {"smoke": 0, "quick": 40, "nightly": 240}
"""Examples of a machine per column in a run without a clock, divided among its parts."""
STEPS = {"smoke": 10, "quick": 20, "nightly": 30}
TRIES = 2
"""The maximum number of tries until an earlier schedule breaks its row again."""


class MachineRun(CheckRun):
    """A machine, or a part of it, on one column.

    `found` has the breaches seen so far, with the evidence of the first example of each; it starts with the `known` ones. A
    breach in `found` does not stop an example, so that others can be found. Nor does a known deviation of released versions,
    unless its row was requested; it is investigated last. A part that `only_opens` draws no examples.
    """

    def __init__(
        self,
        check: AnyMachine,
        lab: Lab,
        label: str,
        part: int = 1,
        *,
        further: bool = False,
        known: Mapping[Breach, str] | None = None,
        beginning: Beginning | None = None,
        only_opens: bool = False,
    ) -> None:
        super().__init__(check, lab, label, further=further)
        self.check = check
        self.part = part
        self._only_opens = only_opens
        self._beginning = beginning or Beginning(opening=part == 1)
        self.topology = check.topology_of(part + self._beginning.turn)
        self.found: dict[Breach, str] = {**dict.fromkeys(self._beginning.known, ""), **(known or {})}
        self._profile = lab.settings.profile
        self._asked = {row.id for row in shipped_rows().matching(lab.settings.requirements)}
        self._later: list[tuple[Discovery, list[Observation]]] = []
        self._explores_until = math.inf
        self._investigating = False
        reached = Path(self._beginning.reached or lab.settings.out_dir / FOLDER)
        self._reach = Reach(reached / path_slug(label), check, str(part))
        self._explorer = Explorer(check, lambda: self._example(self._ending), self.record, self._batch_size)
        self._investigator = Investigator(
            check,
            self.play,
            lab.settings.out_dir,
            SHRINKING[self._profile],
            lambda text: print(f"{check.id} on {label}: {text}", flush=True),
        )

    # --- exploring

    def run_examples(self) -> None:
        """Run earlier schedules and the opening, draw examples while there is time, and investigate their findings."""
        if self.ends < math.inf:
            self._explores_until = self.ends - (1 - EXPLORING) * (self.ends - time.monotonic())
        for recorded in self._beginning.schedules:
            self._play_again(recorded)
        if self._beginning.opening:
            self._investigate(self.play(self.check.opening))
        if (finding := self._explorer.replay_failed(self._drawing())) is not None:
            self._investigate(finding)
        while self._batch_size() > 0:
            before = self._explorer.drawn
            if (finding := self._explorer.draw(self._drawing())) is not None:
                self._investigate(finding)
            elif self._explorer.drawn == before:
                break
        for finding, known in self._later:
            self._shrink(finding, known)
        self._note_lack_of_time()

    def _play_again(self, recorded: RecordedSchedule) -> None:
        """Run a schedule that broke a row earlier, up to `TRIES` times until it does so again. That row is not investigated
        again."""
        steps, row = self.check.steps(recorded.steps), recorded.requirement

        def is_it(observation: Observation) -> bool:
            return breaks_its_row(observation) and observation.requirement == row

        for tries in range(1, TRIES + 1):
            if time.monotonic() >= self._explores_until or self.gave_up:
                return
            finding = self.play(steps, Ending(stops=is_it), shows=is_it)
            self._investigate(finding, excluding=row)
            if shown := [evidence for breach, evidence in finding.evidence.items() if breach.requirement == row]:
                self.file_replays(requirement=row, evidence=shown[0], seen=1, tries=tries)
                return

    def _batch_size(self) -> int:
        """Return how many more examples to draw: a batch if the run uses all its time, else the rest of the part's share."""
        if time.monotonic() >= self._explores_until or self.gave_up or self._only_opens:
            return 0
        if self.lab.settings.fills_its_time and self.ends < math.inf:
            return BATCH
        return math.ceil(DRAWN_EXAMPLES[self._profile] / PARTS[self._profile]) - self._explorer.drawn

    def _drawing(self) -> DrawSettings:
        drawn = self._explorer.drawn or ""
        seed = f"{self.check.id} {self.lab.settings.seed} {self.part} {drawn}"
        return DrawSettings(
            seed=seed,
            steps=STEPS[self._profile],
            database=self.lab.settings.out_dir / "examples",
            column=path_slug(self.standing_cluster().column.label),
            steering=self._reach.steering(seed),
        )

    def _note_lack_of_time(self) -> None:
        """Note if time ran out before this part had drawn its share of examples for the floor of the machine's judges."""
        floor, drawn = math.ceil(FLOORS["property"].examples / PARTS[self._profile]), self._explorer.drawn
        if drawn < floor and self.ends < math.inf and not (self.gave_up or self._only_opens):
            self.cut_off = True
            self.remarks.append(f"time was up after {drawn} of {floor} drawn examples")

    @property
    def gave_up(self) -> bool:
        """True once at least half of the examples failed. A machine has many long examples with many faults, of which a few may
        fail."""
        troubled = len(self._errors) + len(self._hindered)
        return troubled >= MAX_ERRORS and 2 * troubled >= self._examples

    # --- playing

    def _is_enough(self, observation: Observation) -> bool:
        """True for a violation that ends an example early. Violations of rows that were not selected do not, but are investigated
        too."""
        is_new = breaks_its_row(observation) and breach_of(observation) not in self.found
        return is_new and observation.requirement in self._asked and not self._may_be_deviation(observation)

    def _may_be_deviation(self, seen: Observation) -> bool:
        """True if a known deviation covers violations of this case with this wording on this version."""
        return any(one.is_about(seen.case, seen.detail) for one in self.deviations_of(seen))

    @property
    def _ending(self) -> Ending:
        return Ending(stops=self._is_enough)

    def _example(self, ending: Ending) -> ExampleRun:
        """Begin an example that ends with the check's time at the latest.

        An error on the way is recorded here, since Hypothesis may replace it by another.
        """
        try:
            ending = msgspec.structs.replace(ending, at=min(ending.at, self.ends))
            return ExampleRun(self.check, self.lab, self.standing_cluster(), ending)
        except Hindered as hindered:
            self.note_no_cluster(hindered)
            raise
        except KitError as error:
            self.trouble += [] if str(error) in self.trouble else [str(error)]
            raise

    def play(self, steps: Schedule, ending: Ending | None = None, shows: Stops | None = None) -> Discovery:
        """Run a schedule outside of Hypothesis and record it. Violations that `shows` accepts get evidence even if they are
        known."""
        example = self._example(ending or self._ending)
        for step in steps:
            example.step(step)
        return self.record(example.finish(), shows)

    # --- recording

    def record(self, played: FinishedExample, shows: Stops | None = None) -> Discovery:
        """Record an example, with evidence of each breach that is new or that `shows` accepts."""
        first = first_of_each_breach(played.violations)
        unseen = [o for o in first if breach_of(o) not in self.found]
        known = [o for o in unseen if self.is_deviation(o, played.history)]
        wanted = [o for o in first if shows is not None and shows(o)]
        shown = [o for o in first if o in unseen or o in wanted]
        written = {breach_of(o): self.write_evidence(played.standing, played.history, o, played.seconds) for o in shown}
        finding = Discovery(
            played=played,
            new_violations=tuple(o for o in unseen if o not in known and written[breach_of(o)]),
            evidence=written,
        )
        # A breach of a replay or of the shrinker is already being investigated.
        if not self._investigating and (later := [o for o in known if o not in wanted and written[breach_of(o)]]):
            self._later.append((finding, later))
        self.found = finding.evidence | self.found
        if not self._investigating:
            self._reach.note(played)
        evidence = {id(o): finding.evidence[breach_of(o)] for o in shown}
        self.file(
            played.standing,
            played.history,
            played.observations,
            evidence,
            played.seconds,
            detail=played.explanation,
            excuses=played.excuses,
            raised=played.raised,
        )
        if reason := played.replaced or self.lab.clear(played.history, at_once=True):
            self.replace_cluster(reason)
        if not self._investigating:
            self.note_attempt("premise lost" if played.hindered else "error" if played.trouble else "judged")
        # A shrinker's run that ran into trouble shows nothing, and is no reason to give up.
        if played.hindered and not self._investigating:
            self.note_hindrance(played.hindered, played.seconds)
        elif played.trouble and not self._investigating:
            self.note_failure(played.trouble, played.seconds)
        return finding

    # --- investigating

    def _investigate(self, finding: Discovery, excluding: str = "") -> None:
        """Investigate a finding's breaches: selected rows first, and among them the one that ended the example.

        Breaches of the row `excluding` are left out.
        """
        suspicion = finding.played.suspicion
        suspected = breach_of(suspicion.observation) if suspicion is not None else None
        news = [o for o in finding.new_violations if o.requirement != excluding]
        self._shrink(finding, sorted(news, key=lambda o: (o.requirement not in self._asked, breach_of(o) != suspected)))

    def _shrink(self, finding: Discovery, broken: Sequence[Observation]) -> None:
        self._investigating = True
        self._investigator.investigate(finding, broken, self.ends, self._file_reproduction)
        self._investigating = False

    def _file_reproduction(self, one: ReplayedBreach) -> None:
        self.file_replays(requirement=one.breach.requirement, evidence=one.evidence, seen=one.seen, tries=one.tries)
