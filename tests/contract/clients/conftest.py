"""Applications with the small network, at a fixed time."""

from __future__ import annotations

import pytest

from tests.api.world import NOW
from tests.applications import Applications, OpenApp
from tests.databases import SharedDatabase


@pytest.fixture
def open_app(applications: Applications, shared_database: SharedDatabase) -> OpenApp:
    """Gives applications with these settings on the test's database, at NOW."""
    return applications.opener(shared_database, lambda: NOW)
