"""Each record's head is noted once it is committed, and what was noted shows what was removed."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

import pytest
from flask import Flask
from sqlalchemy import delete

from app.accounts.rules.roles import Role
from app.audit.keys import AuditKeys
from app.audit.models import AuditRecord, AuditSubject
from app.audit.services import record_separately
from app.audit.verification import verify_audit
from app.db.database import Database
from app.db.engine import writing
from app.http.application import part_of
from app.webhooks.rules.subscription import AlertKind
from config import ALL_DOORS, ConfigError, load_settings
from tests.actors import TESTER
from tests.applications import OpenApp, audited_of
from tests.console.visitor import signed_in
from tests.webhooks.services.hooks import deliveries, to_alerts

pytestmark = pytest.mark.one_database
"""What is noted where. How records are stored is tested in the services, on both."""


@pytest.fixture
def heads(tmp_path: Path) -> Path:
    return tmp_path / "heads"


@pytest.fixture
def anchored(open_app: OpenApp, heads: Path) -> Flask:
    return open_app(audit_anchors=(f"file:{heads}",), doors=ALL_DOORS)


def write(app: Flask, count: int) -> None:
    for n in range(count):
        record_separately(*audited_of(app), TESTER, "test.action", f"subject {n}")


def verified(app: Flask, *options: str) -> tuple[int, str]:
    result = app.test_cli_runner().invoke(args=["audit", "verify", *options])
    return result.exit_code, result.output


def test_removed_records_are_found(anchored: Flask, heads: Path) -> None:
    write(anchored, 4)
    assert verified(anchored, "--anchors", str(heads))[0] == 0
    assert heads.read_text().splitlines()[-1].endswith(verify_audit(*audited_of(anchored)).head)
    with writing(part_of(anchored, Database).engine) as connection:
        connection.execute(delete(AuditSubject).where(AuditSubject.record_id > 2))
        connection.execute(delete(AuditRecord).where(AuditRecord.id > 2))
    assert verified(anchored)[0] == 0, "the chain by itself does not show it"
    code, output = verified(anchored, "--anchors", str(heads))
    assert (code, "records after 2 are missing" in output) == (1, True), output
    record_separately(*audited_of(anchored), TESTER, "test.action", "another one")
    code, output = verified(anchored, "--anchors", str(heads))
    assert (code, "two different heads" in output) == (2, True), output


def test_uncommitted_head_is_not_noted(anchored: Flask, heads: Path) -> None:
    database = part_of(anchored, Database)
    write(anchored, 1)
    before = heads.read_text()

    def fail() -> None:
        with writing(database.engine) as connection:
            from app.audit.services import record  # noqa: PLC0415

            record(
                connection, part_of(anchored, AuditKeys), TESTER, "test.action", "it", now=database.clock()
            )
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert heads.read_text() == before


def test_change_succeeds_without_noting_head(
    anchored: Flask, heads: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.audit.anchors.RETRY_SECONDS", 1)
    visitor = signed_in(anchored, Role.VIEWER)
    assert "could not write the newest head" not in visitor.get("/admin/audit/").text
    heads.unlink()
    heads.mkdir()
    write(anchored, 1)
    page = visitor.get("/admin/audit/").text
    assert "could not write the newest head" in page
    assert "Is a directory" in page
    assert verify_audit(*audited_of(anchored)).fault is None
    shutil.rmtree(heads)
    end = time.monotonic() + 10
    while part_of(anchored, AuditKeys).anchors.complaint():
        assert time.monotonic() < end
        time.sleep(0.01)
    assert "could not write the newest head" not in visitor.get("/admin/audit/").text


def test_heads_by_webhook(anchored: Flask, tmp_path: Path) -> None:
    database = part_of(anchored, Database)
    to_alerts(anchored, AlertKind.AUDIT_HEAD)
    to_alerts(anchored, AlertKind.STUCK)
    before = len(deliveries(database))
    write(anchored, 2)
    bodies = [row.body for row in deliveries(database)][before:]
    assert [json.loads(body)["type"] for body in bodies] == ["alert.audit_head"] * 2
    assert json.loads(bodies[-1])["data"]["detail"] == verify_audit(*audited_of(anchored)).head
    received = tmp_path / "received"
    received.write_text("\n".join(bodies))
    assert verified(anchored, "--anchors", str(received))[0] == 0
    received.write_text(bodies[-1].replace('detail":"', 'detail":"9'))
    assert verified(anchored, "--anchors", str(received))[0] == 1


def test_file_without_heads_is_no_anchor(anchored: Flask, tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("\n")
    code, output = verified(anchored, "--anchors", str(tmp_path / "empty"))
    assert (code, "at least one noted head" in output) == (2, True)


@pytest.mark.parametrize(
    "value",
    ["heads", "file:heads", "file://host/heads", "udp://host", "tcp://host:601/x", "unix:log", "http://h:1"],
)
def test_invalid_place_is_refused(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUDIT_ANCHORS", f"file:/var/log/heads,{value}")
    with pytest.raises(ConfigError, match="must be a file such as"):
        load_settings()
