"""``audit`` as an operator types it."""

from __future__ import annotations

import json
import os
import pwd
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import Result
from flask import Flask
from sqlalchemy import text as sql
from sqlalchemy import update

from app.audit.models import AuditRecord
from app.audit.rules.records import Actor, Source
from app.audit.services import ArchivedMeanwhile, record_separately
from app.cli import audit as commands
from app.db.database import Database
from app.db.engine import writing
from tests.applications import Audited
from tests.network.services.network_kit import changed, network, text


def run(app: Flask, *arguments: str, stdin: bytes = b"") -> Result:
    return app.test_cli_runner().invoke(args=[*arguments], input=stdin)


def fill(app: Flask) -> None:
    run(app, "network", "import", "-", stdin=text(network()))
    run(app, "network", "import", "-", stdin=text(changed("routes.0.perc_fee_tiers.0.ppm", 500)))
    run(app, "ingest-tokens", "create", "relayer-1")


def test_actions_are_listed_shown_exported(app: Flask) -> None:
    """What commands did."""
    fill(app)
    me = f"cli:{pwd.getpwuid(os.getuid()).pw_name}"
    listed = run(app, "audit", "list", "--actor", me, "--action", "network").stdout.splitlines()
    assert [line.split("  ")[0] for line in listed] == ["2", "1"]
    assert listed[0].split("  ")[2:4] == [me, "network.import"]
    shown = run(app, "audit", "show", "2").stdout.splitlines()
    assert f"{me} (cli)  network.import  network document" in shown[0]
    assert shown[2:] == ["changed route of USDT from 1 to 56", "  perc_fee_tiers[0].ppm: 400 → 500"]
    lines = run(app, "audit", "export", "--since", "2026-01-01T00:00:00Z").stdout.splitlines()
    assert [json.loads(line)["action"] for line in lines] == [
        "network.import",
        "network.import",
        "ingest_token.create",
    ]
    assert run(app, "audit", "export", "--action", "sign_in").stdout == ""


def test_audit_verify_prints_head_of_intact_log(app: Flask) -> None:
    fill(app)
    verified = run(app, "audit", "verify")
    assert verified.exit_code == 0
    assert verified.stdout.startswith("verified records: 3; head 3:")
    head = verified.stdout.split()[-1]
    assert run(app, "audit", "verify", "--head", head).exit_code == 0
    cut = run(app, "audit", "verify", "--head", head.replace("3:", "4:"))
    assert cut.exit_code == 1
    assert "records after 3 are missing" in cut.stderr
    assert "record 4 is known: somebody removed records at the end" in cut.stderr
    assert len(cut.stderr.splitlines()) == 1


def test_old_records_go_into_a_file(app: Flask, tmp_path: Path) -> None:
    fill(app)
    file, other = tmp_path / "old", tmp_path / "other"
    move = ("audit", "archive", "--before", "2099-01-01T00:00:00Z", "--to")
    done = run(app, *move, str(file))
    assert done.stdout.startswith("archived records: 3; head 3:")
    assert "'archive' is deprecated. 2.0.0 removes it" in done.stderr
    short, whole = run(app, "audit", "verify"), run(app, "audit", "verify", "--archive", str(file))
    assert short.stdout.startswith("verified records: 1; head 4:")
    assert short.stdout.splitlines()[1] == "records 1 to 3 are archived: --archive verifies them, too"
    assert whole.stdout == short.stdout.splitlines()[0].replace("records: 1", "records: 4") + "\n"
    none = run(app, "audit", "archive", "--before", "2020-01-01T00:00:00Z", "--to", str(other))
    assert (none.exit_code, none.stdout, other.exists()) == (
        0,
        "the log has no records from before that time\n",
        False,
    )
    for complaint, wrong in (
        ("exists and has other records", file),
        ("No such file", tmp_path / "no/folder"),
    ):
        refused = run(app, *move, str(wrong))
        assert (refused.exit_code, refused.stdout) == (1, "")
        assert "\nError: nothing was archived: " in refused.stderr
        assert complaint in refused.stderr


def test_broken_link_ends_verification(app: Flask, database: Database) -> None:
    fill(app)
    with writing(database.engine) as connection:
        connection.execute(update(AuditRecord).where(AuditRecord.id >= 2).values(detail="nothing"))
    broken = run(app, "audit", "verify")
    assert (broken.exit_code, broken.stdout) == (1, "")
    assert broken.stderr.startswith("Error: record 2 does not match")
    assert broken.stderr.endswith("see docs/audit.md#broken\n")
    assert len(broken.stderr.splitlines()) == 1


def test_audit_commands_report_unreadable_time_briefly(app: Flask, database: Database) -> None:
    fill(app)
    with writing(database.engine) as connection:
        connection.execute(sql("UPDATE audit_records SET at = 'soon' WHERE id = 2"))
    assert run(app, "audit", "show", "1").exit_code == 0
    for command in (["verify"], ["export"], ["list"], ["show", "2"]):
        broken = run(app, "audit", *command)
        assert broken.exit_code == 1
        (line,) = broken.stderr.splitlines()
        assert line.startswith("Error: record 2 cannot be read: it was changed in the database")


def test_audit_export_reports_archive_during_export(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    def export_audit(*_arguments: object) -> Iterator[bytes]:
        yield b"{}\n"
        raise ArchivedMeanwhile("records were archived")

    monkeypatch.setattr(commands, "export_audit", export_audit)
    ended = run(app, "audit", "export")
    assert (ended.exit_code, ended.stdout, ended.stderr) == (1, "{}\n", "Error: records were archived\n")


def test_record_cannot_steer_the_terminal(app: Flask, audited: Audited) -> None:
    record_separately(*audited, Actor("a\x1b[2J\nb", Source.CONSOLE), "sign_in.failed", "x")
    for command in (("list",), ("show", "1")):
        output = run(app, "audit", *command).stdout
        assert "\x1b" not in output
        assert "a\\x1b[2J\\nb" in output
