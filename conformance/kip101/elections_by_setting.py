"""Elections after the loss of the whole ISR, by unclean.leader.election.enable of topics and cluster (GEN-08,
GEN-09)."""

from collections.abc import Generator

from hypothesis.strategies import integers

from conformance.core.checks import Claim, Claims, held_if
from conformance.core.waiting import WITHIN
from conformance.rigs.log.elections_by_setting import ELECTIONS, ElectionSettings
from conformance.rigs.log.scenarios import log_scenario
from conformance.rigs.log.unclean_elections import SESSION
from fixtures.faults.lab import QUICK
from protocol.words import say

INTERVAL = int(QUICK["unclean.leader.election.interval.ms"]) / 1000
"""Seconds between the controller's checks for partitions that now permit an unclean election."""


@log_scenario("GEN-SC-01", "GEN-08", "GEN-09", rig=ELECTIONS, examples=5, records=integers(1, 3))
def isr_is_lost_while_the_other_replica_is_alive(settings: ElectionSettings, records: int) -> Claims:
    """The other replica leads where the configuration permits it and nowhere else, whatever happened to the last in-sync one."""
    settings.lose_isr(records)
    permitted = yield from leads_in_time(settings, "permitted", "topic")
    settings.watch(2 * SESSION)
    yield from check_leaderless(settings, "switched", "silent")
    yield from check_leaderless(settings, "silent", "silent")
    if permitted:  # else this release ignores the setting
        settings.permit_unclean()
        yield from leads_in_time(settings, "switched", "switched-on")
        with settings.unclean_by_default():
            yield from leads_in_time(settings, "silent", "cluster-default")
    yield from check_leaderless(settings, "forbidden", "explicitly-off")
    yield from check_leaderless(settings, "wiped", "disk-lost")
    settings.recover_partitions()


def leads_in_time(settings: ElectionSettings, kind: str, case: str) -> Generator[Claim, None, bool]:
    """Check GEN-08: the lagging replica, the only live one, leads in time."""
    what = f"{settings.second} leading what is {kind}"
    met = settings.bench.wait.becomes_true(
        lambda: settings.are_led_by(settings.second, [kind]), what, WITHIN + INTERVAL
    )
    second = settings.bench.id_of(settings.second)
    for one in settings.partitions[kind]:
        seen = {*settings.leaders[one.name]}
        shown = settings.note_leader(one)
        detail = f"{second} is alive and may lead {one.name}, whose leaders were {say(seen)}"
        yield held_if(second in seen or met.require_also(False), shown, row="GEN-08", case=case, detail=detail)
    return met.outcome is True


def check_leaderless(settings: ElectionSettings, kind: str, case: str) -> Claims:
    """Check GEN-09: no replica has led since the lagging one came back."""
    for one in settings.partitions[kind]:
        shown, seen = settings.note_leader(one), settings.leaders[one.name]
        detail = f"without permission, and with {settings.second} alive: {one.name} had the leaders {say(seen)}"
        yield held_if(seen == {-1}, shown, row="GEN-09", case=case, detail=detail)
