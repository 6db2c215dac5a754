"""Reorganisations: whether there is one or the node only lags, and how far back it goes.

Next to a node with blocks that never existed, every other node seems to lag. Blocks that no URL has
for a minute are rolled back like a reorganisation, and the node is reported
(docs/decisions/0024-reading-chains.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from app.values.identifiers import BlockNumber
from app.watcher.blocks import BlockId, Header, ImpossibleAnswer
from app.watcher.loop.reorg import Fork, Lagging, Unanswered, Unbroken, find_fork
from app.watcher.loop.view import Jump, TooDeep, View
from app.watcher.rpc.faults import Incomplete, Lie, Moved, NotThere, RpcFault
from app.watcher.rpc.node import Look, Node
from app.watcher.rpc.nodes import Trouble
from app.watcher.steps import Missed

DISOWNED_SECONDS: Final = 60.0
"""A block that no URL has for so long never existed."""

ACCEPTED_SECONDS: Final = 600.0
"""A jump that no URL contradicts for so long was none."""


COMPARED_SECONDS: Final = 60.0
OLDER_SECONDS: Final = 30.0
"""From one comparison of the newest blocks of two URLs to the next, and how much older one may be."""


class Branch(Struct, frozen=True):
    """A reorganisation that a node has returned, with what replaced the old blocks.

    :param anchor: the highest block known to be canonical: reading goes on above it.
    :param replaced: the hash of a block that was read and is orphaned.
    :param from_block: what was reported is retracted from this block on.
    :param made_up: the counts of the old blocks where they never existed; else None.
    """

    anchor: BlockId
    replaced: str
    from_block: BlockNumber
    made_up: Missed | None = None


def branch_of(view: View, node: Node, look: Look) -> Branch | None:
    """The reorganisation that a node's answer shows; None where the last block read is still canonical.

    :raises NotThere: the node lags.
    :raises Lie: it returns another branch where no branch is possible.
    :raises TooDeep: the branch goes back further than is believed.
    """
    last_read = view.readings.live_to
    if last_read is None or (look.last is not None and look.last.hash == last_read.hash):
        _has_it(view, node)
        return None
    if look.last is None and look.head.number >= last_read.number:
        raise Incomplete(
            f"its newest block is {look.head.number}, but it does not have block {last_read.number}"
        )
    headers = [header for header in view.readings.headers if header.number <= last_read.number]
    fork = _fork(view, node, look, headers)
    from_block = _first_gone(view, look, headers, fork)
    is_lower = look.head.number < last_read.number
    if is_lower and _is_disowned(view, node, look, headers[-1], from_block):
        return _rolled_back(view, node, look, headers, from_block)
    if fork is None or (is_lower and _is_jump(view, from_block)):
        raise NotThere(f"it is {last_read.number - look.head.number} blocks behind what was already read")
    if not node.takes_batches:
        node.check_chain()
    _confirm(view, node, look, last_read, fork)
    if fork.ancestor is None:
        return _of_all(view, node, last_read, fork)
    if fork.depth > view.max_reorg:
        raise TooDeep(_too_deep(view, fork.depth, fork.from_block))
    if is_lower:
        words = (
            f"its blocks {from_block} to {last_read.number} gave way "
            f"to a branch that ends at {look.head.number}"
        )
        view.nodes.note(Trouble(view.reported_by, words))
    return Branch(fork.ancestor.id, fork.replaced, fork.from_block)


def is_confirmed(view: View, node: Node, look: Look, above: BlockNumber) -> bool:
    """Whether another URL has the node's head. Where none has, it is noted as a jump and looked at again."""
    if _who_has(view, node, look.head.id) is not None:
        view.jump = None
        return True
    if view.jump is None:
        view.jump = Jump(look.head, node.name, above, view.monotonic())
    return False


def check_jump(view: View, node: Node) -> None:
    """Check a jump that another URL contradicts after a minute: it never existed.

    :raises Lie: this node returned it.
    """
    jump, now = view.jump, view.monotonic()
    if jump is None or now - jump.since >= ACCEPTED_SECONDS:
        view.jump = None
        return
    others = [other for other in view.nodes.usable() if other.name != node.name]
    if not others or jump.reported_by != node.name or now - jump.since < DISOWNED_SECONDS:
        return
    own = node.header(jump.head.number)
    if own is None or own.hash != jump.head.hash:
        return  # it does not return it any more
    for other in others:
        try:
            look = other.look(jump.head.number, finalized=False)
        except RpcFault:
            continue
        if look.last is not None and look.last.hash == jump.head.hash:
            view.jump = None
            return
        if look.last is not None or (look.head.number < jump.head.number and look.head.at > jump.head.at):
            view.seen_at = jump.since
            raise Lie(f"{other.name} does not have its block {jump.head.number}, and has newer ones")


def check_age(view: View, node: Node, look: Look) -> None:
    """Check once a minute that no other URL has a far newer block: this one may be stuck.

    :raises NotThere: another URL does.
    """
    now = view.monotonic()
    if now - view.compared_at < COMPARED_SECONDS:
        return
    view.compared_at = now
    for other in view.nodes.usable():
        if other.name == node.name:
            continue
        try:
            older = (other.look(None, finalized=False).head.at - look.head.at).total_seconds()
        except RpcFault:
            continue
        if older > OLDER_SECONDS:
            words = (
                f"its newest block {look.head.number} is {older:.0f} seconds older than that of {other.name}"
            )
            raise NotThere(words)
        return


def _has_it(view: View, node: Node) -> None:
    """Note that the node has the last block read."""
    view.seen_at = view.monotonic()
    if view.jump is not None and view.jump.reported_by != node.name:
        view.jump = None


