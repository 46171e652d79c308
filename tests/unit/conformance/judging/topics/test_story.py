"""The story of a resource: the outcomes of its changes, and which of them a broker's answer may show."""

from __future__ import annotations

import pytest

from conformance.judging.excuses import ANSWERED_OPEN, NOT_ANSWERED, SENT_TWICE, Evidence
from conformance.judging.facts.topics import Resource
from conformance.judging.reading import Reading
from conformance.judging.topics.story import ResourceStory
from protocol.codes import Error
from tests.support.administration import CONTROLLER, THE_TOPIC, AdministrationHistory

KEY = "retention.ms"
ONE, OTHER = "id-1", "id-2"


def story(history: AdministrationHistory, resource: Resource = THE_TOPIC) -> ResourceStory:
    reading = Reading(history.history.example, [ResourceStory])
    reading.feed(history.events)
    [found] = [one for one in reading.stories(ResourceStory) if one.name == str(resource)]
    assert isinstance(found, ResourceStory)
    return found


def last_outcome(history: AdministrationHistory) -> tuple[str, Evidence | None]:
    change = story(history).changes[-1]
    return change.outcome, change.left_open


class TestOutcomes:
    @pytest.mark.parametrize(
        ("error", "expected"),
        [
            (0, ("done", None)),
            (int(Error.INVALID_CONFIG), ("refused", None)),
            (int(Error.NOT_CONTROLLER), ("open", ANSWERED_OPEN)),
            (None, ("open", NOT_ANSWERED)),
        ],
    )
    def test_an_outcome_is_open_if_the_request_may_have_taken_effect(
        self, error: int | None, expected: tuple[str, Evidence | None]
    ) -> None:
        assert last_outcome(AdministrationHistory().create(1, error=error)) == expected

    @pytest.mark.parametrize(
        ("hit", "left_open"), [("", False), (CONTROLLER, True), ("broker-1", True), ("broker-2", False)]
    )
    def test_a_refusal_of_a_second_copy_is_open_while_the_first_may_be_unheard(self, hit: str, left_open: bool) -> None:
        history = AdministrationHistory()
        if hit:
            history.fault("inject", hit)
        expected = ("open", SENT_TWICE) if left_open else ("refused", None)
        assert last_outcome(history.create(1, error=Error.TOPIC_ALREADY_EXISTS)) == expected

    def test_a_fault_that_was_healed_before_left_nothing_unheard(self) -> None:
        history = AdministrationHistory().fault("inject", CONTROLLER).fault("heal", CONTROLLER)
        assert last_outcome(history.create(1, error=Error.TOPIC_ALREADY_EXISTS)) == ("refused", None)

    def test_a_refusal_by_what_was_known_to_be_so_is_definite(self) -> None:
        there = AdministrationHistory().create(2).fault("inject", CONTROLLER)
        assert last_outcome(there.create(1, error=Error.TOPIC_ALREADY_EXISTS)) == ("refused", None)
        assert last_outcome(there.grow(2, error=Error.INVALID_PARTITIONS)) == ("refused", None)
        assert last_outcome(there.grow(3, error=Error.INVALID_PARTITIONS)) == ("open", SENT_TWICE)
        assert last_outcome(there.delete(error=Error.UNKNOWN_TOPIC_OR_PARTITION)) == ("open", SENT_TWICE)

    def test_after_a_deletion_there_is_nothing_to_delete(self) -> None:
        gone = AdministrationHistory().create(2).delete().fault("inject", CONTROLLER)
        assert last_outcome(gone.delete(error=Error.UNKNOWN_TOPIC_OR_PARTITION)) == ("refused", None)
        assert last_outcome(gone.create(1, error=Error.TOPIC_ALREADY_EXISTS)) == ("open", SENT_TWICE)

    def test_after_an_open_change_nothing_is_known(self) -> None:
        open_ = AdministrationHistory().create(2).delete(error=None).fault("inject", CONTROLLER)
        assert last_outcome(open_.create(1, error=Error.TOPIC_ALREADY_EXISTS)) == ("open", SENT_TWICE)
        configured = AdministrationHistory().create(2).alter(THE_TOPIC, {KEY: "1"}, error=None)
        configured.fault("inject", CONTROLLER)
        assert last_outcome(configured.create(1, error=Error.TOPIC_ALREADY_EXISTS)) == ("refused", None)

    def test_other_refusals_are_definite(self) -> None:
        history = AdministrationHistory().fault("inject", CONTROLLER)
        assert last_outcome(history.create(1, error=Error.INVALID_CONFIG)) == ("refused", None)

    def test_one_that_is_open_by_a_second_copy_still_counts_as_refused(self) -> None:
        history = AdministrationHistory().create(1, error=None).create(1, error=Error.INVALID_CONFIG)
        history.fault("inject", CONTROLLER).create(3, error=Error.TOPIC_ALREADY_EXISTS)
        assert [one.outcome for one in story(history).refusals()] == ["refused", "open"]


def test_changes_before_an_event_are_those_that_were_requested_and_not_refused() -> None:
    history = AdministrationHistory().create(1).grow(2, error=None).grow(3, error=Error.INVALID_PARTITIONS)
    end = len(history.events)
    found = story(history.grow(4))
    assert [one.partitions for one in found.possible_changes(end)] == [1, 2]
    assert [one.partitions for one in found.possible_changes(end + 1)] == [1, 2, 4]


