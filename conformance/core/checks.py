"""Checks: code that exercises rows. A probe is a generator over a rig's handle; it yields premises and observations.

A check is a pure function of its tape and its drawn inputs, so that a stored history is judged again by running it on the
stored tape. On a `bench` (here any cluster's) one example of a probe is run like this:

>>> from hypothesis.strategies import integers
>>> from conformance.core.evaluate import evaluate_check
>>> from conformance.rigs.log.partition import fresh_partition
>>> from protocol.codes import Error
>>> @probe("KIP320-FETCH-02", rig=fresh_partition(epochs=3), cases=["consumer"], epochs_back=integers(1, 3))
... def older_epoch_is_fenced(partition, epochs_back):
...     "A fetch with an older leader epoch is fenced."
...     leader, epoch = partition.leader(), partition.epoch()
...     answer = leader.fetch(partition.fetch_from(0, current_leader_epoch=epoch - epochs_back))
...     yield premise(partition.epoch() == epoch, "the leader epoch is still the same")
...     yield held_if(answer.error is Error.FENCED_LEADER_EPOCH, answer, case="consumer")
>>> outcome = evaluate_check(older_epoch_is_fenced, bench, {"epochs_back": 2}, {})
>>> outcome.end, [(one.requirement, one.case, one.result) for one in outcome.observations[:1]]
('judged', [('KIP320-FETCH-02', 'consumer', 'held')])

The judges (`conformance.judging.judges`) look at its history once it has ended, as at any other.
"""

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import cache, cached_property
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar, get_type_hints

import msgspec
from hypothesis.strategies import SearchStrategy

from conformance.core.bench import Bench
from conformance.core.waiting import Settled
from conformance.judging.excuses import Evidence
from conformance.judging.judges import rows_about
from fixtures.cluster import Topology
from history.observations import KEEPS, KEEPS_NOT, Observation, Result
from history.subjects import Kind
from protocol.words import say

S = TypeVar("S", bound=msgspec.Struct)
H = TypeVar("H")


class Rig(Generic[S, H]):
    """A prepared state of the cluster from which a probe starts.

    `prepare` sets it up and returns plain data about it; `handle` turns that data into the object that the probe receives. A
    `shared` rig is prepared once per cluster and must survive its probes; any other rig is prepared for each example. `name` is
    by default that of `prepare`.
    """

    def __init__(
        self,
        topology: Topology,
        prepare: Callable[[Bench], S],
        handle: Callable[[Bench, S], H],
        *,
        shared: bool = False,
        name: str = "",
    ) -> None:
        self.name = name or prepare.__qualname__
        self.topology = topology
        self.prepare = prepare
        self.handle = handle
        self.shared = shared
        self.data: type[S] = inspect.signature(prepare, eval_str=True).return_annotation


class Claim:
    """A premise, observation or excuse that a check's body yields."""


class Promise(NamedTuple):
    """A row and case that require something of the tested system, and what it failed to do."""

    row: str
    case: str
    what: str


class PremiseClaim(Claim):
    """A fact read back from the cluster; if it does not hold, the rest of the example proves nothing.

    `excuse` is why an unmet premise breaks no promise; None if it does.
    """

    def __init__(
        self, met: bool, what: str, promises: tuple[Promise, ...] = (), excuse: Evidence | None = None
    ) -> None:
        self.met = met
        self.what = what
        self.promises = promises
        self.excuse = excuse


class ExcuseClaim(Claim):
    """An excuse instead of a finding for this row and case, with evidence from the cluster or the host."""

    def __init__(self, evidence: Evidence, row: str, case: str) -> None:
        self.evidence = evidence
        self.row = row
        self.case = case


class ObservationClaim(Claim):
    """An observation as a body yields it, with the answers that show it (`by`). Example, inputs and events come from the tape."""

    def __init__(self, observation: Observation, by: Sequence[object]) -> None:
        self.observation = observation
        self.by = by


Claims: TypeAlias = Generator[Claim, None, None]
"""The claims that a check's body yields, one after the other."""


