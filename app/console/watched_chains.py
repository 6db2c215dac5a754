"""The chains that the gateway reads itself: how far, how well, and the switch that stops their reading."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from flask import abort, flash, g, redirect, request, url_for
from flask.typing import ResponseReturnValue
from flask_admin import expose
from markupsafe import Markup
from msgspec import Struct

from app.audit.keys import AuditKeys
from app.console.network.names import chain_page
from app.console.shell.access import READ, Access, Audience
from app.console.shell.caller import actor
from app.console.shell.formats import Look, pill, sentence, unknown
from app.console.shell.views import ConsoleView
from app.db.database import Database
from app.http.application import current
from app.network.snapshot import SnapshotSource
from app.values.identifiers import ChainId
from app.values.times import age_in_words
from app.watcher.rules.steps import WaitingKind
from app.watcher.rules.watched import DisputedLog, WatchedChain, WatchState
from app.watcher.services.chains import (
    DatedMiss,
    FalseAnswer,
    SwitchRefused,
    start,
    stop,
    watch_details,
    watched_chains,
)
from app.watcher.services.lease import MAX_REASON

STATE_WORDS: Final[Mapping[WatchState, tuple[str, Look, str]]] = {
    WatchState.READING: ("reading", Look.GOOD, "A watcher reads the chain, and new blocks arrive."),
    WatchState.STANDING: (
        "no new blocks",
        Look.WARN,
        "A watcher reads the chain, but its nodes have reported no new block for a long time. Either the "
        "chain or the nodes have stopped: try another node.",
    ),
    WatchState.NOT_READ: (
        "not read",
        Look.UNKNOWN,
        "No watcher reads the chain, or the watcher cannot read it. Check that one is running (flask --app "
        "wsgi watch), and see the last error.",
    ),
    WatchState.STOPPED: (
        "stopped",
        Look.BAD,
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


class WatchedLine(Struct, frozen=True):
    """A chain as pages show it."""

    chain: WatchedChain
    word: str
    look: Look
    meaning: str
    is_read: bool
    """Whether the lag is known. It is not while no watcher reads the chain."""
    quiet: bool
    head_age: str
    backfill_ppm: int | None
    """How much of the backfill is done, in millionths; None while there is none."""


class WatchedPage(Struct, frozen=True):
    """One chain, with what else is stored about it."""

    line: WatchedLine
    misses: Sequence[DatedMiss]
    false_answers: Sequence[FalseAnswer]
    waiting: Sequence[tuple[str, int]]
    disputed: Sequence[DisputedLog]


def watched_lines(database: Database, snapshots: SnapshotSource) -> list[WatchedLine]:
    """Every chain that is configured to be watched, those that are not read first.

    :raises Unavailable: the configuration cannot be read.
    """
    now = database.clock()
    lines = [_line(chain, now) for chain in watched_chains(database, snapshots)]
    return sorted(lines, key=lambda line: line.chain.state is WatchState.READING)


def watched_page(chain_id: ChainId) -> WatchedPage | None:
    """What is stored about the reading of one chain; None where it is not configured to be watched.

    :raises Unavailable: the configuration cannot be read.
    """
    found = [line for line in watched_now() if line.chain.chain_id == chain_id]
    if not found:
        return None
    details = watch_details(current(Database), chain_id)
    waiting = [(WAITING_WORDS.get(kind, kind), number) for kind, number in sorted(details.waiting.items())]
    return WatchedPage(found[0], details.misses, details.false_answers, waiting, details.disputed)


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


def watch_pill(line: WatchedLine) -> Markup:
    """The state of the reading; since when the chain is not read, where it is not."""
    return unknown(line.word, line.chain.read_at) if line.look is Look.UNKNOWN else pill(line.word, line.look)


def _backfill_ppm(chain: WatchedChain) -> int | None:
    left = chain.backfill_left
    if not left or chain.live_from is None:
        return None
    return (chain.live_from - chain.from_block - left) * 1_000_000 // (chain.live_from - chain.from_block)


def watched_now() -> list[WatchedLine]:
    """Every chain that is configured to be watched, read once per request."""
    if "watched_chains" not in g:
        g.watched_chains = watched_lines(current(Database), current(SnapshotSource))
    found: list[WatchedLine] = g.watched_chains
    return found


class WatchingView(ConsoleView):
    """Stops and starts the reading of a chain. Its page has the buttons, and how far it is read."""

    access = {
        "index": READ,
        "stop": Access(Audience.NOBODY, Audience.OPERATOR, sensitive=True),
        "start": Access(Audience.NOBODY, Audience.OPERATOR),
    }

    def __init__(self) -> None:
        super().__init__(name="Watched chains", endpoint="watching")

    def in_menu(self) -> bool:
        """It has no page but those of chains."""
        return False

    @expose("/")
    def index(self) -> ResponseReturnValue:
        """Where watched chains were listed once."""
        return redirect(url_for("chains.index_view"))

    @expose("/<int:chain_id>/stop", methods=("POST",))
    def stop(self, chain_id: int) -> ResponseReturnValue:
        """Stop the reading of a chain."""
        name = _name(chain_id)
        try:
            reason = request.form.get("reason", "")[:MAX_REASON]
            stop(
                current(Database),
                current(SnapshotSource),
                current(AuditKeys),
                ChainId(chain_id),
                reason,
                actor=actor(),
            )
        except SwitchRefused as refused:
            flash(sentence(str(refused)), "error")
        else:
            flash(f"Stopped reading {name}. What was read is kept.", "success")
        return redirect(chain_page(chain_id, "reading"))

    @expose("/<int:chain_id>/start", methods=("POST",))
    def start(self, chain_id: int) -> ResponseReturnValue:
        """Let the reading go on."""
        name = _name(chain_id)
        try:
            start(current(Database), current(AuditKeys), ChainId(chain_id), actor=actor())
        except SwitchRefused as refused:
            flash(sentence(str(refused)), "error")
        else:
            flash(f"Started reading {name}. A running watcher picks it up within seconds.", "success")
        return redirect(chain_page(chain_id, "reading"))


def _name(chain_id: int) -> str:
    """The name of a watched chain.

    :raises NotFound: it is not configured to be watched.
    """
    name = next((line.chain.name for line in watched_now() if line.chain.chain_id == chain_id), None)
    if name is None:
        abort(404)
    return name