class TestConfiguration:
    def values(self, history: AdministrationHistory) -> dict[str, str | None]:
        acknowledged = story(history).acknowledged_changes(len(history.events))
        return {key: change.configs.get(key) for key, change in acknowledged.items()}

    @pytest.mark.parametrize(
        ("history", "expected"),
        [
            (AdministrationHistory().create(1), {}),
            (AdministrationHistory().create(1, {KEY: "1"}), {KEY: "1"}),
            (AdministrationHistory().create(1, {KEY: "1"}).alter(THE_TOPIC, {KEY: "2"}), {KEY: "2"}),
            (AdministrationHistory().create(1, {KEY: "1"}).alter(THE_TOPIC, {"a": None}), {KEY: "1", "a": None}),
            (AdministrationHistory().create(1).alter(THE_TOPIC, {KEY: "2"}, error=None), {}),
            (AdministrationHistory().create(1).alter(THE_TOPIC, {KEY: "2"}, error=Error.INVALID_CONFIG), {}),
            (AdministrationHistory().create(1, {KEY: "1"}).delete(), {}),
            (AdministrationHistory().create(1, {KEY: "1"}).delete().create(1, {"a": "2"}), {KEY: None, "a": "2"}),
            (AdministrationHistory().create(1, {KEY: "1"}).grow(2), {KEY: "1"}),
        ],
    )
    def test_the_last_acknowledged_change_of_each_key_counts(
        self, history: AdministrationHistory, expected: dict[str, str | None]
    ) -> None:
        assert self.values(history) == expected

    def test_open_changes_of_a_key_and_of_the_whole_topic_rival_it(self) -> None:
        history = AdministrationHistory().create(1, {KEY: "1"}).alter(THE_TOPIC, {KEY: "2"}, error=None)
        history.alter(THE_TOPIC, {"other": "3"}, error=None).alter(THE_TOPIC, {KEY: "4"}).delete(error=None)
        rivals = story(history).rivals(len(history.events), KEY)
        assert [(one.kind, dict(one.configs)) for one in rivals] == [("configure", {KEY: "2"}), ("delete", {})]


class TestTopicsOfOneName:
    def shown(self, history: AdministrationHistory) -> list[tuple[str, int]]:
        """The changes that the last Metadata answer may show: their kinds and partitions."""
        found = story(history)
        return [(one.kind, one.partitions) for one in found.visible_changes(found.seen[-1])]

    def twice(self) -> AdministrationHistory:
        return AdministrationHistory().create(1, id=ONE).delete().create(2, id=OTHER)

    def test_a_broker_may_show_any_of_them_before_it_told_an_id(self) -> None:
        assert self.shown(self.twice().seen(1)) == [("create", 1), ("delete", -1), ("create", 2)]
        without_ids = AdministrationHistory().create(1).delete().create(2)
        assert self.shown(without_ids.seen(1)) == [("create", 1), ("delete", -1), ("create", 2)]

    def test_once_it_told_the_latest_id_it_shows_nothing_older(self) -> None:
        assert self.shown(self.twice().seen(2, id=OTHER)) == [("create", 2)]
        assert self.shown(self.twice().seen(2, id=OTHER).seen(2)) == [("create", 2)]

    def test_one_that_told_the_older_id_does_not_show_the_new_topic(self) -> None:
        assert self.shown(self.twice().seen(1, id=ONE)) == [("create", 1), ("delete", -1)]

    def test_what_another_broker_or_process_told_does_not_bind_it(self) -> None:
        every = [("create", 1), ("delete", -1), ("create", 2)]
        assert self.shown(self.twice().seen(2, id=OTHER, on="broker-2").seen(1)) == every
        restarted = self.twice().seen(2, id=OTHER).fault("inject", "broker-1").fault("heal", "broker-1")
        assert self.shown(restarted.seen(1)) == every

    def test_a_change_of_open_outcome_may_always_show(self) -> None:
        history = AdministrationHistory().create(1, id=ONE).grow(9, error=None).delete().create(2, id=OTHER)
        assert self.shown(history.seen(2, id=OTHER)) == [("grow", 9), ("create", 2)]

    @pytest.mark.parametrize(
        ("history", "accounted"),
        [
            (AdministrationHistory().create(2, id=ONE).create(9, error=40).seen(2, id=ONE), True),
            (AdministrationHistory().create(9, error=40).seen(9, id=OTHER), False),
            (AdministrationHistory().create(9, error=40).seen(9), True),
            (AdministrationHistory().seen(9, id=OTHER).create(9, error=40).seen(9, id=OTHER), True),
            (AdministrationHistory().create(2).delete().create(9, error=40).seen(9, id=OTHER), True),
            (AdministrationHistory().create(9, error=40).create(2, id=ONE).seen(2, id=ONE), True),
        ],
        ids=["created before", "from nowhere", "no id told", "seen before", "created without an id", "created later"],
    )
    def test_a_topic_is_accounted_for_by_a_creation_or_an_earlier_sight(
        self, history: AdministrationHistory, accounted: bool
    ) -> None:
        found = story(history)
        [refused] = found.refusals()
        assert found.is_accounted_for(found.seen[-1], refused) is accounted


@pytest.mark.parametrize(
    ("history", "at_rest"),
    [
        (AdministrationHistory().create(1), False),
        (AdministrationHistory().create(1).at_rest(), True),
        (AdministrationHistory().create(1).at_rest(met=False), True),
    ],
)
def test_it_is_at_rest_once_brokers_agreed_or_their_time_was_up(history: AdministrationHistory, at_rest: bool) -> None:
    found = story(history)
    assert found.is_at_rest(len(history.events)) is at_rest
    assert not found.is_at_rest(1)
