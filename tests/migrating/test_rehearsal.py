"""Answers, events, credentials and webhooks survive an upgrade from the release before, and the way back."""

from __future__ import annotations

import pytest

from tests.databases import BACKENDS
from tests.migrating.rehearsal import rehearse
from tests.programs import program

TRANSFERS = 2_000


@pytest.mark.slow
@pytest.mark.system
@pytest.mark.parametrize("database", BACKENDS)
def test_upgrade_and_return_change_no_answer(database: str) -> None:
    program("nginx")
    assert rehearse(database, TRANSFERS).wrong == []
