"""The common part of runs of probes and machines: the shard, the outcome, and protection of the run from errors of a check."""

import math
import re
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from conformance.catalogue.deviations import Deviation
from conformance.core.checks import Check
from conformance.core.evaluate import ExampleEnd
from conformance.core.registry import AnyCheck
from conformance.judging.judge import JudgeError
from conformance.running.evidence.folder import write_evidence
from conformance.running.lab import Hindered, Lab
from conformance.running.recording.usage import Usage
from conformance.running.standing import HEAL_TIMEOUT, HURRIED_HEAL_TIMEOUT, REPLACED_NOTE, Standing
from conformance.running.violations import breaks_its_row
from fixtures.waiting import deadline
from history.deeds import deeds_behind
from history.events import Fault, History, Premise
from history.observations import Observation
from history.shards import AttemptCount, Column, ExcuseCount, FaultCount, PremiseCount
from history.steps import steps_taken
from protocol.errors import KitError

MAX_ERRORS, MAX_FAILED_SECONDS = 3, 120.0
"""A check gives up after this many failed examples, or when failed examples have taken this many seconds in total."""


class CheckRun:
    """The run of one check on one column. `violations` are observations of broken rows, `trouble` is why the check missed its
    floors.

    A `further` run comes after the one for the floors; if time runs out, it does not count as cut off.
    """

    def __init__(self, check: AnyCheck, lab: Lab, label: str, *, further: bool = False) -> None:
        self.id = check.id
        self.rows = list(check.rows)
        self.own_rows = list(check.own_rows if isinstance(check, Check) else check.rows)
        self.topology = check.topology
        self.lab = lab
        self.label = label
        self._further = further
        self._deviations = [] if lab.settings.requirements else lab.known_deviations
        self.violations: list[Observation] = []
        self.trouble: list[str] = []
        self._column: Column | None = None
        self._examples = 0
        self._errors: list[str] = []
        self._seconds_in_trouble = 0.0
        self._hindered: list[str] = []
        self._hindrance = ""
        self._attempts: dict[str, AttemptCount] = defaultdict(AttemptCount)
        self.remarks: list[str] = []
        self.cut_off = False
        self.ends = math.inf

    def run(self, seconds: float = math.inf) -> None:
        """Run the check for at most this many seconds; with 0 it does not run, and counts as cut off.

        On return all results are in the shard. Errors of the check or cluster are recorded, not raised; an interruption from
        outside is recorded as the check's error, then raised.
        """
        began, before = time.monotonic(), self.lab.usage(self.label)
        self.ends = began + seconds
        try:
            if seconds > 0:
                with deadline(self.ends):
                    self.run_examples()
            else:
                self.cut_off = True
        except Hindered as hindered:
            self.note_no_cluster(hindered)
        except KitError as error:
            self._note_end(error)
        except Exception:  # a bug of the kit or of a check must show in the matrix, and not end the run
            self.trouble.append(traceback.format_exc())
        except BaseException as error:
            self.trouble.append(f"the run was ended: {type(error).__name__}")
            raise
        finally:
            self._file_outcome(time.monotonic() - began, self.lab.usage(self.label).since(before))

    @property
    def is_over(self) -> bool:
        """True if the check's time is up."""
        return time.monotonic() >= self.ends

    @property
    def heals_within(self) -> float:
        """The seconds that healing may take after an example."""
        return HURRIED_HEAL_TIMEOUT if self.is_over else HEAL_TIMEOUT

    def note_no_cluster(self, hindered: Hindered) -> None:
        """Note that the tested system gave the check no cluster or rig to run on."""
        self.remarks += [str(hindered)] if str(hindered) not in self.remarks else []
        self._hindrance = hindered.reason

    def _note_end(self, error: KitError) -> None:
        if self.is_over:
            self.cut_off = True
        elif str(error) not in self.trouble:
            self.trouble.append(str(error))

    def _file_outcome(self, seconds: float, used: Usage) -> None:
        outcome: Literal["done", "error", "cut-off"] = "cut-off" if self.cut_off and not self._further else "done"
        self.lab.shard(self._column or self.lab.bare_column(self.label)).check(
            check=self.id,
            rows=self.rows,
            outcome="error" if self.trouble else outcome,
            examples=self._examples,
            seconds=round(seconds, 3),
            detail="\n".join([*(self.trouble or self._errors[:1]), *self.remarks])[:4000],
            own_rows=self.own_rows,
            attempts=dict(self._attempts),
            hindrance=self._hindrance,
            **msgspec.structs.asdict(used),
        )

    def run_examples(self) -> None:
        """Run the check's examples, and record each."""
        raise NotImplementedError

    def standing_cluster(self) -> Standing:
        """Return the cluster for the next example: the current one, or a new one if that was given up. Raises KitError."""
        standing = self.lab.standing_cluster(self.label, self.topology)
        self._column = standing.column
        return standing

    def replace_cluster(self, reason: str) -> None:
        """Give up a cluster that did not become healthy after an example.

        The next example boots another; the check's line has the reason.
        """
        self.remarks.append(f"{REPLACED_NOTE}: {reason}"[:1000])
        self.lab.drop_cluster()

    def file(
        self,
        standing: Standing,
        history: History,
        observations: Sequence[Observation],
        evidence: Mapping[int, str],
        seconds: float,
        detail: str = "",
        excuses: Sequence[ExcuseCount] = (),
        raised: Sequence[JudgeError] = (),
    ) -> None:
        """Record an example's observations, then its own line. `evidence` has the folders of observations by their `id()`.

        Errors `raised` by judges are errors of the check, and are counted for the judges' rows too.
        """
        shard = self.lab.shard(standing.column)
        for observation in observations:
            shard.observation(
                observation,
                check=self.id,
                history=self.lab.history_path,
                evidence=evidence.get(id(observation), ""),
                deeds=deeds_behind(history, observation),
            )
            if breaks_its_row(observation):
                self.violations.append(observation)
        for one in raised:
            self.rows += [one.row] if one.row and one.row not in self.rows else []
            self.trouble += [str(one)] if str(one) not in self.trouble else []
        self.lab.progress.count_observations(self.label, observations)
        rows = sorted({o.requirement for o in observations})
        self._line(standing, history, seconds, detail, rows=rows, excuses=[*excuses])
        if self.violations and self.lab.settings.keep_cluster:
            self.lab.keep()

    def note_attempt(self, end: ExampleEnd, case: str = "") -> None:
        """Count an example by case and end, unless the check ran out of time during it."""
        if end != "error" or not self.is_over:
            self._attempts[case] += AttemptCount(made=1, lost=int(end == "premise lost"), errors=int(end == "error"))

    def note_failure(self, detail: str, seconds: float) -> None:
        """Note an example that ended in an error.

        After several of these the check gives up. An example during which the check ran out of time does not count.
        """
        if self.is_over:
            self.cut_off = True
            return
        self._errors.append(detail)
        self._seconds_in_trouble += seconds
        if self.gave_up:
            self.trouble += [error for error in self._errors if error not in self.trouble]

    def note_hindrance(self, reason: str, seconds: float) -> None:
        """Note an example that the tested system kept from completing. After several of these the check gives up, and its line
        has the reasons."""
        self._hindered.append(reason)
        self._seconds_in_trouble += seconds
        if self.gave_up:
            self.remarks += [one for one in dict.fromkeys(self._hindered) if one not in self.remarks]
            self._hindrance = self._hindered[0]

    @property
    def gave_up(self) -> bool:
        """True once too many examples failed for another one to be worth its time."""
        ended = max(len(self._errors), len(self._hindered))
        return ended >= MAX_ERRORS or self._seconds_in_trouble > MAX_FAILED_SECONDS

    def is_deviation(self, seen: Observation, history: History) -> bool:
        """True if a known deviation covers the violation on this version, and this history's schedule matches it. Where rows were
        selected, none is known."""
        deeds = deeds_behind(history, seen)
        return any(one.explains(seen.case, seen.detail, deeds) for one in self.deviations_of(seen))

    def deviations_of(self, seen: Observation) -> list[Deviation]:
        """Return the known deviations of this version from the observed row."""
        version = self.lab.images[self.label].version
        return [one for one in self._deviations if one.covers(seen.requirement, version)]

    def write_evidence(self, standing: Standing, history: History, observation: Observation, seconds: float) -> str:
        """Write the evidence of a violation and return its folder; empty if that fails, which is an error of the kit.

        The violation is recorded even if its report fails.
        """
        out, known = self.lab.settings.out_dir, self.lab.known_deviations
        try:
            return write_evidence(out, standing, history, observation, seconds, known)
        except Exception:  # noted in the matrix, beside the violation
            self.trouble.append(traceback.format_exc())
            return ""

    def file_replays(self, **fields: Any) -> None:
        """Record how often replays reproduced each violation."""
        self.lab.shard(self._column or self.lab.bare_column(self.label)).replay(**fields)

    def _line(self, standing: Standing, history: History, seconds: float, detail: str, **found: Any) -> None:
        self._examples += 1
        end = history.end
        details = "\n".join(filter(None, [end.detail if end else "", detail]))
        self.lab.shard(standing.column).example(
            example=history.example.example,
            check=self.id,
            outcome=end.outcome if end else "error",
            steps=steps_of(history),
            left_out=steps_of(history, left_out=True),
            faults=faults_of(history),
            premises=premises_of(history),
            seconds=round(seconds, 3),
            detail=details[:4000],
            **found,
        )


