"""``flask --app wsgi watch``: reads chains until it is told to end; ``--check`` and ``--status`` tell."""

from __future__ import annotations

import logging
import signal
import sys
import time
from types import FrameType
from typing import Final

import click
from flask import current_app
from flask.cli import with_appcontext

from app.domain.errors import Unavailable
from app.domain.keys import ChainId
from app.logs.entries import log_to_stderr
from app.runtime.gateway import Gateway, current_gateway
from app.runtime.pooler import pooler_complaint
from app.runtime.readiness import database_complaint
from app.services.watching.chains import watch_details, watched_chains
from app.services.watching.terms import watch_terms
from app.terminal import Refusal, say, table
from app.watcher.check import check_chain
from app.watcher.loop.watcher import Watcher
from app.watcher.progress import Progress
from app.watcher.report import HEAD, check_lines, status_notes, status_row

NOTICE_SECONDS: Final = 0.2
"""How soon a signal is noticed."""

_log = logging.getLogger("app.watcher")


@click.command("watch")
@click.option("--chain", "chains", type=int, multiple=True, help="Only this chain. May be repeated.")
@click.option("--check", is_flag=True, help="Check each chain and each of its URLs, and read nothing.")
@click.option("--status", is_flag=True, help="Show how far each chain has been read by any watcher.")
@click.pass_context
@with_appcontext
def watch(context: click.Context, chains: tuple[int, ...], check: bool, status: bool) -> None:
    """Watch the configured chains and record their events, until SIGTERM or SIGINT.

    Any number of watchers may run: each chain is read by one of them, and the others stand by. Exits with
    0 after a signal, with 1 if it cannot start; --check exits with 1 if a chain cannot be watched.
    """
    if check and status:
        raise click.UsageError("use either --check or --status")
    gateway = current_gateway()
    if complaint := database_complaint(gateway):
        raise Refusal(f"{complaint}; check DATABASE_URL, and run: flask --app wsgi db upgrade")
    if complaint := pooler_complaint(gateway):
        raise Refusal(complaint)
    try:
        only = _only(gateway, chains)
        if check:
            context.exit(0 if _check(gateway, only) else 1)
        if status:
            _status(gateway, only)
        else:
            _watch(gateway, only)
    except Unavailable as error:
        raise Refusal(error.msg) from None


def _only(gateway: Gateway, chains: tuple[int, ...]) -> frozenset[ChainId] | None:
    only = frozenset(map(ChainId, chains)) or None
    if unknown := sorted((only or frozenset()) - watch_terms(gateway).keys()):
        raise Refusal(f"chain {unknown[0]} is not watched: it has no watch_from_block in the configuration")
    return only


def _check(gateway: Gateway, only: frozenset[ChainId] | None) -> bool:
    """Print what was found out. Whether every chain can be watched."""
    urls = current_app.config["SETTINGS"].rpc_urls
    chosen = [terms for chain_id, terms in sorted(watch_terms(gateway).items()) if _is_meant(chain_id, only)]
    if not chosen:
        say("no chain is configured to be watched: set watch_from_block and rpc of a chain")
    good = bool(chosen)
    for terms in chosen:
        misses = watch_details(gateway, terms.chain_id).misses
        checked = check_chain(terms, urls, gateway.clock(), time.monotonic, misses)
        for line in check_lines(checked):
            say(line)
        good = good and checked.good
    return good


def _status(gateway: Gateway, only: frozenset[ChainId] | None) -> None:
    now = gateway.clock()
    chosen = [chain for chain in watched_chains(gateway) if _is_meant(chain.chain_id, only)]
    if not chosen:
        say("no chain is configured to be watched: set watch_from_block and rpc of a chain")
        return
    click.echo(table(HEAD, [status_row(chain, now) for chain in chosen]))
    for line in status_notes(chosen):
        say(line)


def _is_meant(chain_id: ChainId, only: frozenset[ChainId] | None) -> bool:
    return only is None or chain_id in only


def _watch(gateway: Gateway, only: frozenset[ChainId] | None) -> None:
    settings = current_app.config["SETTINGS"]
    log_to_stderr(settings.log_format, settings.log_level)
    if not watch_terms(gateway):
        _log.warning("no chain has a watch_from_block yet; waiting for one")
    watcher = Watcher(gateway, settings.rpc_urls, time.monotonic, only)
    asked = _Signals()
    progress = Progress(sys.stderr, time.monotonic)

    def every() -> None:
        if asked.to_end:
            watcher.stop()
        progress.show(watcher.tasks)

    watcher.run(every, NOTICE_SECONDS)
    progress.clear()
    _log.info("ended")


class _Signals:
    """Notes that the process is to end. A handler that does more could meet its own thread's lock."""

    def __init__(self) -> None:
        self.to_end = False
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._note)

    def _note(self, number: int, _frame: FrameType | None) -> None:
        if self.to_end and number == signal.SIGINT:  # a person who presses it twice does not want to wait
            raise KeyboardInterrupt
        self.to_end = True
