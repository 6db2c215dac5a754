"""How the gateway is served: ``gunicorn -c gunicorn.conf.py wsgi:app``.

Settings come from the environment through config.py; a bad one ends the start here with one line.
"""

from __future__ import annotations

from serving import ending

ending.stop_quietly()

import os
import sys

import gunicorn

# `python -m gunicorn` that is upgraded (USR2) runs as a script of its folder, where `http` is gunicorn's own.
_folder = os.path.realpath(os.path.dirname(gunicorn.__file__))  # noqa: PTH120  the less is imported before, the better
sys.path[:] = [path for path in sys.path if os.path.realpath(path) != _folder]

import gevent
from gevent.hub import Hub

from serving import patch

patch()
# It would record where each greenlet was started, for debuggers: a quarter of a KiB for each connection.
gevent.config.track_greenlet_tree = False

import logging
import resource
import signal
import socket
from collections.abc import Iterator
from itertools import count
from typing import Any

from gunicorn import glogging, util

from app.audit.keys import AuditKeys
from app.audit.rules.records import HEADS_LOGGER
from app.db.connections import check_connections
from app.db.database import Database
from app.db.models import db
from app.db.pooler import check_pooler
from app.db.schema import database_complaint
from app.http.application import part_of
from app.http.limits import LimitStore
from app.monitoring.figures import ProcessMetrics, report_regularly
from app.monitoring.request_metrics import counts
from app.network.snapshot import SnapshotSource
from app.observability.logs import (
    LINE,
    TIME,
    FewRefusals,
    drop_when_full,
    format_handlers,
    format_last_resort,
    log_failure,
    log_to_stderr,
)
from app.observability.metric_files import files_of_this_server
from app.sandbox.services import check_controls
from app.waiting.register import Waiting
from config import INSTANCE, load_settings, named_log_format
from serving import shared_state, shares, start_block
from serving.address import bind_of
from serving.reserved import (
    HEALTH,
    METRICS,
    dispatcher,
    further_addresses,
    purposes,
    refuse_taken,
    reserved_application,
    unread_answer,
    url_of,
)
from serving.workers import Workers, default_workers, this_machine, within_database

format_last_resort(named_log_format())
_settings = load_settings()
_counted = None if _settings.metrics_port is None else files_of_this_server()
_further = further_addresses(_settings)
_UNIX_PATH_MAX = 107
_HELD = {*ending.STOPPING, signal.SIGQUIT}
_ENDING = {signal.SIGINT, signal.SIGTERM, signal.SIGQUIT}
# Enough for all connections of a worker, and never less than what the shipped units allow.
_OPEN_FILES = max(16384, _settings.most_waiting + 5000)
_HANDED_OVER = {"GUNICORN_FD", "LISTEN_FDS"}
"""Variables by which a former master or systemd hands over sockets that listen already."""
_LIMITED_INTERFACES = {"api", "grpcweb"}
_SHOWN = {METRICS: "/metrics", HEALTH: "/readyz"}


class _Logger(glogging.Logger):  # type: ignore[misc]  # gunicorn has no types
    """Gunicorn's own messages in the same form as the application's."""

    error_fmt = LINE
    datefmt = TIME

    def setup(self, cfg: Any) -> None:
        """Set up the handlers as gunicorn does; clients can add only few lines, and forge none."""
        super().setup(cfg)
        self.error_log.addFilter(FewRefusals())
        handlers = [*self.error_log.handlers, *self.access_log.handlers]
        self.error_log.addFilter(lambda record: record.levelno > logging.INFO or not _says_little())
        format_handlers(handlers, _settings.log_format)
        drop_when_full(handlers)


def _is_silent() -> bool:
    """Whether somebody ends the server at a terminal. A new worker still has that held back."""
    pending = sys.stderr.isatty() and not signal.sigpending().isdisjoint(_ENDING)
    return bool(shared_state.SILENT.value) or pending


def _says_little() -> bool:
    """Whether gunicorn's own reports are not for the person who looks on."""
    start = start_block.begun()
    return _is_silent() or (start is not None and not start.verbose)


