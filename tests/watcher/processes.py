"""Real processes of ``flask --app wsgi watch``, next to fake nodes on loopback."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from sqlalchemy import update

from app.db.database import Database
from app.db.engine import writing
from app.values.crypto import checksum_address
from app.watcher.models import ChainWatch
from tests.builders import network as build
from tests.forked import Forked
from tests.watcher.kit import CHAIN, OTHER, POOL, TOKEN

ROOT = Path(__file__).resolve().parents[2]
COMMAND = ("--app", "wsgi", "watch")
SECONDS = 60


def document(**watching: object) -> bytes:
    """Two chains with a pool of USDT each; the first is watched."""
    settings = {"watch_from_block": 1, "finality": 6, "poll_seconds": 0.2, "rpc": ["RPC_URL_A"]}
    pool = checksum_address(POOL)
    return build.text(
        build.document(
            chains=[
                build.chain(CHAIN, "Ethereum", block_delay=3, contract_addr=pool, **settings | watching),
                build.chain(OTHER, "Other", block_delay=3, contract_addr=pool),
            ],
            tokens=[build.token(chain, "USDT", checksum_address(TOKEN), 6) for chain in (CHAIN, OTHER)],
            pools=[build.pool(chain, "USDT", "0") for chain in (CHAIN, OTHER)],
        )
    )


class Process:
    """A watcher; its output is in ``log``."""

    def __init__(self, database_url: str, log: Path, urls: Mapping[str, str], *options: str) -> None:
        self.log = log
        inherited = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        env = (
            inherited
            | dict(urls)
            | {
                "DATABASE_URL": database_url,
                "SECRET_KEY": "test-only secret key, 32 characters or more",
                "AUDIT_KEY": "test-only audit key, 32 characters or more",
                "MAX_REORG_BLOCKS": "50",
                "LOG_LEVEL": "DEBUG",
            }
        )
        with log.open("ab") as output:
            self._process = Forked("flask", (*COMMAND, *options), env=env, stdout=output, stderr=output)

    def kill(self) -> None:
        """SIGKILL."""
        self._process.kill()
        self._process.wait()

    def end(self) -> int:
        """SIGTERM; the exit code."""
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(SECONDS)

    @property
    def runs(self) -> bool:
        return self._process.poll() is None

    @property
    def exit_code(self) -> int | None:
        return self._process.poll()

    @property
    def output(self) -> str:
        return self.log.read_text()


@contextmanager
def watching(database_url: str, log: Path, urls: Mapping[str, str], *options: str) -> Iterator[Process]:
    """A watcher that is killed at the end, if it is still there."""
    process = Process(database_url, log, urls, *options)
    try:
        yield process
    finally:
        process.kill()


def free(database: Database) -> None:
    """Let the leases of a watcher that was killed run out at once."""
    with writing(database.engine) as connection:
        connection.execute(update(ChainWatch).values(until=database.clock() - timedelta(seconds=1)))


def until(true: Callable[[], bool], seconds: float = SECONDS) -> float:
    """Wait for something; the seconds that it took."""
    begun = time.monotonic()
    while not true():
        assert time.monotonic() - begun < seconds, "it did not come"
        time.sleep(0.02)
    return time.monotonic() - begun
