"""Two gateways on one database: what one accepted, the other answers by within CONFIG_MAX_AGE_SECONDS.

Here the processes are real; what counts at which moment is tried with a clock that the test moves
(``tests/estimates/services/two_processes.py``).
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic

import pytest

from app.network.document import import_network
from tests.actors import TESTER
from tests.amounts import few_or_many
from tests.applications import application, editing_of
from tests.databases import empty_tables
from tests.feed.views.kit import EVENTS, NDJSON, TOKEN, bearer, ndjson
from tests.network.services.network_kit import network, text
from tests.serving.server import Server, serving

AGE = 0.5
"""Seconds that facts are cached: CONFIG_MAX_AGE_SECONDS."""

MOST_ROUNDS = 40
"""Until an old answer was seen: on a busy machine a report may take longer than facts are cached."""

ESTIMATE = (
    "/v2/estimateAmt?src_chain_id=1&dst_chain_id=56&token_symbol=USDT&amt=1000000000&slippage_tolerance=3000"
)


@pytest.mark.parametrize("rounds", few_or_many(1, 10))
def test_other_gateway_answers_in_time(postgres_url: str, tmp_path: Path, rounds: int) -> None:
    """By what this one accepted."""
    with application(postgres_url) as app:
        import_network(*editing_of(app), text(network()), actor=TESTER)
    settings = {
        "DATABASE_URL": postgres_url,
        "INGEST_TOKENS": TOKEN,
        "WEB_CONCURRENCY": "1",
        "CONFIG_MAX_AGE_SECONDS": str(AGE),
    }
    with (
        serving("wsgi:app", tmp_path / "one", **settings) as one,
        serving("wsgi:app", tmp_path / "other", **settings) as other,
    ):
        old = 0
        for fee in range(1, MOST_ROUNDS + 1):
            old += old_answers(one, other, fee)
            if old and fee >= rounds:
                break
    empty_tables(postgres_url)
    assert old, "nothing was cached, so nothing was tried"


def old_answers(one: Server, other: Server, fee: int) -> int:
    """Report a base fee to one. Returns how often the other answered by the old one meanwhile."""
    base_fee_of(other)  # which caches it from now on
    report(one, fee)
    acknowledged, old = monotonic(), 0
    assert base_fee_of(one) == fee, "what a gateway accepted itself counts at once"
    while (requested := monotonic()) < acknowledged + AGE:
        old += base_fee_of(other) != fee
    assert base_fee_of(other) == fee, f"older than {AGE} s, requested {requested - acknowledged:.3f} s after"
    return old


def base_fee_of(server: Server) -> int:
    """The base fee of an estimate, in smallest units."""
    answer = json.load(server.request("GET", ESTIMATE))
    assert "err" not in answer or answer["err"] is None, answer
    return int(answer["base_fee"])


def report(server: Server, fee: int) -> None:
    """Have the server take a batch with the route's base fee."""
    line = {
        "type": "fee.updated",
        "id": f"fee-{fee}",
        "at": datetime.now(UTC).isoformat(),
        "symbol": "USDT",
        "src_chain_id": 1,
        "dst_chain_id": 56,
        "base_fee": str(fee),
    }
    answer = json.load(server.request("POST", EVENTS, {"Content-Type": NDJSON} | bearer(TOKEN), ndjson(line)))
    assert (answer["accepted"], answer["refused"]) == (1, []), answer
