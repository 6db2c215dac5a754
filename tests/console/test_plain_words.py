"""Answers to forms name chains and speak the trade's words, as all pages do (``test_every_link.py``)."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Final

import pytest
from flask import Flask
from markupsafe import Markup

from app.console.network.names import readable
from app.console.shell.formats import when
from app.db.database import Database
from tests.applications import OpenApp
from tests.console.edits import changed_file
from tests.console.forms import form_of, save, send
from tests.console.visitor import Visitor
from tests.console.walking import record_activity
from tests.console.words import complaints
from tests.network.services.edits.kit import shown


@pytest.fixture
def app(open_app: OpenApp) -> Flask:
    return open_app(two_persons=("pegged_pairs",))


SENT: Final[tuple[tuple[str, dict[str, str]], ...]] = (
    ("/admin/chains/10", {"name": "Other", "block_delay": "1", "disabled": "1", "disabled_reason": "x"}),
    ("/admin/chains/10", {"seen": "0" * 64, "block_delay": "3"}),
    ("/admin/chains/stop?all=1", {"typed": "x"}),
    ("/admin/chains/1/remove", {}),
    ("/admin/tokens/1", {"xfer_disabled": "1", "min_send": "5", "max_send": "1"}),
    ("/admin/tokens/1/remove", {}),
    ("/admin/tokens/new", {"chain_id": "10", "symbol": "USDT", "name": "x", "address": "x", "decimal": "6"}),
    ("/admin/pools/1", {"total_cap": "1"}),
    ("/admin/pools/new", {"chain_id": "592", "symbol": "USDT", "liquidity_added": "1"}),
    ("/admin/pools/1/remove", {}),
    ("/admin/routes/1", {"base_fee": "999", "pinned_until": "2020-01-01T00:00"}),
    ("/admin/routes/1", {"base_fee": "999"}),
    ("/admin/routes/1/remove", {}),
    (
        "/admin/routes/new",
        {
            "symbol": "SDN",
            "src_chain_id": "1",
            "dst_chain_id": "592",
            "rate-model": "fixed",
            "rate-value": "1",
        },
    ),
    ("/admin/pegged_pairs/1", {"burn_base_fee": "999"}),
    ("/admin/pegged_pairs/1", {"canonical_token_contract_addr": "x"}),
    ("/admin/route_blocks/new", {"symbol": "USDT", "src_chain_id": "1", "dst_chain_id": "56"}),
    ("/admin/routes/base-fees", {"dst_chain_id": "56", "how": "factor", "factor": "30"}),
    ("/admin/validators/1/opening", {"validators": ""}),
    ("/admin/validators/1/opening", {"validators": "0x00000000000000000000000000000000000000c9 1"}),
)
"""Forms that come back with what is wrong, or lead to a preview."""


def test_no_answer_to_a_form_shows_internal_names(app: Flask, sandbox: Flask) -> None:
    admin = record_activity(app)
    answers = {}
    for number, (path, fields) in enumerate(SENT):
        answer = send(admin, path, **fields)
        answers[f"{number} {path}"] = answer.text
    compared = form_of(admin.get("/admin/document/")) | {"text": json.dumps(changed_file())}
    answers["compared"] = admin.post("/admin/document/compare", compared).text
    stop = {"disabled_reason": "RPC compromised", "typed": "Optimism", "confirm": "1"}
    answers["stopped"] = admin.get(send(admin, "/admin/chains/10/stop", **stop).location).text
    answers["stopped again"] = admin.get("/admin/chains/10/stop", follow_redirects=True).text
    answers["not watched"] = admin.post("/admin/watching/1/start", follow_redirects=True).text
    assert not complaints(answers), complaints(answers)


SENTENCES: Final = [
    ("token USDT on chain 1", "token USDT on Ethereum"),
    ("route of USDT from 1 to 56: 1 to 5", "route of USDT from Ethereum to BNB Chain: 1 to 5"),
    ("pegged pair of CELR, 1 to 10", "pegged pair of CELR, Ethereum to Optimism"),
    ("block of USDT from 10 to 77", "block of USDT from Optimism to 77"),
    ("connect Optimism (chain 10): 2 tokens", "connect Optimism: 2 tokens"),
    ("chain 77 is not configured", "chain 77 is not configured"),
    ("blockchain 1 <b>", "blockchain 1 &lt;b&gt;"),
    ("since 2026-11-20 12:00 UTC.", f"since {when(datetime(2026, 11, 20, 12, tzinfo=UTC))}."),
    ("named 2026-13-45T99:99:99Z", "named 2026-13-45T99:99:99Z"),
    ("0000-00-00 24:60 UTC", "0000-00-00 24:60 UTC"),
    ("0001-01-01 00:00 UTC", f"{when(datetime(1, 1, 1, tzinfo=UTC))}"),
    (f"chain {'9' * 5000}", f"chain {'9' * 5000}"),
    (f"block of USDT from {'9' * 5000} to 1", f"block of USDT from {'9' * 5000} to 1"),
    ("ended at 2026-01-02T03:04:05Z", f"ended at {when(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))}"),
]  # fmt: skip


def test_sentences_of_services_are_readable(app: Flask, sandbox: Flask) -> None:
    with app.test_request_context():
        for written, shown_text in SENTENCES:
            assert str(readable(written)) == shown_text
        linked = Markup('<a href="/x">{}</a>: chain 10').format("chain 1 & <b>")
        assert str(readable(linked)) == '<a href="/x">Ethereum &amp; &lt;b&gt;</a>: Optimism'


CODES = re.compile(r'error_code|amount_too|&#34;&#34;|<td[^>]*>\s*(null|""|&#34;)', re.IGNORECASE)


def test_differences_have_no_json(operator: Visitor, database: Database) -> None:
    path = f"/admin/routes/{shown(database, 'routes', 'USDT', 1, 56).row_id}"
    preview = send(operator, path, base_fee="")
    assert "<td" in preview.text and not CODES.search(preview.text)
    assert ">none<" in preview.text
    new = send(operator, "/admin/route_blocks/new", symbol="USDT", src_chain_id="1", dst_chain_id="56")
    assert ">empty<" in new.text and not CODES.search(new.text)
    save(operator, "/admin/route_blocks/new", symbol="USDT", src_chain_id="1", dst_chain_id="56")
    record = re.findall(r'href="(/admin/audit/\d+)"', operator.get("/admin/audit/").text)[0]
    assert not CODES.search(operator.get(record).text)
