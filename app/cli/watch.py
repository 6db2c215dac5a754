"""``flask --app wsgi watch`` reads chains until it is stopped; ``--check`` and ``--status`` report."""

from __future__ import annotations

import logging
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from types import FrameType
from typing import Final, TextIO

import click
from flask import current_app
from flask.cli import with_appcontext
from msgspec import Struct, field

from app.cli.terminal import OneLineCommand, Refusal, check_database, say, stop_signals, table, tell_stopped
from app.db.connections import check_connections
from app.db.database import Database
from app.feed.services.ingest import Intake
from app.http.application import current
from app.network.snapshot import SnapshotSource
from app.observability.heartbeat import Heartbeat
from app.observability.logs import log_to_stderr
from app.values.errors import Unavailable
from app.values.identifiers import BlockNumber, ChainId
from app.watcher.check import Checked, Finding, check_chain, verdict
from app.watcher.loop.view import View
from app.watcher.loop.watcher import ChainTask, Watcher
from app.watcher.rules.watched import DisputedLog, WatchedChain
from app.watcher.services.chains import watch_details, watch_terms, watched_chains

EVERY_SECONDS: Final = 1.0
MEASURED_SECONDS: Final = 30.0
BAR: Final = 24
"""Characters of the bar."""


class _Pace(Struct):
    """Blocks read at certain times."""

    seen: deque[tuple[float, int]] = field(default_factory=deque)

    def rate(self, now: float, done: int) -> float:
        """Blocks a second over the last half minute; 0 where that is not known yet."""
        self.seen.append((now, done))
        while now - self.seen[0][0] > MEASURED_SECONDS:
            self.seen.popleft()
        then, before = self.seen[0]
        return max(0.0, (done - before) / (now - then)) if now > then else 0.0


class Progress:
    """Shows the backfills of this process in one line. Without a terminal it shows nothing.

    :param monotonic: seconds that never go back.
    """

    def __init__(self, stream: TextIO, monotonic: Callable[[], float]) -> None:
        self._stream = stream
        self._monotonic = monotonic
        self._shown_at = float("-inf")
        self._paces: dict[ChainId, _Pace] = {}
        self._open = False

    def show(self, tasks: Mapping[ChainId, ChainTask]) -> None:
        """Write the line again, at most once a second."""
        now = self._monotonic()
        if now - self._shown_at < EVERY_SECONDS or not self._stream.isatty():
            return
        self._shown_at = now
        parts = [text for task in list(tasks.values()) if (text := self._part(task, now))]
        if parts:
            self._stream.write("\r\x1b[K" + "   ".join(parts))
            self._stream.flush()
            self._open = True
        else:
            self.clear()

    def clear(self) -> None:
        """Remove the line, unless the terminal was closed."""
        if self._open and self._stream.isatty():
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._open = False

    def _part(self, task: ChainTask, now: float) -> str | None:
        found = None if task.view is None else done_of(task.view)
        if found is None:
            self._paces.pop(task.chain_id, None)
            return None
        done, total = found
        rate = self._paces.setdefault(task.chain_id, _Pace()).rate(now, done)
        return f"chain {task.chain_id} {line(done, total, rate)}"


def done_of(view: View) -> tuple[int, int] | None:
    """How many blocks the backfill has read, and how many it has; None before it begins and after it ends."""
    readings, start = view.readings, view.terms.from_block
    if readings.live_from is None or readings.live_from <= start:
        return None
    total = readings.live_from - start
    done = 0 if readings.backfilled_to is None else max(0, readings.backfilled_to - start + 1)
    return (done, total) if done < total else None


def line(done: int, total: int, rate: float) -> str:
    """The bar of one chain, with rate and time left."""
    filled = BAR * done // total
    left = _time((total - done) / rate) if rate > 0 else "-"
    return f"[{'#' * filled}{' ' * (BAR - filled)}] {100 * done // total}% {rate:,.0f} blocks/s {left} left"


