"""The gateway on Debian's PostgreSQL 15, behind PgBouncer and with Redis, each with the files of deploy/."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
import redis
from flask_migrate import upgrade
from prometheus_client.parser import text_string_to_metric_families

from app.values.codes import TransferHistoryStatus as Status
from tests.applications import application
from tests.deploy.files import DEPLOY, ROOT, free_port
from tests.deploy.pgbouncer import PLACE
from tests.deploy.stores import (
    OWNER_PASSWORD,
    PASSWORD,
    ROOT_IS_REFUSED,
    folder_of_somebody,
    pgbouncer,
    postgresql,
    redis_server,
    somebody,
)
from tests.sandboxes import load_into
from tests.serving.server import Server, serving
from tests.site.snippets import block_of

COMPLETED = "0x77d7e231b08120217969ded3ff1ed2b40c0028ca1e239b225f535c57808a23f6"
pytestmark = pytest.mark.system


POOLS = block_of("docs/alerts.md", "su postgres -c")
RUN = [POOLS]


@dataclass(frozen=True)
class Stores:
    """What runs, by what it is reached."""

    folder: Path
    postgres: int
    pgbouncer: int
    redis: str

    def url(self, port: int, *, owner: bool = False) -> str:
        name, password = ("gateway_owner", OWNER_PASSWORD) if owner else ("gateway", PASSWORD)
        return f"postgresql://{name}:{password.replace(' ', '%20')}@127.0.0.1:{port}/gateway"

    def settings(self) -> dict[str, str]:
        """Of the gateway, as deploy/ sets them."""
        return {
            "DATABASE_URL": self.url(self.pgbouncer),
            "DATABASE_POOLER": "1",
            "RATE_LIMIT_STORAGE_URL": self.redis,
            "AUDIT_KEY": "k" * 40,
        }


@pytest.fixture(scope="module")
def stores() -> Iterator[Stores]:
    """Running, migrated by the owner and filled with the sandbox by the gateway's role."""
    with ExitStack() as stack:
        folder = stack.enter_context(folder_of_somebody())
        server = stack.enter_context(postgresql(folder))
        pooler = stack.enter_context(pgbouncer(folder, server))
        running = Stores(folder, server, pooler, stack.enter_context(redis_server(folder)))
        with application(with_driver(running.url(server, owner=True))):
            upgrade(directory=str(ROOT / "migrations"))
        with application(with_driver(running.url(pooler)), database_pooler=True) as app:
            load_into(app)
        yield running


def with_driver(url: str) -> str:
    return url.replace("postgresql:", "postgresql+psycopg:")


