"""Scenes of the group machine: lists of steps about a group that rarely come together by chance."""

from hypothesis.strategies import DrawFn, composite, sampled_from

from fixtures.faults.base.fault import Fault
from fixtures.faults.kinds import elections, process
from strategies import groups as do
from strategies import steps
from strategies.episodes import About

LOSSES: tuple[Fault, ...] = (process.Kill(role="leader"), process.Stop(role="leader"), process.Freeze(role="leader"))


def _lost(on: do.GroupName, fault: Fault | None) -> list[steps.Step]:
    """Return the loss of the coordinator: by a fault that is healed at the end of the scene, or by a clean move."""
    if fault is None:
        return [steps.DisturbBriefly(on=on, fault=elections.MoveLeader())]
    return [steps.Disturb(on=on, fault=fault)]


@composite
def half_given_up(draw: DrawFn, subject: str) -> list[steps.Step]:
    """Draw scenes of a revocation that is told and not acknowledged when the coordinator is lost; then the member gives up,
    leaves, or reads something else."""
    on = do.group_named(subject)
    fault = draw(sampled_from([None, None, *LOSSES]))
    after: list[steps.Step] = [
        do.Beat(on=on, member="member-1"),
        do.LeaveGroup(on=on, member="member-1"),
        do.Subscribe(on=on, member="member-1", reads_from="narrow"),
        do.BeatKeeping(on=on, member="member-1"),
    ]
    return [
        do.JoinGroup(on=on, member="member-1", reads_from="both"),
        do.Settle(on=on),
        do.JoinGroup(on=on, member="member-2", reads_from="both"),
        do.BeatQuietly(on=on, member="member-1"),
        *_lost(on, fault),
        do.Commit(on=on, member="member-1", of="to-give-up"),
        draw(sampled_from(after)),
        do.Beat(on=on, member="member-2"),
        do.Settle(on=on),
        steps.Heal(),
    ]


SCENES: dict[str, About] = {"half-given-up": half_given_up}
