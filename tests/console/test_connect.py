"""A chain, or a token on a chain, is connected on one page: with all that belongs to it, or not at all."""

from __future__ import annotations

import json
from typing import Any

import pytest
from flask import Flask

from app.accounts.rules.roles import Role
from app.db.database import Database
from app.http.application import part_of
from app.network.document import export_network, import_network
from tests.actors import TESTER
from tests.applications import Editing, editing_of
from tests.builders import network as build
from tests.console.edits import BASE, PATH
from tests.console.forms import form_of, save, send
from tests.console.visitor import Visitor, signed_in
from tests.network.services.edits.kit import document, records
from tests.network.services.network_kit import SIGNERS


def test_example_is_chosen_first(operator: Visitor) -> None:
    page = operator.get("/admin/connect/")
    assert "BNB Chain (56)" in page.text
    assert 'href="/admin/connect/"' in operator.get("/admin/chains/").text
    for like in ("77", "x", "9" * 30):
        assert operator.get(f"/admin/connect/?like={like}").status_code == 200
    assert "There is no such chain" in operator.get("/admin/connect/?like=77").text


def test_chain_connects_without_example(operator: Visitor, database: Database) -> None:
    assert 'value="nothing"' in operator.get("/admin/connect/").text
    assert operator.get("/admin/chains/new").location == "/admin/connect/"
    path = "/admin/connect/?like=nothing"
    form = operator.get(path)
    assert "Tokens and pools" not in form.text
    assert form_of(form)["minimal_max_slippage"] == "", "nothing is copied"
    own = {name: value for name, value in BASE.items() if not name.startswith("token")}
    more = {"gas_token_symbol": "ETH", "block_delay": "1", "minimal_max_slippage": "501"}
    preview = send(operator, path, **own, **more)
    assert "Connect Base?" in preview.text
    before = document(database)
    assert send(operator, path, preview, confirm="1").location == "/admin/chains/8453"
    now = document(database)
    assert now["chains"][-1]["minimal_max_slippage"] == 501
    assert [row["power"] for row in now["validators"] if row["chain_id"] == 8453] == ["10", "20"]
    assert (now["tokens"], now["routes"]) == (before["tokens"], before["routes"])
    assert records(database)[-1].detail == "connect Base (chain 8453): 2 opening validators"


