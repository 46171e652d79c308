"""Vote at a voter without a leader: the candidates that it votes for, and its quorum-state at each answer (KIP-595)."""

from uuid import UUID

from hypothesis.strategies import integers, sampled_from

from conformance.core.checks import Claims, held_if, kept_if, premise, probe
from conformance.judging.facts.quorum import Stored
from conformance.rigs.quorum.candidates import BEHIND, is_vote, other_peer
from conformance.rigs.quorum.durable import durable_if
from conformance.rigs.quorum.frozen import FROZEN, OUTSIDER, PEERS, Frozen, LogEnd, candidate_epoch, epoch_of
from conformance.rigs.quorum.quorum import VoterCondition, leader_in, stored_or_not
from protocol.codes import Error
from protocol.log import LeaderAndEpoch
from protocol.words import say, say_change
from strategies.inputs import NEAR_EPOCHS_AHEAD, near_or_far, versions_back

CANDIDATES = sampled_from(PEERS)
LONGER = integers(0, 3)
GRANTED = ("KIP595-VOTE-02", "granted")
"""The row and case that promise a vote in a newer epoch for a candidate with an up-to-date log."""


@probe("KIP595-VOTE-03", "KIP595-VOTE-02", "KIP595-QS-02", "KIP595-QS-03", "KIP595-API-07", rig=FROZEN, candidate=CANDIDATES,
       ahead=NEAR_EPOCHS_AHEAD, longer=LONGER, newer=LONGER, cases=["version-0", "version-1"])  # fmt: skip
def first_candidate_is_granted(
    frozen: Frozen, case: str, candidate: int, ahead: int, longer: int, newer: int
) -> Claims:
    """The first candidate of a new epoch with an up-to-date log gets the vote, which is written to disk before the
    answer."""
    end = frozen.log_end()
    epoch = frozen.next_epoch(ahead + newer)
    log = LogEnd(end.epoch + newer, end.offset + longer)
    key = {} if case == "version-0" else {"voter_id": frozen.id}
    version = 0 if case == "version-0" else frozen.version("Vote")
    answer = frozen.vote(candidate, epoch, log, version=version, **key)
    arrived, file = frozen.bench.now().unix_ms, frozen.quorum_state_file()
    stored = stored_or_not(file)
    yield held_if(is_vote(answer, granted=True), answer)
    if version > 0 and answer.leader_id == -1:
        yield held_if(answer.node_endpoints == (), answer, row="KIP595-API-07", case="vote")
    on_disk = stored == Stored(-1, epoch, candidate)
    named = leader_in(answer) == LeaderAndEpoch(-1, epoch)
    yield held_if(on_disk and named, answer, row="KIP595-VOTE-02", case="granted")
    if answer.vote_granted:
        detail = f"the answer: it has {say(stored)}"
        yield from durable_if(on_disk, file, arrived, answer, row="KIP595-QS-02", case="vote", detail=detail)
        tidy = frozen.bench.read_file(frozen.name, "__cluster_metadata-0/quorum-state.tmp").content is None
        yield held_if(
            on_disk and tidy, answer, row="KIP595-QS-03", case="voted", detail=f"its quorum-state has {say(stored)}"
        )


@probe("KIP595-VOTE-02", "KIP595-QS-02", rig=FROZEN, cases=["refused"], candidate=CANDIDATES, ahead=NEAR_EPOCHS_AHEAD,
       role=sampled_from(["follower", "candidate", "leader"]))  # fmt: skip
def newer_epoch_of_a_stale_candidate_is_adopted(frozen: Frozen, candidate: int, ahead: int, role: str) -> Claims:
    """A candidate with too short a log is refused, yet its epoch is written to disk before the answer, without leader
    or vote."""
    epoch = bring_into(frozen, role) + ahead
    answer = frozen.vote(candidate, epoch, BEHIND)
    arrived, file = frozen.bench.now().unix_ms, frozen.quorum_state_file()
    stored = stored_or_not(file)
    adopted = stored == Stored(-1, epoch, -1)
    right = is_vote(answer, granted=False) and leader_in(answer) == LeaderAndEpoch(-1, epoch)
    yield held_if(right and adopted, answer, detail=f"its quorum-state has {say(stored)}")
    if not answer.vote_granted:  # a vote that was granted breaks KIP595-VOTE-02
        detail = f"the answer: it has {say(stored)}"
        yield from durable_if(adopted, file, arrived, answer, row="KIP595-QS-02", case="newer-epoch", detail=detail)


