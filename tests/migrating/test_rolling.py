"""No request fails while two gateways are upgraded one after the other."""

from __future__ import annotations

import pytest

from tests.everyday import volume
from tests.load.steady import GOOD
from tests.migrating.rolling import roll
from tests.programs import program

REQUESTS = volume(3_000, 500)
RATE = 50


@pytest.mark.slow
def test_rolling_upgrade_fails_no_request() -> None:
    program("nginx")
    seen = roll(REQUESTS, RATE)
    assert [one for one in seen if one.outcome != GOOD] == []
    assert len(seen) >= 0.9 * REQUESTS
