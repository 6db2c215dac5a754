"""The sandbox at a time that stands still, loaded once for each database of a process."""

from __future__ import annotations

from datetime import UTC, datetime

from app.sandbox.services import load_sandbox
from tests.actors import TESTER
from tests.databases import SharedDatabase
from tests.gateway import Gateway

SANDBOX_NOW = datetime(2026, 11, 21, 14, 5, 6, 700, tzinfo=UTC)


def fill_sandbox(shared_database: SharedDatabase, gateway: Gateway) -> None:
    """Fill the empty database with the sandbox.

    :param gateway: of an application on this database whose clock says ``SANDBOX_NOW``; its context is open.
    """
    shared_database.fill(
        "tests.console.pages",
        lambda: load_sandbox(gateway.database, gateway.audit_keys, gateway.intake, actor=TESTER),
    )