def epoch_before_vote(frozen: Frozen) -> int:
    """Let the voter follow a peer; return its epoch."""
    return epoch_of(frozen.follow())


@probe("KIP595-VOTE-02", rig=FROZEN, cases=["leader"], candidate=CANDIDATES, ahead=NEAR_EPOCHS_AHEAD, beyond=LONGER)
def leader_leaves_for_a_newer_epoch(frozen: Frozen, candidate: int, ahead: int, beyond: int) -> Claims:
    """A leader that gets a Vote request of a newer epoch resigns."""
    end = frozen.log_end()
    led = frozen.lead()
    answer = frozen.vote(candidate, led + ahead, LogEnd(led if ahead > 1 else 0, end.offset + beyond))
    found, described = frozen.condition(), frozen.client.describe_quorum()
    left = found.stored.leader == found.reported == leader_in(answer) == LeaderAndEpoch(-1, led + ahead)
    refuses = described.error is Error.NOT_LEADER_OR_FOLLOWER
    yield held_if(
        left and refuses and answer.error is Error.NONE,
        answer,
        described,
        detail=f"its quorum-state has {say(found.stored)}",
    )


@probe("KIP595-VOTE-04", rig=FROZEN, candidate=CANDIDATES, ahead=NEAR_EPOCHS_AHEAD, longer=near_or_far(1000))
def one_vote_per_epoch(frozen: Frozen, case: str, candidate: int, ahead: int, longer: int) -> Claims:
    """A voter may repeat its vote for the same candidate in an epoch, and votes for no other, however long the other's
    log is."""
    end = frozen.log_end()
    epoch = frozen.next_epoch(ahead)
    first = frozen.vote(candidate, epoch, end)
    yield premise(first.vote_granted, "a vote that was granted", promised=GRANTED)
    again = case == "same-candidate"
    log = LogEnd(end.epoch, end.offset + (longer if case == "longer-log" else 0))
    answer = frozen.vote(candidate if again else other_peer(candidate), epoch, log)
    kept = frozen.stores(Stored(-1, epoch, candidate))
    yield held_if(kept.require_also(is_vote(answer, granted=again)), first, answer)


@probe("KIP595-VOTE-05", rig=FROZEN, candidate=CANDIDATES, ahead=NEAR_EPOCHS_AHEAD, by=integers(1, 4), older=versions_back(1),
       beyond=near_or_far(1000, 0))  # fmt: skip
def logs_are_compared_by_epoch_then_offset(
    frozen: Frozen, case: str, candidate: int, ahead: int, by: int, older: int, beyond: int
) -> Claims:
    """A candidate gets the vote if its log ends in a later epoch, or in the same epoch at the same offset or a later one."""
    end = frozen.log_end()
    yield premise(end.epoch >= 1 and end.offset > by, "a log to compare with")
    log, granted = {
        "older-epoch": (LogEnd(end.epoch - 1, end.offset + beyond), False),
        "newer-epoch": (LogEnd(end.epoch + by, beyond % end.offset), True),
        "shorter": (LogEnd(end.epoch, end.offset - by), False),
        "equal": (end, True),
        "longer": (LogEnd(end.epoch, end.offset + beyond + 1), True),
    }[case]
    epoch = frozen.next_epoch(ahead + by)
    answer = frozen.vote(candidate, epoch, log, version=frozen.version("Vote", older))
    yield held_if(
        is_vote(answer, granted=granted),
        answer,
        detail=f"the candidate's log has {say(log)}, its own {say(end)}",
    )