def _raise_open_files() -> int:
    """Raise the limit of open files of this process and its workers to the system's maximum. Returns the
    number.
    """
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _OPEN_FILES if most == resource.RLIM_INFINITY else min(_OPEN_FILES, most)
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
    return wanted


# A greenlet for each connection: slow and idle clients cost only memory (docs/decisions/0012-server.md).
# Health and metrics have queues and places of their own, which callers cannot fill.
bind = [bind_of(_settings.host, _settings.port), *(address.bind for address in _further)]
worker_class = "serving.worker.GatewayWorker"
_fitting = default_workers(this_machine())
workers = _settings.web_concurrency or _fitting.number  # _fit_database may lower a number that nobody ordered

# Room for all waiting requests, and for as many others as a proxy opens. Each connection is an open file;
# some are left for the database, logs and the server itself.
worker_connections = max(32, min(_settings.most_waiting + 4000, _raise_open_files() - 256))
backlog = 2048

# Longer than the 60 s for which common load balancers hold a connection: the side that closes first
# must not be this one, or a request in flight is lost.
keepalive = 75
timeout = 60
graceful_timeout = 30

# Loaded once, before forking: memory is shared, a worker that died is replaced at once, and a fault in the
# start ends it instead of restarting workers for ever. post_fork drops what must not be shared.
preload_app = True

# Files are sent like any other answer, within the deadline for the client.
sendfile = False

# The largest that gunicorn allows, so that the application answers long queries with its own envelope.
limit_request_line = 8190

# Only TRUSTED_PROXIES decides whose X-Forwarded-* headers count.
forwarded_allow_ips = ""

# The heartbeat file in memory: on a disk that stalls, workers would seem dead.
worker_tmp_dir = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108  no name in it is ours

# One control socket per instance: gunicorn's default is one per user, which two instances would share. The
# system chooses the port for 0, so there the process id distinguishes them.
control_socket = str(INSTANCE / f"gunicorn-{_settings.host}-{_settings.port or os.getpid()}.ctl")
control_socket_disable = len(os.fsencode(control_socket)) > _UNIX_PATH_MAX

# Access logs are the proxy's; to see them here: GUNICORN_CMD_ARGS="--access-logfile -".
accesslog = None
# Without the query: it names accounts, and this line has the caller's address.
access_log_format = '%(h)s "%(m)s %(U)s %(H)s" %(s)s %(B)s %(M)sms'
errorlog = "-"
loglevel = _settings.log_level.lower()
logger_class = _Logger
log_to_stderr(_settings.log_format, _settings.log_level)
if (_start := start_block.begun()) is not None and not _start.verbose:
    # One at each sign-in, of use only in a log that is stored.
    logging.getLogger(HEADS_LOGGER).setLevel(logging.WARNING)


def on_starting(server: Any) -> None:
    """Refuse settings that this worker does not support, and a database that cannot be used this way."""
    if server.cfg.is_ssl:
        sys.exit("certfile: TLS is not supported here; use a proxy in front (docs/scaling.md)")
    application = server.app.wsgi()
    with application.app_context():
        check_pooler(part_of(application, Database))
        _fit_database(server)
        check_connections(part_of(application, Database), server.cfg.workers)
        _warn_of_file(server, part_of(application, Database))
        if _settings.sandbox_controls:
            check_controls(part_of(application, Database))
        for engine in db.engines.values():
            engine.dispose()
    if not _HANDED_OVER.intersection(server.cfg.env_orig):
        refuse_taken(_settings, server.cfg.bind)
    _announce_stop(server)
    _hold_signals_of_new_workers(server)
    _end_with_terminal(server)
    _end_silently(server)


def _warn_of_file(server: Any, database: Database) -> None:
    """Warn at once of an embedded database that cannot be served: its path may be mistyped.

    It may still come, so this is no reason to end; until then the server is not ready.
    """
    if database.engine.dialect.name == "sqlite" and (complaint := database_complaint(database)):
        server.log.warning("%s", complaint)


def on_reload(server: Any) -> None:
    """Lower the number of workers that was read again."""
    application = server.app.wsgi()
    with application.app_context():
        _fit_database(server)
        for engine in db.engines.values():
            engine.dispose()