def _time(seconds: float) -> str:
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02}"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"


HEAD: Final = (
    "chain", "name", "state", "head", "age", "read to", "lag", "backfill", "reread to", "proven to",
    "calls/min", "URL", "read by",
)  # fmt: skip


def status_row(chain: WatchedChain, now: datetime) -> Sequence[str]:
    """A chain as a row of the table; ``-`` for what is not known."""
    head, read_to = chain.head, chain.read_to
    return (
        str(chain.chain_id),
        chain.name,
        chain.state.value.replace("_", " "),
        _block(head),
        "-" if chain.head_at is None else f"{round((now - chain.head_at).total_seconds())} s",
        _block(read_to),
        "-" if head is None or read_to is None else str(max(0, head - read_to)),
        _backfill(chain),
        _block(chain.reread_to),
        _block(chain.proven_to),
        str(chain.calls_a_minute),
        chain.source or "-",
        chain.owner or "-",
    )


def status_notes(
    chains: Sequence[WatchedChain], disputed: Callable[[ChainId], Sequence[DisputedLog]]
) -> Iterator[str]:
    """The faults of the chains, a line each.

    :param disputed: returns logs of the highest disputed blocks of a chain.
    """
    for chain in chains:
        about = f"chain {chain.chain_id}"
        if chain.stopped is not None:
            by = f" by {chain.stopped_by}" if chain.stopped_by else ""
            yield f"{about} was stopped{by}: {chain.stopped}"
        if chain.fault is not None and chain.fault_at is not None:
            at = chain.fault_at.isoformat(timespec="seconds")
            yield f"{about}, last fault, {at} {chain.fault_source}".rstrip() + f": {chain.fault}"
        if chain.unmatched:
            some = f" ({chain.disputed} disputed)" if chain.disputed else ""
            yield f"{about}: {chain.unmatched} blocks are in doubt{some}: {chain.doubt_words}"
        if chain.disputed:
            yield from (f"{about}: {log.words}" for log in disputed(chain.chain_id))
        if chain.differed:
            yield f"{about}: {chain.differed} rereads differed from the first reading, and were corrected"


def check_lines(checked: Checked) -> Iterator[str]:
    terms = checked.terms
    outcome = "can be watched" if checked.good else "CANNOT be watched yet"
    yield f"chain {terms.chain_id} ({terms.name}): {outcome}"
    for finding in checked.chain:
        yield f"  {_mark(finding)} {finding.words}"
    for name, found in checked.urls.items():
        yield f"  {name}: {verdict(found)}"
        for finding in found:
            yield f"    {_mark(finding)} {finding.words}"


def _mark(finding: Finding) -> str:
    if not finding.good:
        return "FAIL"
    return "ok  " if finding.complete else "note"


def _block(block: BlockNumber | None) -> str:
    return "-" if block is None else str(block)


def _backfill(chain: WatchedChain) -> str:
    if chain.live_from is None:
        return "-"
    total = chain.live_from - chain.from_block
    done = 0 if chain.backfilled_to is None else chain.backfilled_to - chain.from_block + 1
    return "done" if done >= total else f"{100 * max(0, done) // total}%"


NOTICE_SECONDS: Final = 0.2
"""How soon a signal is noticed."""

_log = logging.getLogger("app.watcher")


@click.command("watch", cls=OneLineCommand)
@click.option("--chain", "chains", type=int, multiple=True, help="Only this chain. May be repeated.")
@click.option("--check", is_flag=True, help="Check each chain and each of its URLs, and read nothing.")
@click.option("--status", is_flag=True, help="Show how far each chain has been read by any watcher.")
@click.pass_context
@with_appcontext
def watch(context: click.Context, chains: tuple[int, ...], check: bool, status: bool) -> None:
    """Watch the configured chains and record their events, until SIGTERM or SIGINT.

    You can run several watchers: of each chain, one is the reader and the others stand by. Exits with
    0 after a signal, with 1 if it cannot start; --check exits with 1 if a chain cannot be watched.
    """
    if check and status:
        raise click.UsageError("use either --check or --status")
    database = current(Database)
    snapshots = current(SnapshotSource)
    intake = current(Intake)
    check_database(database)
    try:
        only = _only(snapshots, chains)
        if check:
            context.exit(0 if _check(database, snapshots, only) else 1)
        if status:
            _status(database, snapshots, only)
        else:
            _watch(database, snapshots, intake, only)
    except Unavailable as error:
        raise Refusal(error.msg) from None


