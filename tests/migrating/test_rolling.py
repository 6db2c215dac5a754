"""No request fails while two gateways are upgraded one after the other."""

from __future__ import annotations

import os
import shutil

import pytest

from bench.rolling import roll
from tests.volume import volume

REQUESTS = volume(3_000, 500)
RATE = 50


@pytest.mark.full("two gateways of two versions, nginx and a database of their own")
def test_no_request_fails_while_two_gateways_are_replaced() -> None:
    if shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin") is None:
        words = "nginx is not installed: apt-get install nginx-light"
        pytest.fail(words) if os.environ.get("CI") else pytest.skip(words)
    try:
        rolled = roll(REQUESTS, RATE)
    except SystemExit as missing:
        if "is not in this clone" not in str(missing) or os.environ.get("CI"):
            raise
        pytest.skip(str(missing))
    assert rolled.failed == []
    assert len(rolled.answers) >= 0.9 * REQUESTS
