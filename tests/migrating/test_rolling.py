"""No request fails while two gateways are upgraded one after the other."""

from __future__ import annotations

import pytest

from tests.load.steady import GOOD
from tests.migrating.rolling import roll
from tests.programs import program

REQUESTS = 3_000
RATE = 50
"""Requests a second."""


@pytest.mark.slow
@pytest.mark.system
@pytest.mark.postgresql
def test_rolling_upgrade_fails_no_request() -> None:
    program("nginx")
    seen = roll(REQUESTS, RATE)
    assert [one for one in seen if one.outcome != GOOD] == []
    assert len(seen) >= 0.9 * REQUESTS
