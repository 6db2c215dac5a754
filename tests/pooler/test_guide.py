"""The settings of docs/scaling.md: PgBouncer starts with them, and the role has its limits."""

from __future__ import annotations

import tempfile
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import make_url

from tests.databases import run_on
from tests.deploy.files import free_port
from tests.deploy.stores import running
from tests.pooler.conftest import LIMITS
from tests.programs import program
from tests.site.snippets import blocks_of

pytestmark = pytest.mark.system

RUN = blocks_of("docs/scaling.md", "ini", "sql")
SETTINGS, LIMITED = RUN


def test_pooler_starts_with_limited_role(roles: str) -> None:
    run_on(roles, "ALTER ROLE gateway RESET ALL", *LIMITED.code.splitlines())
    socket = make_url(roles).query["host"]
    assert isinstance(socket, str)
    owner = Path(socket).stat()
    with tempfile.TemporaryDirectory(prefix="gw-pg-") as name:
        folder, port = Path(name), free_port()
        text = SETTINGS.code
        for shown, here in (
            ("host=10.0.0.5 dbname=gateway", f"host={socket} dbname={make_url(roles).database}"),
            ("listen_addr = 10.0.0.6", f"listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir ="),
            ("/etc/pgbouncer/userlist.txt", f"{folder}/users"),
        ):
            assert shown in text
            text = text.replace(shown, here)
        (folder / "pgbouncer.ini").write_text(text)
        (folder / "users").write_text('"gateway" "a password"\n')
        folder.chmod(0o755)
        url = f"postgresql://gateway@127.0.0.1:{port}/gateway"

        def connect() -> psycopg.Connection:
            return psycopg.connect(url, password="a password", autocommit=True)

        command = [program("pgbouncer"), str(folder / "pgbouncer.ini")]
        started = running(command, folder / "log", lambda: connect().close(), owner.st_uid)
        with started, connect() as connection:
            found = {name: connection.execute(f"SHOW {name}").fetchone() for name in LIMITS}
    assert found == {name: (value,) for name, value in LIMITS.items()} | {
        "idle_in_transaction_session_timeout": ("1min",)
    }
