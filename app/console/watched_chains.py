"""The chains that the gateway reads itself: how far, how well, and the switch that stops their reading."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from flask import abort, flash, redirect, request, url_for
from flask.typing import ResponseReturnValue
from flask_admin import expose
from markupsafe import Markup

from app.audit.keys import AuditKeys
from app.console.network.names import chain_page
from app.console.shell.access import READ, Access, Audience
from app.console.shell.caller import actor
from app.console.shell.formats import Look, pill, sentence, unknown
from app.console.shell.views import ConsoleView, once_per_request
from app.db.database import Database
from app.http.application import current
from app.network.snapshot import SnapshotSource
from app.values.amounts import PPM
from app.values.identifiers import ChainId
from app.watcher.rules.steps import WaitingKind
from app.watcher.rules.watched import WatchedChain, WatchState
from app.watcher.services.chains import (
    SwitchRefused,
    start,
    stop,
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
        "No watcher reads the chain until you start reading again. It then continues where it stopped.",
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


@once_per_request
def watched_now() -> list[WatchedChain]:
    """Every chain that is configured to be watched, by its id.

    :raises Unavailable: the configuration cannot be read.
    """
    return watched_chains(current(Database), current(SnapshotSource))


def watched(chain_id: int) -> WatchedChain | None:
    """How the chain is read; None where it is not configured to be watched."""
    return next((chain for chain in watched_now() if chain.chain_id == chain_id), None)


def watch_pill(chain: WatchedChain) -> Markup:
    """The state of the reading, and if the chain is not read, since when."""
    word, look, _ = STATE_WORDS[chain.state]
    return unknown(word, chain.read_at) if look is Look.UNKNOWN else pill(word, look)


def backfill_ppm(chain: WatchedChain) -> int | None:
    """How much of the backfill is done, in millionths; None while there is none."""
    left = chain.backfill_left
    if not left or chain.live_from is None:
        return None
    every = chain.live_from - chain.from_block
    return (every - left) * PPM // every


class WatchingView(ConsoleView):
    """Stops and starts the reading of a chain. Its page has the buttons, and how far it is read."""

    section = ""
    access = {
        "index": READ,
        "stop": Access(Audience.NOBODY, Audience.OPERATOR, sensitive=True),
        "start": Access(Audience.NOBODY, Audience.OPERATOR),
    }

    @expose("/")
    def index(self) -> ResponseReturnValue:
        return redirect(url_for("chains.index_view"))

    @expose("/<int:chain_id>/stop", methods=("POST",))
    def stop(self, chain_id: int) -> ResponseReturnValue:
        name, reason = _name(chain_id), request.form.get("reason", "")[:MAX_REASON]
        parts = current(Database), current(SnapshotSource), current(AuditKeys)
        try:
            stop(*parts, ChainId(chain_id), reason, actor=actor())
        except SwitchRefused as refused:
            flash(sentence(str(refused)), "error")
        else:
            flash(f"Stopped reading {name}. The events read so far still count.", "success")
        return redirect(chain_page(chain_id, "reading"))

    @expose("/<int:chain_id>/start", methods=("POST",))
    def start(self, chain_id: int) -> ResponseReturnValue:
        name = _name(chain_id)
        try:
            start(current(Database), current(AuditKeys), ChainId(chain_id), actor=actor())
        except SwitchRefused as refused:
            flash(sentence(str(refused)), "error")
        else:
            flash(f"Started reading {name}. A running watcher begins within seconds.", "success")
        return redirect(chain_page(chain_id, "reading"))


def _name(chain_id: int) -> str:
    """The name of a watched chain.

    :raises NotFound: it is not configured to be watched.
    """
    chain = watched(chain_id)
    if chain is None:
        abort(404)
    return chain.name
