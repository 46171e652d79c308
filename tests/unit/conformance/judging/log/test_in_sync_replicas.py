"""The judges of the ISR: each catches what it is there for, and is silent on an honest history."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.judging.excuses import MIN_ISR_ALTERED
from conformance.judging.log import in_sync_replicas
from protocol.codes import Error
from tests.support.histories import LogHistory, stamped
from tests.support.judging import broken, excused, held, judged_by

A, B, C = stamped(0, 0, "a"), stamped(0, 1, "b"), stamped(0, 2, "c")


class TestIsr:
    judge = in_sync_replicas.isr_members_are_valid

    def loss_in(self) -> LogHistory:
        """3 is fenced and out of the ISR, as 1 sees it."""
        return LogHistory().metadata(1, 1, 0, isr=(1, 2), unfenced=(1, 2))

    def test_a_leader_that_is_not_a_member(self) -> None:
        assert broken(self.judge, LogHistory().metadata(1, 1, 0, isr=(2, 3))) == ["leader"]

    def test_a_member_that_is_no_replica(self) -> None:
        history = LogHistory().metadata(1, 1, 0, isr=(1, 2, 3), replicas=(1, 2))
        assert broken(self.judge, history) == ["members"]

    def test_an_empty_isr_under_a_leader(self) -> None:
        assert broken(self.judge, LogHistory().metadata(1, 1, 0, isr=())) == ["leader", "members"]

    def test_an_empty_isr_without_a_leader(self) -> None:
        """With eligible leader replicas (KIP-966); without them the last member stays."""
        assert held(self.judge, LogHistory().metadata(1, -1, 1, isr=())) == ["members"]
        assert held(self.judge, LogHistory().metadata(1, -1, 1, isr=(2,), unfenced=(1,))) == ["members"]

    def test_a_fenced_replica_that_is_added(self) -> None:
        history = self.loss_in().metadata(1, 1, 0, unfenced=(1, 2)).metadata(1, 1, 0, unfenced=(1, 2))
        assert broken(self.judge, history) == ["fenced"]

    def test_a_fenced_replica_that_stays_out(self) -> None:
        history = self.loss_in().metadata(1, 1, 0, isr=(1, 2), unfenced=(1, 2))
        assert held(self.judge, history) == ["leader", "members", "fenced"]
        assert held(self.judge, history.metadata(1, 1, 0, isr=(1, 2), unfenced=(1, 2))) == [
            "leader",
            "members",
            "fenced",
        ]

    def test_one_look_at_an_isr_from_before_the_fencing(self) -> None:
        """Between two looks it came back, was added, and was fenced again while the broker made up its answer."""
        history = self.loss_in().metadata(1, 1, 0, unfenced=(1, 2)).metadata(1, 1, 0, isr=(1, 2), unfenced=(1, 2))
        assert "fenced" in held(self.judge, history.metadata(1, 1, 0, unfenced=(1, 2)))

    def test_a_replica_that_is_fenced_and_still_a_member(self) -> None:
        history = LogHistory().metadata(1, 1, 0, unfenced=(1, 2)).metadata(1, 1, 0, unfenced=(1, 2))
        assert held(self.judge, history) == []

    def test_the_first_state_of_a_partition_is_no_instance(self) -> None:
        assert held(self.judge, LogHistory().settled(1, 0)) == []
        assert held(self.judge, LogHistory().settled(1, 0).metadata(1, 2, 1)) == ["leader", "members"]

    def test_a_replica_that_came_back_before_it_was_added(self) -> None:
        history = self.loss_in().metadata(1, 1, 0, isr=(1, 2)).metadata(1, 1, 0).metadata(1, 1, 0, unfenced=(1, 2))
        assert "fenced" not in held(self.judge, history.metadata(1, 1, 0, unfenced=(1, 2)))

    def test_the_last_of_an_isr_stays_in_it_when_it_is_fenced(self) -> None:
        history = self.loss_in()
        for _ in range(3):
            history.metadata(1, -1, 4, isr=(3,), unfenced=(1, 2))
        assert "fenced" not in held(self.judge, history)

    def test_another_broker_or_another_life_of_it_may_know_less(self) -> None:
        history = self.loss_in()
        for _ in range(2):
            history.metadata(2, 1, 0, unfenced=(1, 2))
        history.restart(1)
        for _ in range(2):
            history.metadata(1, 1, 0, unfenced=(1, 2))
        assert "fenced" not in held(self.judge, history)

    def test_a_broker_that_names_nobody_alive_tells_nothing(self) -> None:
        history = LogHistory()
        for isr in ((1, 2), (1, 2, 3), (1, 2, 3)):
            history.metadata(1, 1, 0, isr=isr, unfenced=())
        assert "fenced" not in held(self.judge, history)


def alone(minimum: str = "2") -> LogHistory:
    """2 and 3 are down, and 1 saw them leave the ISR."""
    history = LogHistory().created(min_insync_replicas=minimum).settled(1, 0).hit("kill", 2).hit("stop", 3)
    return history.metadata(1, 1, 0, isr=(1,), unfenced=(1,))


def still_alone(history: LogHistory) -> LogHistory:
    return history.metadata(1, 1, 0, isr=(1,), unfenced=(1,))


class TestEnoughReplicas:
    judge = in_sync_replicas.acks_all_needs_min_insync_replicas

    def test_a_success_of_a_leader_that_is_alone(self) -> None:
        assert broken(self.judge, still_alone(alone().produce(1, "a", at=0))) == ["acknowledged"]

    def test_a_success_with_enough(self) -> None:
        """It counts where a replica was out of the ISR."""
        history = LogHistory().created(min_insync_replicas="2").settled(1, 0).produce(1, "a", at=0).settled(1, 0)
        assert held(self.judge, history) == []
        history.settled(1, 0, isr=(1, 2)).produce(1, "b", at=1).settled(1, 0, isr=(1, 2))
        assert held(self.judge, history) == ["acknowledged"]

    @pytest.mark.parametrize("how", [{"acks": 1}, {"acks": 0}, {"lost": True}])
    def test_what_waits_for_nobody_or_has_no_answer(self, how: dict[str, object]) -> None:
        assert held(self.judge, still_alone(alone().produce(1, "a", at=0, **how))) == []  # type: ignore[arg-type]

    def test_one_replica_is_enough_for_a_topic_that_asks_for_no_more(self) -> None:
        assert held(self.judge, still_alone(alone("1").produce(1, "a", at=0))) == []

    @pytest.mark.parametrize("key", ["min.insync.replicas", "retention.ms"])
    def test_a_topic_whose_min_insync_replicas_was_altered(self, key: str) -> None:
        history = LogHistory().created(min_insync_replicas="2").settled(1, 0).altered(key, "1").hit("kill", 2, 3)
        history.metadata(1, 1, 0, isr=(1,), unfenced=(1,)).produce(1, "a", at=0)
        assert broken(self.judge, still_alone(history)) == ([] if key == "min.insync.replicas" else ["acknowledged"])

    def test_an_alteration_counts_while_it_may_be_in_force(self) -> None:
        def lowered(**how: Any) -> LogHistory:
            return (
                LogHistory().created(min_insync_replicas="2").settled(1, 0).altered("min.insync.replicas", "1", **how)
            )

        def succeeds(history: LogHistory) -> LogHistory:
            history.hit("kill", 2).hit("stop", 3).metadata(1, 1, 0, isr=(1,), unfenced=(1,))
            return still_alone(history.produce(1, "a", at=0))

        for history in (lowered(), lowered(lost=True).later(15)):
            assert excused(self.judge, succeeds(history)) == [("acknowledged", MIN_ISR_ALTERED)]
        assert broken(self.judge, succeeds(lowered(error=Error.INVALID_CONFIG))) == ["acknowledged"]
        assert judged_by(self.judge, succeeds(lowered().later(15))) == []
        raised = (
            LogHistory().created(min_insync_replicas="1").settled(1, 0).altered("min.insync.replicas", "2").later(15)
        )
        assert broken(self.judge, succeeds(raised)) == ["acknowledged"]

    def test_a_later_alteration_excuses_nothing_earlier(self) -> None:
        history = still_alone(alone().produce(1, "a", at=0)).altered("min.insync.replicas", "1")
        assert broken(self.judge, history) == ["acknowledged"]

    def test_a_leader_that_may_not_have_heard_of_an_alteration(self) -> None:
        history = LogHistory().created(min_insync_replicas="1").settled(1, 0).hit("kill", 2).hit("stop", 3)
        history.hit("cut-off-from-controllers", 1).altered("min.insync.replicas", "2").later(15)
        history.metadata(1, 1, 0, isr=(1,), unfenced=(1,)).produce(1, "a", at=0)
        assert excused(self.judge, still_alone(history)) == [("acknowledged", MIN_ISR_ALTERED)]

    def test_all_replicas_are_enough_where_there_are_fewer(self) -> None:
        history = LogHistory().created(min_insync_replicas="2").metadata(1, 1, 0, isr=(1,), replicas=(1,))
        history.produce(1, "a", at=0).metadata(1, 1, 0, isr=(1,), replicas=(1,))
        assert judged_by(self.judge, history) == []

    def test_a_replica_that_may_have_come_and_gone(self) -> None:
        """It runs: it may have been added and removed again between two looks."""
        history = LogHistory().created(min_insync_replicas="2").settled(1, 0).hit("kill", 2).hit("isolate", 3)
        history.metadata(1, 1, 0, isr=(1,), unfenced=(1,)).produce(1, "a", at=0)
        assert held(self.judge, still_alone(history)) == []

    def test_a_replica_that_is_about_to_be_started(self) -> None:
        history = alone()
        history.heal("kill", 2).produce(1, "a", at=0)
        assert held(self.judge, still_alone(history)) == []

    def test_several_nodes_of_one_fault(self) -> None:
        history = LogHistory().created(min_insync_replicas="2").settled(1, 0).hit("kill", 2, 3)
        history.metadata(1, 1, 0, isr=(1,), unfenced=(1,)).produce(1, "a", at=0)
        assert broken(self.judge, still_alone(history)) == ["acknowledged"]

    def test_a_refusal_before_the_append(self) -> None:
        assert held(self.judge, alone().produce(1, "a", error=Error.NOT_ENOUGH_REPLICAS)) == ["refused"]

    @pytest.mark.parametrize("error", [Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND, Error.REQUEST_TIMED_OUT])
    def test_a_refusal_after_the_append(self, error: Error) -> None:
        """Its ISR became too small while it waited, or it had not heard yet; not so once it said itself that it knows."""
        assert held(self.judge, alone().produce(1, "a", error=error)) == ["refused"]
        history = alone().produce(1, "a", error=Error.NOT_ENOUGH_REPLICAS)
        assert broken(self.judge, history.produce(1, "a", error=error)) == ["refused"]

    def test_a_watermark_that_rises_without_enough(self) -> None:
        history = alone().whole(1, A, B, epoch=0, hw=1)
        assert broken(self.judge, still_alone(history.whole(1, A, B, epoch=0, hw=2))) == ["watermark"]

    def test_a_watermark_that_waits(self) -> None:
        history = alone().whole(1, A, B, epoch=0, hw=1).produce(1, "c", at=2, acks=1)
        assert held(self.judge, still_alone(history.whole(1, A, B, C, epoch=0, hw=1))) == ["watermark"]

    @pytest.mark.parametrize(("hw", "value"), [(1, "keeps"), (2, "does not keep")])
    def test_whether_the_high_watermark_waits_is_recorded_for_every_release(self, hw: int, value: str) -> None:
        history = alone().whole(1, A, B, epoch=0, hw=1)
        still_alone(history.whole(1, A, B, epoch=0, hw=hw))
        history.column("3.6.2")
        found = judged_by(in_sync_replicas.high_watermark_waits_for_min_insync_replicas, history)
        assert {(one.requirement, one.result, one.variant) for one in found} == {("KIP101-INV-17-L", "recorded", value)}

    def test_a_watermark_that_rises_while_a_replica_is_back(self) -> None:
        history = alone().whole(1, A, B, epoch=0, hw=1).heal("kill", 2)
        assert held(self.judge, still_alone(history.whole(1, A, B, epoch=0, hw=2))) == []
