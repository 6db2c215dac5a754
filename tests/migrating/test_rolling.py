"""No request fails while two gateways are upgraded one after the other."""

from __future__ import annotations

import pytest

from bench.rolling import roll
from tests.everyday import volume
from tests.programs import missing, program

REQUESTS = volume(3_000, 500)
RATE = 50


@pytest.mark.soak("two gateways of two versions, nginx and a database of their own")
def test_no_request_fails_while_two_gateways_are_replaced() -> None:
    program("nginx")
    try:
        rolled = roll(REQUESTS, RATE)
    except SystemExit as ended:
        if "is not in this clone" not in str(ended):
            raise
        missing(str(ended))
    assert rolled.failed == []
    assert len(rolled.answers) >= 0.9 * REQUESTS
