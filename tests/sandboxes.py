"""The sandbox at a fixed time, loaded once for each database of a process."""

from __future__ import annotations

from datetime import UTC, datetime

from flask import Flask

from app.feed.services.ingest import Intake
from app.http.application import part_of
from app.sandbox.services import load_sandbox
from tests.actors import TESTER
from tests.applications import audited_of
from tests.databases import SharedDatabase

SANDBOX_NOW = datetime(2026, 11, 21, 14, 5, 6, 700, tzinfo=UTC)


def load_into(app: Flask) -> None:
    """Load the sandbox into the database of the application."""
    load_sandbox(*audited_of(app), part_of(app, Intake), actor=TESTER)


def fill_sandbox(shared_database: SharedDatabase, app: Flask) -> None:
    """Fill the empty database with the sandbox.

    :param app: on this database; its clock shows ``SANDBOX_NOW``, and its context is open.
    """
    shared_database.fill("tests.console.pages", lambda: load_into(app))
