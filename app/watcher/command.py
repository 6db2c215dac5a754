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

from app.domain.keys import ChainId
from app.runtime.gateway import Gateway, current_gateway
from app.runtime.log_lines import LineFormatter
from app.runtime.readiness import database_complaint
from app.services.watching.terms import watch_terms
from app.terminal import Refusal
from app.watcher.loop.watcher import Watcher
from app.watcher.progress import Progress

NOTICE_SECONDS: Final = 0.2
"""How soon a signal is noticed."""

_log = logging.getLogger("app.watcher")


@click.command("watch")
@click.option("--chain", "chains", type=int, multiple=True, help="Only this chain; may be repeated.")
@with_appcontext
def watch(chains: tuple[int, ...]) -> None:
    """Read the configured chains and keep what they say, until SIGTERM or SIGINT.

    Any number of these processes may run: each chain is read by one of them, and the others stand by.
    Exits with 0 when it was told to end, with 1 where it cannot begin.
    """
    gateway = current_gateway()
    if complaint := database_complaint(gateway):
        raise Refusal(f"{complaint}; see DATABASE_URL, and run: flask --app wsgi db upgrade")
    only = frozenset(map(ChainId, chains)) or None
    _watch(gateway, only)


def _watch(gateway: Gateway, only: frozenset[ChainId] | None) -> None:
    settings = current_app.config["SETTINGS"]
    _log_to_stderr(settings.log_level)
    terms = watch_terms(gateway)
    if unknown := sorted((only or frozenset()) - terms.keys()):
        raise Refusal(
            f"chain {unknown[0]} has no watch_from_block in the network document: it is not watched"
        )
    if not terms:
        _log.warning("no chain has a watch_from_block yet; this process waits for one")
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


def _log_to_stderr(level: str) -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(LineFormatter())
    logging.basicConfig(level=level, handlers=[handler])
