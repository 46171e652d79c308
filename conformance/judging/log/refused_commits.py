"""A refused commit leaves no trace (GEN-01): no OffsetFetch shows an offset that a coordinator refused."""

from collections.abc import Callable, Iterable, Iterator

from conformance.judging.facts.exchange import NEVER_SENT, by_asked
from conformance.judging.facts.groups import FetchedOffset, OffsetCommitResult
from conformance.judging.judge import Finding
from conformance.judging.log.committed_offsets import REFUSED
from conformance.judging.log.story import PartitionStory, log_judge
from protocol.codes import Error
from protocol.words import say_error

DEFINITE = REFUSED - {NEVER_SENT} | {
    Error.INVALID_PRODUCER_EPOCH,
    Error.INVALID_TXN_STATE,
    Error.INVALID_PRODUCER_ID_MAPPING,
    Error.PRODUCER_FENCED,
    Error.TRANSACTION_ABORTABLE,
}
"""Errors that definitely refuse a commit, in a transaction too. Any other error may mean that the append failed, which leaves the
outcome open."""

Filter = Callable[[Iterable[OffsetCommitResult]], Iterable[OffsetCommitResult]]


@log_judge("GEN-01", "committed")
def refused_commits_are_not_shown(story: PartitionStory) -> Iterator[Finding]:
    """No OffsetFetch of a group shows an offset whose commit was refused before, unless another commit may have stored it.

    An answer without an offset is no evidence: a coordinator that stores no commits at all would answer the same.
    """
    yield from judge_refused(story, "offsets")


def judge_refused(story: PartitionStory, case: str, of: Filter = iter) -> Iterator[Finding]:
    """Yield a finding for each fetch of an offset after a commit that is one of these and was refused."""
    refused = [one for one in of(story.commits) if is_refused(one)]
    for fetch in sorted(story.committed, key=by_asked) if refused else ():
        before = [one for one in refused if one.group == fetch.group and one.event < fetch.asked]
        if before and fetch.offset >= 0:
            wrong = next((one for one in before if _has_committed(fetch, one)), None)
            traced = wrong is not None and not any(_has_committed(fetch, one) for one in _open(story, fetch))
            shown = "" if wrong is None else _message(fetch, wrong)
            by = (before[-1] if wrong is None else wrong).event, fetch.event
            yield Finding(not traced, case, by, shown, "refused-commit")


def is_refused(commit: OffsetCommitResult) -> bool:
    return commit.accepted in DEFINITE


def _open(story: PartitionStory, fetch: FetchedOffset) -> Iterator[OffsetCommitResult]:
    """Yield the commits of the group that may have been stored before the fetch."""
    return (
        one for one in story.commits if one.group == fetch.group and one.asked < fetch.event and not is_refused(one)
    )


def _has_committed(fetch: FetchedOffset, commit: OffsetCommitResult) -> bool:
    return fetch.offset >= 0 and (fetch.offset, fetch.epoch) == (commit.offset, commit.epoch)


def _message(fetch: FetchedOffset, commit: OffsetCommitResult) -> str:
    what = f"a commit of offset {commit.offset} (epoch {commit.epoch}) of {fetch.group}"
    return f"{commit.node} refused {what} with {say_error(commit.accepted)}, and {fetch.node} shows it"
