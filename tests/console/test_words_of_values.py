"""Tables and messages say values in people's words: no code, no JSON, nothing cut off."""

from __future__ import annotations

import re

from flask import Flask
from sqlalchemy import insert

from app.accounts.rules.roles import Role
from app.console.estimates.summary import REFUSAL_WORDS, refusal_words
from app.db.database import Database
from app.db.engine import writing
from app.estimates.models import EstimateCount
from app.values.codes import Reason
from tests.console.forms import save, send
from tests.console.visitor import NOW, Visitor, signed_in
from tests.network.services.edits.kit import shown

CODES = re.compile(r'error_code|amount_too|&#34;&#34;|<td[^>]*>\s*(null|""|&#34;)', re.IGNORECASE)


def message(visitor: Visitor) -> str:
    page = visitor.get("/admin/account/").text
    (said,) = re.findall(r'message-success" role="status">(.*?)<a ', page, re.DOTALL)
    return str(said).strip()


def test_refusals_are_in_words(app: Flask, network: Flask, database: Database) -> None:
    minute = int(NOW.timestamp()) // 60
    ends = [(500, "amount_too_small", 3), (500, "chain_disabled", 2), (500, "", 1), (1017, "new_reason", 1)]
    with writing(database.engine) as connection:
        for code, reason, count in ends:
            values = {"minute": minute, "code": code, "reason": reason, "count": count}
            connection.execute(insert(EstimateCount).values(**values))
    page = signed_in(app, Role.VIEWER).get("/admin/").text
    (panel,) = [part for part in page.split("<section") if 'id="refusals"' in part]
    for words in ("The fees leave nothing of the amount", "A chain is stopped", "New reason"):
        assert words in panel
    assert not CODES.search(panel)
    assert refusal_words(1017, "") != "" and refusal_words(4242, "") == "Code 4242"
    assert all(name in set(Reason) for name in REFUSAL_WORDS)


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


def test_messages_are_whole_sentences(operator: Visitor, database: Database) -> None:
    path = f"/admin/routes/{shown(database, 'routes', 'USDT', 1, 56).row_id}"
    tiers = {f"perc_fee_tiers_{n}_from": str(n) for n in range(5)}
    tiers |= {f"perc_fee_tiers_{n}_fee": f"0.0{9 - n}" for n in range(5)}
    save(operator, path, base_fee="7", base_fee_unit="smallest", **tiers)
    said = message(operator)
    fee = "base fee from 0.605437528092011966 USDT to 0.000000000000000007 USDT"
    assert said == f"Done: changed route of USDT from Ethereum to BNB Chain: {fee}; protocol fee tiers."
    save(operator, "/admin/chains/1", name="Mainnet", drop_gas_amt="5", drop_gas_amt_unit="smallest")
    assert "name from Ethereum to Mainnet" in message(operator)
    save(operator, "/admin/route_blocks/new", symbol="USDT", src_chain_id="1", dst_chain_id="56")
    assert message(operator).startswith("Done: added ")
    assert not re.search(r"[\[{\"]|&#34;|…", said)
