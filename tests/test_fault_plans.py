"""Plans of faults: what stands when, what is healed in which order, and what never counts."""

from __future__ import annotations

import pytest

from fixtures.errors import EngineTrouble, KitError
from fixtures.faults.fault import Measured
from fixtures.faults.injector import Injected, Unhealed, Unwitnessed
from fixtures.faults.plans import Calm, NoCalm, Once, Overlap, Plan, Quiet, Repeat, Rotate, Skipped, Step, run
from fixtures.faults.scene import Snapshot
from tests.fake_faults import Cutting, FakeLog, FakeScene, Lonely, OnLinks, Recorded, injector_of


@pytest.fixture
def scene() -> FakeScene:
    return FakeScene()


def ran(plan: Plan, scene: FakeScene) -> list[Step]:
    return list(run(plan, injector_of(scene)))


def counted(steps: list[Step]) -> list[str]:
    return [step.nodes[0] for step in steps if isinstance(step, Injected)]


def skipped(steps: list[Step]) -> list[Skipped]:
    return [step for step in steps if isinstance(step, Skipped)]


A, B = Recorded(on="broker-1"), Recorded(on="broker-2", role="follower")
ORDERS = [(True, ["heal broker-1", "heal broker-2"]), (False, ["heal broker-2", "heal broker-1"])]


# --- what is done


def test_once(scene: FakeScene) -> None:
    [step] = ran(Once(fault=A), scene)
    assert isinstance(step, Injected)
    assert (step.witness, step.healed, scene.done) == ({"seen": "broker-1"}, {}, ["inject broker-1", "heal broker-1"])


def test_again_means_healed_in_between(scene: FakeScene) -> None:
    assert counted(ran(Repeat(fault=A, times=3), scene)) == ["broker-1"] * 3
    assert scene.done == ["inject broker-1", "heal broker-1"] * 3


def test_a_plan_is_data_and_can_be_run_again(scene: FakeScene) -> None:
    plan = Once(fault=A)
    assert counted(ran(plan, scene) + ran(plan, FakeScene())) == ["broker-1"] * 2
    assert not vars(A)


def test_in_turn_there_is_peace_between_two(scene: FakeScene) -> None:
    plan = Rotate(faults=(A, B), turns=(1, 0, 1), quiet=Quiet(writes=2, seconds=5))
    steps = ran(plan, scene)
    assert [type(step) for step in steps] == [Injected, Calm, Injected, Calm, Injected]
    peace = ["write", "write"]
    one, two = ["inject broker-1", "heal broker-1"], ["inject broker-2", "heal broker-2"]
    assert scene.done == [*two, *peace, *one, *peace, *two]


@pytest.mark.parametrize(("first_heals_first", "healed"), ORDERS)
def test_two_stand_at_once(scene: FakeScene, first_heals_first: bool, healed: list[str]) -> None:
    log = FakeLog()
    plan = Overlap(first=A, second=B, first_heals_first=first_heals_first)
    steps = list(run(plan, injector_of(scene, log)))
    assert scene.done == ["inject broker-1", "inject broker-2", *healed]
    assert [f"heal {node}" for node in counted(steps)] == healed
    assert [phase for _, phase in log.phases] == ["inject", "witness", "inject", "witness", "heal", "heal"]


# --- peace


def test_a_refused_write_does_not_count_as_one(scene: FakeScene) -> None:
    scene.writes = [KitError("not now"), None, KitError("not now"), None]
    _, calm, _ = ran(Rotate(faults=(A,), turns=(0, 0), quiet=Quiet(writes=2, seconds=5)), scene)
    assert isinstance(calm, Calm)
    assert (calm.writes, scene.done[2:-2]) == (2, ["refused", "write", "refused", "write"])


def test_peace_ends_when_its_time_is_up(scene: FakeScene) -> None:
    class Slow(FakeScene):
        def write(self, *values: bytes) -> int:
            if len(self.done) > 3:
                raise KitError("not now")
            return super().write(*values)

    [_, calm, _] = ran(Rotate(faults=(A,), turns=(0, 0), quiet=Quiet(writes=1_000_000, seconds=1)), Slow())
    assert isinstance(calm, Calm)
    assert 0 < calm.writes < 1_000_000


def test_a_partition_that_takes_nothing_in_peace_is_trouble(scene: FakeScene) -> None:
    scene.writes = [KitError("NOT_ENOUGH_REPLICAS")] * 1_000_000
    with pytest.raises(NoCalm, match="NOT_ENOUGH_REPLICAS"):
        ran(Rotate(faults=(A,), turns=(0, 0), quiet=Quiet(writes=1, seconds=1)), scene)


