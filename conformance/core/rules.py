"""Rules that machines share: a machine gets them by inheritance, and draws from its own strategies.

class GroupMachine(DisturbRules[GroupModel], ReadEverythingRules[GroupModel]):
    model_type = GroupModel
    standing_faults = disturbances(Kill, ("group-1",))
"""

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from hypothesis.stateful import initialize, precondition, rule
from hypothesis.strategies import SearchStrategy, runner, tuples

from conformance.core.machines import KafkaMachine, M
from strategies import steps
from strategies.episodes import Offer, Steering, Swarm, episodes, steer, swarms

T = TypeVar("T")


def of_machine(strategy: Callable[[type[Any]], SearchStrategy[T]]) -> SearchStrategy[T]:
    """Return a strategy that depends only on the class of the running machine, never on an answer."""
    return runner().flatmap(lambda machine: strategy(type(machine)))


class DisturbRules(KafkaMachine[M]):
    """Faults that stay active during other steps, until all of them are healed together."""

    standing_faults: ClassVar[SearchStrategy[steps.Disturb]]

    @precondition(lambda self: self.model.may_disturb)
    @rule(step=of_machine(lambda machine: machine.standing_faults))
    def disturb(self, step: steps.Disturb) -> None:
        self.do(step)

    @precondition(lambda self: not self.model.healthy)
    @rule()
    def heal(self) -> None:
        for step in self.before_heal():
            self.do(step)
        self.do(steps.Heal())

    def before_heal(self) -> list[steps.Step]:
        """Return steps worth running while faults are still active."""
        return []


class EpisodeRules(KafkaMachine[M]):
    """Rules that draw everything in episodes: overlapping faults, with work and administration between them
    (`strategies.episodes`).

    It is a single rule, so that Hypothesis cannot leave out the disturbances. An example first draws a swarm, which limits what
    it may use.
    """

    offer: ClassVar[Offer]
    steps_per_rule = 10

    def __init__(
        self, run_step: Callable[[steps.Step], None], finish: Callable[[], None], steering: Steering | None = None
    ) -> None:
        super().__init__(run_step, finish, steering or steer(self.offer, {}))

    @initialize(
        drawn=runner().flatmap(lambda machine: tuples(swarms(machine.offer, machine.steering), machine.offer.begin))
    )
    def begin(self, drawn: tuple[Swarm, list[steps.Step]]) -> None:
        self.swarm, first = drawn
        for step in first:
            self.do(step)

    @rule(
        drawn=runner().flatmap(
            lambda machine: episodes(machine.offer, machine.swarm, machine.model.faults, machine.model.most_faults)
        )
    )
    def episode(self, drawn: list[steps.Step]) -> None:
        for step in drawn:
            self.do(step)


class PartialHealRules(DisturbRules[M]):
    """Rules that heal one of several faults while the others stay active."""

    @precondition(lambda self: self.model.faults > 1)
    @rule(step=of_machine(lambda machine: steps.partial_heals(machine.model_type.most_faults)))
    def heal_partly(self, step: steps.HealPartly) -> None:
        self.do(step)


class TransientFaultRules(KafkaMachine[M]):
    """Faults that are injected and healed within one step."""

    transient_faults: ClassVar[SearchStrategy[steps.DisturbBriefly]]

    @precondition(lambda self: self.model.healthy)
    @rule(step=of_machine(lambda machine: machine.transient_faults))
    def transient_fault(self, step: steps.DisturbBriefly) -> None:
        self.do(step)


class AdministerRules(KafkaMachine[M]):
    """Administrative requests, which may run while faults are active."""

    administration: ClassVar[SearchStrategy[Any]]
    """The strategy for steps of `strategies.steps.AdministrationStep`."""

    @rule(step=of_machine(lambda machine: machine.administration))
    def administer(self, step: steps.Administer) -> None:
        self.do(step)


class EchoRules(KafkaMachine[M]):
    """Repeated copies of earlier requests."""

    @rule(step=steps.echoes())
    def echo(self, step: steps.Echo) -> None:
        self.do(step)


class ReadEverythingRules(KafkaMachine[M]):
    """Reads of everything that the judges compare."""

    @rule()
    def read_everything(self) -> None:
        self.do(steps.ReadEverything())
