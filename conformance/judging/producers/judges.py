"""The judges of the producer machine."""

from __future__ import annotations

from conformance.judging.judge import Judge
from conformance.judging.producers import answers, fencing, identities, outcomes, records, refusals

PRODUCER_JUDGES: tuple[Judge, ...] = (
    records.no_second_copy,
    records.acknowledged_means_there,
    records.in_order,
    records.a_retry_ends_in_one_copy,
    fencing.a_fenced_epoch_has_no_effect,
    outcomes.all_or_nothing,
    outcomes.no_transaction_dangles,
    identities.producer_ids_are_unique,
    identities.epochs_rise,
    identities.replicas_agree_on_producers,
    refusals.a_current_producer_is_not_refused,
    answers.each_answer_is_one_that_the_state_allows,
)
