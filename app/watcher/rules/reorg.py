"""Whether the blocks that were read are still canonical, and if not, from which on they were replaced.

A block names its parent by hash, so an unchanged hash proves all blocks below it. Stored are the headers of
the last block of each range and of every block with logs. Bisection finds the highest of them that the node
still has, with one batch of requests a round.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from app.values.identifiers import BlockNumber
from app.watcher.rules.blocks import Header, ImpossibleAnswer

REQUESTED_AT_ONCE: Final = 16
"""Headers in one round: a thousand stored ones take three rounds."""

FetchHeaders = Callable[[Sequence[BlockNumber]], Mapping[BlockNumber, Header]]
"""A header that the node does not have is left out."""


class Fork(Struct, frozen=True):
    """Blocks were replaced.

    :param ancestor: the highest block known to be canonical; None where the fork goes below all of them.
    :param from_block: what was reported is retracted from here on. It is the block above the ancestor, unless
        that is deeper than is accepted: then the lowest stored block that is orphaned, as none between them
        had logs.
    :param replaced: the hash of the lowest stored block that is orphaned.
    """

    ancestor: Header | None
    from_block: BlockNumber
    replaced: str


class Unanswered(Exception):
    """The node lacks a header below its own head: it prunes, or several nodes answer as one."""


def find_fork(stored: Sequence[Header], head: Header, fetch: FetchHeaders, most: int) -> Fork | None:
    """Where a node's chain leaves what was read; None where it contradicts nothing, as far as it goes.

    :param stored: headers of blocks that were read, ascending; the last one is that of the last block read.
    :param head: the node's newest block.
    :param fetch: called with numbers of stored headers and of their parents, never above the head.
    :param most: the depth that is accepted, ``MAX_REORG_BLOCKS``.
    :raises ImpossibleAnswer: where the node's answers contradict each other.
    :raises Unanswered: where it lacks what it must have.
    """
    below = [header for header in stored if header.number <= head.number]
    canonical = _count_canonical(below, head, fetch)
    if canonical == len(stored):
        return None
    if canonical < len(below):
        return _fork(stored, canonical, _request([below[canonical].number - 1], head, fetch), most)
    above = stored[canonical]
    if above.number == head.number + 1 and above.parent_hash != head.hash:
        return _fork(stored, canonical, {head.number: head}, most)
    return None


def _count_canonical(stored: Sequence[Header], head: Header, fetch: FetchHeaders) -> int:
    """How many of the stored headers, from the lowest on, the node's chain has."""
    low, high = 0, len(stored)
    # Most forks are a block or two deep: the highest are requested first, and close together.
    requested = {max(0, high - 2**back) for back in range(REQUESTED_AT_ONCE)} if stored else set()
    while low < high:
        answers = _request([stored[at].number for at in sorted(requested)], head, fetch)
        same = {at: answers[stored[at].number].hash == stored[at].hash for at in requested}
        first_other = min((at for at, is_same in same.items() if not is_same), default=high)
        last_same = max((at for at, is_same in same.items() if is_same), default=low - 1)
        if first_other < last_same:
            upper, below = stored[last_same].number, stored[first_other].number
            raise ImpossibleAnswer(f"block {upper} is on the chain, but block {below} below it is not")
        low, high = max(low, last_same + 1), min(high, first_other)
        step = max(1, -(-(high - low) // REQUESTED_AT_ONCE))
        requested = set(range(low, high, step))
    return low


def _fork(stored: Sequence[Header], canonical: int, answers: Mapping[BlockNumber, Header], most: int) -> Fork:
    """The fork below ``stored[canonical]``, the lowest orphaned block.

    Where that block's own parent is canonical, it is the first that was replaced. Else everything above the
    ancestor counts as replaced, and is reported again where it is not.
    """
    replaced, last = stored[canonical], stored[-1].number
    ancestor = stored[canonical - 1] if canonical else None
    parent, from_block = answers.get(BlockNumber(replaced.number - 1)), replaced.number
    if parent is not None and parent.hash == replaced.parent_hash:
        ancestor = parent
    elif ancestor is not None:
        first = BlockNumber(ancestor.number + 1)
        from_block = first if last - first <= most else replaced.number
    return Fork(ancestor, from_block, replaced.hash)


def _request(numbers: Sequence[int], head: Header, fetch: FetchHeaders) -> Mapping[BlockNumber, Header]:
    wanted = [BlockNumber(number) for number in numbers if number >= 0]
    answers = dict(fetch(wanted))
    for number in wanted:
        if number not in answers:
            raise Unanswered(f"no header of block {number}, although the newest block is {head.number}")
        if answers[number].number != number:
            raise ImpossibleAnswer(f"block {answers[number].number} for block {number}")
        if number == head.number and answers[number].hash != head.hash:
            raise Unanswered(f"block {number} was replaced while it was read")
    return answers
