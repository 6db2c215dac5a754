"""Reads the blocks below the live reading, from the chain's first block on, one range a step."""

from __future__ import annotations

from app.values.identifiers import BlockNumber
from app.watcher.blocks import BlockId
from app.watcher.logs.translation import Translation, translate
from app.watcher.loop.fetch import Fetched, check_times, fetch, in_windows
from app.watcher.loop.plan import Blocks, backfill_blocks
from app.watcher.loop.poll import Outcome
from app.watcher.loop.view import View
from app.watcher.rpc.faults import Moved
from app.watcher.rpc.node import Node
from app.watcher.steps import Step


def next_range(view: View) -> Blocks | None:
    """The next range of the backfill; None where there is none."""
    return backfill_blocks(view.terms, view.readings, view.window.size)


def read_range(view: View) -> Fetched | None:
    """Read the next range. Changes nothing else in the view, so the last range may still be being written.

    :raises NoNode: no URL can be used now.
    :raises Moved: the chain changed at each try.
    """
    return _read(view, next_range(view))


def report_range(view: View, fetched: Fetched) -> Outcome:
    """The step that follows from a range that was read."""
    blocks = fetched.blocks
    live_to = view.readings.live_to
    # Final blocks are below all that is read live. Of others only the range itself is known.
    deep_enough = live_to is not None and view.final is not None and blocks.last <= view.final
    read_to = live_to.number if live_to is not None and deep_enough else blocks.last
    translation = translate(
        view.network,
        view.terms,
        fetched.logs,
        fetched.headers,
        view.readings.waiting,
        read_to=read_to,
        final_to=view.settled_to,
    )
    return Outcome(_step(view, fetched, translation), translation.unreadable)


def _read(view: View, blocks: Blocks | None) -> Fetched | None:
    if blocks is None:
        return None
    started = view.monotonic()
    fetched, _ = in_windows(view, lambda node: _fetched(view, node, blocks))
    spent = view.monotonic() - started
    view.window = view.window.answered(len(fetched.blocks), spent, len(fetched.logs))
    _check_join(view, fetched)
    return fetched


def _fetched(view: View, node: Node, blocks: Blocks) -> Fetched:
    part = blocks.cut(view.window.size)
    fetched = fetch(node, view.wanted, part, anchor=_anchor(view, part))
    check_times(view, fetched.headers.values())
    return fetched


def _anchor(view: View, blocks: Blocks) -> BlockId | None:
    """The block below the range, where its header is stored."""
    return _stored(view, BlockNumber(blocks.first - 1))


def _check_join(view: View, fetched: Fetched) -> None:
    """Check that the live reading builds on the range.

    :raises Moved: it does not; the next poll finds the reorganisation.
    """
    stored = _stored(view, fetched.end.number)
    if stored is not None and stored.hash != fetched.end.hash:
        raise Moved(f"block {stored.number} is not the one that live reading continues from")


def _stored(view: View, number: BlockNumber) -> BlockId | None:
    return next((header.id for header in view.readings.headers if header.number == number), None)


def _step(view: View, fetched: Fetched, translation: Translation) -> Step:
    readings, live_to = view.readings, view.readings.live_to
    # Those of blocks that a reorganisation can still reach.
    reachable = -1 if live_to is None else live_to.number - view.max_reorg
    return Step(
        at=view.clock(),
        events=translation.events,
        backfill_from=view.terms.from_block if readings.backfill_from is None else None,
        backfilled_to=fetched.blocks.last,
        headers=[header for header in fetched.stored_headers() if header.number >= reachable],
        spans=(fetched.span(),),
        waiting=translation.waiting,
        done=translation.done,
        source=fetched.source,
        calls=view.calls(),
    )
