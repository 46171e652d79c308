"""Places for one member of a group at a time, whichever protocol it speaks."""

from abc import ABC, abstractmethod
from typing import NamedTuple

from conformance.core.roles import Absent
from conformance.machines.groups.ground import Ground
from fixtures.wire import NodeClient
from protocol.messages import Topic
from strategies import groups as do


class Epochs(NamedTuple):
    """A member's epochs: the current one, that of a partition's first assignment, the one before the current one, the oldest."""

    current: int
    first_owned: int
    previous: int
    oldest: int


class Slot(ABC):
    """A place for one member of a group. A method for which a protocol has no request raises Absent."""

    def __init__(self, ground: Ground, on: do.GroupName, slot: do.Slot) -> None:
        self.ground, self.on, self.slot = ground, on, slot
        self.silent = False

    @property
    @abstractmethod
    def is_taken(self) -> bool:
        """True if there is a member, even one that is away."""

    @property
    def is_away(self) -> bool:
        """True if the member left to return, and has not yet."""
        return False

    @property
    def is_hasty(self) -> bool:
        return False

    @property
    @abstractmethod
    def known_id(self) -> str:
        """The id of the member as far as it is known, without a request; empty without a member."""

    @property
    @abstractmethod
    def id(self) -> str:
        """The id of the member, which has joined. Raises Absent."""

    @property
    @abstractmethod
    def instance(self) -> str | None:
        """The instance id of a static member."""

    # --- joining and leaving

    @abstractmethod
    def join(self, step: do.JoinGroup) -> None:
        """Let a new member join in place of the former one, which leaves."""

    @abstractmethod
    def rejoin(self) -> None:
        """Join again with the same id."""

    @abstractmethod
    def subscribe(self, to: do.Subscription) -> None:
        """Change the subscription."""

    @abstractmethod
    def leave(self) -> None:
        """Leave for good. Raises Absent without a member."""

    def leave_to_return(self, *, keeps_id: bool) -> None:
        """Leave temporarily; the next heartbeat returns, with the same id or a new one."""
        raise Absent(f"{self.slot} cannot leave temporarily")

    def take_instance(self) -> None:
        """Let another member join with the instance id; it replaces the member if it is admitted."""
        raise Absent(f"{self.slot} is not static")

    @abstractmethod
    def expel_former(self) -> None:
        """Let former members leave, whom a late copy of a request may have brought back."""

    # --- heartbeats

    @abstractmethod
    def beat(self) -> object:
        """Send an honest heartbeat; what the answer asks for follows."""

    @abstractmethod
    def beat_at_rest(self) -> bool:
        """Send an honest heartbeat. True if nothing changes by it."""

    @abstractmethod
    def beat_quietly(self) -> object:
        """Send a heartbeat that acknowledges nothing."""

    @abstractmethod
    def beat_at(self, epoch: do.Epoch) -> None:
        """Send a heartbeat at another epoch, and do not receive the answer."""

    def beat_keeping(self) -> None:
        """Name all partitions that the member should have given up, besides its own."""
        raise Absent(f"{self.slot} names no partitions")

    def beat_owning(self, owned: str) -> None:
        """Name fewer or more partitions than owned, or one that no topic has, and do not receive the answer."""
        raise Absent(f"{self.slot} names no partitions")

    def beat_to(self, node: NodeClient) -> None:
        """Send a heartbeat to this broker, and do not receive the answer."""
        raise Absent(f"{self.slot} asks its coordinator only")

    def lose_answers(self, times: int) -> None:
        """Send honest heartbeats whose answers are not received."""
        raise Absent(f"{self.slot} has no answers to lose but those of SyncGroup")

    def lose_sync(self) -> None:
        """Join, and do not receive the assignment."""
        raise Absent(f"{self.slot} sends no SyncGroup")

    def sync_late(self) -> None:
        """Ask for the assignment of the generation before."""
        raise Absent(f"{self.slot} sends no SyncGroup")

    # --- offsets

    @abstractmethod
    def partitions(self, hold: do.Hold) -> list[tuple[Topic, int]]:
        """Return partitions by what the member knows of them, sorted by name."""

    @abstractmethod
    def epochs(self, partition: tuple[Topic, int] | None = None) -> Epochs:
        """Return the epochs, or generations, as the member knows them; `first_owned` is that of the partition."""

    def epoch(self, epoch: do.Epoch, partition: tuple[Topic, int] | None = None) -> int:
        """Return an epoch, or a generation, as the member knows it."""
        known = self.epochs(partition)
        return {
            "current": known.current,
            "first-owned": known.first_owned,
            "before-owned": known.first_owned - 1,
            "previous": known.previous,
            "older": known.oldest,
            "beyond": known.current + 1,
            "zero": 0,
            "none": -1,
        }[epoch]