def premise(met: bool | Settled, what: str = "the premise", *, promised: tuple[str, str] | None = None) -> PremiseClaim:
    """Continue the example only if `met`; otherwise it ends with its premise lost, though its earlier observations count.

    `what` names the state that the kit had to bring about. If that also depends on the tested system, `promised` is the row and
    case that require it: an unmet premise then violates that row, unless the kit starved while it waited.
    """
    promises = (Promise(*promised, what),) if promised is not None else ()
    if isinstance(met, Settled):
        return PremiseClaim(met.outcome is True, what, promises, met.excuse)
    return PremiseClaim(bool(met), what, promises)


def all_met(unmet: Sequence[PremiseClaim]) -> PremiseClaim:
    """Return the premise that there are no `unmet` premises, with the promises of all in the list."""
    promises = tuple(promise for claim in unmet if not claim.excuse for promise in claim.promises)
    return PremiseClaim(not unmet, "; ".join(claim.what for claim in unmet), promises)


def held_if(
    held: bool | Settled,
    *by: object,
    row: str = "",
    case: str = "",
    detail: str = "",
    label: str = "",
    variant: str = "",
) -> Claim:
    """Return the observation that the row held or was violated. `by` are the answers that show it.

    `row` defaults to the probe's first row, `case` to the case for which the probe runs. `variant` names which of several legal
    answers came. If the kit starved during a wait, the result is an excuse. A violation's sentence quotes the answers; `detail`
    adds anything else, in words (`protocol.words.say`).
    """
    if isinstance(held, Settled):
        if held.excuse:
            return excuse(held.excuse, row=row, case=case)
        held = held.outcome is True
    result: Result = "held" if held else "violated"
    seen = Observation(
        requirement=row, case=case, result=result, example="", detail=detail, label=label, variant=variant
    )
    return ObservationClaim(seen, by)


def excuse(evidence: Evidence, *, row: str = "", case: str = "") -> ExcuseClaim:
    """Count an excuse instead of an observation. `row` and `case` are as in `held_if`."""
    return ExcuseClaim(evidence, row, case)


def record_only(*by: object, row: str = "", case: str = "", detail: str = "", variant: str = "") -> ObservationClaim:
    """Return an informational observation, which is never judged."""
    shown = detail or say(by)
    seen = Observation(requirement=row, case=case, result="recorded", example="", detail=shown, variant=variant)
    return ObservationClaim(seen, by)


def kept_if(row: str, kept: bool | Settled, *by: object, case: str = "", detail: str = "") -> Claim:
    """Record, without a verdict, whether a later KIP's promise is kept. `row` has the level `later`."""
    if isinstance(kept, Settled):
        if kept.excuse:
            return excuse(kept.excuse, row=row, case=case)
        kept = kept.outcome is True
    return record_only(*by, row=row, case=case, detail=detail, variant=KEEPS if kept else KEEPS_NOT)


Body = Callable[..., Claims]


