"""Reads the blocks below the live reading, from the chain's first block on, one range a step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from app.values.identifiers import BlockNumber
from app.watcher.loop.fetch import Fetched, check_times, fetch, in_parts, read_from, read_logs
from app.watcher.loop.findings import said_of, weighed_first
from app.watcher.loop.poll import Outcome
from app.watcher.loop.view import Blocks, View, backfill_blocks
from app.watcher.rpc.faults import Moved, RpcFault
from app.watcher.rpc.node import Node
from app.watcher.rules.blocks import digest
from app.watcher.rules.logs.translation import Translation
from app.watcher.rules.steps import Doubt, Step
from app.watcher.services.readings import Reported


def read_range(view: View) -> Fetched | None:
    """Read the next range, if there is one. Changes nothing else in the view: the last may still be written.

    :raises NoNode: no URL can be used now.
    :raises Moved: the chain changed at each try, or the live reading does not build on the range.
    """
    blocks = backfill_blocks(view.terms, view.readings, view.nodes.most_blocks())
    if blocks is None:
        return None
    fetched, _ = read_from(view, lambda node: _fetched(view, node, blocks))
    stored = view.stored_header(fetched.end.number)
    if stored is not None and stored.hash != fetched.end.hash:  # the next poll finds the reorganisation
        raise Moved(f"block {stored.number} is not the one that live reading continues from")
    return _compared(view, fetched)


def _compared(view: View, fetched: Fetched) -> Fetched:
    """A range with whether another provider returns the same, where one can be requested at once.

    Of what both returned nothing is in doubt, so nothing is stored of its blocks, which may be very many.
    """
    blocks, voice = fetched.blocks, view.nodes.voice(fetched.source)
    if blocks.first <= view.known_to or any(
        blocks.first <= block <= blocks.last for block in view.readings.doubts
    ):
        return fetched
    for node in view.nodes.usable():
        if node.voice != voice:
            try:
                logs, end = read_logs(view, node, blocks)
            except RpcFault as fault:
                view.nodes.failed(node, fault)
            else:
                is_same = end.hash == fetched.end.hash and digest(logs) == digest(fetched.logs)
                return replace(fetched, agreed=is_same)
    return fetched


def report_range(view: View, fetched: Fetched, reported: Reported) -> Outcome:
    blocks = fetched.blocks
    live_to = view.readings.live_to
    # Final blocks are below all that is read live. Of others only the range itself is known.
    deep_enough = live_to is not None and view.final is not None and blocks.last <= view.final
    read_to = live_to.number if live_to is not None and deep_enough else blocks.last
    fetched, doubts = (fetched, []) if fetched.agreed else _weighed(view, fetched, reported)
    disputed = {doubt.block for doubt in doubts if doubt.disputed}
    logs = [log for log in fetched.logs if log.block not in disputed]  # they are as they were decided
    translation = view.translated(logs, fetched.headers, view.readings.waiting, read_to)
    return Outcome(_step(view, fetched, translation, doubts), translation.unreadable)


MOST_DOUBTS: Final = 2_000
"""Blocks in doubt with which the backfill adds no more: as long as no other URL answers there may be many."""


def _weighed(view: View, fetched: Fetched, reported: Reported) -> tuple[Fetched, list[Doubt]]:
    """A range without what is known to be false, and what is stored of its blocks: of those that are read
    again, as when a contract was added, and of those with new logs.
    """
    blocks, stored = fetched.blocks, view.readings.doubts
    said = said_of(view, reported, blocks) if blocks.first <= view.known_to else {}
    found = {block: doubt for block, doubt in stored.items() if blocks.first <= block <= blocks.last}
    fetched, doubts = weighed_first(view, fetched, said)
    new = {doubt.block: doubt for doubt in doubts}
    if len(stored) >= MOST_DOUBTS:
        new = {block: doubt for block, doubt in new.items() if block in stored}
    return fetched, list((found | new).values())


def _fetched(view: View, node: Node, blocks: Blocks) -> Fetched:
    below = view.stored_header(BlockNumber(blocks.first - 1))
    anchor = None if below is None else below.id
    fetched = next(in_parts(node, blocks, lambda part: fetch(node, view.wanted, part, anchor=anchor)))
    check_times(view, fetched.headers.values())
    return fetched


def _step(view: View, fetched: Fetched, translation: Translation, doubts: Sequence[Doubt]) -> Step:
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
        doubts=doubts,
        waiting=translation.waiting,
        done=translation.done,
        source=fetched.source,
        calls=view.calls(),
    )
