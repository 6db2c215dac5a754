"""Both clients wait at a real gateway, and return a change as soon as it is there."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients import workshop
from tests.serving.reporting import TOKEN, new_transfer, release
from tests.serving.server import Server, serving

SOON = 2
"""Seconds from the commit of the change to the end of the client's program; polling would take 300."""

BEGUN = 4
"""Seconds after which a client waits. What it saw says whether it did."""


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("waiting")
    shutil.copy(sqlite_template, folder / "gateway.db")
    url, doors = f"sqlite:///{folder / 'gateway.db'}", "api,ingest,wait"
    with serving(
        "wsgi:app", folder / "log", DATABASE_URL=url, DOORS=doors, INGEST_TOKENS=TOKEN, WEB_CONCURRENCY="1"
    ) as running:
        yield running


def heard(gateway: Server, check: Callable[[list[dict[str, Any]]], None]) -> float:
    """How many seconds after the change the client reported it."""
    transfer_id = new_transfer(gateway)
    answer = gateway.request("GET", f"/v2/waitTransferStatus?transfer_id={transfer_id}")
    assert answer.headers["X-Transfer-Next-Poll-Seconds"] == "300"
    happened: list[float] = []

    def happen() -> None:
        release(gateway, transfer_id)
        happened.append(time.monotonic())

    later = threading.Timer(BEGUN, happen)
    later.start()
    try:
        case = {"do": "follow", "base": gateway.base, "transfer": transfer_id, "timeout": 60}
        check([case | {"name": "it waits", "expect": {"value": [1, 5]}}])
    finally:
        later.join()
    return time.monotonic() - happened[0]


@pytest.mark.parametrize("program", ["cases.py", workshop.AWAITED])
def test_python_returns_change_at_once(gateway: Server, program: str) -> None:
    assert heard(gateway, lambda cases: workshop.check_python(cases, {}, program=program)) < SOON


@pytest.mark.system
def test_typescript_returns_change_at_once(gateway: Server, tmp_path: Path) -> None:
    workshop.typescript()  # compiled before the time runs
    assert heard(gateway, lambda cases: workshop.check_typescript(cases, {}, tmp_path)) < SOON
