"""Statuses from memory behind a pooler, where each transaction may reach another server."""

from __future__ import annotations

import pytest
from flask_migrate import upgrade

from app.sandbox.services import load_sandbox
from app.transfers.services.status import TransferStatus
from app.values.identifiers import TransferId
from tests.actors import TESTER
from tests.applications import application
from tests.gateway import current_gateway
from tests.pooler.bouncer import Bouncer
from tests.transfers.services.followed import Process

TRANSFER = TransferId(bytes.fromhex("5".zfill(64)))


def test_unchanged_status_is_read_once(
    bouncer: Bouncer, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with application(bouncer.url(database), database_pooler=True):
        upgrade(directory="migrations")
        gateway = current_gateway()
        load_sandbox(gateway.database, gateway.audit_keys, gateway.intake, actor=TESTER)
        process = Process(gateway)
        process.note_reads(monkeypatch)
        for _ in range(3):
            process.look()
            assert isinstance(process.ask(TRANSFER), TransferStatus)
        assert process.reads == [TRANSFER]
