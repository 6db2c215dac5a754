"""Reorganisations: is it one, or does the node only lag, and how far back does it go?"""

from __future__ import annotations

from dataclasses import dataclass

from app.domain.keys import BlockNumber
from app.domain.watching.blocks import BlockId, Header
from app.watcher.loop.view import TooDeep, View
from app.watcher.reorg import common_ancestor
from app.watcher.rpc.faults import Lie, NotThere, RpcFault
from app.watcher.rpc.node import Look, Node


@dataclass(frozen=True, slots=True)
class Branch:
    """A reorganisation that a node has told, with what has taken the place of the old blocks.

    :param ancestor: the highest kept block that is on both branches.
    :param replaced: the hash of a block that was read and stands no longer.
    :param first: the header of the block that follows the ancestor now.
    """

    ancestor: Header
    replaced: str
    first: Header


def branch_of(view: View, node: Node, look: Look) -> Branch | None:
    """The reorganisation that a node's look at the chain shows; None where the last block read still stands.

    :raises NotThere: the node lags.
    :raises Lie: it tells another branch than the others where no branch can be.
    :raises TooDeep: the branch goes back further than is believed.
    """
    kept = view.readings.live_to
    if kept is None or (look.last is not None and look.last.hash == kept.hash):
        return None
    if look.last is None:
        if look.head.number >= kept.number:
            raise NotThere(f"it tells block {look.head.number}, and has not got block {kept.number}")
        _refuse_lag(view, node, look, kept)
    if not node.takes_batches:
        node.check_chain()
    branch = _found(view, node, kept)
    shorter = look.head.number < kept.number
    from_final = view.final is not None and branch.first.number <= view.final
    if (shorter or from_final) and (other := _who_has(view, node, kept)):
        words = f"block {kept.number} is another one for it, and as it was for {other}"
        raise Lie(words) if from_final else NotThere(words)
    depth = kept.number - branch.first.number
    if depth > view.max_reorg:
        raise TooDeep(_too_deep(view, f"{depth} blocks", branch.ancestor.number))
    return branch


def _refuse_lag(view: View, node: Node, look: Look, kept: BlockId) -> None:
    """A node whose newest block is older than what was read lags, if its blocks are those that were read.

    :raises NotThere: it lags.
    """
    below = [header for header in view.readings.headers if header.number <= look.head.number]
    known = below[-1] if below else None
    if known is not None and known.number == look.head.number:
        told: Header | None = look.head
    else:
        told = None if known is None else node.header(known.number)
    if known is None or told is None or told.hash == known.hash:
        behind = kept.number - look.head.number
        raise NotThere(f"it is {behind} blocks behind what was read already")


def _found(view: View, node: Node, kept: BlockId) -> Branch:
    """The branch, by the kept headers.

    :raises TooDeep: none of them is on it.
    """
    headers = [header for header in view.readings.headers if header.number <= kept.number]
    ancestor = common_ancestor(headers, node.header)
    if ancestor is None:
        if other := _who_has(view, node, kept):
            raise Lie(f"none of the blocks that were read is one of its chain; {other} has them")
        raise TooDeep(_too_deep(view, "all that is kept of it", None))
    above = [header for header in headers if header.number > ancestor.number]
    first = node.header(BlockNumber(ancestor.number + 1))
    if first is None or not above:
        raise NotThere(f"it has no block that takes the place of block {kept.number}")
    return Branch(ancestor, above[0].hash, first)


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


def _too_deep(view: View, depth: str, ancestor: BlockNumber | None) -> str:
    below = "" if ancestor is None else f", to block {ancestor}"
    return (
        f"a reorganisation took back {depth}{below}; at most {view.max_reorg} blocks are believed "
        "(MAX_REORG_BLOCKS). Look at the chain, and at whether the URL is one of it"
    )