def test_connecting_chain_adds_dependent_rows(operator: Visitor, database: Database) -> None:
    form = form_of(operator.get(PATH))
    assert form["token0_take"] == "1"
    assert form["token1_take"] == "0", "CELR has no pool"
    taken = send(operator, PATH, **BASE | {"id": "56"})
    assert 'id="field-id-error">BNB Chain exists already' in taken.text, "beside its input"
    preview = send(operator, PATH, **BASE)
    assert "Connect Base?" in preview.text, preview.text
    assert "4 routes open at once" in preview.text
    assert len(document(database)["chains"]) == 3, "a preview writes nothing"
    done = send(operator, PATH, preview, confirm="1", change_reason="ticket 9")
    assert done.location.startswith("/admin/estimates/?src=8453&dst=")
    now = document(database)
    chain = now["chains"][-1]
    assert (chain["id"], chain["name"], chain["minimal_max_slippage"]) == (8453, "Base", 780)
    token = now["tokens"][-1]
    assert (token["chain_id"], token["symbol"], token["decimal"]) == (8453, "USDT", 6)
    pool = now["pools"][-1]
    assert (pool["liquidity_added"], pool["total_cap"]) == ("1000500000", None)
    assert [row["power"] for row in now["validators"] if row["chain_id"] == 8453] == ["10", "20"]
    routes = {(row["src_chain_id"], row["dst_chain_id"]): row for row in now["routes"][3:]}
    assert set(routes) == {(8453, 1), (1, 8453), (8453, 56), (56, 8453)}
    # The example's fee to it, 0.605437528092011966 USDT of 18 decimals, in 6 decimals and rounded up.
    assert routes[1, 8453]["base_fee"] == "605438"
    # Its tiers begin at amounts of 18 decimals on the example, of 6 on the new chain.
    like = next(r for r in now["routes"] if (r["src_chain_id"], r["dst_chain_id"]) == (56, 1))
    start, new = (int(route["perc_fee_tiers"][1]["from"]) for route in (like, routes[8453, 1]))
    assert new == -(-start // 10**12)
    record = records(database)[-1]
    assert (record.action, record.subject) == ("network.connect", "chain 8453")
    assert record.detail == (
        "connect Base (chain 8453): 1 token, 1 pool, 4 routes, 2 opening validators; note: ticket 9"
    )


def test_pinned_fee_is_not_copied(operator: Visitor, database: Database, editing: Editing) -> None:
    rows = json.loads(export_network(database))
    for route in rows["routes"]:
        route |= {"pinned_base_fee": "9", "pinned_until": "2026-11-22T12:00:00Z"}
    import_network(*editing, json.dumps(rows).encode(), actor=TESTER)
    save(operator, PATH, **BASE)
    new = [row for row in document(database)["routes"] if 8453 in (row["src_chain_id"], row["dst_chain_id"])]
    assert len(new) == 4
    assert all(row.get("pinned_base_fee") is None for row in new)


WRONG = [
    ({"id": "56"}, "exists already"),
    ({"id": ""}, "enter a whole number"),
    ({"token0_address": ""}, "Enter the token&#39;s contract on the new chain"),
    ({"token0_address": "0x12"}, "token0_address"),
    ({"token0_decimal": "99"}, "from 0 to 36"),
    ({"token0_liquidity": "1,5"}, "without commas and with a decimal point, such as 12.5."),
    ({"token0_liquidity": "1/5"}, "“1/5” is not a number. Enter digits, such as 12.5."),
    ({"token0_liquidity": "0.0000001"}, "at most 6 digits after the point"),
    ({"token0_total_cap": "9" * 78}, "the most that a contract can hold"),
    ({"validators": "0x12"}, "Line 1: enter an address"),
    ({"validators": "0x12 5"}, "validators"),
    ({"validators": f"{SIGNERS[0]} 0"}, "must add up to more than 0"),
    ({"validators": f"{SIGNERS[0]} 1\n{SIGNERS[0]} 1"}, "exists already"),
    ({"explore_url": "ftp://x"}, "explore_url"),
    ({"route0_fee": "x"}, "“x” is not a number. Enter digits, such as 12.5."),
]


def test_connect_form_shows_error_and_stores_fields(operator: Visitor, database: Database) -> None:
    form = operator.get(PATH)
    for fields, words in WRONG:
        answer = send(operator, PATH, form, **BASE | fields)
        assert "until you confirm there" in answer.text, "the form, again"
        errors = [line for line in answer.text.splitlines() if "error" in line]
        assert words.casefold() in answer.text.casefold(), (fields, errors)
        assert "field-error" in answer.text or "message-error" in answer.text
        assert form_of(answer)["name"] == "Base"
    assert len(document(database)["chains"]) == 3


TOKEN = "/admin/connect/token?chain={chain}&symbol={symbol}"
CONTRACT = "0x00000000000000000000000000000000000000a1"


def with_rows(app: Flask, **rows: list[dict[str, Any]]) -> None:
    """The network with further rows."""
    now = json.loads(export_network(part_of(app, Database)))
    for section, more in rows.items():
        now[section] += more
    import_network(*editing_of(app), json.dumps(now).encode(), actor=TESTER)


def test_connecting_token_adds_dependent_rows(operator: Visitor, network: Flask, database: Database) -> None:
    with_rows(network, chains=[build.chain(8453, "Base")])
    path = TOKEN.format(chain=8453, symbol="USDT")
    page = operator.get(path)
    form = form_of(page)
    assert "Settings copied from Ethereum" in page.text
    assert not {"id", "validators", "token1_address"} & set(form)
    refused = send(operator, path)
    assert "Enter the token&#39;s contract on Base." in refused.text
    filled = {"token0_address": CONTRACT, "token0_liquidity": "1000.5"}
    assert "The rate of Ethereum, curve 200, is not copied" in send(operator, path, **filled).text
    preview = send(operator, path, **filled, route4_rate="1")
    assert "Connect USDT on Base?" in preview.text
    assert "5 routes open at once" in preview.text
    before = document(database)
    assert len(before["tokens"]) == 6, "a preview writes nothing"
    done = send(operator, path, preview, confirm="1")
    assert done.location.startswith("/admin/estimates/?src=8453&dst=")
    now = document(database)
    token = now["tokens"][-1]
    assert (token["chain_id"], token["symbol"], token["address"].lower()) == (8453, "USDT", CONTRACT)
    assert now["pools"][-1]["liquidity_added"] == "1000500000"
    new = {(row["src_chain_id"], row["dst_chain_id"]) for row in now["routes"][3:]}
    assert new == {(8453, 1), (1, 8453), (8453, 56), (56, 8453), (8453, 10)}
    assert now["chains"] == before["chains"]
    record = records(database)[-1]
    assert (record.action, record.subject) == ("network.connect", "token USDT on chain 8453")
    assert record.detail == "connect USDT on Base (chain 8453): 1 token, 1 pool, 5 routes"
    assert "Choose a chain, and a token" in operator.get(path, follow_redirects=True).text, "it is there now"


def test_second_chain_gets_routes_to_first(operator: Visitor, network: Flask, database: Database) -> None:
    with_rows(network, tokens=[build.token(1, "DAI", CONTRACT, 18)], pools=[build.pool(1, "DAI", "7")])
    path = TOKEN.format(chain=10, symbol="DAI")
    assert save(operator, path, token0_address=CONTRACT, route0_fee="0.5", route1_fee="").status_code == 302
    there, back = document(database)["routes"][-2:]
    assert [(row["src_chain_id"], row["dst_chain_id"], row["base_fee"]) for row in (there, back)] == [
        (10, 1, "5" + "0" * 17),
        (1, 10, None),
    ]
    assert there["rate"] == {"model": "fixed", "value": "1"}
    assert there["perc_fee_tiers"] == [{"from": "0", "ppm": 400}]


def test_connecting_token_adds_first_pool(operator: Visitor, network: Flask, database: Database) -> None:
    with_rows(network, tokens=[build.token(1, "DAI", CONTRACT, 18)])
    path = TOKEN.format(chain=10, symbol="DAI")
    assert "Ethereum has no pool" in operator.get(path).text
    assert save(operator, path, token0_address=CONTRACT).location.startswith("/admin/tokens/")
    now = document(database)
    assert (now["pools"][-1]["chain_id"], now["pools"][-1]["epoch_seconds"]) == (10, 3600)
    assert len(now["routes"]) == 3


@pytest.mark.parametrize("more", ["pools", "routes"])
def test_connecting_token_copies_chain_with_most_rows(operator: Visitor, network: Flask, more: str) -> None:
    """The copied chain has most pools or routes of the token."""
    chains, pools = (1, 10, 56), (56,) if more == "pools" else (1, 10, 56)
    routes = [] if more == "pools" else [build.route(56, 1, "DAI"), build.route(56, 10, "DAI")]
    with_rows(
        network, chains=[build.chain(8453, "Base")], routes=routes,
        tokens=[build.token(chain, "DAI", CONTRACT, 18) for chain in chains],
        pools=[build.pool(chain, "DAI", "7") for chain in pools],
    )  # fmt: skip
    page = operator.get(TOKEN.format(chain=8453, symbol="DAI")).text
    assert "Settings copied from BNB Chain" in page


def test_unconnectable_token_leads_to_list(operator: Visitor) -> None:
    for chain, symbol in (("1", "USDT"), ("1", "NONE"), ("77", "USDT"), ("x", "USDT"), ("", "")):
        answer = operator.get(TOKEN.format(chain=chain, symbol=symbol), follow_redirects=True)
        assert answer.request.path == "/admin/tokens/"
        assert ('<option value="1" selected>' in answer.text) == (chain == "1"), "it stays chosen"
        assert "Choose a chain, and a token that only other chains have" in answer.text
        assert 'data-not-on="chain"' in answer.text


def test_token_page_lists_missing_rows(operator: Visitor, network: Flask) -> None:
    path, row = "/admin/tokens/new", {"chain_id": "1", "symbol": "DAI", "name": "Dai", "address": CONTRACT}
    preview = send(operator, path, **row, decimal="18")
    token = send(operator, path, preview, confirm="1").location
    assert "/admin/pools/new?chain_id=1&amp;symbol=DAI" in operator.get(token).text
    path = "/admin/pools/new?chain_id=1&symbol=DAI"
    assert form_of(operator.get(path))["symbol"] == "DAI"
    assert save(operator, path, liquidity_added="7").location == token
    page = operator.get(token).text
    assert "/admin/tokens/?symbol=DAI" in page, "no route leads anywhere yet"
    assert "Add route" not in page
    assert '<option value="DAI" selected>' in operator.get("/admin/tokens/?symbol=DAI").text
    with_rows(
        network, tokens=[build.token(56, "DAI", CONTRACT, 18)], pools=[build.pool(56, "DAI", "7")],
        routes=[build.route(1, 56, "DAI", base_fee=None)],
    )  # fmt: skip
    page = operator.get(token).text
    assert "Add pool" not in page
    assert "Route from Ethereum" not in page
    assert "/admin/routes/new?symbol=DAI&amp;dst_chain_id=1&amp;src_chain_id=56" in page
    assert "Base fee of the route of DAI from Ethereum to BNB Chain" in page
    assert "Still missing" not in operator.get("/admin/tokens/4").text, "CELR is a pair's token"


def test_unpicked_rows_are_left_out(operator: Visitor, database: Database) -> None:
    lines = {"token0_take": "0", "validators": ""}
    assert save(operator, PATH, **BASE | lines).location == "/admin/chains/8453"
    now = document(database)
    sizes = [len(now[name]) for name in ("chains", "tokens", "pools", "routes", "validators")]
    assert sizes == [4, 6, 3, 3, 2]
    one = {"id": "137", "name": "Polygon", "route1_take": "0", "route2_take": "0", "route3_take": "0"}
    save(operator, PATH, **BASE | one)
    assert len(document(database)["routes"]) == 4


def test_connect_form_opens_on_empty_network(app: Flask) -> None:
    operator = signed_in(app, Role.OPERATOR)
    assert 'name="explore_url"' in operator.get("/admin/connect/").text
    assert "Connect one" in operator.get("/admin/chains/").text


def test_following_estimate_uses_open_route(operator: Visitor) -> None:
    send(operator, "/admin/chains/1/stop", disabled_reason="halted", typed="ethereum", confirm="1")
    assert save(operator, PATH, **BASE).location.startswith("/admin/estimates/?src=8453&dst=56&")
