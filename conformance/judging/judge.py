"""Judges and their declaration: a judge is a pure function from a history to its observations.

>>> from history.events import Answer, Call, Example
>>> @judge("KIP320-FETCH-02")
... def no_older_epoch_is_served(history):
...     "A fetch that names an older leader epoch than the newest in Metadata is not answered with records."
...     newest = -1
...     for call, answer in history.answered_calls():
...         if call.op == "metadata":
...             newest = max(newest, answer.value["leader_epoch"])
...         elif call.op == "fetch" and call.request["current_leader_epoch"] < newest:
...             yield Finding(not answer.value["batches"], "consumer", (answer.n,), f"epoch {newest} was known")
>>> history = History(example=Example(example="e-1", check="docs", column="4.3.1"), events=[
...     Call(n=0, t=0.0, op="metadata", node="broker-1", request={}),
...     Answer(n=1, t=0.1, call=0, outcome="ok", value={"leader_epoch": 5}),
...     Call(n=2, t=0.2, op="fetch", node="broker-1", request={"current_leader_epoch": 4}),
...     Answer(n=3, t=0.3, call=2, outcome="ok", value={"batches": ["records"]}),
... ])
>>> [(one.requirement, one.events, one.detail) for one in no_older_epoch_is_served(history)]
[('KIP320-FETCH-02', [3], 'Epoch 5 was known. Promised: Older current epoch is fenced (replica id -1).')]

Where evidence leaves it open whether the row held, a judge yields an `Excuse` in place of a finding. It is no observation: it is
counted by the name of the evidence, judge and case, so that what is forgiven can be seen (`conformance.judging.excuses`).
"""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, cached_property
from itertools import chain
from operator import itemgetter
from typing import Any, TypeAlias, TypeGuard, TypeVar, cast

import msgspec

from conformance.catalogue.rows import LATER
from conformance.judging.changes import CausedChanges, is_calm
from conformance.judging.excuses import Evidence
from conformance.judging.reading import Reading
from conformance.judging.sentences import promise_text, violation_sentence
from conformance.judging.situations import situation_of
from conformance.judging.story import Story
from conformance.judging.together import Together
from history.events import Answer, AnyEvent, Call, Example, Fault, History
from history.observations import KEEPS, KEEPS_NOT, Observation
from history.shards import ExcuseCount
from history.subjects import Kind, Subject

S = TypeVar("S", bound=Story)


class Finding(msgspec.Struct, frozen=True, gc=False):
    """One instance in which the premise held: whether the row held too, in which case, and which events show it.

    Unlike an `Observation` it has neither row nor example: the judge knows the row, and the history the example. So one function
    can judge several rows, and repeating the findings after each step is cheap.
    """

    held: bool
    case: str
    by: tuple[int, ...]
    detail: str = ""
    label: str = ""


class Excuse(msgspec.Struct, frozen=True, gc=False):
    """An instance of a case that would be a finding, but which this evidence leaves undecided."""

    evidence: Evidence
    case: str


Claim = Finding | Excuse
"""The result of one instance of a case."""


class JudgeError(msgspec.Struct, frozen=True):
    """An error raised by the judge of `row`, or by reading the history if `row` is empty. Either is trouble of the kit."""

    row: str
    error: Exception

    def __str__(self) -> str:
        shown = "".join(traceback.format_exception(self.error))
        return f"{self.row or 'the history'} could not be judged: {shown}"


class JudgingResult(msgspec.Struct, frozen=True):
    """The results of judges in one example. A judge that `raised` contributes the violations that it found before."""

    observations: list[Observation]
    excuses: list[ExcuseCount] = []
    raised: list[JudgeError] = []

    def __add__(self, other: JudgingResult) -> JudgingResult:
        return JudgingResult(
            [*self.observations, *other.observations],
            [*self.excuses, *other.excuses],
            [*self.raised, *other.raised],
        )


Look = Callable[[History, Sequence[AnyEvent]], Sequence[Any]]
"""A function that derives what judges look at from a whole history and those of its events that are neither requests nor answers.

It is called again each time the history has grown.
"""


Joint: TypeAlias = tuple[type[Story], ...]
"""The types of the stories that a judge looks at together."""