@probe(
    "KIP595-VOTE-06",
    rig=FROZEN,
    cases=["second-candidate"],
    candidate=CANDIDATES,
    ahead=NEAR_EPOCHS_AHEAD,
    short=integers(1, 5),
)
def refusal_leaves_the_vote_free(frozen: Frozen, candidate: int, ahead: int, short: int) -> Claims:
    """Refusing a candidate for its short log does not use up the vote of the epoch."""
    end = frozen.log_end()
    epoch = frozen.next_epoch(ahead)
    refused = frozen.vote(candidate, epoch, LogEnd(end.epoch, end.offset - short))
    stored = frozen.quorum_state()
    granted = frozen.vote(other_peer(candidate), epoch, end)
    free = is_vote(refused, granted=False) and stored == Stored(-1, epoch, -1)
    yield held_if(free and is_vote(granted, granted=True), refused, granted)


@probe("KIP595-VOTE-09", "KIP595-VOTE-09-L", rig=FROZEN, cases=["outsider"], ahead=NEAR_EPOCHS_AHEAD, longer=LONGER,
       candidate=integers(OUTSIDER, OUTSIDER + 50))  # fmt: skip
def candidate_outside_the_voters(frozen: Frozen, expected: str, ahead: int, longer: int, candidate: int) -> Claims:
    """Up to 3.7, a candidate that is not a voter is refused without an epoch bump. From 3.8 on it is treated like any
    other: it is refused while its log is behind, and gets the vote in the same epoch once it is not."""
    end = frozen.log_end()
    before = frozen.quorum_state()
    epoch = before.leader_epoch + ahead
    behind = frozen.vote(candidate, epoch, BEHIND)
    refused = frozen.quorum_state()
    answer = frozen.vote(candidate, epoch, LogEnd(end.epoch, end.offset + longer))
    after = frozen.quorum_state()
    answers = (behind, answer)
    unmoved = all(one.error is Error.INCONSISTENT_VOTER_SET and not one.vote_granted for one in answers)
    fair = is_vote(behind, granted=False) and refused == Stored(-1, epoch, -1) and is_vote(answer, granted=True)
    voted = frozen.stores(Stored(-1, epoch, candidate)) if fair else False
    held = unmoved and before == refused == after if expected == "INCONSISTENT_VOTER_SET" else voted
    yield held_if(held, *answers, detail=f"its quorum-state had {say(refused)}, then {say(after)}")
    yield kept_if("KIP595-VOTE-09-L", voted, *answers)


@probe("KIP595-VOTE-10", rig=FROZEN, cases=["newer-epoch"], candidate=CANDIDATES, ahead=NEAR_EPOCHS_AHEAD,
       voter=integers(200, 1 << 30), directory=integers(2, 1 << 100))  # fmt: skip
def misaddressed_vote_is_refused(frozen: Frozen, candidate: int, ahead: int, voter: int, directory: int) -> Claims:
    """A vote for another voter id or directory is refused, though its epoch is adopted."""
    end = frozen.log_end()
    epoch = frozen.next_epoch(ahead)
    wrong_id = frozen.vote(candidate, epoch, end, voter_id=voter)
    wrong_disk = frozen.vote(candidate, epoch, end, voter_id=frozen.id, voter_directory_id=UUID(int=directory))
    stored = frozen.quorum_state()
    refused = all(
        answer.error is Error.INVALID_VOTER_KEY and not answer.vote_granted for answer in (wrong_id, wrong_disk)
    )
    yield held_if(refused and stored == Stored(-1, epoch, -1), wrong_id, wrong_disk)


@probe("KIP595-VOTE-11", rig=FROZEN, cases=["leader", "follower", "candidate"], candidate=CANDIDATES,
       beyond=near_or_far(1000, 0))  # fmt: skip
def committed_roles_keep_their_vote(frozen: Frozen, case: str, candidate: int, beyond: int) -> Claims:
    """In its own epoch, neither a leader nor a follower nor a candidate votes for another, and nothing changes."""
    end = frozen.log_end()
    epoch = bring_into(frozen, case)
    before = frozen.condition()
    known = before.reported
    yield premise(known.leader_epoch == epoch, f"{case} in epoch {epoch}")
    yield premise(
        is_stored_as(frozen, case, before), f"a {case} on disk: {say(before.stored)}", promised=("KIP595-QS-03", case)
    )
    answer = frozen.vote(candidate, epoch, LogEnd(epoch - 1, end.offset + beyond))
    yield held_if(is_vote(answer, granted=False) and frozen.condition() == before, answer)


