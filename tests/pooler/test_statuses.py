"""Statuses from memory behind a pooler, where each transaction may reach another server."""

from __future__ import annotations

import pytest
from flask_migrate import upgrade

from app.transfers.services.status import TransferStatus
from app.values.identifiers import TransferId
from tests.applications import application
from tests.pooler.bouncer import Bouncer
from tests.sandboxes import load_into
from tests.transfers.services.followed import Process

TRANSFER = TransferId(bytes.fromhex("5".zfill(64)))


def test_unchanged_status_is_read_once(
    bouncer: Bouncer, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with application(bouncer.url(database), database_pooler=True) as app:
        upgrade(directory="migrations")
        load_into(app)
        process = Process(app)
        process.note_reads(monkeypatch)
        for _ in range(3):
            process.look()
            assert isinstance(process.ask(TRANSFER), TransferStatus)
        assert process.reads == [TRANSFER]
