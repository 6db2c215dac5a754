"""A URL of two servers: what waits for the former primary is freed once the other one has taken over."""

from __future__ import annotations

import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from sqlalchemy import Connection, Engine, create_engine, text
from sqlalchemy.exc import OperationalError

from app.db.engine import READER_OPTIONS, pool_options, prepare, reading, run_read
from app.db.servers import OneServer
from app.db.timeouts import FEED, PUBLIC
from config import Settings, load_settings
from tests.replicas.cluster import Cluster, Node, cluster
from tests.replicas.conftest import eventually

pytestmark = pytest.mark.postgresql

FREED_SECONDS = 6.0
"""The attempt at a new connection, with what a busy machine adds. Otherwise a batch waits for 82 s."""


def url_of(servers: Cluster, monkeypatch: pytest.MonkeyPatch) -> str:
    """Of both servers, as an installation has it."""
    places = [parse_qs(urlsplit(node.url).query) for node in (servers.primary, servers.replica)]
    hosts = "&".join(f"host={place['host'][0]}" for place in places)
    url = f"postgresql://postgres@/postgres?{hosts}&target_session_attrs=read-write"
    monkeypatch.setenv("DATABASE_URL", url)
    settings: Settings = load_settings()
    return settings.database_url


def engine_for(url: str, timeouts: Any, server: OneServer, **options: Any) -> Engine:
    engine = create_engine(url, **pool_options(2), **options)
    prepare(engine, timeouts, server=server)
    return engine


def read_only(connection: Connection) -> str:
    return str(connection.scalar(text("SHOW transaction_read_only")))


def wait_for_it(engine: Engine, connection: Connection) -> float:
    """How long a statement on an open connection takes to fail."""
    began = time.monotonic()
    with pytest.raises(OperationalError):
        connection.execute(text("SELECT 1"))
    engine.dispose()
    return time.monotonic() - began


def test_waits_for_former_primary_end(monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        tempfile.TemporaryDirectory(prefix="gw-") as folder,
        cluster(Path(folder)) as servers,
        ThreadPoolExecutor(1) as threads,
    ):
        url, server = url_of(servers, monkeypatch), OneServer()
        feed, reads = engine_for(url, FEED, server), engine_for(url, PUBLIC, server, **READER_OPTIONS)
        assert run_read(reads, read_only) == "off"
        with feed.connect() as batch, servers.primary.hanging():
            waiting = threads.submit(wait_for_it, feed, batch)
            promote(servers.replica)
            reads.dispose()  # as the check of the primary does it
            eventually(lambda: found(reads) == "off")
            assert waiting.result() < FREED_SECONDS
        assert run_read(reads, read_only) == "off"


def promote(replica: Node) -> None:
    replica.run("ALTER SYSTEM SET synchronous_standby_names = ''")
    replica.run("SELECT pg_promote()")


def found(reads: Engine) -> str:
    with reading(reads) as connection:
        return read_only(connection)