class Judge:
    """The judge of a row. It is a function over each story of a type, over all stories of several types together, or over each
    part of the result of a look at the history.

    A judge never depends on which check wrote the history. It declares what it looks at (`at`); lists of the story of which at
    least one must not be empty (`needs`); and whether it runs only after all faults are healed (`after_healing`). The row says
    which capabilities a version must have.
    """

    def __init__(
        self,
        row: str,
        at: type[Story] | Joint | Look,
        function: Callable[[Any], Iterator[Claim]],
        needs: Sequence[str] = (),
        *,
        after_healing: bool = False,
    ) -> None:
        self.row = row
        self.records = row.endswith(LATER)
        """True for a row of level `later`: its findings are recorded only, and say whether a later promise is kept."""
        self.at = at
        self.function = function
        self.needs = needs
        self.after_healing = after_healing

    @property
    def about(self) -> Kind | None:
        """The kind of the judge's subjects (the first kind of a joint judge); None if it looks at a whole history."""
        story = self.at[0] if isinstance(self.at, tuple) else self.at
        return cast(type[Story], story).kind if isinstance(story, type) else None

    def __str__(self) -> str:
        return f"{self.row} {self.function.__name__}"

    def __call__(self, history: History) -> list[Observation]:
        """Return all observations of one example. Each names its events by number."""
        return judge_all([self], history)

    def observation(
        self, example: str, finding: Finding, lived: Sequence[str] = (), *, calm: bool = False, situation: str = ""
    ) -> Observation:
        """Return a finding as an observation of an example. It is `calm` if no fault was witnessed in the example; otherwise it
        has a `situation`."""
        return Observation(
            requirement=self.row,
            case=finding.case,
            result="recorded" if self.records else "held" if finding.held else "violated",
            variant=(KEEPS if finding.held else KEEPS_NOT) if self.records else "",
            example=example,
            events=_sort_distinct(finding.by),
            detail=finding.detail if not finding.held else "",
            label=finding.label if not finding.held else "",
            lived=[*lived],
            calm=calm,
            situation=situation,
        )


def _sort_distinct(numbers: tuple[int, ...]) -> list[int]:
    """Return the distinct numbers in ascending order; fast for one or two numbers, as in most findings."""
    if len(numbers) == 1 or (len(numbers) == 2 and numbers[0] < numbers[1]):
        return [*numbers]
    return sorted(set(numbers))


def judge(row: str) -> Callable[[Callable[[History], Iterator[Claim]]], Judge]:
    """Make a function over a whole history the judge of `row`."""
    return lambda function: Judge(row, _whole_history, function)


def story_judge(row: str, story: type[S], *needs: str) -> Callable[[Callable[[S], Iterator[Claim]]], Judge]:
    """Make a function over the story of one subject the judge of `row`.

    `needs` names lists of the story. If all of them are empty, the judge does not run.
    """
    return lambda function: Judge(row, story, function, needs)


def joint_judge(row: str, *stories: type[Story]) -> Callable[[Callable[[Together], Iterator[Claim]]], Judge]:
    """Make a function that compares stories of these types with each other the judge of `row`."""
    return lambda function: Judge(row, stories, function)


def _whole_history(history: History, _: Sequence[AnyEvent]) -> Sequence[History]:
    return [history]


class _Plan:
    """The stories and looks that a set of judges needs, and the judges of each story."""

    def __init__(self, judges: tuple[Judge, ...]) -> None:
        self.judges = judges
        self.joints = [at for at in dict.fromkeys(one.at for one in judges) if isinstance(at, tuple)]
        alone = [one.at for one in judges if isinstance(one.at, type)]
        self.stories = [*dict.fromkeys([*alone, *(story for joint in self.joints for story in joint)])]
        self.looks = [
            at
            for at in dict.fromkeys(one.at for one in judges)
            if not isinstance(at, type) and not isinstance(at, tuple)
        ]
        self._lists = {
            at: sorted({name for one in judges if one.at is at for name in one.needs}) for at in self.stories
        }
        self._by_filled: dict[tuple[object, ...], list[tuple[int, Judge]]] = {}
        self._numbered: dict[object, list[tuple[int, Judge]]] = {}
        for n, one in enumerate(judges):
            self._numbered.setdefault(one.at, []).append((n, one))

    def judges_of_story(self, story: Story) -> list[tuple[int, Judge]]:
        """Return the judges to run on a story, with their numbers: those that need no list, or a list that is not empty."""
        at = type(story)
        filled = tuple([name for name in self._lists[at] if getattr(story, name)])
        found = self._by_filled.get((at, *filled))
        if found is None:
            found = [
                (n, one)
                for n, one in self._numbered.get(at, ())
                if not one.needs or not {*filled}.isdisjoint(one.needs)
            ]
            self._by_filled[at, *filled] = found
        return found

    def of_all(self, at: Joint | Look) -> list[tuple[int, Judge]]:
        return self._numbered[at]


