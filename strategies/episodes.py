"""Episodes: the steps of a machine around one subject while faults meet there, drawn as a whole.

An episode is a flat list of ordinary steps: writes, a fault, work or administration while it stands, another fault, and so on;
healing in part or at all, in any order; a look. The part of the offer that an example may use is its *swarm*, drawn once: some
of the faults, of the kinds of work and of administration that its machine offers. `Steering` names the meetings that were
rarest so far, which a swarm draws from first. It is fixed while Hypothesis draws, so that equal draws give equal schedules.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec
from hypothesis.strategies import DrawFn, SearchStrategy, composite, integers, lists, sampled_from

from fixtures.faults.base.fault import Fault
from fixtures.faults.base.together import pairs_of
from strategies.steps import Disturb, Heal, HealPartly, Step

Meeting: TypeAlias = tuple[str, str]
"""Two things that meet on one subject, by name: the fault that stood first and the one added, or administration and a fault."""
About: TypeAlias = Callable[[str], SearchStrategy[Any]]
"""Steps, or faults, about a subject."""

RAREST = 8
"""Meetings that a swarm chooses from: a constant, so that a change of the counts changes no draw."""


class FaultKind(msgspec.Struct, frozen=True):
    """A fault on offer: its class, a strategy for its parameters, and the subjects that it can be injected around."""

    kind: type[Fault]
    drawn: SearchStrategy[Fault]
    subjects: tuple[str, ...]

    @property
    def name(self) -> str:
        return str(self.kind.__struct_config__.tag)


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """All that episodes of a machine are made of.

    `subjects` are those that an episode is about. `begin` gives the first steps of an example. `faults` are by their names; of
    the `main` ones each pair is to meet. `work`, `administration` and `looks` give steps about a subject, by the tags of their
    kinds.
    """

    subjects: tuple[str, ...]
    begin: SearchStrategy[list[Step]]
    faults: Mapping[str, FaultKind]
    main: tuple[str, ...]
    work: Mapping[str, About]
    administration: Mapping[str, About]
    looks: About

    @property
    def pairs(self) -> list[Meeting]:
        """The main faults that can meet, in the order of their injection."""
        kinds = {self.faults[name].kind: name for name in self.main}
        return [(kinds[one], kinds[other]) for one, other in pairs_of(list(kinds))]

    @property
    def alone(self) -> list[str]:
        """The faults that no other can overlap; any, where there are none."""
        return [name for name, fault in self.faults.items() if fault.kind.alone] or list(self.faults)

    def around(self, pair: Meeting) -> list[str]:
        """The subjects around which both faults can be injected; any, where there are none."""
        able = [on for on in self.subjects if all(on in self.faults[name].subjects for name in pair)]
        return able or list(self.subjects)

    @property
    def besides(self) -> list[Meeting]:
        """Each kind of administration beside each fault that others can overlap."""
        standing = [name for name, fault in self.faults.items() if not fault.kind.alone]
        return list(itertools.product(self.administration, standing))


class Steering(msgspec.Struct, frozen=True):
    """The rarest meetings so far, the rarest first: `RAREST` of each."""

    pairs: tuple[Meeting, ...]
    besides: tuple[Meeting, ...]


def steered(offer: Offer, met: Mapping[Meeting, int], turn: int = 0) -> Steering:
    """By how often each meeting was seen; those that were seen equally often take turns."""
    return Steering(_rarest(offer.pairs, met, turn), _rarest(offer.besides, met, turn))


def _rarest(meetings: Sequence[Meeting], met: Mapping[Meeting, int], turn: int) -> tuple[Meeting, ...]:
    at = turn * RAREST % len(meetings)
    in_turn = [*meetings[at:], *meetings[:at]]
    ranked = sorted(in_turn, key=lambda one: met.get(one, 0))
    return tuple(itertools.islice(itertools.cycle(ranked), RAREST))


class Swarm(msgspec.Struct, frozen=True, kw_only=True):
    """The part of an offer that one example may use. `pair` and `beside` are the meetings that it is to bring about."""

    pair: Meeting
    beside: Meeting
    faults: tuple[str, ...]
    work: tuple[str, ...]
    administration: tuple[str, ...]


@composite
def swarms(draw: DrawFn, offer: Offer, steering: Steering) -> Swarm:
    """Any part of an offer, with one of the rarest meetings of each kind."""
    pair, beside = draw(sampled_from(steering.pairs)), draw(sampled_from(steering.besides))
    return Swarm(
        pair=pair,
        beside=beside,
        faults=_with(draw(_some(offer.faults, 1, 4)), draw(sampled_from(offer.alone)), *pair, beside[1]),
        work=draw(_some(offer.work, 4, 9)),
        administration=_with(draw(_some(offer.administration, 1, 4)), beside[0]),
    )


def _some(names: Mapping[str, Any], least: int, most: int) -> SearchStrategy[tuple[str, ...]]:
    few = min(least, len(names))
    return lists(sampled_from(sorted(names)), min_size=few, max_size=most, unique=True).map(tuple)


def _with(names: Sequence[str], *others: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*others, *names]))


@composite
def episodes(draw: DrawFn, offer: Offer, swarm: Swarm, standing: int, most: int) -> list[Step]:
    """An episode that begins with `standing` faults, of which at most `most` may stand at once."""
    return list(_Episode(draw, offer, swarm, standing, most).steps())


class _Episode:
    """The draws of one episode. The first value of each choice is the one that shrinking ends at, and the most usual one."""

    def __init__(self, draw: DrawFn, offer: Offer, swarm: Swarm, standing: int, most: int) -> None:
        self._draw = draw
        self._offer = offer
        self._swarm = swarm
        self._standing = standing
        self._most = most
        self._on = draw(sampled_from(offer.around(swarm.pair)))

    def steps(self) -> Iterator[Step]:
        yield from self._work(1, 2)
        for fault in self._faults():
            if self._standing < self._most:
                self._standing += 1
                yield self._injection(fault)
            if fault == self._swarm.beside[1]:
                yield self._administration(self._swarm.beside[0])
            yield from self._meanwhile()
        yield from self._end()
        yield from self._work(0, 2)
        yield self._draw(self._offer.looks(self._on))

    # --- faults

    def _faults(self) -> tuple[str, ...]:
        """One to three that can stand together, by name; or one that stands alone."""
        choice = self._draw(sampled_from(["pair", "three", "beside", "three", "beside", "any"]))
        if choice == "any":
            return (self._draw(sampled_from(self._swarm.faults)),)
        if choice == "beside":
            return (self._swarm.beside[1],)
        return (*self._swarm.pair, self._swarm.beside[1]) if choice == "three" else self._swarm.pair

    def _injection(self, name: str) -> Disturb[Any]:
        offered = self._offer.faults[name]
        elsewhere = self._draw(sampled_from([False, False, False, False, False, True]))
        on = self._draw(sampled_from(offered.subjects)) if elsewhere or self._on not in offered.subjects else self._on
        follow = self._draw(sampled_from([True, True, False]))
        return Disturb(on=on, fault=self._draw(offered.drawn), follow=follow)

    # --- between faults

    def _meanwhile(self) -> Iterator[Step]:
        """Some work, often beside administration."""
        yield from self._work(0, 2)
        if self._draw(sampled_from([True, False])):
            yield self._administration(self._draw(sampled_from(self._swarm.administration)))
            yield from self._work(0, 2)

    def _administration(self, kind: str) -> Step:
        return self._about(self._offer.administration[kind])

    def _work(self, least: int, most: int) -> Iterator[Step]:
        for _ in range(self._draw(integers(least, most))):
            yield self._about(self._offer.work[self._draw(sampled_from(self._swarm.work))])

    def _about(self, steps: About) -> Step:
        """Mostly on the subject of the episode."""
        elsewhere = self._draw(sampled_from([False, False, False, False, True]))
        on = self._draw(sampled_from(self._offer.subjects)) if elsewhere else self._on
        step: Step = self._draw(steps(on))
        return step

    # --- the end

    def _end(self) -> Iterator[Step]:
        """Faults are healed one by one with work in between, all at once, or left to the next episode."""
        ending = self._draw(sampled_from(["one by one", "at once", "left", "one by one"]))
        if ending == "one by one":
            for _ in range(self._standing - 1):
                yield HealPartly(which=self._draw(integers(0, self._most - 1)))
                yield from self._meanwhile()
        if ending != "left":
            yield self._draw(self._offer.looks(self._on))
            yield Heal()


def offered(kind: type[Fault], drawn: SearchStrategy[Fault], subjects: Sequence[str]) -> tuple[str, FaultKind]:
    """An entry of `Offer.faults`."""
    made = FaultKind(kind, drawn, tuple(subjects))
    return made.name, made


__all__ = ["Meeting", "Offer", "Steering", "Swarm", "episodes", "offered", "steered", "swarms"]