# --- what never counts


@pytest.mark.parametrize("plan", [Once(fault=Recorded(shows=False)), Overlap(first=Recorded(shows=False), second=B)])
def test_a_fault_without_a_witness_is_an_error_and_is_taken_back(scene: FakeScene, plan: Plan) -> None:
    steps: list[Step] = []
    with pytest.raises(Unwitnessed, match=r"not within 0\.05 s"):
        steps.extend(run(plan, injector_of(scene)))
    assert (steps, scene.done) == ([], ["inject broker-1", "heal broker-1"])


def test_what_comes_after_a_missing_witness_is_not_done(scene: FakeScene) -> None:
    """Those before it were witnessed, and stay counted."""
    steps: list[Step] = []
    with pytest.raises(Unwitnessed):
        steps.extend(run(Rotate(faults=(B, Recorded(shows=False)), turns=(0, 1, 0)), injector_of(scene)))
    assert counted(steps) == ["broker-2"]
    assert scene.done[-2:] == ["inject broker-1", "heal broker-1"]


@pytest.mark.parametrize(("first_heals_first", "healed"), ORDERS)
def test_both_are_taken_back_when_the_second_shows_nothing(
    scene: FakeScene, first_heals_first: bool, healed: list[str]
) -> None:
    second = Recorded(on="broker-2", shows=False)
    with pytest.raises(Unwitnessed):
        ran(Overlap(first=A, second=second, first_heals_first=first_heals_first), scene)
    assert scene.done == ["inject broker-1", "inject broker-2", "heal broker-2", "heal broker-1"]


def test_an_act_that_fails_is_taken_back_and_raised_as_it_is(scene: FakeScene) -> None:
    injector = injector_of(scene)
    with pytest.raises(EngineTrouble, match="the engine does not want to"):
        list(run(Once(fault=Recorded(acts=False)), injector))
    assert (scene.done, injector.open) == (["inject broker-1", "heal broker-1"], [])


def test_both_are_taken_back_when_the_first_does_not_heal(scene: FakeScene) -> None:
    injector = injector_of(scene)
    with pytest.raises(Unhealed, match="recorded of the leader and recorded of the follower healed"):
        list(run(Overlap(first=Recorded(heals=False), second=B, first_heals_first=True), injector))
    assert (scene.done[-2:], injector.open) == (["heal broker-1", "heal broker-2"], [])


def test_a_cluster_that_stays_broken_is_unhealed(scene: FakeScene) -> None:
    scene.lacks = ["broker-3 is exited"]
    with pytest.raises(Unhealed, match="the states"):
        ran(Once(fault=A), scene)


def test_two_that_overlapped_are_seen_to_be_gone_together(scene: FakeScene) -> None:
    """Here the one that is healed first is gone only when the other one is, which is mended by being asked."""
    scene.lacks = ["broker-2 is exited"]

    class Entangled(Recorded, kw_only=True, tag="entangled"):
        def restored(self) -> Measured | None:
            return {} if not scene.lacks else None

    class Mended(Recorded, kw_only=True, tag="mended"):
        def restored(self) -> Measured | None:
            scene.lacks = []
            return {}

    steps = ran(Overlap(first=Mended(on="broker-1"), second=Entangled(on="broker-2")), scene)
    assert counted(steps) == ["broker-2", "broker-1"]
    assert all(isinstance(step, Injected) and step.heal_seconds > 0 for step in steps)


def test_nothing_stands_when_nobody_asks_for_the_rest(scene: FakeScene) -> None:
    injector = injector_of(scene)
    steps = run(Overlap(first=A, second=B), injector)
    next(steps)
    steps.close()  # type: ignore[attr-defined]  # it is a generator
    assert (len(scene.done), injector.open) == (4, [])


# --- what cannot be


@pytest.mark.parametrize(
    "plan", [Once(fault=Recorded(possible=False)), Repeat(fault=Recorded(possible=False), times=1)]
)
def test_what_cannot_be_had_is_skipped_with_its_reason(scene: FakeScene, plan: Plan) -> None:
    steps = ran(plan, scene)
    assert (counted(steps), scene.done) == ([], [])
    assert "it cannot be" in skipped(steps)[0].reason


def test_the_second_is_had_alone_where_the_first_cannot_be(scene: FakeScene) -> None:
    steps = ran(Overlap(first=Recorded(possible=False), second=B), scene)
    assert (counted(steps), len(skipped(steps))) == (["broker-2"], 1)


BESIDE = [
    (A, Recorded(possible=False), "it cannot be"),
    (A, Lonely(on="broker-2"), "needs the cluster whole"),
    (Lonely(on="broker-2"), A, "needs the cluster whole"),
]


