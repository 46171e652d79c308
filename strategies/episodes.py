"""Episodes: the steps of a machine around one subject while faults meet there, drawn as a whole.

An episode is a flat list of ordinary steps: writes, a fault, work or administration while it is active, another fault, and so
on; then the faults are healed, all or some of them, in any order, and the result is read. An example draws its *swarm* once: the
faults and the kinds of work and administration that it may use, a part of what its machine offers. `Steering` names the meetings
that were rarest so far, from which a swarm draws first. It is fixed while Hypothesis draws, so that equal draws give equal
schedules.
"""

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec
from hypothesis.strategies import DrawFn, SearchStrategy, composite, integers, just, lists, sampled_from

from fixtures.faults.base.fault import Fault
from fixtures.faults.base.overlaps import pairs_of
from strategies.faults import faults_of
from strategies.steps import Disturb, Heal, HealPartly, Step

Meeting: TypeAlias = tuple[str, str]
"""Two things that meet on a subject, by name: a standing fault and an added one, or administration and a fault."""
Hit: TypeAlias = tuple[str, str]
"""A fault's name and the role that it hits: empty for any, `successor` for the leader that the previous fault brings
about, or would have."""
About: TypeAlias = Callable[[str], SearchStrategy[Any]]
"""A function from a subject to a strategy for steps, or lists of steps, about it."""

SELDOM = (False, False, False, False, False, True)
RAREST = 8
"""The number of meetings from which a swarm chooses: a constant, so that changed counts change no draw."""