_plan = cache(_Plan)


class Judging:
    """The judging of one example, possibly while it runs. Each event is read once, and only changed stories are judged again."""

    def __init__(self, judges: Sequence[Judge], example: Example) -> None:
        self._plan = _plan(tuple(judges))
        self._history = History(example=example, events=[])
        self._noted: list[AnyEvent] = []
        self._claims: dict[tuple[object, str, int], list[tuple[int, list[Claim]]]] = {}
        """By story type or look, name, and number within that name: the judges' numbers, each with its claims."""
        self._versions: dict[tuple[object, str, int], tuple[int, int]] = {}
        self._lived_until = -1
        self._raised: dict[tuple[object, str, int], list[JudgeError]] = {}
        """The errors of the last look, by the same key."""

    @cached_property
    def _reading(self) -> Reading:
        return Reading(self._history.example, self._plan.stories)

    def feed(self, events: Iterable[AnyEvent]) -> None:
        """Read the next events of the example."""
        new = [*events]
        self._history.events += new
        if self._plan.looks:
            self._noted += [event for event in new if type(event) is not Call and type(event) is not Answer]
        if self._plan.stories:
            self._reading.feed(new)

    def follow(self, events: Sequence[AnyEvent]) -> None:
        """Feed the example's events that were not fed yet."""
        self.feed(events[len(self._history.events) :])

    def results(self) -> JudgingResult:
        """Return the results so far: observations by judge, then by subject, and counts of excuses."""
        found, calm = self._all_claims(), is_calm(self._history.events)
        return JudgingResult(
            [self._observation(judge, claim, story, calm) for judge, claim, story in found if type(claim) is Finding],
            _count((judge.row, claim.case, claim.evidence.name) for judge, claim, _ in found if type(claim) is Excuse),
            [*(JudgeError("", error) for error in self._reading.unreadable), *chain(*self._raised.values())],
        )

    def violations(self) -> list[Observation]:
        """Return the observations that are violations."""
        return [
            self._observation(judge, claim, story)
            for judge, claim, story in self._all_claims()
            if isinstance(claim, Finding) and not claim.held and not judge.records
        ]

    def _observation(self, judge: Judge, finding: Finding, story: Story | None, calm: bool = False) -> Observation:
        if story is None:
            lived: Sequence[str] = [
                event.fault for event in map(self._history.events.__getitem__, finding.by) if _is_reaction(event)
            ]
        else:
            lived = self._faults_lived_through(story, finding.by) if finding.by and story.timeline.witnessed else ()
        about = story.name if story else ""
        situation = "" if calm else situation_of(self._history, about, finding.by, lived)
        found = judge.observation(self._history.example.example, finding, lived, calm=calm, situation=situation)
        if found.result != "violated":
            return found
        detail = violation_sentence(self._history, (), finding.detail, promise_text(judge.row, finding.case))
        return msgspec.structs.replace(found, detail=detail)

    def _faults_lived_through(self, story: Story, by: Sequence[int]) -> Sequence[str]:
        """Return the faults that had changed the story's subject, or the subjects of the events."""
        if story.changed_by is not None:
            last = max(by)
            return sorted({fault for fault, changed in story.changed_by if changed <= last})
        own = {Subject(story.kind, story.name)} if story.name else set[Subject]()
        return self._lived.faults_behind(own, by)

    @property
    def _lived(self) -> CausedChanges:
        """The faults that count for observations, by the history so far."""
        if self._lived_until != len(self._history.events):
            self._lived_until = len(self._history.events)
            known = (story for type in self._plan.stories for story in self._reading.stories(type))
            changed = {Subject(one.kind, one.name): one.changed_by for one in known if one.changed_by is not None}
            self._lived_by_then = CausedChanges(self._history, self._reading.timeline, changed)
        return self._lived_by_then

    def _all_claims(self) -> list[_Claimed]:
        """Return all claims in the order of the judges, each with its story."""
        numbered: list[tuple[int, list[Claim], Story | None]] = [
            (n, claims, None) for look in self._plan.looks for n, claims in self._claims_about_history(look)
        ]
        stories = (story for type in self._plan.stories for story in self._reading.stories(type))
        numbered += [(n, claims, story) for story in stories for n, claims in self._claims_about_story(story)]
        numbered += [found for joint in self._plan.joints for found in self._claims_about_stories(joint)]
        numbered.sort(key=itemgetter(0))
        return [(self._plan.judges[n], claim, story) for n, claims, story in numbered for claim in claims]

    def _claims_about_history(self, look: Look) -> list[tuple[int, list[Claim]]]:
        """Return each judge's claims about a whole history, judged again if it has grown."""
        at, judges = (look, "", 0), self._plan.of_all(look)
        if self._has_changed(at, (len(self._history.events), 0)):
            try:
                parts = look(self._history, self._noted)
            except Exception as error:  # a bug of a look counts for all its judges
                self._claims[at], self._raised[at] = [], [JudgeError(judge.row, error) for _, judge in judges]
            else:
                self._ask(judges, parts, at)
        return self._claims[at]

    def _claims_about_story(self, story: Story) -> list[tuple[int, list[Claim]]]:
        at = (type(story), story.name, story.number)
        if self._has_changed(at, (story.version, story.timeline.version)):
            story.forget()
            self._ask(self._plan.judges_of_story(story), [story], at)
        return self._claims[at]

    def _claims_about_stories(self, joint: Joint) -> list[tuple[int, list[Claim], Story | None]]:
        """Return the claims about all stories of some types, judged again if any of them has grown."""
        together = Together(self._reading.timeline, {type: self._reading.stories(type) for type in joint})
        at = (joint, "", 0)
        if self._has_changed(at, (together.version, together.timeline.version)):
            self._ask(self._plan.of_all(joint), [together], at)
        return [(n, claims, together) for n, claims in self._claims[at]]

    def _ask(self, judges: Iterable[tuple[int, Judge]], parts: Sequence[Any], at: tuple[object, str, int]) -> None:
        """Note each judge's claims about each part. If a judge raises, the violations that it found before remain."""
        noted: list[tuple[int, list[Claim]]] = []
        raised: list[JudgeError] = []
        for n, judge in judges:
            claims: list[Claim] = []
            try:
                for part in parts:
                    claims.extend(judge.function(part))
            except Exception as error:  # a bug of one judge must not lose what others found
                raised.append(JudgeError(judge.row, error))
                claims = [one for one in claims if isinstance(one, Finding) and not one.held]
            if claims:
                noted.append((n, claims))
        self._claims[at], self._raised[at] = noted, raised

    def _has_changed(self, at: tuple[object, str, int], version: tuple[int, int]) -> bool:
        known, self._versions[at] = self._versions.get(at), version
        return known != version


