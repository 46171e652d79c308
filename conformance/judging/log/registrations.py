"""A partition as brokers and controllers describe it, epoch by epoch: its leader, ISR and eligible leader replicas."""

from bisect import bisect_left
from typing import NamedTuple

from conformance.judging.facts.exchange import by_event
from conformance.judging.facts.log import PartitionAtBroker, RegisteredPartition
from conformance.judging.log.leadership import Leadership
from conformance.judging.log.story import PartitionStory

Described = PartitionAtBroker | RegisteredPartition


class EpochRegistration(NamedTuple):
    """The state of a partition at the end of an epoch, as described. `eligible` is the ELR in the answer at `described`, or None
    if no answer had one (KIP-966).

    `isr` is from the latest answer. `members` are all replicas that were in ISR or ELR in any answer of the epoch.
    """

    event: int
    epoch: int
    leader: int
    isr: tuple[int, ...]
    eligible: tuple[int, ...] | None
    described: int
    last_known: tuple[int, ...]
    members: frozenset[int]
    replicas: frozenset[int]
    unfenced: frozenset[int]
    """Brokers that any of these answers lists as alive."""

    @property
    def electable(self) -> frozenset[int] | None:
        """The replicas that may be elected without any loss; None if an empty ISR leaves that open (KIP-966)."""
        return self.members if self.members or self.eligible is not None else None

    @property
    def others_alive(self) -> frozenset[int]:
        """The replicas that were alive while there was no leader, but may not be elected."""
        return (self.replicas & self.unfenced) - self.members

    def may_elect(self, id: int) -> bool:
        """True if the replica is in the ISR, or eligible."""
        return id in self.isr or id in (self.eligible or ())


class EpochRegistrations:
    """The last registration of each epoch. An epoch is leaderless if no answer names a leader for it."""

    def __init__(self, story: PartitionStory) -> None:
        self.story = story
        self._leadership = story.derive(Leadership)
        self._by_epoch: dict[int, EpochRegistration] = {}
        described: list[Described] = [*story.metadata, *story.registered]
        self.described = sorted(described, key=by_event)
        """All descriptions of the partition, in the order of the answers."""
        for one in self.described:
            self._by_epoch[one.epoch] = _join(self._by_epoch.get(one.epoch), one)
        self._epochs = sorted(self._by_epoch)

    def of_epoch(self, epoch: int) -> EpochRegistration | None:
        return self._by_epoch.get(epoch)

    def last_before(self, epoch: int) -> EpochRegistration | None:
        """Return the registration of the newest described epoch below this one; None without one."""
        lower = [one for one in self._epochs if one < epoch]
        return self._by_epoch[lower[-1]] if lower else None

    def newest_at(self, event: int) -> Described | None:
        """Return the last description of the newest epoch known at an event; None if none was known."""
        known = self.described[: bisect_left(self.described, event, key=by_event)]
        return max(known, key=lambda one: (one.epoch, one.event), default=None)

    def leaderless(self) -> list[EpochRegistration]:
        """Return the registrations of leaderless epochs that directly follow an epoch with a leader."""
        leaders = self._leadership.leaders
        return [self._by_epoch[one] for one in self._epochs if one not in leaders and one - 1 in leaders]


def _join(known: EpochRegistration | None, one: Described) -> EpochRegistration:
    unfenced = known.unfenced if known is not None else frozenset[int]()
    members = known.members if known is not None else frozenset[int]()
    replicas = known.replicas if known is not None else frozenset[int]()
    if isinstance(one, PartitionAtBroker):
        eligible, described = (known.eligible, known.described) if known is not None else (None, -1)
        last_known = known.last_known if known is not None else ()
        unfenced, replicas = unfenced | {*one.unfenced}, replicas | {*one.replicas}
    else:
        eligible, last_known, described = one.eligible, one.last_known, one.event
    members |= {*one.isr, *(eligible or ())}
    return EpochRegistration(
        one.event, one.epoch, one.leader, one.isr, eligible, described, last_known, members, replicas, unfenced
    )
