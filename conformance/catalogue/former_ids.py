"""Former ids of renamed checks: histories, shards and schedules keep the id that a check had when they were recorded."""

from __future__ import annotations

MODULES = {
    "kip595.announcements": "kip595.begin_and_end_epoch",
    "kip595.describing": "kip595.describe_quorum",
    "kip595.fetch_waits": "kip595.fetch_purgatory",
    "kip595.fetching": "kip595.fetch",
    "kip595.frozen_leaders": "kip595.frozen_begin_and_end",
    "kip595.frozen_leading": "kip595.frozen_leader",
    "kip595.replicas": "kip595.replica_ids",
    "kip595.surface": "kip595.apis_and_settings",
}
"""Former module -> module. Entries are only ever added."""

NAMES = {
    "kip595.apis_and_settings": {
        "quorum_state_has_its_form": "quorum_state_has_the_documented_form",
        "raft_is_spoken_to_controllers_only": "raft_apis_are_on_controller_listeners_only",
        "raft_knows_the_formatted_id": "raft_accepts_the_formatted_cluster_id",
        "ranges_are_those_of_the_release": "api_versions_match_the_release",
    },
    "kip595.describe_quorum": {
        "broker_passes_the_question_on": "broker_forwards_describe_quorum",
        "others_do_not_describe_it": "non_leader_does_not_describe_the_quorum",
    },
    "kip595.failover": {
        "observer_asks_others_when_its_leader_is_silent": "observer_fetches_from_others_when_its_leader_is_frozen",
    },
    "kip595.fetch": {
        "divergence_is_told": "diverging_epoch_is_answered",
        "nonsense_arguments_are_refused": "invalid_arguments_are_refused",
    },
    "kip595.fetch_purgatory": {
        "commit_leaves_a_fetch_waiting_that_names_no_high_watermark": "fetch_without_high_watermark_outwaits_a_commit",
        "divergence_is_told_at_once": "diverging_epoch_is_answered_at_once",
        "snapshot_is_named_at_once": "snapshot_id_is_answered_at_once",
    },
    "kip595.frozen_begin_and_end": {
        "first_successor_stands_at_once": "first_successor_is_a_candidate_at_once",
        "later_successor_waits_its_share": "later_successor_waits_by_its_position",
        "standing_and_leading_on_disk": "candidate_and_leader_on_disk",
    },
    "kip595.frozen_followers": {
        "candidate_tells_the_truth": "candidate_names_its_own_log_end",
        "follower_tells_who_and_where_it_is": "follower_identifies_itself_in_fetches",
        "voter_asks_others_when_its_leader_is_silent": "voter_asks_others_when_its_leader_does_not_answer",
    },
    "kip595.frozen_leader": {
        "high_watermark_is_what_one_voter_has": "high_watermark_is_the_voters_fetch_offset",
        "leader_does_not_heed_its_own_end": "leader_ignores_its_own_end_quorum_epoch",
    },
    "kip595.frozen_votes": {
        "one_vote_an_epoch": "one_vote_per_epoch",
    },
    "kip595.refusals": {
        "absent_cluster_id_is_not_looked_at": "absent_cluster_id_is_not_checked",
        "wrong_place_is_refused": "wrong_partition_is_refused",
    },
    "kip595.snapshots": {
        "piece_carries_the_leaders_endpoint": "snapshot_bytes_carry_the_leaders_endpoint",
    },
    "kip595.votes": {
        "nonsense_log_position_is_refused": "impossible_log_position_is_refused",
        "vote_for_another_disk_is_refused": "vote_for_another_directory_is_refused",
    },
}
"""By module, as it is called today: former function -> function. Entries are only ever added."""


def current_id(check: str) -> str:
    """The id of a check today, by the id that was recorded for it."""
    former, _, name = check.rpartition(".")
    module = MODULES.get(former, former)
    return f"{module}.{NAMES.get(module, {}).get(name, name)}"
