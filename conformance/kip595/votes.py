"""Vote requests that a settled quorum refuses (KIP-595, KIP-853, KIP-996)."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from hypothesis.strategies import integers, sampled_from

from conformance.core.checks import Claims, held_if, premise, probe
from conformance.rigs.quorum.candidates import NONSENSE
from conformance.rigs.quorum.fetching import landmarks, log_end
from conformance.rigs.quorum.quorum import FAR, QUORUM, Quorum, Role, Tried, leader_in
from protocol.codes import Error
from protocol.log import LeaderAndEpoch
from protocol.quorum import VoteAnswer
from protocol.since import since
from strategies.inputs import CONTROLLERS, EPOCHS_AHEAD, PLACES, Place, near_or_far, versions_back

OLDER = versions_back(1)
LONGER = near_or_far(FAR, 0)
"""The number of records by which a candidate's log is longer than the leader's."""
ROLES: list[Role] = ["leader", "follower"]
PRE_VOTE_FROM = since("VoteRequest", "PreVote")


def try_vote(
    quorum: Quorum,
    name: str,
    ahead: int = 0,
    *,
    log: Callable[[int], int] = lambda epoch: 0,
    last_offset: int = FAR,
    candidate_id: int | None = None,
    malformed: str = "",
    **more: Any,
) -> Tried[VoteAnswer]:
    """Send a Vote `ahead` epochs after the quorum's; `log` maps the candidate's epoch to the last epoch of its log.
    `malformed` says how the request breaks the protocol's rules."""
    candidate = quorum.peer_of(name) if candidate_id is None else candidate_id

    def ask(settled: LeaderAndEpoch) -> VoteAnswer:
        epoch = settled.leader_epoch + ahead
        with quorum.bench.malformed_requests(malformed):
            return quorum.client(name).vote(
                candidate,
                epoch,
                last_offset=last_offset,
                last_offset_epoch=log(epoch),
                cluster_id=quorum.cluster_id,
                **more,
            )

    return quorum.attempt(name, ask)


def is_refusal(tried: Tried[VoteAnswer], error: Error) -> bool:
    """True if the vote got this partition error, and changed no state."""
    answer = tried.answer
    as_expected = answer.error is error and answer.top_level_error is Error.NONE and not answer.vote_granted
    return as_expected and tried.is_unchanged


@probe("KIP595-VOTE-01", rig=QUORUM, member=CONTROLLERS, back=integers(1, 4), older=OLDER)
def older_candidate_epoch_is_fenced(quorum: Quorum, case: str, member: int, back: int, older: int) -> Claims:
    """A candidate of an older epoch is refused with FENCED_LEADER_EPOCH, however long its log is."""
    pre_vote = case == "pre-vote"
    version = quorum.version("Vote", older, PRE_VOTE_FROM if pre_vote else 0)
    tried = try_vote(quorum, quorum.any(member), -back, pre_vote=pre_vote, version=version)
    named = leader_in(tried.answer) == tried.leader
    yield held_if(is_refusal(tried, Error.FENCED_LEADER_EPOCH) and named, tried.answer)


@probe("KIP595-VOTE-07", rig=QUORUM, cases=list(NONSENSE),
       member=CONTROLLERS, ahead=EPOCHS_AHEAD, by=near_or_far(1000), older=OLDER)  # fmt: skip
def impossible_log_position_is_refused(
    quorum: Quorum, case: str, member: int, ahead: int, by: int, older: int
) -> Claims:
    """A vote for an impossible log position is refused as invalid, and its higher epoch is not adopted."""
    pre_vote = case == "pre-vote-above"
    version = quorum.version("Vote", older, PRE_VOTE_FROM if pre_vote else 0)
    offset = -by if case == "offset-negative" else FAR
    tried = try_vote(
        quorum, quorum.any(member), ahead, log=lambda epoch: NONSENSE[case](epoch, by), last_offset=offset,
        pre_vote=pre_vote, version=version, malformed="an impossible log position",
    )  # fmt: skip
    yield held_if(is_refusal(tried, Error.INVALID_REQUEST), tried.answer)


