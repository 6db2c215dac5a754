"""How the gateway is served: ``gunicorn -c gunicorn.conf.py wsgi:app``.

Settings come from the environment through config.py; a bad one ends the start here with one line.
"""

from __future__ import annotations

import logging
import os
import socket
import sys
from typing import Any

from gunicorn import glogging, util

from app.api.unread import unread_answer
from app.extensions import db
from config import INSTANCE, load_settings

_settings = load_settings()
_host = f"[{_settings.host}]" if ":" in _settings.host else _settings.host
_LINE = "%(asctime)s %(levelname)s %(process)d %(name)s: %(message)s"
_TIME = "%Y-%m-%dT%H:%M:%S%z"
_UNIX_PATH_MAX = 107


class _Logger(glogging.Logger):  # type: ignore[misc]  # gunicorn has no types
    """Gunicorn's own messages in the same form as the application's."""

    error_fmt = _LINE
    datefmt = _TIME


def _available_cores() -> int:
    """The cores this process may use, which in a container are fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# Threads keep connections alive between requests (the sync worker closes each) and let one slow
# writer wait without stopping the readers beside it. Past eight workers, connections to the database
# are the scarce thing (workers x threads), so more must be asked for by WEB_CONCURRENCY.
bind = [f"{_host}:{_settings.port}"]
worker_class = "gthread"
workers = _settings.web_concurrency or min(max(2, _available_cores()), 8)
threads = _settings.web_threads

# Longer than the 60 s for which common load balancers hold a connection: the side that closes first
# must not be this one, or a request in flight is lost.
keepalive = 75
timeout = 60
graceful_timeout = 30

# Loaded once, before forking: memory is shared, and a fault in the start ends it instead of
# restarting workers for ever. What must not be shared is dropped in post_fork.
preload_app = True

# The largest gunicorn knows, so that the application answers long queries with its own envelope.
limit_request_line = 8190

# Only TRUSTED_PROXIES decides whose X-Forwarded-* headers count.
forwarded_allow_ips = ""

# The heartbeat file in memory: on a disk that stalls, workers would be taken for dead.
worker_tmp_dir = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108  no name in it is ours

# One control socket per instance: gunicorn's default is one per user, which two instances would share.
# Port 0 is chosen by the system, so there the process id tells them apart.
control_socket = str(INSTANCE / f"gunicorn-{_settings.host}-{_settings.port or os.getpid()}.ctl")
control_socket_disable = len(os.fsencode(control_socket)) > _UNIX_PATH_MAX

# Access logs are the proxy's; to see them here: GUNICORN_CMD_ARGS="--access-logfile -".
accesslog = None
access_log_format = '%(h)s "%(r)s" %(s)s %(B)s %(M)sms'
errorlog = "-"
loglevel = _settings.log_level.lower()
logger_class = _Logger
logging.basicConfig(level=_settings.log_level, format=_LINE, datefmt=_TIME)


def when_ready(server: Any) -> None:
    """Print where the gateway answers, once it listens."""
    for listener in server.LISTENERS:
        if listener.sock.family not in (socket.AF_INET, socket.AF_INET6):
            continue
        host, port = listener.sock.getsockname()[:2]
        address = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        if "api" in _settings.doors:
            sys.stdout.write(f"API      {address}/v2/\nDocs     {address}/docs\n")
        else:
            sys.stdout.write(f"Doors {','.join(_settings.doors)} at {address}\n")
        if "admin" in _settings.doors and _settings.secret_key:
            sys.stdout.write(f"Console  {address}/admin/\n")
    sys.stdout.flush()


def post_fork(_server: Any, worker: Any) -> None:
    """Forget connections made before the fork: two processes on one socket mix up their answers."""
    application = worker.app.wsgi()
    with application.app_context():
        for engine in db.engines.values():
            engine.dispose(close=False)


def _write_error(sock: socket.socket, status: int, reason: str, message: str) -> None:
    """Answer what gunicorn itself cannot read with the gateway's envelope; clients parse no HTML."""
    util.write_nonblock(sock, unread_answer(status, reason, message))


util.write_error = _write_error  # gunicorn has no setting for it
