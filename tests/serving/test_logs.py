"""What a real gunicorn writes as JSON, whatever strangers send: entries, and no secret among them."""

from __future__ import annotations

import fcntl
import json
import os
import re
import socket
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from app import create_app
from tests.applications import close_connections, make_settings
from tests.serving.guessing import guess
from tests.serving.migrated import sqlite_url
from tests.serving.server import COMMAND, ROOT, Server, announced, environment, serving

KEYS = {
    "AUDIT_KEY": "audit key of this test, 32 characters",
    "SECRET_KEY": "secret key of this test, 32 characters",
    "INGEST_TOKENS": "ingest token of this test",
    "RATE_LIMIT_STORAGE_URL": "redis://:password-of-redis@127.0.0.1:1/0",
    "RPC_URL_TEST": "https://node.example/v3/key-of-the-node",
}
SECRETS = [*list(KEYS.values())[:3], "password-of-redis", "key-of-the-node"]
API_KEY = "gwk_0123456789abcdef" + "Z" * 43
WALLET = "0x" + "5a" * 20
FORGED = json.dumps(
    {
        "level": "INFO",
        "logger": "app.services.audit.record",
        "message": f"audit head 1:{'ab' * 32} sign_in by x",
    }
)
PIPE_BYTES = 4096
"""The fewest that a pipe holds."""
TYPED = f"correct horse\n{FORGED}\r\n{FORGED}\u2028{FORGED}\x1b[2J"


@pytest.fixture
def database(tmp_path: Path, sqlite_template: Path) -> str:
    """A migrated, empty database."""
    return sqlite_url(tmp_path, sqlite_template)


def entries_of(log: Path) -> list[dict[str, Any]]:
    """Every line of the log, each of which must be an entry."""
    return [json.loads(line) for line in log.read_text().splitlines()]


def send_unreadable(server: Server) -> str:
    """A request line that is none; the id in the answer."""
    with socket.create_connection((server.host, server.port), timeout=20) as client:
        client.sendall(f"GET /v2/transferHistory?addr={WALLET} and more\r\n\r\n".encode())
        answer = client.makefile("rb").read().decode()
    assert answer.startswith("HTTP/1.1 400 ")
    return answer.partition("X-Request-Id: ")[2].partition("\r\n")[0]


def test_every_line_is_entry_without_secrets(tmp_path: Path, database: str) -> None:
    log, access = tmp_path / "log", tmp_path / "access"
    options = {"LOG_FORMAT": "json", "ACCESS_LOG": "all", "WEB_CONCURRENCY": "1", "DATABASE_URL": database}
    arguments = f"--no-control-socket --access-logfile {access}"
    with serving("wsgi:app", log, **options, **KEYS, GUNICORN_CMD_ARGS=arguments) as server:
        assert guess(server, TYPED, "x") == 200
        statuses = []
        for path in ("/admin/", "/v2/", "/admin/sign-in?password=", f"/v2/transferHistory?addr={WALLET}&x="):
            headers = {
                "User-Agent": FORGED,
                "X-Request-Id": "of-the-caller",
                "X-Forwarded-For": "203.0.113.7",
            }
            answer = server.request("GET", f"{path}{quote(TYPED)}", headers)
            answer.read()
            statuses.append(answer.status)
            assert answer.headers["X-Request-Id"] == "of-the-caller"
        for token in (KEYS["INGEST_TOKENS"], "x" * 20):
            statuses.append(
                server.request("GET", "/ingest/v1/cursor", {"Authorization": f"Bearer {token}"}).status
            )
        statuses.append(server.request("GET", "/v2/webhooks", {"Authorization": f"Bearer {API_KEY}"}).status)
        assert statuses[-3:] == [200, 401, 401]
        unread = send_unreadable(server)
    entries = entries_of(log)
    for entry in entries:
        assert {"time", "level", "logger", "pid", "message"} <= entry.keys(), entry
        assert entry["message"].isprintable()
    texts = log.read_text() + access.read_text()
    for secret in (*SECRETS, API_KEY, "correct horse battery", "x" * 20):
        assert secret not in texts
    assert WALLET not in access.read_text()
    for line in texts.splitlines():
        assert not (WALLET in line and ("127.0.0.1" in line or "203.0.113.7" in line)), line
    assert {entry["logger"] for entry in entries} >= {
        "gunicorn.error",
        "app.http.request_log",
        "app.http.errors",
    }
    requests = [entry for entry in entries if entry["logger"] == "app.http.request_log"]
    assert [entry["code"] for entry in requests] == [200, 200, *statuses]
    assert [entry["request_id"] for entry in requests].count("of-the-caller") == 4
    assert {entry["operation"] for entry in requests} >= {"unknown", "v2.get_transfer_history"}
    refused = [entry for entry in entries if entry["message"].startswith("Invalid request")]
    assert [entry["request_id"] for entry in refused] == [unread]

    with closing(sqlite3.connect(database.removeprefix("sqlite:///"))) as opened:
        tables = ("audit_records", "sign_in_failures")
        stored = [opened.execute(f"SELECT * FROM {table}").fetchall() for table in tables]
    assert all(stored)
    assert "correct horse" not in str(stored), "people type passwords where the email belongs"

    app = create_app(make_settings(database, audit_key=KEYS["AUDIT_KEY"]))
    verified = app.test_cli_runner().invoke(args=["audit", "verify", "--log", str(log)])
    assert (verified.exit_code, verified.stdout[:20]) == (0, "verified records: 1;"), verified.output
    with app.app_context():
        close_connections()


def test_stalled_log_reader_stops_no_request(tmp_path: Path, database: str) -> None:
    """As a container's log that nobody fetches."""
    read, write = os.pipe()
    fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    process = subprocess.Popen(
        [*COMMAND, "wsgi:app"],
        cwd=ROOT,
        env=environment(DATABASE_URL=database, ACCESS_LOG="all"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=write,
        text=True,
    )
    os.close(write)
    requests = 200  # more than twice what the pipe holds
    try:
        assert process.stdout
        server = Server(process, *announced(process.stdout, tmp_path / "log"))
        assert guess(server, TYPED, TYPED) == 200
        connections = [server.connect() for _ in range(6)]
        for number in range(requests):
            connection = connections[number % len(connections)]
            connection.request("GET", f"/nowhere/{number}")
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 404
        os.set_blocking(read, False)
        text = os.read(read, 1_000_000)
        for connection in connections:
            connection.request("GET", "/healthz")
            connection.getresponse().read()
    finally:
        process.terminate()
        process.communicate(timeout=40)
    os.set_blocking(read, True)
    while piece := os.read(read, 1_000_000):
        text += piece
    os.close(read)
    assert b"correct horse" not in text
    lines = text.decode().splitlines()
    assert all(re.match(r"2\d{3}-\d\d-\d\dT[\d:+]+ [A-Z]+ \d+ [\w.]+: ", line) for line in lines)
    written = sum(" answered 404 " in line for line in lines)
    lost = [int(found[1]) for line in lines if (found := re.search(r"(\d+) log entries were dropped", line))]
    assert lost
    assert written + sum(lost) == requests