def faults_of(history: History) -> dict[str, FaultCount]:
    """Count how often each fault was injected, witnessed and healed in one example."""
    counts: dict[str, dict[str, int]] = defaultdict(lambda: {"injected": 0, "witnessed": 0, "healed": 0})
    names = {"inject": "injected", "witness": "witnessed", "heal": "healed"}
    for event in history.events:
        if isinstance(event, Fault) and event.phase in names:
            counts[event.fault][names[event.phase]] += 1
    return {fault: FaultCount(**count) for fault, count in sorted(counts.items())}


def steps_of(history: History, *, left_out: bool = False) -> dict[str, int]:
    """Count the steps taken, by kind, or with `left_out` those skipped; empty for a probe."""
    return dict(sorted(Counter(step.kind for step in steps_taken(history) if step.left_out == left_out).items()))


def premises_of(history: History) -> dict[str, PremiseCount]:
    """Count how often each premise was met in one example.

    Values that were read back are removed from its text, so that all count as one premise.
    """
    counts: dict[str, list[bool]] = defaultdict(list)
    for event in history.events:
        if isinstance(event, Premise):
            counts[_name_of(event.what)].append(event.met)
    return {what: PremiseCount(met=sum(met), unmet=met.count(False)) for what, met in sorted(counts.items())}


def _name_of(premise: str) -> str:
    return re.sub(r"[-+.:\w]*\d[-+.:\w]*", "…", premise.partition(":")[0])[:100]
