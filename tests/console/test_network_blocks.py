"""Blocks: one or many at once, validated line by line, for ever or until a time."""

from __future__ import annotations

from datetime import timedelta

import pytest
from flask import Flask

from app.accounts.rules.roles import Role
from app.db.database import Database
from tests.builders.clock import MovableClock
from tests.console.forms import form_of, save, send
from tests.console.visitor import Visitor, email_of, visitor_of
from tests.network.services.edits.kit import document, records, shown
from tests.network.services.network_kit import CONTRACT, VAULT, VILLAIN

PATH = "/admin/blocked_addresses/new"


def address(number: int) -> str:
    return f"0x{number:040x}"


def test_many_addresses_at_once(operator: Visitor, database: Database) -> None:
    text = f"{address(1)}\r\n{address(2)}\r\n{address(1)}\r\n{VILLAIN.lower()}"
    preview = send(operator, PATH, text=text, reason="shared", source="case 7", expires_at="2027-01-31")
    for words in ("Block 2 addresses?", "1 line repeats", "blocked already for at least as long", "case 7"):
        assert words in preview.text
    assert len(document(database)["blocked_addresses"]) == 1
    saved = send(operator, PATH, preview, confirm="1")
    assert saved.location == "/admin/blocked_addresses/"
    _, *added = document(database)["blocked_addresses"]
    assert [row["address"][-1] for row in added] == ["1", "2"]
    for row in added:
        assert (row["reason"], row["source"], row["expires_at"]) == (
            "shared", "case 7", "2027-01-31T00:00:00Z",
        )  # fmt: skip
    assert records(database)[-1].action == "network.block"
    assert "change_reason" not in form_of(preview), "each row has the reason"
    again = send(operator, PATH, text=text)
    assert "blocked already" in again.text


def test_wrong_line_stops_the_list(operator: Visitor, database: Database) -> None:
    preview = send(operator, PATH, text=f"{address(1)}\r\n0x12\r\n<b>x,y</b>")
    assert "2 lines have errors" in preview.text
    assert "&lt;b&gt;x,y&lt;/b&gt;" in preview.text
    assert 'name="confirm"' not in preview.text
    answer = send(operator, PATH, preview, confirm="1")
    assert "2 lines have errors" in answer.text
    assert len(document(database)["blocked_addresses"]) == 1
    assert form_of(operator.post(PATH, form_of(preview) | {"back": "1"}))["text"].startswith(address(1))


def test_networks(operator: Visitor, database: Database) -> None:
    path = "/admin/blocked_networks/new"
    preview = send(operator, path, text="198.51.100.7\n8.0.0.0/7", reason="exit")
    assert "very wide network" in preview.text
    assert "198.51.100.7/32" in preview.text
    assert send(operator, path, preview, confirm="1").status_code == 302
    assert [row["cidr"] for row in document(database)["blocked_networks"][2:]] == [
        "198.51.100.7/32", "8.0.0.0/7",
    ]  # fmt: skip
    assert "enter at least one" in operator.post(path, {"text": " "}).text.casefold()
    assert (
        "must be a time" in operator.post(path, {"text": "10.0.0.0/8", "expires_at": "soon"}).text.casefold()
    )
    assert operator.post(path, {"text": "10.0.0.0/8", "source": "x"}).status_code == 400, "has no source"


SOMEBODY = "0x00000000000000000000000000000000000000A1"


def written(clock: MovableClock, **ahead: int) -> str:
    return f"{clock() + timedelta(**ahead):%Y-%m-%dT%H:%M:%SZ}"


@pytest.mark.parametrize(
    ("preset", "ahead"), [("1h", {"hours": 1}), ("24h", {"days": 1}), ("7d", {"days": 7})]
)
def test_network_is_blocked_for_a_time(
    operator: Visitor, database: Database, clock: MovableClock, preset: str, ahead: dict[str, int]
) -> None:
    end = written(clock, **ahead)
    preview = send(operator, "/admin/blocked_networks/new", text="198.51.100.7", expires_at_in=preset)
    assert end.replace("T", " ").removesuffix("Z") + " UTC" in preview.text
    clock.forward(minutes=2)
    assert send(operator, "/admin/blocked_networks/new", preview, confirm="1").status_code == 302
    row = document(database)["blocked_networks"][-1]
    assert row["cidr"] == "198.51.100.7/32", "a single address is the network of itself"
    assert row["expires_at"] == end, "what the preview showed, however long it was looked at"


def test_presets_of_pasted_lists_and_routes(
    app: Flask, operator: Visitor, database: Database, clock: MovableClock
) -> None:
    end = written(clock, hours=1)
    save(operator, "/admin/blocked_addresses/new", text=SOMEBODY, expires_at_in="1h")
    assert document(database)["blocked_addresses"][-1]["expires_at"] == end
    block = {"symbol": "USDT", "src_chain_id": "1", "dst_chain_id": "56", "expires_at_in": "1h"}
    save(operator, "/admin/route_blocks/new", **block)
    assert document(database)["route_blocks"][-1]["expires_at"] == end
    page = operator.get("/admin/route_blocks/").text
    assert page.count("active</span>") == 2
    clock.forward(hours=1)
    operator = visitor_of(app, email_of(Role.OPERATOR))
    assert "ended</span>" in operator.get("/admin/route_blocks/").text
    assert (
        "choose one of these"
        in send(operator, "/admin/blocked_networks/new", text="10.0.0.1", expires_at_in="9h").text.casefold()
    )


DOUBTFUL = {
    CONTRACT[56].lower(): "is one of our contracts: bridge contract of BNB Chain",
    VAULT: "is one of our contracts: vault of pegged pair of CELR, Ethereum to Optimism",
    "0xdAC17F958D2ee523a2206206994597C13D831ec7": "one of our contracts: contract of token USDT on Ethereum",
    "0x" + "0" * 40: "does not look like an account: it is the zero address",
    "0x" + "1f" * 32: "hash or a transfer ID",
    "somebody": "it is not an EVM address",
    "0x1619DE6B6B20eD217a58d00f37B9d47C7663feCb": "its checksum is wrong",
}


def test_doubtful_address_needs_confirmation(operator: Visitor) -> None:
    form = operator.get("/admin/blocked_addresses/new")
    for doubtful, words in DOUBTFUL.items():
        assert words in send(operator, "/admin/blocked_addresses/new", form, text=doubtful).text
        many = send(operator, "/admin/blocked_addresses/new", form, text=f"{doubtful}\n{SOMEBODY}")
        assert words in many.text
        assert 'name="confirm"' in many.text, "a doubt is no refusal"


def test_ordinary_account_is_not_doubted(operator: Visitor) -> None:
    for address in (SOMEBODY, SOMEBODY.lower(), SOMEBODY.upper().replace("0X", "0x")):
        preview = send(operator, "/admin/blocked_addresses/new", text=address)
        assert "does not look like an account" not in preview.text
        assert "one of our contracts" not in preview.text


def test_chain_is_picked_or_typed(operator: Visitor, database: Database) -> None:
    """From a list, or by its id."""
    page = operator.get("/admin/route_blocks/new")
    assert '<option value="56">BNB Chain (56)</option>' in page.text
    given = operator.get("/admin/route_blocks/new", query_string={"src_chain_id": "777", "symbol": "USDT"})
    assert (form_of(given)["src_chain_id"], form_of(given)["src_chain_id_other"]) == ("other", "777")
    path = f"/admin/route_blocks/{shown(database, 'route_blocks', 'USDT', 10, 56).row_id}"
    assert "Optimism" in operator.get(path).text