@pytest.fixture(scope="module")
def server(stores: Stores, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    log = tmp_path_factory.mktemp("stores") / "log"
    with serving(
        "wsgi:app", log, **stores.settings(), RATE_LIMIT="12/minute", DOORS="api,grpcweb"
    ) as running:
        yield running
    assert "Traceback" not in log.read_text()


def test_settings_are_applied(stores: Stores) -> None:
    """A name that PostgreSQL 15 does not know would end its start; these are the values that it has."""
    with psycopg.connect(stores.url(stores.postgres, owner=True)) as connection:
        shown: dict[str, str] = dict(
            connection.execute("SELECT lower(name), reset_val FROM pg_settings").fetchall()
        )
        version = connection.info.server_version
    assert version // 10_000 == 15
    lines = (
        line.split("#")[0].strip() for line in (DEPLOY / "postgres/gateway.conf").read_text().splitlines()
    )
    names = [line.split("=")[0].strip() for line in lines if line]
    assert set(names) - shown.keys() == set() and len(names) >= 30, len(names)
    assert (shown["max_connections"], shown["synchronous_commit"], shown["fsync"]) == ("120", "on", "on")


@pytest.mark.parametrize("place", [PLACE, "compose/pgbouncer-place.ini"])
def test_pooler_has_every_written_setting(stores: Stores, place: str) -> None:
    """PgBouncer takes what it does not read for its defaults, silently."""
    with folder_of_somebody() as folder, pgbouncer(folder, stores.postgres, place) as port:
        written = _settings(folder / "pgbouncer.ini") | _settings(folder / "place.ini")
        with psycopg.connect(_console(stores, port), autocommit=True) as connection:
            shown = {row[0]: row[1] for row in connection.execute("SHOW CONFIG").fetchall()}
    assert len(written) >= 20
    assert {name: shown[name] for name in written} == written
    assert (shown["pool_mode"], shown["auth_type"]) == ("transaction", "scram-sha-256")


def _settings(file: Path) -> dict[str, str]:
    """What a file of PgBouncer sets, without the databases."""
    lines = [line for line in file.read_text().splitlines() if " = " in line and line[0] != ";"]
    return {name: value for name, value in (line.split(" = ") for line in lines) if "host=" not in value}


def _console(stores: Stores, port: int) -> str:
    return stores.url(port).removesuffix("/gateway") + "/pgbouncer"


def test_alert_commands_show_pooler_waiters(stores: Stores) -> None:
    """As docs/alerts.md has them: by the user of the process, and from elsewhere by the gateway's role."""
    (here,) = re.findall(r"^su postgres -c '(psql .*SHOW POOLS.*)'$", POOLS.code, re.M)
    (there,) = re.findall(r"^docker compose exec postgres sh -c '(.*SHOW POOLS.*)'$", POOLS.code, re.M)
    secret = stores.folder / "database_password"
    secret.write_text(PASSWORD)
    here = here.replace("/var/run/postgresql", str(stores.folder))
    there = there.replace("-h pgbouncer", "-h 127.0.0.1").replace(
        "/run/secrets/database_password", str(secret)
    )
    with psycopg.connect(stores.url(stores.pgbouncer)):
        for typed, user in ((here, somebody()), (there, None)):
            words = ["sh", "-c", typed.replace("6432", str(stores.pgbouncer))]
            done = subprocess.run(words, user=user, capture_output=True, text=True, check=False, cwd="/")
            assert done.returncode == 0, done.stderr
            assert re.search(r"^ *database +\| +user +\| +cl_active +\| +cl_waiting", done.stdout, re.M)
            assert re.search(r"^ *gateway +\| +gateway +\|", done.stdout, re.M)


def test_waiting_clients_are_written(stores: Stores) -> None:
    """Debian's exporter of PgBouncer ends at its start, so the alert PoolerClientsWait reads this."""
    script = (DEPLOY / "pgbouncer/waiting-clients").read_text()
    changes = {
        "/var/lib/prometheus/node-exporter": str(stores.folder),
        "/var/run/postgresql": str(stores.folder),
        "6432": str(stores.pgbouncer),
        "su postgres -s /bin/sh": f"su {somebody()} -s /bin/sh" if ROOT_IS_REFUSED else "sh",
    }
    for shipped, here in changes.items():
        assert shipped in script
        script = script.replace(shipped, here)
    file = stores.folder / "gateway-pooler.prom"
    with psycopg.connect(stores.url(stores.pgbouncer)):
        subprocess.run(["bash"], input=script, text=True, check=True)
    assert 'pgbouncer_pools_waiting_clients{database="gateway",user="gateway"} 0\n' in file.read_text()
    assert len(list(text_string_to_metric_families(file.read_text()))) == 1
    before = file.read_text()
    broken = script.replace(f"-p {stores.pgbouncer}", f"-p {free_port()}")
    assert subprocess.run(["bash"], input=broken, text=True, capture_output=True, check=False).returncode
    assert file.read_text() == before, "its age shows that nothing is written any more"


def test_gateway_role_reads_pooler_only(stores: Stores) -> None:
    with psycopg.connect(_console(stores, stores.pgbouncer), autocommit=True) as connection:
        for statement in ("PAUSE", "RELOAD", "SHUTDOWN", "SET pool_mode = 'session'"):
            with pytest.raises(psycopg.Error, match="admin access needed"):
                connection.execute(statement)


def test_gateway_role_changes_no_table(stores: Stores) -> None:
    with psycopg.connect(stores.url(stores.pgbouncer), autocommit=True) as connection:
        for statement in (
            "CREATE TABLE x (y int)",
            "DROP TABLE transfers",
            "ALTER TABLE events ADD x int",
            "TRUNCATE events",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement)
        assert connection.execute("SHOW statement_timeout").fetchone() == ("20s",)


def test_wrong_password_is_refused(stores: Stores) -> None:
    for port in (stores.postgres, stores.pgbouncer):
        url = stores.url(port).replace(PASSWORD.replace(" ", "%20"), "wrong")
        with pytest.raises(psycopg.OperationalError, match="authentication failed"):
            psycopg.connect(url)


def test_gateway_answers_with_all_stores(stores: Stores, server: Server) -> None:
    ready = json.load(server.request("GET", "/readyz"))
    assert ready["err"] is None
    status = json.load(
        server.request("POST", "/v2/getTransferStatus", body=f'{{"transfer_id":"{COMPLETED}"}}')
    )
    assert (status["err"], status["status"]) == (None, Status.TRANSFER_COMPLETED)
    query = "src_chain_id=1&dst_chain_id=56&token_symbol=USDT&amt=1000000000&slippage_tolerance=3000"
    estimate = json.load(server.request("GET", f"/v2/estimateAmt?{query}"))
    assert (estimate["err"], estimate["estimated_receive_amt"]) == (None, "999395562471907988034")
    latency = json.load(
        server.request("GET", "/v2/getLatest7DayTransferLatencyForQuery?src_chain_id=1&dst_chain_id=56")
    )
    assert latency["err"] is None and latency["median_transfer_latency_in_second"] > 0


def test_limits_are_counted_together_in_redis(stores: Stores, server: Server) -> None:
    """Two workers, one count: what is left falls by one with each request, whichever worker answers."""
    left = [
        int(server.request("GET", "/v2/getTransferConfigs").headers["RateLimit-Remaining"]) for _ in range(4)
    ]
    assert left == list(range(left[0], left[0] - 4, -1))
    allowed = redis.Redis.from_url(stores.redis)
    for forbidden in (("GET", "a key of others"), ("FLUSHALL",), ("CONFIG", "GET", "*"), ("KEYS", "*")):
        with pytest.raises(redis.exceptions.NoPermissionError):
            allowed.execute_command(*forbidden)
    with pytest.raises(redis.exceptions.AuthenticationError):
        redis.Redis.from_url(stores.redis.replace("gateway:a-redis-password@", "")).ping()


def test_script_of_compose_makes_secrets_once(tmp_path: Path) -> None:
    (tmp_path / "compose").mkdir()
    (tmp_path / "redis").mkdir()
    script = tmp_path / "compose/make-secrets"
    script.write_bytes((DEPLOY / "compose/make-secrets").read_bytes())
    example = "redis/users.acl.example"
    (tmp_path / example).write_bytes((DEPLOY / example).read_bytes())
    made = []
    for _ in range(2):
        subprocess.run(["sh", str(script)], check=True, env={"PATH": os.environ["PATH"]})
        made.append({file.name: file.read_text() for file in (tmp_path / "compose/secrets").iterdir()})
    assert made[0] == made[1]
    values = made[0]
    password = values["database_password"].strip()
    assert values["database_url"] == f"postgresql://gateway:{password}@pgbouncer:6432/gateway\n"
    assert values["pgbouncer_userlist"] == f'"gateway" "{password}"\n'
    assert (
        "CHANGE_ME" not in values["redis_users"] and values["redis_password"].strip() in values["redis_users"]
    )
    assert len(set(values.values())) == len(values)
    assert (tmp_path / "compose/secrets").stat().st_mode & 0o077 == 0
