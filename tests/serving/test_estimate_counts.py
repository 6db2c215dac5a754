"""Under a real gunicorn: two workers count, and what they counted is written when they end."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.databases import empty_tables
from tests.serving.estimates import ESTIMATE, rows
from tests.serving.server import UNLIMITED, serving

ASKED = 40


def test_ending_workers_write_their_counts(
    request: pytest.FixtureRequest, tmp_path: Path, backend: str
) -> None:
    if backend == "sqlite":
        shutil.copy(request.getfixturevalue("sqlite_template"), tmp_path / "gateway.db")
        url = f"sqlite:///{tmp_path / 'gateway.db'}"
    else:
        url = request.getfixturevalue("postgres_url")
    with serving(UNLIMITED, tmp_path / "log", DATABASE_URL=url) as server:
        with ThreadPoolExecutor(8) as pool:
            responses = list(pool.map(lambda _: server.ask("GET", ESTIMATE), range(ASKED)))
        assert {json.load(response)["err"]["code"] for response in responses} == {500}
        assert rows(url) == []
        assert server.stop() == 0
    assert rows(url) == [(500, "chain_unknown", ASKED)], (tmp_path / "log").read_text()
    if backend == "postgresql":
        empty_tables(url)