def _is_disowned(view: View, node: Node, look: Look, last: Header, from_block: BlockNumber) -> bool:
    """Whether the blocks from this one on never existed: no URL has had the last of them for a minute.

    A node with a lower head may only lag, but not where that head is newer. It is also believed about a jump
    that no second URL ever had, and about its own answers, as far back as reorganisations are believed.
    """
    if view.seen_at is None:
        view.seen_at = view.monotonic()
    if view.monotonic() - view.seen_at < DISOWNED_SECONDS:
        return False
    own = node.name == view.reported_by and last.number - from_block <= view.max_reorg
    return own or look.head.at > last.at or _is_jump(view, from_block)


def _is_jump(view: View, from_block: BlockNumber) -> bool:
    """Whether the blocks from this one on belong to a jump that no second URL ever had."""
    return view.jump is not None and from_block > view.jump.above


def _rolled_back(
    view: View, node: Node, look: Look, headers: Sequence[Header], from_block: BlockNumber
) -> Branch:
    """Go back to the blocks that the node has.

    :raises TooDeep: they were read before any jump, and are more than is believed to be replaced.
    :raises NotThere: the node does not have the block below all that was read.
    """
    last, reported_by = headers[-1], view.reported_by
    if last.number - from_block > view.max_reorg and not _is_jump(view, from_block):
        raise TooDeep(_too_deep(view, last.number - from_block, from_block))
    anchor = _below(view, node, BlockNumber(min(from_block, look.head.number)))
    logs = sum(span.count for span in view.readings.spans if span.first >= from_block)
    missed = Missed(from_block, last.number, 0, logs, reported_by, node.name)
    return Branch(anchor, last.hash, BlockNumber(anchor.number + 1), missed)


def raise_made_up(view: View, made_up: Missed) -> None:
    """Report the URL of blocks that never existed, and exclude it where another was believed instead."""
    words = f"no URL has had its blocks {made_up.first} to {made_up.last} for a minute: they were rolled back"
    liar = view.nodes.named(made_up.source)
    if liar is None or made_up.source == made_up.reread_source:
        view.nodes.note(Trouble(made_up.source, words, is_false=True))
    else:
        view.nodes.failed(liar, Lie(words))
    view.jump = None


def _below(view: View, node: Node, block: BlockNumber) -> BlockId:
    """The highest stored block below this one that the node has; else the block below all that was read."""
    last_read = [header for header in view.readings.headers if header.number < block]
    if last_read:
        return last_read[-1].id
    number = BlockNumber(max(min(_first_read(view), block) - 1, 0))
    below = node.header(number)
    if below is None:
        raise Incomplete(f"it does not have block {number}")
    return below.id


def _first_gone(view: View, look: Look, headers: Sequence[Header], fork: Fork | None) -> BlockNumber:
    """The lowest block read that the node does not have."""
    if fork is not None:
        return fork.from_block
    had = [header.number for header in headers if header.number <= look.head.number]
    return BlockNumber(had[-1] + 1) if had else _first_read(view)


def _of_all(view: View, node: Node, last_read: BlockId, fork: Fork) -> Branch:
    """Take back all that was read: soon after the start, a reorganisation may go below the first block read.

    Where the old branch begins is not known, nor needed, as nothing was read there.

    :raises TooDeep: more was read than is believed to be replaced.
    :raises NotThere: the node does not have the block below all that was read.
    """
    first = _first_read(view)
    if last_read.number - first > view.max_reorg:
        raise TooDeep(_too_deep(view, None, fork.from_block))
    below = node.header(BlockNumber(first - 1))
    if below is None:
        raise Incomplete(f"it does not have block {first - 1}, the one below the first block read")
    return Branch(below.id, fork.replaced, first)


def _first_read(view: View) -> BlockNumber:
    """The first block that was read. The genesis block has no logs and no other branch."""
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
    except ImpossibleAnswer as error:
        raise Lie(str(error)) from None
    except Unanswered as error:
        raise Incomplete(str(error)) from None
    match found:
        case Fork():
            return found
        case Lagging():
            return None
        case Unbroken():
            raise Moved("the last block read was replaced meanwhile")


def _confirm(view: View, node: Node, look: Look, last_read: BlockId, fork: Fork) -> None:
    """Confirm an unusual reorganisation with the other URLs: to a shorter branch, or of final blocks.

    :raises NotThere: another URL still has the longer branch.
    :raises Lie: another URL still has the final blocks.
    """
    of_final = view.final is not None and fork.from_block <= view.final
    if look.head.number >= last_read.number and not of_final:
        return
    other = _who_has(view, node, last_read)
    if other is None:
        if look.head.number < last_read.number and len(view.nodes.usable()) < len(view.nodes.names):
            raise NotThere(
                f"it has a shorter branch from block {fork.from_block} on, and no other URL is "
                "available to compare"
            )
        return
    words = f"its blocks differ from block {fork.from_block} on; {other} has the blocks that were read"
    raise Lie(words) if of_final else NotThere(words)


def _who_has(view: View, node: Node, last_read: BlockId) -> str | None:
    """The name of another URL that still has this block; None where there is none."""
    for other in view.nodes.usable():
        if other.name == node.name:
            continue
        try:
            header = other.header(last_read.number)
        except RpcFault:
            continue
        if header is not None and header.hash == last_read.hash:
            return other.name
    return None


def _too_deep(view: View, depth: int | None, from_block: BlockNumber) -> str:
    replaced = "all blocks that were read" if depth is None else f"{depth} blocks"
    return (
        f"a reorganisation replaced {replaced}, from block {from_block} on; at most {view.max_reorg} "
        "blocks below the newest are accepted (MAX_REORG_BLOCKS). Make sure that the URLs belong to this "
        "chain"
    )
