"""Facts about controllers' metadata logs on disk: batches, leaders, snapshots, and the quorum-state beside them (KIP-595)."""

from collections.abc import Iterator

from conformance.judging.facts.exchange import Attributed, Decoding, Exchange, decodes
from conformance.judging.facts.quorum import KnownLeader, StoredEpochs, StoredState, stored_in
from history.readings import HeldMetadataLog, ReadMetadataLog
from history.subjects import METADATA_LOG


class MetadataLogOnDisk(Exchange, frozen=True, gc=False):
    """A controller's metadata log as it was on its disk. `state` is None if quorum-state was missing or damaged."""

    held: HeldMetadataLog
    state: StoredState | None

    @property
    def last_epoch(self) -> int:
        """The epoch of the last batch; -1 for an empty log."""
        return self.held.batches[-1].leader_epoch if self.held.batches else -1


@decodes(ReadMetadataLog, about=["quorum"])
def _metadata_log(request: ReadMetadataLog, answer: HeldMetadataLog, at: Decoding) -> Iterator[Attributed]:
    if answer.epochs is not None:
        starts = tuple([(one.epoch, one.start_offset) for one in answer.epochs])
        yield ("quorum", METADATA_LOG, StoredEpochs(*at.exchange(), starts))
    stored = stored_in(answer.quorum_state)
    if stored is None:
        yield ("quorum", METADATA_LOG, MetadataLogOnDisk(*at.exchange(), answer, None))
        return
    state = StoredState(*at.exchange(), stored.leader_id, stored.leader_epoch, stored.voted_id)
    yield ("quorum", METADATA_LOG, MetadataLogOnDisk(*at.exchange(), answer, state))
    yield ("quorum", METADATA_LOG, state)
    yield ("quorum", METADATA_LOG, KnownLeader(*at.exchange(), "quorum-state", state.leader, state.epoch))
