"""One poll: is the last block that was read still canonical, and what do the blocks above it say?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from app.feed.services.retract import retractions_of
from app.network.rules.watch_terms import FINALIZED
from app.transfers.rules.events.event_types import Event
from app.values.identifiers import BlockNumber
from app.watcher.loop.branches import Branch, branch_of, is_confirmed
from app.watcher.loop.fetch import Fetched, check_times, fetch, in_parts, read_from
from app.watcher.loop.findings import weighed_first
from app.watcher.loop.view import LINKED_BLOCKS, Blocks, View, final_block, live_blocks, live_start
from app.watcher.rpc.faults import FaultyAnswer, Incomplete, NotThere, RpcFault
from app.watcher.rpc.node import Look, Node
from app.watcher.rules.blocks import BlockId, Header
from app.watcher.rules.logs.translation import Translation, Unreadable, head_event, reorged_event
from app.watcher.rules.steps import Doubt, Step, WaitingKind
from app.watcher.services.readings import Reported, confirmed_elsewhere


class Outcome(Struct, frozen=True):
    """The result of reading from the chain.

    :param step: what is to be written; None where nothing is new.
    :param unreadable: logs that cannot be reported as events; they are shown as faults.
    """

    step: Step | None
    unreadable: Sequence[Unreadable] = ()


class _Read(Struct, frozen=True):
    look: Look
    final: BlockNumber | None
    branch: Branch | None
    fetched: Fetched | None


def poll(view: View, reported: Reported) -> Outcome:
    """Look at the newest blocks, and read those above the last one that was read.

    :raises NoNode: no URL can be used now.
    :raises TooDeep: a reorganisation deeper than is accepted.
    :raises Moved: the chain changed at each try; the next poll reads again.
    """
    read, node = read_from(view, lambda node: _read(view, node))
    for _ in view.nodes.names:
        if read.fetched is None or not read.fetched.doubtful or _is_complete(view, read.fetched, node):
            break
        read, node = read_from(view, lambda node: _read(view, node))
    view.look, view.final, view.source = read.look, read.final, node.name
    return _outcome(view, read, reported)


def _read(view: View, node: Node) -> _Read:
    """All that one poll requests of one node: two requests, and a third where new blocks have logs."""
    last = view.readings.live_to
    look = node.look(None if last is None else last.number, finalized=view.terms.finality == FINALIZED)
    check_times(view, [look.head])
    branch = branch_of(view, node, look)
    final = final_block(view.terms, look)
    is_lower = last is not None and look.head.number < last.number
    if view.final is not None and not (branch is not None and is_lower):
        # What was final stays final, even if this node lags.
        final = max(view.final, final or view.final)
    anchor = last if branch is None else branch.anchor
    blocks = _next(view, node, look, final, anchor)
    if blocks is None:
        return _Read(look, final, branch, None)
    if last is None:  # nothing leads to the first block read
        is_confirmed(view, node, look, BlockNumber(-1))
    if (linked := anchor is not None) and len(blocks) > min(LINKED_BLOCKS, view.max_reorg):
        linked = not is_confirmed(view, node, look, BlockNumber(blocks.first - 1))
        blocks = blocks.cut(LINKED_BLOCKS) if linked else blocks
    fetched = _fetched(
        view,
        node,
        look,
        blocks,
        lambda part: fetch(node, view.wanted, part, anchor=anchor, head=look.head, linked=linked),
    )
    check_times(view, fetched.headers.values())
    return _Read(look, final, branch, fetched)


def _fetched(
    view: View, node: Node, look: Look, blocks: Blocks, question: Callable[[Blocks], Fetched]
) -> Fetched:
    """The beginning of the new blocks, as far as the node has them: its logs may come later than its headers.

    :raises NotThere: it does not have the first one, or another URL can be requested.
    """
    while True:
        try:
            return next(in_parts(node, blocks, question))
        except NotThere:
            _check_head(view, node, look, blocks.last)
            if len(blocks) == 1 or len(view.nodes.usable()) > 1:
                raise
            blocks = blocks.cut(len(blocks) // 2)


def _check_head(view: View, node: Node, look: Look, block: BlockNumber) -> None:
    """Check a newest block that is far above that of the last poll.

    :param block: one of the blocks between, which could not be read.
    :raises FaultyAnswer: it is far below the newest one, and the node does not have it.
    """
    before = view.look
    if before is None or look.head.number - max(before.head.number, block) <= LINKED_BLOCKS:
        return
    if node.header(block) is None:
        raise FaultyAnswer(f"its newest block is {look.head.number}, but it does not have block {block}")


def _next(
    view: View, node: Node, look: Look, final: BlockNumber | None, anchor: BlockId | None
) -> Blocks | None:
    head = look.head.number
    first = live_start(view.terms, head, final) if anchor is None else BlockNumber(anchor.number + 1)
    return live_blocks(first, head, final, node.blocks.now)


def _is_complete(view: View, fetched: Fetched, node: Node) -> bool:
    """Whether the last block has no logs by a second request either, to another URL where there is one.

    A node that returned too little is not used for a moment, so that another is tried next.
    """
    last = fetched.blocks.last
    try:
        answer, by = view.nodes.request(
            lambda other: other.logs(view.wanted, last, last), rather_not=node.name
        )
    except RpcFault:
        return True  # the reread will show it
    if not answer.logs or answer.end.hash != fetched.end.hash:
        return True
    if by is not node:
        view.nodes.failed(
            node, Incomplete(f"it returned none of the {len(answer.logs)} logs of block {last}")
        )
    return False


def _outcome(view: View, read: _Read, reported: Reported) -> Outcome:
    branch, fetched = read.branch, read.fetched
    forget_from = None if branch is None else BlockNumber(branch.anchor.number + 1)
    waiting = [each for each in view.readings.waiting if forget_from is None or each.block < forget_from]
    if fetched is None:
        return _tried_again(view, read)
    fetched, doubts = weighed_first(view, fetched)
    events: list[Event] = []
    if branch is not None:
        events += _rollback(view, branch, fetched.end, reported)
    translation = view.translated(fetched.logs, fetched.headers, waiting, fetched.end.number)
    events += [*translation.events, head_event(view.terms.chain_id, fetched.end)]
    read = replace(read, fetched=fetched)
    return Outcome(_step(view, read, events, translation, doubts), translation.unreadable)


def _rollback(view: View, branch: Branch, replaced_by: Header, reported: Reported) -> Iterator[Event]:
    """The reorganisation, and retractions of blocks that never existed: they may be too many for the feed."""
    reorged = reorged_event(view.terms.chain_id, branch.from_block, branch.replaced, replaced_by)
    if not branch.is_long:
        yield reorged
        return
    false = [each.event for each in reported(branch.from_block, None) if each.canonical]
    words = f"blocks from {branch.from_block} on never existed"
    yield from retractions_of([event.key for event in false], words, view.clock())
    yield reorged
    yield from confirmed_elsewhere(reported, false)


def _tried_again(view: View, read: _Read) -> Outcome:
    """Try again what waits for the configuration when that has changed, even without a new block."""
    live_to = view.readings.live_to
    version = view.network.version
    unknown = [each for each in view.readings.waiting if each.kind is WaitingKind.UNKNOWN]
    if live_to is None or all(each.facts["version"] == version for each in unknown):
        return Outcome(None)
    again = view.translated((), {}, view.readings.waiting, live_to.number)
    return Outcome(_step(view, read, again.events, again), again.unreadable)


def _step(
    view: View, read: _Read, events: Sequence[Event], translation: Translation, doubts: Sequence[Doubt] = ()
) -> Step:
    fetched, branch = read.fetched, read.branch
    first_time = view.readings.live_to is None
    headers: list[Header] = [] if fetched is None else fetched.stored_headers()
    live_to = None if fetched is None else fetched.end.id
    return Step(
        at=view.clock(),
        events=events,
        forget_from=None if branch is None else BlockNumber(branch.anchor.number + 1),
        live_from=fetched.blocks.first if first_time and fetched is not None else None,
        backfill_from=view.terms.from_block if first_time else None,
        live_to=live_to,
        headers=headers,
        forget_headers_below=None if live_to is None else view.forgettable(live_to.number),
        spans=() if fetched is None else (fetched.span(),),
        doubts=doubts,
        waiting=translation.waiting,
        done=translation.done,
        head=read.look.head,
        final=read.final,
        source=view.source,
        calls=view.calls(),
        extra=view.extra,
    )