class Check(msgspec.Struct, frozen=True, kw_only=True, eq=False, dict=True):
    """A probe or a scenario: its rows, rig, cases, strategies and body. A soak runs for `lasts` seconds.

    A scenario has the id of its `schedule` in the catalogue, and `aims` at kinds of subjects, as a machine does. Before it ends
    it must record the premise `rest`, after which judges look for the final state.
    """

    own_rows: tuple[str, ...]
    rig: Rig[Any, Any]
    cases: tuple[str, ...] | None
    body: Body
    strategies: Mapping[str, SearchStrategy[Any]] = {}
    examples: int = 5
    smoke: bool = True
    schedule: str = ""
    aims: Sequence[Kind] = ()
    rest: str = ""
    lasts: float = 0.0

    @cached_property
    def rows(self) -> tuple[str, ...]:
        """The rows that the body observes, and the rows of judges for the kinds of subjects at which the check aims."""
        return tuple(dict.fromkeys([*self.own_rows, *rows_about(*self.aims)]))

    @cached_property
    def parameter_names(self) -> frozenset[str]:
        """The names of the body's parameters."""
        return frozenset(inspect.signature(self.body).parameters)

    @property
    def module(self) -> str:
        return self.body.__module__

    @cached_property
    def id(self) -> str:
        return f"{self.module.removeprefix('conformance.')}.{self.body.__name__}"

    @property
    def topology(self) -> Topology:
        return self.rig.topology

    def parse_inputs(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return recorded inputs, converted to the types of the body's parameters."""
        return {name: msgspec.convert(value, self._annotations[name]) for name, value in inputs.items()}

    @cached_property
    def _annotations(self) -> dict[str, Any]:
        return get_type_hints(self.body)

    @property
    def title(self) -> str:
        """The first paragraph of the body's docstring, as one line."""
        return " ".join((self.body.__doc__ or self.body.__name__).strip().split("\n\n")[0].split())


REGISTRY: dict[str, Check] = {}


def probe(
    *rows: str,
    rig: Rig[Any, Any],
    cases: Sequence[str] | None = None,
    examples: int = 5,
    smoke: bool = True,
    **strategies: Any,
) -> Callable[[Body], Check]:
    """Declare a probe of `rows`. `examples` is the number of examples per round: fewer for an expensive probe that observes much.
    A probe may opt out of the smoke profile (`smoke`).

    The body receives the rig's handle, a value of each strategy, and, if it has parameters of these names: `case` (the body then
    runs for each of `cases`, by default the applicable cases of the first row) and `expected` (the token of the first row's
    expectation on this column). If `cases` has a single case and the body no parameter `case`, that case is the default of
    `held_if`.
    """

    return lambda body: _register(
        Check(
            own_rows=rows,
            rig=rig,
            cases=_as_tuple(cases),
            body=body,
            strategies=strategies,
            examples=examples,
            smoke=smoke,
        )
    )


SCHEDULE_ID = re.compile(r"[A-Z]+[0-9]*-SC-[0-9]{2}")


def scenario(
    schedule: str,
    *rows: str,
    rig: Rig[Any, Any],
    aims: Sequence[Kind],
    rest: str,
    cases: Sequence[str] | None = None,
    examples: int = 2,
    lasts: float = 0.0,
    **strategies: Any,
) -> Callable[[Body], Check]:
    """Declare a fixed schedule of faults and requests, by its family and number, e.g. ``KIP320-SC-03``.

    A scenario is declared like a `probe`. It is not in the smoke profile and runs only as often as scenario rows need; besides
    its own rows it observes those of the judges for the kinds of subjects at which it `aims`. The body heals what it broke and
    comes to rest with the premise `rest`; without that premise the example is an error of the kit.
    `conformance.rigs.log.scenarios` declares scenarios of logs. A scenario that runs for minutes (`lasts`, in seconds) is a soak,
    for the nightly profile only.
    """
    if not SCHEDULE_ID.fullmatch(schedule):
        raise ValueError(f"schedule {schedule!r} has no family; name it as KIP320-SC-03 is named")
    return lambda body: _register(
        Check(
            own_rows=rows, rig=rig, cases=_as_tuple(cases), body=body, strategies=strategies, examples=examples, smoke=False,
            schedule=schedule, aims=aims, rest=rest, lasts=lasts,
        )
    )  # fmt: skip


def _as_tuple(cases: Sequence[str] | None) -> tuple[str, ...] | None:
    return None if cases is None else tuple(cases)


def _register(check: Check) -> Check:
    if check.id in REGISTRY:
        raise ValueError(f"check {check.id} is declared twice; give one of them another name")
    REGISTRY[check.id] = check
    return check


@cache
def import_checks() -> None:
    """Import all modules of the KIP folders and machines, which registers their checks."""
    import conformance

    for package in pkgutil.iter_modules(conformance.__path__, "conformance."):
        if package.ispkg and package.name.removeprefix("conformance.").startswith(("kip", "machines")):
            for module in pkgutil.walk_packages(importlib.import_module(package.name).__path__, f"{package.name}."):
                importlib.import_module(module.name)


def all_checks() -> dict[str, Check]:
    """Return all probes and scenarios by id."""
    import_checks()
    return dict(sorted(REGISTRY.items()))
