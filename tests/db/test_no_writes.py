"""A database that takes no changes: a standby that took the primary's name, a full disk."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import event, make_url

from app import create_app
from app.db.database import Database
from app.db.engine import reading
from app.db.models import db
from app.db.writes import writes_of
from app.http.application import part_of
from app.observability.outages import FailureLog
from config import ALL_DOORS
from tests.applications import close_connections, make_settings
from tests.feed.services.world import NOW, build_network, sent
from tests.feed.views.kit import post

pytestmark = pytest.mark.every_database


class Disk:
    """The disk of SQLite, which may be full; of PostgreSQL, whether the server is a primary."""

    full = False

    def limit(self, dbapi: object, _record: object, _proxy: object = None) -> None:
        pages = dbapi.execute("PRAGMA page_count").fetchone()[0]  # type: ignore[attr-defined]
        dbapi.execute(f"PRAGMA max_page_count={pages if self.full else 1 << 30}")  # type: ignore[attr-defined]


@pytest.fixture
def disk() -> Disk:
    return Disk()


@pytest.fixture
def app(database_url: str, disk: Disk, monkeypatch: pytest.MonkeyPatch) -> Iterator[Flask]:
    """With a connection for each use, so that it is refused from one moment to the next."""
    failures = FailureLog()
    for module in ("app.http.errors", "app.console.pages", "app.grpcweb.calls"):
        monkeypatch.setattr(f"{module}.FAILURES", failures)
    app = create_app(make_settings(database_url, doors=ALL_DOORS), clock=lambda: NOW)
    with app.app_context():
        for engine in (db.engine, db.engines["feed"]):
            if engine.dialect.name == "sqlite":
                event.listen(engine, "checkout", disk.limit)
        with part_of(app, Database).engine.connect() as connection, connection.begin():
            build_network(connection)
        if db.engine.dialect.name == "sqlite":
            with reading(db.engine) as connection:  # pages that another test left free would still be taken
                connection.exec_driver_sql("VACUUM")
        yield app
        close_connections()


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    return app.test_client()


def refuse_changes(app: Flask, disk: Disk) -> None:
    disk.full = True
    if make_url(app.config["SQLALCHEMY_DATABASE_URI"]).get_backend_name() == "postgresql":
        for engine in db.engines.values():
            engine.dispose()
            event.listen(engine, "connect", read_only)


def take_changes(app: Flask, disk: Disk) -> None:
    disk.full = False
    if make_url(app.config["SQLALCHEMY_DATABASE_URI"]).get_backend_name() == "postgresql":
        for engine in db.engines.values():
            event.remove(engine, "connect", read_only)
            engine.dispose()


def read_only(dbapi: object, _record: object) -> None:
    dbapi.autocommit = True  # type: ignore[attr-defined]
    dbapi.execute("SET default_transaction_read_only = on")  # type: ignore[attr-defined]
    dbapi.autocommit = False  # type: ignore[attr-defined]


def big(number: int) -> list[dict[str, object]]:
    """Events that need new pages."""
    return [sent(n, src_tx_hash="0x" + f"{n:064x}") for n in range(number, number + 400)]


def test_refused_write_is_answered_and_reported(
    app: Flask, client: FlaskClient, disk: Disk, caplog: pytest.LogCaptureFixture, database: Database
) -> None:
    assert client.get("/readyz").status_code == 200
    refuse_changes(app, disk)
    for _ in range(5):
        refused = post(client, big(1000))
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "1")
        assert refused.headers["X-Gateway-Reason"] == "unavailable"
    reported = [
        record for record in caplog.records if record.name.startswith("app.http.") and record.exc_info
    ]
    assert len(reported) == 1
    assert client.get("/healthz").status_code == 200
    ready = client.get("/readyz")
    assert (ready.status_code, ready.headers["Retry-After"]) == (503, "1")
    assert "accepts no writes" in ready.get_json()["err"]["msg"]
    status = client.post("/v2/getTransferStatus", json={"transfer_id": "ab" * 32})
    assert status.status_code == 200  # it can still be read
    take_changes(app, disk)
    assert client.get("/readyz").status_code == 200
    assert post(client, big(1000)).status_code == 200
    assert writes_of(database.engine).refused is None


def test_console_says_when_to_try_again(app: Flask, client: FlaskClient, disk: Disk) -> None:
    refuse_changes(app, disk)
    page = client.get("/admin/sign-in")
    token = page.text.split('name="csrf_token"')[1].split('value="')[1].split('"')[0]
    form = {"email": "nobody@example.org", "password": "wrong", "csrf_token": token}
    answers = {client.post("/admin/sign-in", data=form).status_code for _ in range(3)}
    take_changes(app, disk)
    if make_url(app.config["SQLALCHEMY_DATABASE_URI"]).get_backend_name() == "postgresql":
        assert answers == {503}  # SQLite's last page may have room for it


def test_other_failure_is_no_refused_write(database: Database) -> None:
    writes = writes_of(database.engine)
    writes.note(ValueError("a fault of the code"))
    assert writes.complaint(database.engine) is None


def test_log_has_no_parameters(
    app: Flask, client: FlaskClient, disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    refuse_changes(app, disk)
    post(client, big(5000))
    take_changes(app, disk)
    assert "accepts no writes" not in caplog.text
    assert f"{5000:064x}" not in caplog.text
