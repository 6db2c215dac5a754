"""The process beside the workers: ``python -m serving.side``.

Gunicorn's master starts it, hands it the sockets that listen and starts it again when it dies. Beside another
server it is started by hand: then it listens by itself, and tells everything but what workers count.
"""

from __future__ import annotations

import argparse
import os
import select
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Final

from app import create_app
from app.logs.processes import log_to_stderr
from app.metrics.exposition import CONTENT_TYPE, Exposition
from app.metrics.files import MetricFiles
from app.metrics.kept import Kept
from app.metrics.state import StateMetrics
from app.release import VERSION
from app.runtime.gateway import current_gateway
from config import Settings, load_settings
from serving.side.addresses import addresses_of, listen, url_of
from serving.side.health import Health
from serving.side.listeners import Answer, Listener

LOOK_SECONDS: Final = 0.25
"""How long the end of the master may go unnoticed: its port is free again after that."""

TEXT_SECONDS: Final = 0.25
"""For how long all who ask for metrics get the same text: nobody keeps the processor busy by asking."""

TEXT_PATIENCE_SECONDS: Final = 8.0
"""Prometheus waits for ten seconds."""


def main(arguments: list[str] | None = None) -> None:
    """Answer until told to stop, or until the master is gone."""
    options = _options(arguments)
    settings = load_settings()
    log_to_stderr(settings.log_format, settings.log_level)
    sockets = _handed_over(options) if options.master else _own(settings)
    if options.master:
        # Of a terminal everybody gets it: the master ends this process when its workers are done.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        threading.Thread(target=_end_with, args=(options.master,), name="master", daemon=True).start()
    _serve(settings, sockets, options)
    while True:
        signal.pause()


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m serving.side", description=__doc__)
    parser.add_argument("--master", type=int, help="process id of the server's master, with which to end")
    parser.add_argument("--files", type=Path, help="the directory that workers count into")
    parser.add_argument("--stopping", type=int, help="number of a pipe that holds something once it stops")
    parser.add_argument("--metrics", type=int, help="number of an open socket that listens for metrics")
    parser.add_argument("--health", type=int, help="the same for health")
    return parser.parse_args(arguments)


def _handed_over(options: argparse.Namespace) -> dict[str, socket.socket]:
    numbers = {"metrics": options.metrics, "health": options.health}
    return {name: socket.socket(fileno=number) for name, number in numbers.items() if number is not None}


def _own(settings: Settings) -> dict[str, socket.socket]:
    """
    :raises SystemExit: none is configured, or one is not free.
    """
    sockets = {name: listen(address) for name, address in addresses_of(settings).items()}
    if not sockets:
        raise SystemExit("METRICS_PORT: not set, and neither is HEALTH_PORT: there is nothing to serve")
    for name, listener in sockets.items():
        sys.stdout.write(f"{name.capitalize():8} {url_of(listener)}/\n")
    sys.stdout.flush()
    return sockets


def _serve(settings: Settings, sockets: dict[str, socket.socket], options: argparse.Namespace) -> None:
    # What this process is asked is no request to the gateway.
    app = create_app(settings.model_copy(update={"metrics_port": None, "health_port": None}))
    health = Health(app, lambda: options.stopping is not None and _holds_something(options.stopping))
    if "health" in sockets:
        Listener(sockets["health"], {"/healthz": health.up, "/readyz": health.ready}).serve()
    if "metrics" in sockets:
        with app.app_context():
            state = StateMetrics(current_gateway())
        files = None if options.files is None else MetricFiles(options.files)
        told = Exposition(files, state, health.is_ready, VERSION)
        text = Kept("metrics", told.text, TEXT_SECONDS)
        Listener(sockets["metrics"], {"/metrics": lambda: _metrics(text)}).serve()


def _holds_something(pipe: int) -> bool:
    """Whether the master stops, or is gone. Nothing is read: the next process sees it too."""
    look = select.poll()
    look.register(pipe, select.POLLIN)
    return bool(look.poll(0))


def _metrics(text: Kept[bytes]) -> Answer:
    text.refresh()
    found = text.current(time.monotonic() + TEXT_PATIENCE_SECONDS, TEXT_PATIENCE_SECONDS)
    if found is None:
        return Answer(503, b"metrics cannot be read: see the log\n", {"Content-Type": "text/plain"})
    return Answer(200, found.value, {"Content-Type": CONTENT_TYPE, "Cache-Control": "no-store"})


def _end_with(master: int) -> None:
    """End this process once its parent is another one: nobody is left who would."""
    while os.getppid() == master:
        time.sleep(LOOK_SECONDS)
    os._exit(0)


if __name__ == "__main__":
    main()