def _only(snapshots: SnapshotSource, chains: tuple[int, ...]) -> frozenset[ChainId] | None:
    only = frozenset(map(ChainId, chains)) or None
    if unknown := sorted((only or frozenset()) - watch_terms(snapshots).keys()):
        raise Refusal(f"chain {unknown[0]} is not watched: set its watch_from_block (docs/network.md#chains)")
    return only


def _check(database: Database, snapshots: SnapshotSource, only: frozenset[ChainId] | None) -> bool:
    """Print the results. Returns whether every chain can be watched."""
    urls = current_app.config["SETTINGS"].rpc_urls
    chosen = [
        terms for chain_id, terms in sorted(watch_terms(snapshots).items()) if _is_meant(chain_id, only)
    ]
    if not chosen:
        say("no chain is configured to be watched: set watch_from_block and rpc of a chain")
    good = bool(chosen)
    for terms in chosen:
        known = watch_details(database, terms.chain_id)
        checked = check_chain(terms, urls, database.clock(), time.monotonic, known)
        for line in check_lines(checked):
            say(line)
        good = good and checked.good
    return good


def _status(database: Database, snapshots: SnapshotSource, only: frozenset[ChainId] | None) -> None:
    now = database.clock()
    chosen = [chain for chain in watched_chains(database, snapshots) if _is_meant(chain.chain_id, only)]
    if not chosen:
        say("no chain is configured to be watched: set watch_from_block and rpc of a chain")
        return
    click.echo(table(HEAD, [status_row(chain, now) for chain in chosen]))
    for line in status_notes(chosen, lambda chain_id: watch_details(database, chain_id).disputed):
        say(line)


def _is_meant(chain_id: ChainId, only: frozenset[ChainId] | None) -> bool:
    return only is None or chain_id in only


def _watch(
    database: Database, snapshots: SnapshotSource, intake: Intake, only: frozenset[ChainId] | None
) -> None:
    settings = current_app.config["SETTINGS"]
    log_to_stderr(settings.log_format, settings.log_level)
    check_connections(database)
    chosen = [str(chain_id) for chain_id in sorted(watch_terms(snapshots)) if _is_meant(chain_id, only)]
    if chosen:
        _log.info("watching chains %s of %s", ", ".join(chosen), database.address)
    else:
        _log.warning(
            "no chain of %s has a watch_from_block yet: set it in the console or by an import",
            database.address,
        )
    watcher = Watcher(database, snapshots, intake, settings.rpc_urls, time.monotonic, only)
    signals = _Signals()
    progress = Progress(sys.stderr, time.monotonic)
    heartbeat = Heartbeat(time.monotonic)

    def every() -> None:
        if signals.to_end:
            watcher.stop()
        if watcher.works():
            heartbeat.beat()
        progress.show(watcher.tasks)

    watcher.run(every, NOTICE_SECONDS)
    progress.clear()
    tell_stopped(_log)


class _Signals:
    """Notes that the process has to end. A handler that does more could wait for its own thread's lock."""

    def __init__(self) -> None:
        self.to_end = False
        for number in stop_signals():
            signal.signal(number, self._note)

    def _note(self, number: int, _frame: FrameType | None) -> None:
        if self.to_end and number == signal.SIGINT:  # a person who presses it twice does not want to wait
            raise KeyboardInterrupt
        self.to_end = True