@probe("KIP595-VOTE-07", "KIP595-VOTE-17", "KIP595-VOTE-18", rig=QUORUM, cases=["pre-vote-equal"],
       role=sampled_from(ROLES), place=PLACES)  # fmt: skip
def pre_vote_for_the_log_of_its_epoch(quorum: Quorum, role: Role, place: Place) -> Claims:
    """A pre-vote's last log epoch may be the candidate's own; a leader and a fetching follower refuse it, and nothing
    changes."""
    offset = place.among(landmarks(quorum))
    tried = try_vote(quorum, quorum.one(role), log=lambda epoch: epoch, last_offset=offset, pre_vote=True)
    yield premise(tried.before.reported.leader_id >= 0, "a known leader")
    yield held_if(tried.answer.error is Error.NONE, tried.answer)
    yield held_if(tried.is_unchanged, tried.answer, row="KIP595-VOTE-17", case="equal-epoch")


@probe("KIP595-VOTE-18", rig=QUORUM, cases=["leader", "follower-fetched"], back=integers(0, 4), longer=LONGER)
def healthy_quorum_refuses_a_pre_vote(quorum: Quorum, case: str, back: int, longer: int) -> Claims:
    """A leader refuses a pre-vote in its own epoch, and so does a follower that has fetched from it."""
    name = quorum.one("leader" if case == "leader" else "follower")
    if case == "follower-fetched":
        quorum.await_fetches(name)
    end = log_end(quorum) + longer
    tried = try_vote(quorum, name, log=lambda epoch: epoch - back, last_offset=end, pre_vote=True)
    yield held_if(is_refusal(tried, Error.NONE), tried.answer)


@probe(
    "KIP595-VOTE-08",
    rig=QUORUM,
    member=CONTROLLERS,
    ahead=EPOCHS_AHEAD,
    id=integers(-(1 << 31), -1),
    older=versions_back(2),
)
def negative_candidate_is_refused(quorum: Quorum, member: int, ahead: int, id: int, older: int) -> Claims:
    """A negative candidate id is invalid, and its higher epoch is not adopted."""
    version = quorum.version("Vote", older)
    tried = try_vote(quorum, quorum.any(member), ahead, candidate_id=id, version=version, malformed="a negative id")
    yield held_if(is_refusal(tried, Error.INVALID_REQUEST), tried.answer, case="vote")


@probe("KIP595-VOTE-10", rig=QUORUM, cases=["voter-id"], member=CONTROLLERS, id=integers(200, 1 << 30), older=OLDER)
def vote_for_another_voter_is_refused(quorum: Quorum, member: int, id: int, older: int) -> Claims:
    """A vote for another voter id is answered INVALID_VOTER_KEY."""
    tried = try_vote(quorum, quorum.any(member), voter_id=id, version=quorum.version("Vote", older, 1))
    yield held_if(is_refusal(tried, Error.INVALID_VOTER_KEY), tried.answer)


@probe("KIP595-VOTE-10", rig=QUORUM, cases=["directory-id"], member=CONTROLLERS, directory=integers(2, 1 << 120),
       older=OLDER)  # fmt: skip
def vote_for_another_directory_is_refused(quorum: Quorum, member: int, directory: int, older: int) -> Claims:
    """A vote for another directory of this voter is answered INVALID_VOTER_KEY."""
    name = quorum.any(member)
    version = quorum.version("Vote", older, 1)
    tried = try_vote(
        quorum, name, voter_id=quorum.bench.id_of(name), voter_directory_id=UUID(int=directory), version=version
    )
    yield held_if(is_refusal(tried, Error.INVALID_VOTER_KEY), tried.answer)


@probe("KIP595-VOTE-11", rig=QUORUM, cases=ROLES, back=integers(1, 4), longer=LONGER, older=versions_back(2))
def leader_and_follower_refuse(quorum: Quorum, case: Role, back: int, longer: int, older: int) -> Claims:
    """Neither a leader nor its follower grants a vote in its own epoch."""
    version, end = quorum.version("Vote", older), log_end(quorum) + longer
    tried = try_vote(quorum, quorum.one(case), log=lambda epoch: epoch - back, last_offset=end, version=version)
    yield held_if(is_refusal(tried, Error.NONE), tried.answer)
