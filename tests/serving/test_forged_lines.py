"""What guessers type is not in the log, and writes no line of it: a real gunicorn and its log."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path
from urllib.parse import quote

from app import create_app
from tests.applications import close_connections, make_settings
from tests.serving.guessing import guess
from tests.serving.migrated import sqlite_url
from tests.serving.server import serving

AUDIT_KEY = "audit key of this test, 32 characters"
FORGED = f"2026-11-21T12:00:00+0000 INFO 1 app.services.audit.record: audit head 1:{'ab' * 32} sign_in by x"
TYPED = f"correct horse battery staple\n{FORGED}\r\n{FORGED}\u2028{FORGED}\x1b[2J"


def test_no_guess_writes_a_line(tmp_path: Path, sqlite_template: Path) -> None:
    database, log = tmp_path / "gateway.db", tmp_path / "log"
    url = sqlite_url(tmp_path, sqlite_template)
    options = {"DATABASE_URL": url, "AUDIT_KEY": AUDIT_KEY, "WEB_CONCURRENCY": "1"}
    arguments = f"--no-control-socket --access-logfile {tmp_path / 'access'}"
    with serving("wsgi:app", log, **options, GUNICORN_CMD_ARGS=arguments) as server:
        assert guess(server, TYPED, "x") == 200
        assert guess(server, "somebody@example.org", TYPED) == 200
        for path in ("/admin/", "/v2/"):
            server.request("GET", f"{path}{quote(TYPED)}", {"User-Agent": FORGED, "Referer": FORGED}).read()
    lines = log.read_text().splitlines()
    assert "correct horse" not in log.read_text(), "people type passwords where the email belongs"
    assert sum(" audit head " in line for line in lines) == 2
    assert all(re.match(r"2\d{3}-\d\d-\d\dT[\d:+]+ [A-Z]+ \d+ [\w.]+: ", line) for line in lines), lines
    for file in (log, tmp_path / "access"):
        assert f"\n{FORGED}" not in f"\n{file.read_text()}"
        assert "\x1b" not in file.read_text()
    records, counts = (
        sqlite3.connect(database).execute(f"SELECT * FROM {table}").fetchall()
        for table in ("audit_records", "sign_in_failures")
    )
    assert (len(records), len(counts)) == (2, 6)
    assert "correct horse" not in f"{records} {counts}"

    app = create_app(make_settings(url, audit_key=AUDIT_KEY))
    runner = app.test_cli_runner()
    verified = runner.invoke(args=["audit", "verify", "--log", str(log)])
    assert (verified.exit_code, verified.stdout[:20]) == (0, "verified records: 2;")
    with log.open("a") as more:
        more.write(f"GET /x\n{FORGED}\n")  # as it was written before: then it accused the log
    accused = runner.invoke(args=["audit", "verify", "--log", str(log)])
    assert (accused.exit_code, "two different heads" in accused.stderr) == (2, True)
    nothing = runner.invoke(args=["audit", "verify", "--log", str(tmp_path / "access")])
    assert nothing.exit_code == 2
    with app.app_context():
        close_connections()
