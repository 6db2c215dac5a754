"""Lists: what they show, and filters and sorting that no URL breaks."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select, update

from app.accounts.rules.roles import Role
from app.console.network.token_state import STATES
from app.console.shell.lists import Flag, Is, ListView
from app.db.database import Database
from app.db.engine import writing
from app.network.document import import_network
from app.network.models import Chain, Token
from app.transfers.models import Transfer
from tests.actors import TESTER
from tests.applications import Editing
from tests.console.edits import new_page
from tests.console.forms import form_of, send
from tests.console.visitor import Visitor, email_of, signed_in, visitor_of
from tests.network.services.network_kit import VILLAIN, network, text

LISTS = (
    "chains", "tokens", "pools", "routes", "route_blocks", "pegged_pairs", "blocked_addresses",
    "blocked_networks", "anomalies",
)  # fmt: skip
EVERY_LIST = (*LISTS, "operators", "ingest_tokens", "api_keys")
NASTY = ("x", "-1", "99999999999999999999", "1e3", "'", '"><script>', "\0", "²", "٣", "%", "1;2", " 1 ")
SCRIPT = "<script>alert('x')</script>"
QUOTED = '"><img src=x onerror=alert(1)>'


@pytest.fixture
def visitor(app: Flask, network: Flask) -> Visitor:
    return signed_in(app, Role.VIEWER)


def filters_of(page: str) -> list[str]:
    return [part.split('"')[0] for part in page.split('name="')[1:] if part.startswith("flt")]


def test_unreadable_query_shows_the_list(network: Flask, admin: Visitor) -> None:
    """Of every list: filters, orders by every column, and pages."""
    for name in EVERY_LIST:
        page = admin.get(f"/admin/{name}/").text
        filters = filters_of(page)
        assert filters or name not in LISTS, name
        for value in NASTY:
            typed = dict.fromkeys(filters, value) | {"search": value, "flt0_0": value, "flt0_nothing": value}
            typed |= dict.fromkeys(("sort", "desc", "page", "page_size"), value)
            answer = admin.get(f"/admin/{name}/", query_string=typed)
            assert answer.status_code == 200, (name, value)
            assert "<script>" not in answer.text, name
            if filters and value != "\0":  # which is removed before the filter is read
                assert "The filter was ignored" in answer.text, (name, value)
        for column in range(page.count("<th ") + 2):
            query = {"sort": str(column), "desc": "1"}
            assert admin.get(f"/admin/{name}/", query_string=query).status_code == 200, (name, column)


def test_filters_find(visitor: Visitor) -> None:
    def count_rows(name: str, **query: str) -> int:
        given = {f"flt{key[1:]}": value for key, value in query.items()}
        page = visitor.get(f"/admin/{name}/", query_string=given).text
        return page.partition("<tbody>")[2].count("<tr>")

    assert count_rows("tokens", f0_chain_is="56") == 2
    assert count_rows("tokens", f0_chain_is="56", f1_token_is="CELR") == 1
    assert count_rows("routes", f1_from_is="1") == 2
    assert count_rows("routes", f3_rate_is="stableswap") == 1
    assert count_rows("route_blocks", f1_chain_is="56") == 1
    assert count_rows("route_blocks", f1_chain_is="1") == 0
    assert count_rows("blocked_networks", f0_state_is="1") == 2
    assert count_rows("blocked_networks", f0_state_is="never") == 1
    assert count_rows("chains", f0_state_is="1") == 0


def test_token_filter_matches_shown_states(visitor: Visitor, database: Database) -> None:
    flags = ("xfer_disabled", "transfer_disabled", "pool_disabled")
    for values in product((False, True), repeat=3):
        with writing(database.engine) as connection:
            connection.execute(
                update(Token).where(Token.id == 1).values(dict(zip(flags, values, strict=True)))
            )
        found = []
        for value, word in STATES.items():
            page = visitor.get("/admin/tokens/", query_string={"flt2_state_is": value}).text
            assert f'<option value="{value}" selected>{word}</option>' in page
            pills = re.findall(r'data-label="State"><span class="pill [a-z-]+">([^<]+)<', page)
            assert set(pills) <= {word}
            found += [word] if 'href="/admin/tokens/1"' in page else []
        assert len(found) == 1, values


def test_tokens_sort_by_shown_states(visitor: Visitor, database: Database) -> None:
    with writing(database.engine) as connection:
        ids = list(connection.scalars(select(Token.id).order_by(Token.id)))
        for number, flag in enumerate(("xfer_disabled", "pool_disabled", "transfer_disabled")):
            connection.execute(update(Token).where(Token.id == ids[number]).values({flag: True}))
    for order in ({}, {"desc": "1"}):
        page = visitor.get("/admin/tokens/", query_string={"sort": "2", **order}).text
        pills = re.findall(r'data-label="State"><span class="pill [a-z-]+">([^<]+)<', page)
        words = ["runs"] * (len(ids) - 3) + ["not through the pool", "stopped", "stopped"]
        assert pills == (words[::-1] if order else words)


def test_ended_blocks_are_marked(app: Flask, visitor: Visitor, clock: Any) -> None:
    clock.forward(days=365)
    later = visitor_of(app, email_of(Role.VIEWER))
    page = later.get("/admin/blocked_networks/", query_string={"flt0_state_is": "0"}).text
    assert "203.0.113.0/24" in page
    assert "2001:db8::/32" not in page
    assert '<span class="pill pill-plain">ended</span>' in page


def test_document_texts_are_escaped(app: Flask, editing: Editing) -> None:
    nasty = network()
    nasty["chains"][0] |= {"name": SCRIPT[:120], "disabled": True, "disabled_reason": QUOTED}
    for row in (*nasty["tokens"], *nasty["pools"], *nasty["routes"]):
        row["symbol"] = row["symbol"].replace("USDT", QUOTED)
    nasty["tokens"][0]["name"] = SCRIPT
    nasty["route_blocks"][0] |= {"symbol": QUOTED, "reason": SCRIPT}
    nasty["pegged_pairs"][0]["canonical_token_contract_addr"] = "<script>alert('x')</script>"
    nasty["blocked_addresses"] += [
        {"address": "<script>alert(1)</script>", "reason": SCRIPT, "source": QUOTED}
    ]
    nasty["blocked_networks"][0]["reason"] = QUOTED
    import_network(*editing, text(nasty), actor=TESTER)
    operator = signed_in(app, Role.OPERATOR)
    paths = ["/admin/chains/1/resume", "/admin/chains/10/stop", "/admin/routes/base-fees"]
    paths += ["/admin/anomalies/", "/admin/routes/new"]
    for name in LISTS[:-1]:
        listed = operator.get(f"/admin/{name}/").text
        assert_quiet(listed, name)
        rows = sorted(set(re.findall(rf'href="(/admin/{name}/\d+)"', listed)))
        assert rows, name
        paths += rows + [f"{row}/remove" for row in rows]
    for path in paths:
        page = operator.get(path)
        assert page.status_code == 200, path
        assert_quiet(page.text, path)
    blocked_page = next(path for path in paths if re.fullmatch(r"/admin/blocked_addresses/\d+", path))
    preview = send(operator, blocked_page, reason=SCRIPT + "1", source=QUOTED + "1")
    assert_quiet(preview.text, "preview")
    assert "&lt;script&gt;" in preview.text
    saved = send(operator, blocked_page, preview, confirm="1")
    assert_quiet(operator.get(saved.location).text, "flash")
    fees = {"dst_chain_id": "10", "how": "factor", "factor": "2", "symbol": ""}
    assert_quiet(send(operator, "/admin/routes/base-fees", **fees).text, "fees")


@pytest.mark.parametrize("value", [SCRIPT, QUOTED, "</textarea>" + SCRIPT])
def test_reflected_texts_are_escaped(value: str, operator: Visitor) -> None:
    for name in LISTS[:-1]:
        path = new_page(name)
        blank = form_of(operator.get(path))
        fields = dict.fromkeys(blank, value) | ({"seen": blank["seen"]} if name == "chains" else {})
        answer = operator.post(path, fields)
        assert answer.status_code == 200, answer.text
        assert_quiet(answer.text, name)
        assert_quiet(operator.post(path, {value: "1"}).text, name)
        assert_quiet(operator.get(path.partition("?")[0], query_string=fields).text, name)
    for path in ("/admin/blocked_addresses/new", "/admin/blocked_networks/new"):
        assert_quiet(operator.post(path, {"text": value, "reason": value}).text, path)
        assert_quiet(operator.post(path, {"text": "", "reason": value, "expires_at": value}).text, path)
    names = ("dst_chain_id", "symbol", "how", "factor", "amount")
    assert_quiet(operator.post("/admin/routes/base-fees", dict.fromkeys(names, value)).text, "fees")
    stop = {"disabled_reason": value, "typed": value}
    assert_quiet(send(operator, "/admin/chains/1/stop", **stop).text, "stop")


def assert_quiet(page: str, place: str) -> None:
    """Nothing of what was given is markup."""
    for marked in ("<script>alert", "<img src=x", '"><img', "onerror=alert(1)>"):
        assert marked not in page, place


def test_search_ignores_letter_case(visitor: Visitor) -> None:
    page = visitor.get("/admin/blocked_addresses/", query_string={"search": VILLAIN.lower()})
    assert VILLAIN in page.text


def test_list_shows_names_and_amounts(visitor: Visitor) -> None:
    page = visitor.get("/admin/routes/").text
    for words in (
        "Ethereum",
        "BNB Chain",
        '"0.605437528092011966 USDT',
        "0.605437… <span",
        "0.04 % to 0.03 %",
        "curve, A 200",
    ):
        assert words in page, words
    assert "0.078 %" in visitor.get("/admin/chains/").text
    assert "5 000 000" not in visitor.get("/admin/blocked_networks/").text


class Transfers(ListView):
    model_class = Transfer
    title = "Transfers of this test"
    column_list = ("transfer_id", "src_chain_id", "src_tx_hash", "amount")
    column_filters: tuple[str, ...] = ("src_chain_id", "transfer_id", "symbol")


class Chains(ListView):
    model_class = Chain
    title = "Chains of this test"
    column_filters = ("disabled",)


def test_headings_are_words(app: Flask) -> None:
    with app.app_context():
        headings = [heading for _, heading in Transfers().get_list_columns()]
    assert headings == ["Transfer id", "Source chain", "Source transaction hash", "Amount"]


def test_ids_and_amounts_can_be_read(app: Flask) -> None:
    with app.test_request_context():
        view = Transfers()
        row = Transfer(transfer_id=b"\x07" * 32, amount=1234567)
        assert ">0x0707" in view.get_list_value(None, row, "transfer_id")
        assert view.get_list_value(None, row, "amount").replace("\N{NO-BREAK SPACE}", " ") == "1 234 567"
    assert "amount" in view.numbers


def test_column_is_filtered_by_its_name(app: Flask) -> None:
    with app.app_context():
        chain, transfer_id, symbol = list(Transfers().get_filters() or ())
        (disabled,) = list(Chains().get_filters() or ())
    assert isinstance(chain, Is) and chain.name == "Source chain"
    assert chain.validate("56") and chain.validate(str(2**64 - 1))
    assert not chain.validate("x") and not chain.validate(str(2**64)) and not chain.validate("-1")
    assert not chain.validate("9" * 5_000)
    assert transfer_id.validate("0x" + "07" * 32) and not transfer_id.validate("0x7")
    assert symbol.validate("USDT")
    assert isinstance(disabled, Flag)


@pytest.mark.parametrize("name", ["amount", "no_such_column"])
def test_unfilterable_column_is_refused(app: Flask, name: str) -> None:
    class Wrong(Transfers):
        column_filters = (name,)

    with app.app_context(), pytest.raises(ValueError, match="or a filter such as Choice"):
        Wrong()
