"""Everything that serves, put together: PostgreSQL and a replica, PgBouncer, Redis, two gateways, nginx."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psycopg

from app.db.database import Database
from app.http.application import part_of
from tests.faults_rig.postgres import DATABASE, Postgres, own
from tests.faults_rig.programs import Bouncer, Gateway, Nginx, Redis, status_of, wait_for
from tests.load.events import TOKEN
from tests.load.requests import (
    estimate_requests,
    fill,
    latency_requests,
    status_requests,
    transfer_ids,
    write_requests,
)
from tests.postgres import gateway_on

DISK_MIB: Final = 1_500


@dataclass(slots=True)
class Stage:
    """What runs. ``primary`` is another server after a failover."""

    folder: Path
    primary: Postgres
    replica: Postgres
    bouncer: Bouncer
    redis: Redis
    gateways: list[Gateway]
    nginx: Nginx
    requests: Path
    disk: Path | None
    """Where the primary's files are, if they have a small disk of their own."""

    def has(self, ids: list[str]) -> int:
        """How many of these events the database has now."""
        with psycopg.connect(host=str(self.primary.folder), user="postgres", dbname=DATABASE) as connection:
            found = connection.execute(
                "SELECT count(DISTINCT event_id) FROM events WHERE event_id = ANY(%s)", [ids]
            )
            row = found.fetchone()
        assert row is not None
        return int(row[0])


@contextmanager
def stage(transfers: int) -> Iterator[Stage]:
    """Start everything, filled with so many transfers; it ends with the block."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gw-f-")))
        folder.chmod(0o755)
        rooms = {name: folder / name for name in ("pg", "copy", "pb", "redis", "nginx", "a", "b")}
        for room in rooms.values():
            room.mkdir()
        disk = rooms["pg"] if _mounted(rooms["pg"], stack) else None
        primary, replica = Postgres(own(rooms["pg"])), Postgres(own(rooms["copy"]))
        stack.callback(_quietly, primary.stop)
        primary.make()
        with gateway_on(primary.url) as app:
            fill(app, transfers)
            ids = transfer_ids(part_of(app, Database))
        stack.callback(_quietly, replica.stop)
        replica.copy(primary)
        requests = status_requests(ids)
        others = estimate_requests(len(requests) // 3) + latency_requests() * (len(requests) // 50 + 1)
        file = write_requests(requests + others, folder / "requests")
        bouncer, redis = Bouncer(rooms["pb"], primary, replica), Redis(rooms["redis"])
        settings = {
            "DATABASE_URL": bouncer.url(),
            "DATABASE_REPLICA_URL": bouncer.url("replica"),
            "DATABASE_POOLER": "1",
            "SECRET_KEY": "only for measurements " * 2,
            "AUDIT_KEY": "only for measurements " * 2,
            "INGEST_TOKENS": TOKEN,
            "RATE_LIMIT": "1000000/second",
            "RATE_LIMIT_STORAGE_URL": f"redis://127.0.0.1:{redis.port}",
            "TRUSTED_PROXIES": "1",
            "WEB_CONCURRENCY": "2",
        }
        gateways = [Gateway(rooms[name], settings) for name in ("a", "b")]
        nginx = Nginx(rooms["nginx"], [gateway.port for gateway in gateways])
        for program in (redis, bouncer, *gateways, nginx):
            stack.callback(program.end)
            program.start()
        wait_for("nginx", lambda: status_of(nginx.port, "/healthz") == 200)
        yield Stage(folder, primary, replica, bouncer, redis, gateways, nginx, file, disk)


def _mounted(folder: Path, stack: ExitStack) -> bool:
    """Whether the folder has a small disk of its own now: in memory, which only root may mount."""
    if os.geteuid() != 0:
        return False
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={DISK_MIB}m", "tmpfs", str(folder)],
        capture_output=True,
        check=False,
    )
    if done.returncode == 0:
        stack.callback(subprocess.run, ["umount", "-l", str(folder)])
    return done.returncode == 0


def _quietly(stop: Callable[[], None]) -> None:
    with suppress(RuntimeError):
        stop()
