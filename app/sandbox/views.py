"""The one operation of the sandbox, for the tests of integrators (docs/sandbox.md#controls)."""

from __future__ import annotations

from typing import Any

from app.db.database import Database
from app.feed.services.ingest import Intake
from app.http.application import current
from app.sandbox import services


def advance(requested: dict[str, Any]) -> services.Advanced:
    return services.advance(current(Database), current(Intake), requested)
