"""Replicas that were eligible to lead (ELR, KIP-966) and no longer are: what the controller remembers of them."""

from hypothesis.strategies import integers

from conformance.core.checks import Claims, held_if, premise, probe
from conformance.core.waiting import WITHIN
from conformance.rigs.log.eligible_replicas import EligibleReplicas, eligible_replicas
from conformance.rigs.log.quiescence import at_rest
from conformance.rigs.log.scenarios import log_scenario
from history.due import START_TIMEOUT
from protocol.words import say


@probe("GEN-10", rig=eligible_replicas(3), cases=["start"], examples=2, smoke=False, which=integers(1, 2))
def min_insync_replicas_change_and_the_topic_goes(replicas: EligibleReplicas, which: int) -> Claims:
    """A broker was eligible to lead a topic whose min.insync.replicas changed; the topic is deleted, the broker killed again."""
    strict, asked, hosts = replicas.strict, replicas.asked, replicas.strict.replicas
    victim = hosts[which]
    rest = [id for id in hosts if id != victim]
    strict.kill(victim)
    strict.wait_until(lambda: strict.state_with_isr(asked, *rest), f"an ISR without {victim}")
    eligible = replicas.eligible()
    replicas.alter_min_insync_replicas("1")
    strict.start(victim)
    strict.await_in_sync(lambda: strict.state_with_isr(asked, *hosts), f"{victim} in the ISR again")
    replicas.delete_topic()
    strict.kill(victim)
    replicas.await_fenced(victim)
    strict.start(victim)
    came = strict.bench.wait.becomes_true(
        lambda: replicas.shown.is_listed(asked, victim), f"{victim} unfenced", START_TIMEOUT
    )
    detail = (
        f"{victim} was among the eligible replicas {say(eligible)} of a deleted topic, and is started after a SIGKILL"
    )
    yield held_if(came, case="start", detail=detail)


@log_scenario("GEN-SC-04", "GEN-06", "GEN-08", rig=eligible_replicas(2), cases=["partition"], records=integers(1, 3))
def removed_replica_is_all_that_is_left(replicas: EligibleReplicas, records: int) -> Claims:
    """A broker that was eligible to lead is removed from the replicas; then the only replica dies: the broker hosts nothing."""
    strict, asked = replicas.strict, replicas.asked
    removed, kept = strict.replicas
    strict.write(*[b"on both"] * records)
    strict.bench.processes.stop(strict.bench.name_of(removed))
    strict.wait_until(lambda: strict.state_with_isr(asked, kept), f"an ISR without {removed}")
    strict.assign(kept)
    described = strict.wait_until(lambda: strict.state_known_to(asked), "a description")
    yield premise(described.replicas == (kept,), f"{removed} is no replica: {described}")
    eligible = replicas.eligible()
    detail = f"its replicas are {say(described.replicas)}, and eligible are {say(eligible)}"
    yield held_if(set(eligible) <= set(described.replicas), case="partition", detail=detail)
    strict.start(removed)
    replicas.await_unfenced(removed)
    strict.kill(kept)
    replicas.await_fenced(kept)
    after = strict.wait_until(lambda: strict.state_known_to(asked), "a description")
    detail = f"{removed} hosts nothing and was described as eligible in {say(eligible)}: {after}"
    held = after.leader in (-1, kept)
    yield held_if(held, case="partition", detail=detail, label="" if held else "elected-without-a-replica")
    strict.start(kept)
    replicas.alone.wait_until(
        lambda: replicas.alone.state_with_leader(asked), "a leader that was always alone", "leader"
    )
    led = strict.bench.wait.becomes_true(
        lambda: strict.state_with_leader(asked) is not None, f"{kept} as leader", WITHIN
    )
    known = say(strict.state_known_to(asked))
    detail = f"{kept} leads {replicas.alone}, and not {strict}, of which {removed} was eligible: {known}"
    yield held_if(led, row="GEN-08", case="clean", detail=detail)
    if led.outcome is True:
        at_rest(strict, replicas.shown)
    else:  # without a leader it would keep the cluster from rest
        replicas.delete_topic()
        at_rest(replicas.alone, replicas.shown)