def _workers_of(server: Any) -> Workers:
    """How many it starts, before the database is looked at, and why."""
    number = server.cfg.workers
    if _settings.web_concurrency == number:
        return Workers(number, f"WEB_CONCURRENCY is {number}")
    return _fitting if _fitting.number == number else Workers(number, "GUNICORN_CMD_ARGS says so")


def _fit_database(server: Any) -> None:
    """Start no more workers than the database has connections for, unless their number was ordered."""
    global _fitting  # noqa: PLW0603  of the process, and the block at its start says it
    if _settings.web_concurrency or _workers_of(server) is not _fitting:
        return
    fewer = within_database(_fitting, part_of(server.app.wsgi(), Database))
    if fewer is not _fitting:
        server.cfg.set("workers", fewer.number)
        server.num_workers = fewer.number
        server.log.warning(
            "%d of %d workers start, because %s (docs/scaling.md#connections)",
            fewer.number,
            _fitting.number,
            fewer.why,
        )
        _fitting = fewer


def _announce_stop(server: Any) -> None:
    """Make load balancers see the end before the workers end; gunicorn has no hook for it.

    Not while another master takes over (USR2): it answers at the same address, and is ready.
    """
    stop = server.stop

    def announce_and_stop(graceful: bool = True) -> None:
        if not server.reexec_pid:
            shared_state.STOPPING.value = True
        stop(graceful)

    server.stop = announce_and_stop


def _hold_signals_of_new_workers(server: Any) -> None:
    """Hold back the signals of a new worker until it handles them; ``GatewayWorker`` lets them in.

    Gunicorn loses those that come before. It would wait for half a minute, and kill it. ``pre_fork`` begins
    to hold them back, and the master lets in its own again.
    """
    spawn_worker = server.spawn_worker

    def spawn_held() -> Any:
        try:
            return spawn_worker()
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _HELD)

    server.spawn_worker = spawn_held


def _end_with_terminal(server: Any) -> None:
    """End when the terminal is closed that the server was started in; its SIGHUP would be a reload.

    Not with ``nohup``. Any other SIGHUP reloads: the terminal is still there, or there never was one.
    """
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN or not ending.has_terminal():
        return
    reload = server.handle_hup

    def reload_or_end() -> None:
        if ending.has_terminal():
            reload()
        else:
            server.handle_int()

    server.handle_hup = reload_or_end


def _end_silently(server: Any) -> None:
    """Print nothing more about a start or an end to the person who ends it at a terminal."""
    if not sys.stderr.isatty():
        return
    note = server.signal

    def note_silently(number: int, frame: Any) -> None:
        shared_state.SILENT.value = shared_state.SILENT.value or number in _ENDING
        note(number, frame)

    server.signal = note_silently


def when_ready(server: Any) -> None:
    """Print where the gateway listens, for the operator or the log."""
    start = start_block.begun()
    for line in _where_it_answers(server) if start is None else _block(server, start):
        if _is_silent():
            return
        if _settings.log_format == "json" and start is None:
            server.log.info(" ".join(line.split()))
        else:
            sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _where_it_answers(server: Any) -> Iterator[str]:
    for address in _addresses(server):
        if "api" in _settings.doors:
            yield f"API      {address}/v2/"
            yield f"Docs     {address}/docs"
        else:
            yield f"Doors {','.join(_settings.doors)} at {address}"
        if "admin" in _settings.doors and _settings.secret_key:
            yield f"Console  {address}/admin/"
    if not _LIMITED_INTERFACES.isdisjoint(_settings.doors):
        store = part_of(server.app.wsgi(), LimitStore)
        yield f"Limits   {store.described(server.cfg.workers)}"
    yield from _further_addresses(server)


def _block(server: Any, start: start_block.Start) -> Iterator[str]:
    console = "admin" in _settings.doors and bool(_settings.secret_key)
    part_of(server.app.wsgi(), LimitStore).described(server.cfg.workers)  # logs that its store is away
    for address in _addresses(server):
        yield from start_block.block(
            start, address, _settings.doors, console, _workers_of(server), _further_addresses(server)
        )


