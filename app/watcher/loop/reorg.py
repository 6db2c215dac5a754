"""Whether the blocks that were read still stand, and if not, from which on they were replaced.

A block names its parent by hash, so an unchanged hash proves all blocks below it, and one that has changed
says that some of these have changed, too, up to the youngest block that both branches have. Some headers of
the blocks that were read are kept: that of the last one of each range, and of every block with logs. The
highest of them that the node still has is found by bisection, a batch of requests a round.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from app.values.identifiers import BlockNumber
from app.watcher.blocks import Header
from app.watcher.node_answers import Lie

ASKED_AT_ONCE: Final = 16
"""Headers in one round: a thousand kept ones take three."""

FetchHeaders = Callable[[Sequence[BlockNumber]], Mapping[BlockNumber, Header]]
"""Headers of the node's chain by their numbers. One that the node does not have is left out."""


class Unbroken(Struct, frozen=True):
    """All that was read stands."""


class Lagging(Struct, frozen=True):
    """The node has not come as far as was read, and contradicts nothing: it is behind."""

    head: BlockNumber


class Fork(Struct, frozen=True):
    """Blocks were replaced.

    :param ancestor: the highest block known to stand; None where the fork goes below all of them.
    :param read_from: the lowest block that may have been replaced: reading goes on from there.
    :param from_block: what was told is taken back from here on. As ``read_from``, unless that is deeper than
        is believed: then the lowest kept block that stands no longer, as none between them had logs.
    :param replaced: the hash of the lowest kept block that stands no longer.
    :param depth: how far ``from_block`` is below the last block that was read, as the feed counts it.
    """

    ancestor: Header | None
    read_from: BlockNumber
    from_block: BlockNumber
    replaced: str
    depth: int


class Unanswered(Exception):
    """The node does not have a header below its own head: it prunes, or several nodes answer as one."""


def find_fork(
    kept: Sequence[Header], head: Header, fetch: FetchHeaders, most: int
) -> Unbroken | Lagging | Fork:
    """Compare what was read with a node's chain.

    A fork whose ``depth`` is over ``most``, or that has no ancestor, is an operator's to look at.

    :param kept: headers of blocks that were read, ascending; the last one is that of the last block read.
    :param head: the node's newest block.
    :param fetch: asked for numbers of kept headers and for parents of these, never above the head.
    :param most: the depth that is believed, ``MAX_REORG_BLOCKS``.
    :raises Lie: where the node's answers contradict each other.
    :raises Unanswered: where it leaves out what it must have.
    """
    if not kept:
        return Unbroken()
    below = [header for header in kept if header.number <= head.number]
    standing = _standing(below, head, fetch)
    if standing == len(kept):
        return Unbroken()
    if standing < len(below):
        return _fork(kept, standing, _ask([below[standing].number - 1], head, fetch), most)
    above = kept[standing]
    if above.number == head.number + 1 and above.parent_hash != head.hash:
        return _fork(kept, standing, {head.number: head}, most)
    return Lagging(head.number)


def _standing(kept: Sequence[Header], head: Header, fetch: FetchHeaders) -> int:
    """How many of the kept headers, from the lowest on, the node's chain has.

    The highest are asked for first, and close together: most forks are a block or two deep.
    """
    low, high = 0, len(kept)
    asked = {max(0, high - 2**back) for back in range(ASKED_AT_ONCE)} if kept else set()
    while low < high:
        answers = _ask([kept[at].number for at in sorted(asked)], head, fetch)
        same = {at: answers[kept[at].number].hash == kept[at].hash for at in asked}
        first_other = min((at for at, is_same in same.items() if not is_same), default=high)
        last_same = max((at for at, is_same in same.items() if is_same), default=low - 1)
        if first_other < last_same:
            stands, below = kept[last_same].number, kept[first_other].number
            raise Lie(f"block {stands} is on the chain, but block {below} below it is not")
        low, high = max(low, last_same + 1), min(high, first_other)
        step = max(1, -(-(high - low) // ASKED_AT_ONCE))
        asked = set(range(low, high, step))
    return low


def _fork(kept: Sequence[Header], standing: int, answers: Mapping[BlockNumber, Header], most: int) -> Fork:
    """The fork below ``kept[standing]``, the lowest that stands no longer.

    Where that block's own parent still stands, it is the first that was replaced. Else that is somewhere
    above the ancestor, and everything from there on is taken as replaced: what still stands is told again.
    """
    replaced, last = kept[standing], kept[-1].number
    ancestor = kept[standing - 1] if standing else None
    parent = answers.get(BlockNumber(replaced.number - 1))
    read_from = from_block = replaced.number
    if parent is not None and parent.hash == replaced.parent_hash:
        ancestor = parent
    elif ancestor is not None:
        read_from = BlockNumber(ancestor.number + 1)
        from_block = read_from if last - read_from <= most else replaced.number
    return Fork(ancestor, read_from, from_block, replaced.hash, last - from_block)


def _ask(numbers: Sequence[int], head: Header, fetch: FetchHeaders) -> Mapping[BlockNumber, Header]:
    wanted = [BlockNumber(number) for number in numbers if number >= 0]
    answers = dict(fetch(wanted))
    for number in wanted:
        if number not in answers:
            raise Unanswered(f"no header of block {number}, although the newest block is {head.number}")
        if answers[number].number != number:
            raise Lie(f"block {answers[number].number} for block {number}")
        if number == head.number and answers[number].hash != head.hash:
            raise Unanswered(f"block {number} was replaced while it was read")
    return answers