class FaultKind(msgspec.Struct, frozen=True):
    """A fault on offer: its class, a strategy for its parameters, and the subjects around which it can be injected."""

    kind: type[Fault]
    drawn: SearchStrategy[Fault]
    subjects: tuple[str, ...]

    @property
    def name(self) -> str:
        """The fault's tag, its name in offers and steering."""
        return str(self.kind.__struct_config__.tag)


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that episodes of a machine are made of.

    An episode is about one of `subjects`; one that is listed twice is chosen twice as often. `begin` gives the first
    steps of an example. `faults` are by name; each pair of the `main` ones is to meet. Faults in `behind` leave a live
    replica behind, those in `losing` take a node away at once, those in `damaging` also take something from its disk,
    and those in `cutting` have a leader replaced that clients can still reach. `work`, `administration` and `looks`
    give steps about a subject, by the tags of their kinds. `writes` are the kinds of work that change a log: a fault
    shows little if no log changes. `acknowledged` is a write that all in-sync replicas acknowledge, so that it has to
    outlast the loss of a leader; `stale` is one that a former leader appends alone.
    """

    subjects: tuple[str, ...]
    begin: SearchStrategy[list[Step]]
    faults: Mapping[str, FaultKind]
    main: tuple[str, ...]
    behind: tuple[str, ...]
    losing: tuple[str, ...]
    damaging: tuple[str, ...]
    cutting: tuple[str, ...]
    work: Mapping[str, About]
    writes: tuple[str, ...]
    acknowledged: About
    stale: About
    administration: Mapping[str, About]
    looks: About
    scenes: Mapping[str, About] = {}
    """Scenes by name: lists of steps about a subject that rarely come together by chance. A scene leaves no active
    fault."""
    is_scene: tuple[bool, ...] = SELDOM
    """The values from which it is drawn whether an episode is a scene, if no fault is active and there are any."""
    most_scenes: int = 1
    """The maximum number of scenes that follow each other in an episode."""

    @property
    def pairs(self) -> list[Meeting]:
        """The pairs of main faults that can meet, in order of injection."""
        kinds = {self.faults[name].kind: name for name in self.main}
        return [(kinds[one], kinds[other]) for one, other in pairs_of(list(kinds))]

    @property
    def first(self) -> list[str]:
        """The faults that can be injected only while no other is active; all of them if there are none."""
        return [name for name, fault in self.faults.items() if fault.kind.alone or fault.kind.needs_whole] or list(
            self.faults
        )

    def around(self, pair: Meeting) -> list[str]:
        """Return the subjects around which both faults can be injected; all subjects if there are none."""
        able = [on for on in self.subjects if all(on in self.faults[name].subjects for name in pair)]
        return able or list(self.subjects)

    @property
    def administration_pairs(self) -> list[Meeting]:
        """All pairs of a kind of administration and a fault that others can overlap."""
        standing = [name for name, fault in self.faults.items() if not fault.kind.alone]
        return list(itertools.product(self.administration, standing))


class Steering(msgspec.Struct, frozen=True):
    """The rarest meetings so far, `RAREST` of each kind, rarest first."""

    pairs: tuple[Meeting, ...]
    administration_pairs: tuple[Meeting, ...]


def steer(offer: Offer, met: Mapping[Meeting, int], turn: int = 0) -> Steering:
    """Choose the meetings seen least often so far; those seen equally often take turns."""
    return Steering(_rarest_meetings(offer.pairs, met, turn), _rarest_meetings(offer.administration_pairs, met, turn))


def _rarest_meetings(meetings: Sequence[Meeting], met: Mapping[Meeting, int], turn: int) -> tuple[Meeting, ...]:
    """Return the `RAREST` meetings seen least often, repeated if there are fewer."""
    at = turn * RAREST % len(meetings)
    in_turn = [*meetings[at:], *meetings[:at]]
    ranked = sorted(in_turn, key=lambda one: met.get(one, 0))
    return tuple(itertools.islice(itertools.cycle(ranked), RAREST))


class Swarm(msgspec.Struct, frozen=True, kw_only=True):
    """The part of an offer that one example may use. It should bring about the meetings `pair` and `administration_pair`;
    `first` is a fault that needs a cluster without others; `behind`, `losing`, `damaging` and `cutting` are the faults of
    chains (`_Episode._draw_hits`)."""

    pair: Meeting
    administration_pair: Meeting
    first: str
    behind: str
    losing: str
    damaging: str
    cutting: str
    writes: tuple[str, ...]
    faults: tuple[str, ...]
    work: tuple[str, ...]
    administration: tuple[str, ...]


@composite
def swarms(draw: DrawFn, offer: Offer, steering: Steering) -> Swarm:
    """Draw swarms of an offer, each with one of the rarest meetings of each kind."""
    pair, administered = draw(sampled_from(steering.pairs)), draw(sampled_from(steering.administration_pairs))
    first, writes = draw(sampled_from(offer.first)), draw(_some_names(offer.writes, 2, 4))
    behind, losing = draw(sampled_from([*offer.behind, pair[0]])), draw(sampled_from([*offer.losing, pair[1]]))
    damaging, cutting = draw(sampled_from(offer.damaging)), draw(sampled_from(offer.cutting))
    return Swarm(
        pair=pair,
        administration_pair=administered,
        first=first,
        behind=behind,
        losing=losing,
        damaging=damaging,
        cutting=cutting,
        writes=writes,
        faults=_with_needed(
            draw(_some_names(offer.faults, 1, 4)), first, behind, losing, damaging, cutting, *pair, administered[1]
        ),
        work=_with_needed(draw(_some_names(offer.work, 4, 9)), *writes),
        administration=_with_needed(draw(_some_names(offer.administration, 2, 5)), administered[0]),
    )


def _some_names(names: Collection[str], least: int, most: int) -> SearchStrategy[tuple[str, ...]]:
    few = min(least, len(names))
    return lists(sampled_from(sorted(names)), min_size=few, max_size=most, unique=True).map(tuple)


def _with_needed(names: Sequence[str], *others: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*others, *names]))


@composite
def episodes(draw: DrawFn, offer: Offer, swarm: Swarm, standing: int, most: int) -> list[Step]:
    """Draw episodes that begin while `standing` faults are active; at most `most` may be active at once."""
    return list(_Episode(draw, offer, swarm, standing, most).steps())


class _Episode:
    """The draws of one episode. The first value of each choice is the usual one, to which Hypothesis shrinks."""

    def __init__(self, draw: DrawFn, offer: Offer, swarm: Swarm, standing: int, most: int) -> None:
        self._draw = draw
        self._offer = offer
        self._swarm = swarm
        self._standing = standing
        self._most = most
        self._on = draw(sampled_from(offer.around(swarm.pair)))

    def steps(self) -> Iterator[Step]:
        """Yield scenes and a look; or work, one or two rounds of faults, each with an end, and a look."""
        if scenes := self._maybe_scenes():
            for scene in scenes:
                yield from self._draw(scene(self._on))
            yield self._draw(self._offer.looks(self._on))
            return
        yield from self._work(1, 2)
        chain = self._draw(sampled_from(_CHAINS))
        hits = self._draw_hits(chain)
        for _ in range(self._rounds(hits)):
            yield from self._cut_short(hits) if chain == "cut short" else self._disturb(hits)
            yield from self._end()
        yield from self._work_meanwhile()
        yield self._draw(self._offer.looks(self._on))

    def _maybe_scenes(self) -> list[About]:
        """Return this episode's scenes, if it has any."""
        names = [*self._offer.scenes] if self._standing == 0 else []
        if not names or not self._draw(sampled_from(self._offer.is_scene)):
            return []
        drawn = self._draw(lists(sampled_from(names), min_size=1, max_size=self._offer.most_scenes, unique=True))
        return [self._offer.scenes[name] for name in drawn]

    def _rounds(self, hits: Sequence[Hit]) -> int:
        """Return the number of rounds: two for a fault that no other can overlap, so that it meets its own effects,
        such as a second election."""
        alone = any(self._offer.faults[name].kind.alone for name, _ in hits)
        return self._draw(sampled_from([2] if alone else [1, 1, 2]))

    def _disturb(self, hits: Sequence[Hit]) -> Iterator[Step]:
        """Inject faults one after the other, with work under each, or at once, as in a power failure."""
        successor = "leader"
        for at, (fault, role) in enumerate(hits):
            then = self._draw(sampled_from(["followed", "under way", "at once", "followed"]))
            administered = fault == self._swarm.administration_pair[1]
            before = administered and self._draw(sampled_from([False, True]))
            if before:
                yield self._administration(self._swarm.administration_pair[0])
            if self._standing < self._most:
                where = successor if role == "successor" else role
                yield from self._write_before(where)
                yield self._inject(fault, where, follow=then == "followed")
            if administered and not before:
                yield self._administration(self._swarm.administration_pair[0])
            if then != "at once" or at == len(hits) - 1:
                yield from self._work_meanwhile()
            successor = "leader" if then == "followed" else "follower"

    def _cut_short(self, hits: Sequence[Hit]) -> Iterator[Step]:
        """Make two leaders lose leadership in turn, without a write to the second one while it leads.

        Then the second one, unaware of its successor, appends to its log alone.
        """
        yield from self._write_before("leader")
        for fault, role in hits:
            if self._standing < self._most:
                yield self._inject(fault, role, follow=True)
        for _ in range(self._draw(integers(1, 2))):
            yield self._draw(self._offer.stale(self._on))
        yield from self._work_meanwhile()

    # --- faults

    def _draw_hits(self, chain: str) -> tuple[Hit, ...]:
        """Return one to three faults that can overlap, each with the role that it hits; empty for any role.

        In turn: a follower falls behind, then the leader is lost right after a write, then its successor. Unseen: the
        active controller is lost, then a leader, which restarts with less than it had. Cut short: the leader is lost,
        and its successor is cut off before anything at its epoch is committed.
        """
        swarm = self._swarm
        one, other = swarm.pair
        first, administered = (swarm.first, ""), (swarm.administration_pair[1], "")
        named: dict[str, tuple[Hit, ...]] = {
            "pair": ((one, ""), (other, "successor" if one == other else "")),
            "three": ((one, ""), (other, ""), administered),
            "in turn": ((swarm.behind, "follower"), (swarm.losing, "leader"), (swarm.losing, "successor")),
            "unseen": ((swarm.losing, "active controller"), (swarm.damaging, "leader")),
            "cut short": ((swarm.losing, "leader"), (swarm.cutting, "leader")),
            "beside": (administered,),
            "first": (first,) if self._offer.faults[swarm.first].kind.alone else (first, administered),
        }
        return named[chain] if chain in named else ((self._draw(sampled_from(swarm.faults)), ""),)

    def _write_before(self, role: str) -> Iterator[Step]:
        """Write right before a fault, while followers do not know that the write is committed: always with acks=all if
        the fault has a chosen role, else any write half of the time."""
        if role:
            yield self._draw(self._offer.acknowledged(self._on))
        elif self._draw(sampled_from([False, True])):
            yield self._write()

    def _inject(self, name: str, role: str, *, follow: bool) -> Disturb:
        self._standing += 1
        offered = self._offer.faults[name]
        fault = self._draw(offered.drawn)
        if role in offered.kind.roles:
            fault = msgspec.structs.replace(fault, role=role)
        return Disturb(on=self._choose_subject(offered, role), fault=fault, follow=follow)

    def _choose_subject(self, offered: FaultKind, role: str) -> str:
        """Return the episode's subject if the fault can be injected there; if it has no role, sometimes another
        subject."""
        elsewhere = self._draw(sampled_from([False, False, False, False, False, True])) and not role
        there = not elsewhere and self._on in offered.subjects
        return self._on if there else self._draw(sampled_from(offered.subjects))

    # --- between faults

    def _work_meanwhile(self) -> Iterator[Step]:
        """Yield work that changes the log and other work, often with administration."""
        yield self._write()
        yield from self._work(0, 4)
        if self._draw(sampled_from([True, False])):
            yield self._administration(self._draw(sampled_from(self._swarm.administration)))
            yield from self._work(0, 2)

    def _write(self) -> Step:
        return self._draw_about(self._offer.work[self._draw(sampled_from(self._swarm.writes))])

    def _administration(self, kind: str) -> Step:
        return self._draw_about(self._offer.administration[kind])

    def _work(self, least: int, most: int) -> Iterator[Step]:
        for _ in range(self._draw(integers(least, most))):
            yield self._draw_about(self._offer.work[self._draw(sampled_from(self._swarm.work))])

    def _draw_about(self, steps: About) -> Step:
        """Draw a step, mostly about the subject of the episode."""
        elsewhere = self._draw(sampled_from([False, False, False, False, True]))
        on = self._draw(sampled_from(self._offer.subjects)) if elsewhere else self._on
        step: Step = self._draw(steps(on))
        return step

    # --- the end

    def _end(self) -> Iterator[Step]:
        """Look while all faults are active, then heal them one by one with work in between, or all at once; or leave them
        to the next round or episode."""
        ending = self._draw(sampled_from(["one by one", "at once", "left", "one by one"]))
        if ending != "left":
            yield self._draw(self._offer.looks(self._on))
        if ending == "one by one":
            while self._standing > 1:
                self._standing -= 1
                yield HealPartly(which=self._draw(integers(0, self._most - 1)))
                yield from self._work_meanwhile()
        if ending != "left":
            self._standing = 0
            yield Heal()


_CHAINS = (
    "pair",
    "three",
    "beside",
    "in turn",
    "beside",
    "in turn",
    "first",
    "any",
    "unseen",
    "cut short",
    "pair",
)
"""The chains of faults from which a round draws; one listed twice is drawn twice as often."""


def fault_kind(kind: type[Fault], subjects: Sequence[str], **drawn: SearchStrategy[Any]) -> FaultKind:
    """Return an offer of a kind of fault around these subjects; `drawn` overrides the parameters' own strategies."""
    return FaultKind(kind, faults_of(kind, **drawn), tuple(subjects))


def always(step: Step) -> About:
    """Return an offer of the same step about any subject."""
    return lambda on: just(step)
