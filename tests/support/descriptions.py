"""Histories of descriptions: of a quorum with three voters, and of a group."""

from __future__ import annotations

from typing import Self

from history.events import Answer, AnyEvent, Call, Example, History
from protocol.operations import OPERATIONS
from tests.support import filled

VOTERS = (101, 102, 103)


class DescriptionHistory:
    """A history of controllers and a broker that describe the quorum and a group in turn."""

    def __init__(self) -> None:
        members = [{"name": f"controller-{id}", "id": id, "role": "controller"} for id in VOTERS]
        members.append({"name": "broker-1", "id": 1, "role": "broker"})
        self.example = Example(example="e-1", check="quorum", column="4.3.1", members=members)
        self.events: list[AnyEvent] = []

    @property
    def history(self) -> History:
        return History(example=self.example, events=self.events)

    def group(self, *members: int, assignment: int, epoch: int) -> Self:
        """Add the coordinator's description of the group: the epochs of its members, its assignment and itself."""
        described = [{"member_epoch": member} for member in members]
        answer = {"group_epoch": epoch, "assignment_epoch": assignment, "members": described}
        return self._describe("broker-1", "consumer_group_describe", {"group": "g"}, answer)

    def _describe(self, node: str, op: str, asked: dict[str, object], answer: dict[str, object]) -> Self:
        call, kind = len(self.events), OPERATIONS[op]
        value = filled.answered(kind, {"error_code": 0} | answer)
        self.events += [
            Call(n=call, t=0, op=op, node=node, request=filled.asked(kind, asked)),
            Answer(n=call + 1, t=0, call=call, outcome="ok", value=value),
        ]
        return self
