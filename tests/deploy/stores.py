"""PostgreSQL 15, PgBouncer and Redis of Debian with the shipped files; folders and ports are of the test."""

from __future__ import annotations

import os
import pwd
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import redis

from tests.deploy.files import DEPLOY, compose, free_port
from tests.deploy.pgbouncer import PLACE, write_pgbouncer
from tests.programs import program

OWNER_PASSWORD, PASSWORD = "the owner's password", "the gateway's password"
ROOT_IS_REFUSED = os.geteuid() == 0
"""PostgreSQL and PgBouncer do not run as root, so another user runs them."""


def somebody() -> str | None:
    """The user that runs servers, where the tests run as root."""
    names = {entry.pw_name for entry in pwd.getpwall()}
    return next((name for name in ("postgres", "nobody") if name in names), None) if ROOT_IS_REFUSED else None


@contextmanager
def folder_of_somebody() -> Iterator[Path]:
    """A new folder that belongs to who runs the servers; its name is short, for it holds sockets."""
    with tempfile.TemporaryDirectory(prefix="gw-d-") as name:
        folder = Path(name)
        if user := somebody():
            shutil.chown(folder, user)
        yield folder


@contextmanager
def running(
    command: list[str], log: Path, answers: Callable[[], object], user: str | int | None = None
) -> Iterator[None]:
    """A server, from its first answer until the end of the block."""
    with log.open("ab") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, user=user, cwd="/")
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                answers()
                break
            except (OSError, psycopg.OperationalError, redis.RedisError):
                assert process.poll() is None and time.monotonic() < deadline, log.read_text()
                time.sleep(0.05)
        yield
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def postgresql(folder: Path) -> Iterator[int]:
    """Debian's PostgreSQL 15 by the command of compose.yaml, with deploy/postgres: its port."""
    data, port, user = folder / "data", free_port(), somebody()
    initdb = [
        program("initdb", "postgresql-15"),
        "-D",
        str(data),
        "-U",
        "postgres",
        "-A",
        "trust",
        "--data-checksums",
    ]
    subprocess.run(initdb, check=True, capture_output=True, user=user, cwd="/")
    shutil.copy(DEPLOY / "postgres/gateway.conf", folder)
    _, *words = compose()["services"]["postgres"]["command"]
    options = [word.replace("/etc/postgresql/gateway.conf", f"{folder}/gateway.conf") for word in words]
    # Memory of a machine that does other things, too. Everything else is as shipped.
    options += ["-c", "shared_buffers=64MB", "-c", "maintenance_work_mem=32MB"]
    (data / "pg_hba.conf").write_text("local all postgres trust\nhost all all 127.0.0.1/32 scram-sha-256\n")
    log = folder / "postgres.log"
    command = [
        program("postgres", "postgresql-15"),
        *options,
        "-D",
        str(data),
        "-p",
        str(port),
        "-k",
        str(folder),
        "-h",
        "127.0.0.1",
    ]
    connect = f"host={folder} port={port} user=postgres dbname=postgres"
    with running(command, log, lambda: psycopg.connect(connect).close(), user):
        # As docs/operations.md does it: a password in a command line can be seen by everybody.
        secrets = {"owner_password": OWNER_PASSWORD, "password": PASSWORD}
        lines = "".join(
            "\\set {} '{}'\n".format(name, word.replace("'", "''")) for name, word in secrets.items()
        )
        statements = lines + (DEPLOY / "postgres/roles.sql").read_text()
        where = ["-h", str(folder), "-p", str(port), "-U", "postgres", "-X", "-q", "-v", "ON_ERROR_STOP=1"]
        psql = [program("psql", "postgresql-client-15"), *where, "postgres"]
        subprocess.run(psql, check=True, capture_output=True, input=statements, text=True)
        yield port


@contextmanager
def pgbouncer(folder: Path, server: int, place: str = PLACE) -> Iterator[int]:
    """Debian's PgBouncer with deploy/pgbouncer in front of a server; its port.

    :param place: which of the shipped files says where it listens.
    """
    port, user = free_port(), somebody()
    settings = {"listen_addr": "127.0.0.1", "listen_port": str(port), "unix_socket_dir": str(folder)}
    databases = {"gateway": f"host=127.0.0.1 port={server} dbname=gateway"}
    file = write_pgbouncer(folder, databases, settings, place)
    users = (DEPLOY / "pgbouncer/userlist.txt.example").read_text()
    (folder / "users").write_text(users.replace("CHANGE_ME", PASSWORD))
    url = f"postgresql://gateway@127.0.0.1:{port}/gateway"
    command = [program("pgbouncer"), str(file)]
    with running(
        command, folder / "pgbouncer.log", lambda: psycopg.connect(url, password=PASSWORD).close(), user
    ):
        yield port


@contextmanager
def redis_server(folder: Path) -> Iterator[str]:
    """Debian's Redis with deploy/redis; the URL for RATE_LIMIT_STORAGE_URL."""
    port = free_port()
    users = folder / "users.acl"
    users.write_text(
        (DEPLOY / "redis/users.acl.example").read_text().replace("CHANGE_ME", "a-redis-password")
    )
    conf = (DEPLOY / "redis/redis.conf").read_text()
    conf, changed = re.subn(r"^port 6379$", f"port {port}\nbind 127.0.0.1", conf, flags=re.MULTILINE)
    conf, moved = re.subn(r"/etc/redis/users.acl", str(users), conf)
    assert (changed, moved) == (1, 1)
    (folder / "redis.conf").write_text(conf)
    url = f"redis://gateway:a-redis-password@127.0.0.1:{port}/0"
    command = [program("redis-server"), str(folder / "redis.conf"), "--dir", str(folder)]
    with running(command, folder / "redis.log", lambda: redis.Redis.from_url(url).ping()):
        yield url
