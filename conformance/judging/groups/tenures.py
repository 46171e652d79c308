"""Owners of partitions by the records of a group: each tenure of a member, and whether it ended since the coordinator removed the
member."""

from __future__ import annotations

import msgspec

from conformance.judging.facts.group_log import ASSIGNMENT, CLASSIC, LoggedGroup, LoggedMember, classic_members
from conformance.judging.facts.memberships import Places


class Tenure(msgspec.Struct, gc=False):
    """One stretch of the log in which a member has a partition, assigned or still to be given up.

    `first` and `ended` count the group's records; `ended` is None while it lasts. `removed`: the member is removed at its end.
    """

    member_id: str
    first: int
    ended: int | None = None
    removed: bool = False


class Tenures:
    """All tenures in one read of a group's log, by partition, in their order."""

    def __init__(self, log: LoggedGroup) -> None:
        self.by_place: dict[tuple[str, int], list[Tenure]] = {}
        self._open: dict[str, dict[tuple[str, int], Tenure]] = {}
        for at, record in enumerate(log.records):
            if record.kind == ASSIGNMENT:
                id = str(record.key.get("member_id", ""))
                if record.value is None:
                    self._remove(id, at)
                else:
                    member = LoggedMember.from_record(record)
                    self._has(id, member.assigned | member.pending, at)
            elif record.kind == CLASSIC:
                members = classic_members(record, log.topics)
                for id in [*self._open.keys() - members.keys()]:
                    self._remove(id, at)
                for id, has in members.items():
                    self._has(id, has, at)

    def of(self, member_id: str, place: tuple[str, int]) -> list[Tenure]:
        return [one for one in self.by_place.get(place, ()) if one.member_id == member_id]

    def _has(self, id: str, places: Places, at: int) -> None:
        own = self._open.setdefault(id, {})
        for place in own.keys() - places:
            own.pop(place).ended = at
        for place in places - own.keys():
            own[place] = Tenure(id, at)
            self.by_place.setdefault(place, []).append(own[place])

    def _remove(self, id: str, at: int) -> None:
        for tenure in self._open.pop(id, {}).values():
            tenure.ended, tenure.removed = at, True