@pytest.mark.parametrize(("first", "second", "reason"), BESIDE)
def test_what_cannot_be_had_beside_another_is_skipped(
    scene: FakeScene, first: Recorded, second: Recorded, reason: str
) -> None:
    steps = ran(Overlap(first=first, second=second), scene)
    assert counted(steps) == [first.on]
    assert reason in skipped(steps)[0].reason
    assert scene.done == [f"inject {first.on}", f"heal {first.on}"]


def test_a_node_that_is_down_is_not_hit_again(scene: FakeScene) -> None:
    scene.cluster.node("broker-2").status = "exited"
    [step] = skipped(ran(Overlap(first=A, second=B), scene))
    assert "broker-2 is exited" in step.reason


def test_a_frozen_node_is_hit_only_to_play_who_is_out_of_the_isr(scene: FakeScene) -> None:
    scene.cluster.node("broker-2").status = "paused"
    assert "broker-2 is paused" in skipped(ran(Overlap(first=A, second=B), scene))[0].reason
    out = Recorded(on="broker-2", role="follower out of the ISR")
    assert counted(ran(Overlap(first=A, second=out), scene)) == ["broker-2", "broker-1"]


def test_without_a_controller_nobody_would_notice(scene: FakeScene) -> None:
    scene.controller = None
    assert "no active controller" in skipped(ran(Overlap(first=A, second=B), scene))[0].reason


def test_the_last_in_the_isr_has_no_successor(scene: FakeScene) -> None:
    scene.in_sync = (2, 1)
    leader = Recorded(on="broker-2", role="leader")
    assert "nobody else in the ISR could lead" in skipped(ran(Overlap(first=A, second=leader), scene))[0].reason
    scene.in_sync = (2, 1, 3)
    assert counted(ran(Overlap(first=A, second=leader), scene)) == ["broker-2", "broker-1"]


def test_a_quorum_of_three_loses_one_at_a_time(scene: FakeScene) -> None:
    one = Recorded(on="controller-102", role="voter")
    active = Recorded(on="controller-101", role="active controller")
    assert "no majority of voters would be left" in skipped(ran(Overlap(first=one, second=active), scene))[0].reason
    assert counted(ran(Overlap(first=A, second=active), scene)) == ["controller-101", "broker-1"]


def test_of_two_faults_on_links_one_would_hide_the_other(scene: FakeScene) -> None:
    steps = ran(Overlap(first=OnLinks(on="broker-1"), second=OnLinks(on="broker-2", role="follower")), scene)
    assert "what one does to links" in skipped(steps)[0].reason


def test_a_cut_comes_first(scene: FakeScene) -> None:
    """What follows from it is foretold for a cluster in which all else is whole."""
    cut = Cutting(on="broker-2", role="follower")
    assert counted(ran(Overlap(first=cut, second=A), scene)) == ["broker-1", "broker-2"]
    assert "foretells" in skipped(ran(Overlap(first=A, second=cut), scene))[0].reason


def test_whoever_is_cut_off_from_others_cannot_go_on(scene: FakeScene) -> None:
    """That one node is cut off from all is the trouble of that node; in halves nobody is as before."""
    leader = Recorded(on="broker-2", role="leader")
    isolated = OnLinks(on="broker-1", cut=(("broker-1", "broker-2"), ("broker-1", "broker-3")))
    assert counted(ran(Overlap(first=isolated, second=leader), scene)) == ["broker-2", "broker-1"]
    halves = OnLinks(on="broker-1", cut=(("broker-1", "broker-2"), ("broker-3", "broker-2")))
    assert "no broker is left" in skipped(ran(Overlap(first=halves, second=leader), scene))[0].reason


def test_a_scene_that_tells_nothing_any_more_is_a_reason_only_beside_another() -> None:
    class Silent(FakeScene):
        def snapshot(self) -> Snapshot:
            if self.done:
                raise KitError("nobody answers")
            return super().snapshot()

    injector = injector_of(Silent())
    injector.inject(A.fresh())
    assert "nobody answers" in skipped(list(run(Once(fault=B), injector)))[0].reason
    injector.heal_all()
    with pytest.raises(KitError, match="nobody answers"):
        list(run(Once(fault=B), injector))


def test_who_was_hit_is_not_believed_while_the_second_is_looked_for(scene: FakeScene) -> None:
    injector = injector_of(scene)
    with injector.under(A.fresh()), injector.under(B.fresh()):
        assert scene.watch.doubted == {"broker-1"}
    with injector.under(A.fresh()):
        assert scene.watch.doubted == set()
