"""Facts about the metadata quorum: controllers' answers about leader, epoch, votes and log, and the content of their
disks (KIP-595)."""

from collections.abc import Iterable, Iterator
from typing import Literal

import msgspec

from conformance.judging.facts.exchange import NONE, Attributed, Decoding, Exchange, LostAnswer, decodes, name_of
from history.events import Fault
from history.readings import File, Mail, ReadFile, Received, ReceiveRequest
from history.subjects import METADATA_LOG
from protocol import quorum
from protocol.log import EpochAndOffset, Fetch, FetchedPartition, LeaderAndEpoch

QUORUM_STATE = "__cluster_metadata-0/quorum-state"
EPOCHS = "__cluster_metadata-0/leader-epoch-checkpoint"

Source = Literal["vote", "begin", "end", "fetch", "fetch-error", "fetch-snapshot", "describe", "quorum-state", "fault"]


class KnownLeader(Exchange, frozen=True, gc=False):
    """A leader (-1 if unknown) and epoch that a node names: in an answer, in its quorum-state, or after a fault."""

    source: Source
    leader: int
    epoch: int

    def __str__(self) -> str:
        led = f"leader {self.leader}" if self.leader >= 0 else "no leader"
        return f"{self.node or 'the cluster'} named {led} in epoch {self.epoch} ({self.source})"


class VoteResult(Exchange, frozen=True, gc=False):
    """A Vote that was answered without error: the candidate, its log end, and the answer."""

    candidate: int
    epoch: int
    last: tuple[int, int]
    """The epoch and offset of the candidate's log end."""
    pre_vote: bool
    granted: bool
    known: LeaderAndEpoch
    """The leader and epoch that the answer names."""


class ForgedRequest(Exchange, frozen=True, gc=False):
    """A request that the kit sent under the id of `sender`, and that was not refused."""

    sender: int


class QuorumDescription(Exchange, frozen=True, gc=False):
    said: quorum.QuorumAnswer


class MetadataBatch(msgspec.Struct, frozen=True, gc=False):
    """A batch of the metadata log."""

    first: int
    last: int
    epoch: int


class MetadataFetch(Exchange, frozen=True, gc=False):
    """A Fetch of the metadata log that was answered without error and not with a snapshot."""

    offset: int
    last_epoch: int
    """The epoch of the fetcher's last record, by its own claim."""
    known: LeaderAndEpoch
    high_watermark: int
    diverging: EpochAndOffset | None
    batches: tuple[MetadataBatch, ...]


class StoredState(Exchange, frozen=True, gc=False):
    """The content of a quorum-state. A damaged file yields no such fact."""

    leader: int
    epoch: int
    voted: int


class Stored(msgspec.Struct, frozen=True, rename="camel"):
    """The fields of quorum-state that both versions have."""

    leader_id: int
    leader_epoch: int
    voted_id: int

    @property
    def leader(self) -> LeaderAndEpoch:
        return LeaderAndEpoch(self.leader_id, self.leader_epoch)


class _Versioned(msgspec.Struct):
    data_version: Literal[0, 1]


def stored_in(content: bytes | None) -> Stored | None:
    """Return the fields of a quorum-state file; None if it is missing, damaged or of an unknown version."""
    try:
        msgspec.json.decode(content or b"", type=_Versioned)
        return msgspec.json.decode(content or b"", type=Stored)
    except msgspec.DecodeError:
        return None


class StoredEpochs(Exchange, frozen=True, gc=False):
    """The epochs of a leader-epoch-checkpoint with their start offsets, in the order of the file."""

    starts: tuple[tuple[int, int], ...]


class RequestToPeer(Exchange, frozen=True, gc=False):
    """A request that a voter played by the kit received. `candidate` is the id in a Vote, and -1 in other requests."""

    candidate: int


# --- decoders


def _quorum(*facts: object) -> Iterator[Attributed]:
    for fact in facts:
        yield ("quorum", METADATA_LOG, fact)


def _known(source: Source, leader: int, epoch: int, at: Decoding) -> Iterator[Attributed]:
    """Yield the leader and epoch that a node names, unless the answer has none. Brokers forward DescribeQuorum."""
    if epoch >= 0 and (source == "describe" or at.call.node in at.timeline.controller_names):
        yield from _quorum(KnownLeader(*at.exchange(), source, leader, epoch))


def _forged(sender: int, at: Decoding) -> Iterator[Attributed]:
    yield from _quorum(ForgedRequest(*at.exchange(), sender))


@decodes(quorum.Vote, about=["quorum"], lost=True)
def _vote(request: quorum.Vote, answer: quorum.VoteAnswer | LostAnswer, at: Decoding) -> Iterator[Attributed]:
    """Yield the facts of a Vote. A Vote with last offset -1 is refused before it changes any state: the kit uses it to ask, and
    it does not count as forged."""
    if isinstance(answer, LostAnswer):
        if request.last_offset >= 0 and not request.pre_vote:
            yield from _forged(request.candidate_id, at)
        return
    if answer.top_level_error != NONE:
        return
    known = LeaderAndEpoch(answer.leader_id, answer.leader_epoch)
    yield from _known("vote", *_pair(known), at)
    if answer.error == NONE:
        last = (request.last_offset_epoch, request.last_offset)
        result = VoteResult(
            *at.exchange(),
            request.candidate_id,
            request.candidate_epoch,
            last,
            request.pre_vote,
            answer.vote_granted,
            known,
        )
        yield from _quorum(result)
        if answer.vote_granted and not request.pre_vote:
            yield from _forged(request.candidate_id, at)


