"""The chains that the gateway reads itself: how far, how well, and what went wrong last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from app.domain.freshness import age_in_words
from app.domain.keys import ChainId
from app.domain.watching.steps import WaitingKind
from app.domain.watching.watched import WatchedChain, WatchState
from app.runtime.gateway import Gateway
from app.services.watching.chains import DatedMiss, watch_details, watched_chains

STATE_WORDS: Final[Mapping[WatchState, tuple[str, str, str]]] = {
    WatchState.READING: ("reading", "good", "A watcher reads the chain, and new blocks arrive."),
    WatchState.STANDING: (
        "no new blocks",
        "warn",
        "A watcher reads the chain, but its nodes have reported no new block for a long time. Either the "
        "chain or the nodes have stopped: try another node.",
    ),
    WatchState.NOT_READ: (
        "not read",
        "bad",
        "No watcher reads the chain, or the watcher cannot read it. Check that one is running (flask --app "
        "wsgi watch), and see the last error.",
    ),
    WatchState.STOPPED: (
        "stopped",
        "bad",
        "Nothing is read until reading is started again. It then continues where it stopped.",
    ),
}
"""The word for a state, the look of its pill, and what it means."""

WAITING_WORDS: Final[Mapping[str, str]] = {
    WaitingKind.SEND_DEPTH.value: "sends waiting for confirmations",
    WaitingKind.REFUND_DEPTH.value: "paid refunds waiting to become final",
    WaitingKind.QUEUED.value: "payouts in a contract's delay queue",
    WaitingKind.EXECUTED.value: "executed payouts whose queue entry was not read yet",
    WaitingKind.UNKNOWN.value: "logs about tokens, chains or transfers that are not known",
}


@dataclass(frozen=True, slots=True)
class WatchedLine:
    """A chain as the page shows it."""

    chain: WatchedChain
    word: str
    look: str
    meaning: str
    is_read: bool
    """Whether the lag is known: while nobody reads the chain, it grows unseen."""
    quiet: bool
    head_age: str
    backfill_ppm: int | None
    """How much of the backfill is done, in millionths; None while there is none."""


@dataclass(frozen=True, slots=True)
class WatchedPage:
    """One chain, with what else is kept of it."""

    line: WatchedLine
    misses: Sequence[DatedMiss]
    waiting: Sequence[tuple[str, int]]


def watched_lines(gateway: Gateway) -> list[WatchedLine]:
    """Every chain that is configured to be watched, those that are not read first.

    :raises Unavailable: the configuration cannot be read.
    """
    now = gateway.clock()
    lines = [_line(chain, now) for chain in watched_chains(gateway)]
    return sorted(lines, key=lambda line: line.chain.state is WatchState.READING)


def watched_page(gateway: Gateway, chain_id: ChainId) -> WatchedPage | None:
    """The page of one chain; None where it is not configured to be watched.

    :raises Unavailable: the configuration cannot be read.
    """
    found = [line for line in watched_lines(gateway) if line.chain.chain_id == chain_id]
    if not found:
        return None
    details = watch_details(gateway, chain_id)
    waiting = [(WAITING_WORDS.get(kind, kind), number) for kind, number in sorted(details.waiting.items())]
    return WatchedPage(found[0], details.misses, waiting)


def _line(chain: WatchedChain, now: datetime) -> WatchedLine:
    word, look, meaning = STATE_WORDS[chain.state]
    return WatchedLine(
        chain=chain,
        word=word,
        look=look,
        meaning=meaning,
        is_read=chain.is_read,
        quiet=chain.is_quiet(now),
        head_age="never" if chain.head_at is None else age_in_words(now - chain.head_at),
        backfill_ppm=_backfill_ppm(chain),
    )


def _backfill_ppm(chain: WatchedChain) -> int | None:
    left = chain.backfill_left
    if not left or chain.live_from is None:
        return None
    return (chain.live_from - chain.from_block - left) * 1_000_000 // (chain.live_from - chain.from_block)
