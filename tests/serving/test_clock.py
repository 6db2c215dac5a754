"""A real gunicorn whose clock is moved, on a real PostgreSQL whose clock is not."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.serving.server import Server, serving

LIBRARIES = sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))


def ready(server: Server) -> tuple[int, Any]:
    """The status of /readyz, and its reason."""
    answer = server.request("GET", "/readyz")
    error = json.loads(answer.read())["err"]
    return answer.status, error and error["msg"]


def eventually(happens: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not happens():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.2)


@pytest.mark.system
@pytest.mark.skipif(not LIBRARIES, reason="libfaketime is not here: apt-get install faketime")
def test_moved_clock_makes_unready(postgres_url: str, tmp_path: Path) -> None:
    clock = tmp_path / "clock"
    clock.write_text("+0\n")
    settings = {
        "DATABASE_URL": postgres_url,
        "AUDIT_KEY": "test-only audit key, 32 characters or more",
        "LD_PRELOAD": str(LIBRARIES[0]),
        "FAKETIME_TIMESTAMP_FILE": str(clock),
        "FAKETIME_CACHE_DURATION": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }
    with serving("wsgi:app", tmp_path / "log", **settings) as server:
        eventually(lambda: ready(server) == (200, None))
        clock.write_text("+3600\n")
        complaint = "clocks: the database's is 3600 s behind this machine's; check NTP on both"
        eventually(lambda: ready(server) == (503, complaint))
        assert server.request("GET", "/healthz").status == 200
        clock.write_text("+0\n")
        eventually(lambda: ready(server) == (200, None))