def _pair(known: LeaderAndEpoch) -> tuple[int, int]:
    return known.leader_id, known.leader_epoch


@decodes(quorum.BeginQuorumEpoch, about=["quorum"], lost=True)
def _begin(
    request: quorum.BeginQuorumEpoch, answer: quorum.RaftAnswer | LostAnswer, at: Decoding
) -> Iterator[Attributed]:
    yield from _of_leader("begin", request.leader_id, answer, at)


@decodes(quorum.EndQuorumEpoch, about=["quorum"], lost=True)
def _end(request: quorum.EndQuorumEpoch, answer: quorum.RaftAnswer | LostAnswer, at: Decoding) -> Iterator[Attributed]:
    yield from _of_leader("end", request.leader_id, answer, at)


def _of_leader(
    source: Source, sender: int, answer: quorum.RaftAnswer | LostAnswer, at: Decoding
) -> Iterator[Attributed]:
    """Yield the facts of a request sent under the id of a leader."""
    if isinstance(answer, LostAnswer):
        yield from _forged(sender, at)
    elif answer.top_level_error == NONE:
        yield from _known(source, answer.leader_id, answer.leader_epoch, at)
        if answer.error == NONE:
            yield from _forged(sender, at)


@decodes(quorum.FetchSnapshot, about=["quorum"])
def _fetch_snapshot(request: quorum.FetchSnapshot, answer: quorum.SnapshotPiece, at: Decoding) -> Iterator[Attributed]:
    if answer.current_leader is not None:
        yield from _known("fetch-snapshot", *_pair(answer.current_leader), at)
    if answer.error == answer.top_level_error == NONE:
        yield from _forged(request.replica_id, at)


@decodes(quorum.DescribeQuorum, about=["quorum"])
def _describe(request: quorum.DescribeQuorum, answer: quorum.QuorumAnswer, at: Decoding) -> Iterator[Attributed]:
    """Yield a description. A description with an error has only zeros, and yields nothing."""
    if answer.error == answer.top_level_error == NONE:
        yield from _known("describe", answer.leader_id, answer.leader_epoch, at)
        yield from _quorum(QuorumDescription(*at.exchange(), answer))


@decodes(Fetch, about=["quorum"], lost=True)
def _fetch(request: Fetch, answer: FetchedPartition | LostAnswer, at: Decoding) -> Iterable[Attributed]:
    """Yield the facts of a Fetch of the metadata log. A leader may have counted one that was not answered."""
    if name_of(request.topic) != METADATA_LOG:
        return ()
    if isinstance(answer, LostAnswer):
        return _forged(request.replica_id, at)
    if answer.current_leader is None:
        return ()
    return _fetched(request, answer, answer.current_leader, at)


def _fetched(request: Fetch, answer: FetchedPartition, known: LeaderAndEpoch, at: Decoding) -> Iterator[Attributed]:
    yield from _known("fetch-error" if answer.error else "fetch", *_pair(known), at)
    if answer.error != NONE:
        return
    yield from _forged(request.replica_id, at)
    if answer.snapshot_id is None:
        yield from _quorum(
            MetadataFetch(
                *at.exchange(),
                offset=request.fetch_offset,
                last_epoch=request.last_fetched_epoch,
                known=known,
                high_watermark=answer.high_watermark,
                diverging=answer.diverging_epoch,
                batches=tuple([MetadataBatch(b.base_offset, b.last_offset, b.leader_epoch) for b in answer.batches]),
            )
        )


@decodes(ReadFile, about=["quorum"])
def _file(request: ReadFile, answer: File, at: Decoding) -> Iterator[Attributed]:
    if request.path == QUORUM_STATE:
        state = stored_in(answer.content)
        if state is not None:
            yield from _known("quorum-state", state.leader_id, state.leader_epoch, at)
            yield from _quorum(StoredState(*at.exchange(), state.leader_id, state.leader_epoch, state.voted_id))
    elif request.path == EPOCHS and answer.content is not None:
        yield from _quorum(StoredEpochs(*at.exchange(), starts=tuple(_starts(answer.content.decode()))))


def _starts(text: str) -> Iterator[tuple[int, int]]:
    """Yield the epochs and start offsets in a leader-epoch-checkpoint, after its lines for version and number."""
    for line in text.split("\n")[2:]:
        if line:
            epoch, start = line.split()
            yield int(epoch), int(start)


@decodes(ReceiveRequest, about=["quorum"])
def _request_to_peer(request: ReceiveRequest, answer: Mail, at: Decoding) -> Iterator[Attributed]:
    candidate = _candidate(answer.received) if answer.received is not None else -1
    yield from _quorum(RequestToPeer(*at.exchange(), candidate=candidate))


def _candidate(received: Received) -> int:
    """Return the candidate in a Vote, which later versions call the replica (KIP-996); -1 for another request."""
    if received.api != "Vote":
        return -1
    partition = received.partition
    found: int = partition["replica_id"] if "replica_id" in partition else partition["candidate_id"]
    return found


def leaders_after(fault: Fault) -> Iterator[KnownLeader]:
    """Yield the active controllers, before and after, in the recorded consequence of a fault."""
    match fault.detail:
        case {"controller": [int(before), int(now)], "quorum epoch": [int(former), int(epoch)]}:
            for leader, led in ((before, former), (now, epoch)):
                yield KnownLeader(fault.n, fault.n, "", 0, "fault", leader, led)