def is_stored_as(frozen: Frozen, role: str, found: VoterCondition) -> bool:
    """True if the quorum-state is that of a voter in this role that reports this leader and epoch."""
    known, stored = found.reported, found.stored
    epoch, own = known.leader_epoch, frozen.id
    if role == "leader":
        return stored == Stored(own, epoch, -1)
    if role == "candidate":
        return stored == Stored(-1, epoch, own)
    if role == "prospective":
        return stored.leader_epoch == epoch and stored.voted_id != own
    led = known.leader_id in PEERS if role.startswith("follower") else known.leader_id == -1
    return led and stored.leader == known and stored.voted_id != own


def bring_into(frozen: Frozen, role: str) -> int:
    """Bring the voter into a role; return its epoch."""
    if role == "leader":
        return frozen.lead()
    return candidate_epoch(frozen.candidate()) if role == "candidate" else epoch_before_vote(frozen)


@probe("KIP595-VOTE-17", rig=FROZEN, candidate=CANDIDATES, ahead=NEAR_EPOCHS_AHEAD, longer=LONGER)
def pre_vote_leaves_no_trace_in_its_epoch(frozen: Frozen, case: str, candidate: int, ahead: int, longer: int) -> Claims:
    """A pre-vote in the voter's own epoch changes nothing on disk; a pre-vote in a later epoch makes it adopt that epoch."""
    end = frozen.log_end()
    epoch = frozen.next_epoch(ahead)
    yield premise(
        frozen.vote(other_peer(candidate), epoch, end).vote_granted, "a vote that was granted", promised=GRANTED
    )
    before = frozen.quorum_state()
    asked = epoch if case == "equal-epoch" else epoch + ahead
    answer = frozen.vote(candidate, asked, LogEnd(end.epoch, end.offset + longer), pre_vote=True)
    after = frozen.quorum_state()
    expected = before if case == "equal-epoch" else Stored(-1, asked, -1)
    yield held_if(after == expected, answer, detail=f"of its quorum-state, {say_change(before, after)}")


STORED_AS = {"candidate": ("KIP595-QS-03", "candidate"), "follower-fresh": ("KIP595-QS-03", "follower")}
"""The row and case that promise how the disk shows a role; a prospective voter's and an unattached one's is up to the release."""


@probe("KIP595-VOTE-18", rig=FROZEN, cases=["unattached", "prospective", "candidate", "follower-fresh"],
       candidate=CANDIDATES, longer=near_or_far(1000, 0), voted_before=sampled_from([True, False]))  # fmt: skip
def waiting_roles_grant_a_pre_vote(
    frozen: Frozen, case: str, candidate: int, longer: int, voted_before: bool
) -> Claims:
    """A voter that has not heard from a leader grants a pre-vote only to a candidate with an up-to-date log."""
    end = frozen.log_end()
    if case == "unattached":
        vote = frozen.vote(other_peer(candidate), frozen.next_epoch(), end if voted_before else BEHIND)
        yield premise(vote.vote_granted is voted_before, "its vote given or free")
    elif case != "follower-fresh":
        asked = frozen.candidate() if case == "candidate" else frozen.make_candidate()
        pre_vote = bool(asked.partition["pre_vote"])
        yield premise(
            pre_vote is (case == "prospective"), f"a {case}: {say(asked)}", promised=("KIP595-END-02", "version-1")
        )
    before = frozen.condition()
    known = before.reported
    shown = is_stored_as(frozen, case, before)
    yield premise(shown, f"a voter that is {case} on disk: {say(before)}", promised=STORED_AS.get(case))
    behind = frozen.vote(candidate, known.leader_epoch, BEHIND, pre_vote=True)
    answer = frozen.vote(candidate, known.leader_epoch, LogEnd(end.epoch, end.offset + longer), pre_vote=True)
    same = frozen.condition() == before
    yield premise(same, f"still {say(known)}", promised=("KIP595-VOTE-17", "equal-epoch"))
    right = answer.vote_granted and not behind.vote_granted
    yield held_if(right and answer.error is behind.error is Error.NONE, behind, answer)
