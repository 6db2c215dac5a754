"""Starts watchers quickly, to be killed: imports everything once, and forks one for each line that it reads.

It answers each line with the process id. The watchers are those of ``flask watch``, without its terminal.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import time
from functools import partial

from app import create_app
from app.db.database import Database
from app.feed.services.ingest import Intake
from app.http.application import part_of
from app.network.snapshot import SnapshotSource
from app.watcher.loop.watcher import Watcher
from config import load_settings


def main() -> None:
    logging.basicConfig(level="INFO")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them
    settings = load_settings()
    app = create_app(settings)
    for _ in sys.stdin:
        child = os.fork()
        if child == 0:
            with app.app_context():
                watcher = Watcher(
                    part_of(app, Database),
                    part_of(app, SnapshotSource),
                    part_of(app, Intake),
                    settings.rpc_urls,
                    time.monotonic,
                )
                signal.signal(signal.SIGTERM, partial(_stop, watcher))
                watcher.run(seconds=0.05)
            os._exit(0)
        print(child, flush=True)


def _stop(watcher: Watcher, *_signal: object) -> None:
    watcher.stop()


if __name__ == "__main__":
    main()
