"""Under a real gunicorn: two workers count, and what they counted is written when they end."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from tests.databases import empty_tables
from tests.serving.server import UNLIMITED, serving

ASKED = 40
ESTIMATE = "/v2/estimateAmt?src_chain_id=1&dst_chain_id=56&token_symbol=USDT&amt=1&slippage_tolerance=3000"


@pytest.mark.soak("a server of its own that ends")
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


def rows(url: str) -> list[tuple[int, str, int]]:
    engine = create_engine(url)
    with engine.connect() as connection:
        found = connection.execute(
            text("SELECT code, reason, sum(count) FROM estimate_counts GROUP BY code, reason")
        )
        summed = [(code, reason, int(count)) for code, reason, count in found]
    engine.dispose()
    return summed