_Claimed: TypeAlias = tuple[Judge, Claim, Story | None]


def _is_reaction(event: AnyEvent) -> TypeGuard[Fault]:
    """True if the event records the cluster's reaction to a fault."""
    return type(event) is Fault and event.phase == "consequence" and event.detail.get("met") is True


def _count(excuses: Iterable[tuple[str, str, str]]) -> list[ExcuseCount]:
    """Return how often each case was left undecided, by row, case and evidence."""
    return [ExcuseCount(requirement=r, case=c, excuse=e, times=n) for (r, c, e), n in sorted(Counter(excuses).items())]


def judge_all(judges: Sequence[Judge], history: History) -> list[Observation]:
    """Return every judge's observations of an example, in the order of the judges. Raises what a judge raises."""
    return judge_history(judges, history).observations


def judge_history(judges: Sequence[Judge], history: History) -> JudgingResult:
    """Return every judge's observations and excuses of a whole example. Raises what a judge raises."""
    found = judge_tolerantly(judges, history)
    for one in found.raised:
        raise one.error
    return found


def judge_tolerantly(judges: Sequence[Judge], history: History) -> JudgingResult:
    """Return every judge's observations and excuses of a whole example. A judge that raises does not stop the others."""
    judging = Judging(judges, history.example)
    try:
        judging.feed(history.events)
        return judging.results()
    except Exception as error:  # a history that can't be read is trouble of the kit, and must not end the run
        return JudgingResult([], raised=[JudgeError("", error)])
