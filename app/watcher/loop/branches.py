"""Reorganisations: is it one, or does the node only lag, and how far back does it go?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.domain.keys import BlockNumber
from app.domain.watching.blocks import BlockId, Header
from app.watcher.checks import answers
from app.watcher.loop.view import TooDeep, View
from app.watcher.reorg import Fork, Lagging, Unanswered, Unbroken, find_fork
from app.watcher.rpc.faults import Lie, Moved, NotThere, RpcFault
from app.watcher.rpc.node import Look, Node


@dataclass(frozen=True, slots=True)
class Branch:
    """A reorganisation that a node has told, with what has taken the place of the old blocks.

    :param anchor: the highest block known to stand: reading goes on above it.
    :param replaced: the hash of a block that was read and stands no longer.
    :param from_block: what was told is taken back from this block on.
    """

    anchor: BlockId
    replaced: str
    from_block: BlockNumber


def branch_of(view: View, node: Node, look: Look) -> Branch | None:
    """The reorganisation that a node's look at the chain shows; None where the last block read still stands.

    :raises NotThere: the node lags.
    :raises Lie: it tells another branch than the others where no branch can be.
    :raises TooDeep: the branch goes back further than is believed.
    """
    kept = view.readings.live_to
    if kept is None or (look.last is not None and look.last.hash == kept.hash):
        return None
    if look.last is None and look.head.number >= kept.number:
        raise NotThere(f"its newest block is {look.head.number}, but it does not have block {kept.number}")
    headers = [header for header in view.readings.headers if header.number <= kept.number]
    fork = _fork(view, node, look, headers)
    if fork is None:
        raise NotThere(f"it is {kept.number - look.head.number} blocks behind what was already read")
    if not node.takes_batches:
        node.check_chain()
    _confirm(view, node, look, kept, fork)
    if fork.ancestor is None:
        return _of_all(view, node, kept, fork)
    if fork.depth > view.max_reorg:
        raise TooDeep(_too_deep(view, fork))
    return Branch(fork.ancestor.id, fork.replaced, fork.from_block)


def _of_all(view: View, node: Node, kept: BlockId, fork: Fork) -> Branch:
    """Take back all that was read: soon after the start, a reorganisation may go below the first block read.

    Where that leaves the old branch is not known and not needed, for nothing was read there.

    :raises TooDeep: more was read than is believed to be replaced.
    :raises NotThere: the node has not got the block below all that was read.
    """
    first = _first_read(view)
    if kept.number - first > view.max_reorg:
        raise TooDeep(_too_deep(view, fork))
    below = node.header(BlockNumber(first - 1))
    if below is None:
        raise NotThere(f"it does not have block {first - 1}, the one below the first block read")
    return Branch(below.id, fork.replaced, first)


def _first_read(view: View) -> BlockNumber:
    """The first block that was read at all; the genesis block has no logs and no other branch."""
    readings = view.readings
    backfilled = readings.backfilled_to is not None and readings.backfill_from is not None
    first = readings.backfill_from if backfilled else readings.live_from
    return BlockNumber(max(first or 1, 1))


def _fork(view: View, node: Node, look: Look, headers: Sequence[Header]) -> Fork | None:
    """Where the node's chain leaves what was read; None where the node only lags."""

    def fetch(numbers: Sequence[BlockNumber]) -> Mapping[BlockNumber, Header]:
        return node.known_headers(numbers)

    try:
        found = find_fork(headers, look.head, fetch, view.max_reorg)
    except answers.Lie as error:
        raise Lie(str(error)) from None
    except Unanswered as error:
        raise NotThere(str(error)) from None
    match found:
        case Fork():
            return found
        case Lagging():
            return None
        case Unbroken():
            raise Moved("the last block read was replaced meanwhile")


def _confirm(view: View, node: Node, look: Look, kept: BlockId, fork: Fork) -> None:
    """Ask the others about a reorganisation that is no everyday one: to a shorter branch, or of final blocks.

    :raises NotThere: another URL still has the longer branch.
    :raises Lie: another URL still has the final blocks.
    """
    of_final = view.final is not None and fork.from_block <= view.final
    if look.head.number >= kept.number and not of_final:
        return
    other = _who_has(view, node, kept)
    if other is None:
        if look.head.number < kept.number and len(view.nodes.usable()) < len(view.nodes.names):
            raise NotThere(
                f"it has a shorter branch from block {fork.from_block} on, and no other URL is "
                "available to compare"
            )
        return
    words = f"its blocks differ from block {fork.from_block} on; {other} has the blocks that were read"
    raise Lie(words) if of_final else NotThere(words)


def _who_has(view: View, node: Node, kept: BlockId) -> str | None:
    """The name of another URL where a block is what it was; None where there is none."""
    for other in view.nodes.usable():
        if other.name == node.name:
            continue
        try:
            header = other.header(kept.number)
        except RpcFault:
            continue
        if header is not None and header.hash == kept.hash:
            return other.name
    return None


def _too_deep(view: View, fork: Fork) -> str:
    depth = "all blocks that were read" if fork.ancestor is None else f"{fork.depth} blocks"
    return (
        f"a reorganisation replaced {depth}, from block {fork.from_block} on; at most {view.max_reorg} "
        "blocks below the newest are accepted (MAX_REORG_BLOCKS). Make sure that the URLs belong to this "
        "chain"
    )