def _addresses(server: Any) -> Iterator[str]:
    """Those of callers, with the path."""
    reserved = purposes(server.LISTENERS, _further)
    for number, listener in enumerate(server.LISTENERS):
        if number not in reserved and listener.sock.family in (socket.AF_INET, socket.AF_INET6):
            yield f"{url_of(listener.sock)}{_settings.script_name}"


def _further_addresses(server: Any) -> Iterator[str]:
    for number, purpose in purposes(server.LISTENERS, _further).items():
        yield f"{purpose.capitalize():8} {url_of(server.LISTENERS[number].sock)}{_SHOWN[purpose]}"


def pre_fork(server: Any, worker: Any) -> None:
    """Number the worker, for what it counts; and see ``_hold_signals_of_new_workers``."""
    taken = {each.number for each in server.WORKERS.values()}
    worker.number = next(number for number in count(1) if number not in taken)
    signal.pthread_sigmask(signal.SIG_BLOCK, _HELD)


def post_fork(server: Any, worker: Any) -> None:
    """Drop connections made before the fork: two processes on one socket mix up their answers."""
    if _counted is not None:
        _counted.number = worker.number
    worker.reserved = purposes(server.LISTENERS, _further)
    application = worker.app.wsgi()
    with application.app_context():
        for engine in db.engines.values():
            engine.dispose(close=False)


def post_worker_init(worker: Any) -> None:
    """Start the worker's own reports, where metrics are on."""
    application = worker.app.wsgi()
    # The application has it from its settings. Gunicorn would refuse paths without it, such as a probe's.
    os.environ.pop("SCRIPT_NAME", None)  # noqa: TID251  gunicorn reads it at each request
    worker.server_stops = lambda: bool(shared_state.STOPPING.value)
    worker.reserved = {
        number: reserved_application(purpose, application, _counted, worker.server_stops)
        for number, purpose in worker.reserved.items()
    }
    if worker.reserved:
        worker.wsgi = dispatcher(worker.wsgi)
    _trace(worker, application)
    worker.when_stopping = part_of(application, Waiting).stop
    if counts(application):
        report_regularly(
            ProcessMetrics(),
            part_of(application, Database),
            part_of(application, SnapshotSource),
            part_of(application, AuditKeys),
            part_of(application, Waiting),
            part_of(application, LimitStore),
        )


def _trace(worker: Any, application: Any) -> None:
    """Record the worker's traces by OpenTelemetry, where its variables enable it and it is installed."""
    if not os.environ.get("OTEL_TRACES_EXPORTER"):  # noqa: TID251  a variable of its own, not of this gateway
        return
    try:
        from app.http.traces import trace  # noqa: PLC0415  the packages are an extra
    except ImportError as missing:
        worker.log.warning("OTEL_TRACES_EXPORTER: nothing is traced: %s", missing)
        return
    with application.app_context():
        trace(application, list(db.engines.values()))


def child_exit(_server: Any, worker: Any) -> None:
    """Remove an ended worker from the shares of connections, and from the metrics of living ones."""
    shares.note(worker.age)
    if _counted is not None:
        _counted.forget_state(worker.number)


def on_exit(_server: Any) -> None:
    """Remove the files of the workers' counts; all workers have ended."""
    if _counted is not None:
        _counted.remove()
    ending.say_stopped()


def _write_error(sock: socket.socket, status: int, reason: str, message: str) -> None:
    """Answer what gunicorn itself cannot read with the gateway's envelope; clients parse no HTML."""
    util.write_nonblock(sock, unread_answer(status, reason, message))


util.write_error = _write_error  # gunicorn has no setting for it


def _log_greenlet(context: Any, kind: Any, error: Any, traceback: Any) -> None:
    """Log a greenlet's fatal error like everything else; gevent would print it."""
    if error is not None and not isinstance(error, Hub.NOT_ERROR):
        log_failure(kind, error, traceback)
    Hub.handle_error(_hub, context, kind, error, traceback)


_hub = gevent.get_hub()  # forked workers have the same one
_hub.exception_stream = None
_hub.handle_error = _log_greenlet
