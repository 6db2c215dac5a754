"""Blocks that end: presets, single addresses, warnings, and how many transfers are concerned."""

from __future__ import annotations

from datetime import timedelta

import pytest
from flask import Flask

from app.db.database import Database
from tests.console.forms import form_of, save, send
from tests.console.visitor import MovableClock, Visitor, again
from tests.network.services.edits.kit import add_transfer, document, shown
from tests.network.services.network_kit import CONTRACT, VAULT

SOMEBODY = "0x00000000000000000000000000000000000000A1"


def written(clock: MovableClock, **ahead: int) -> str:
    return f"{clock() + timedelta(**ahead):%Y-%m-%dT%H:%M:%SZ}"


@pytest.mark.parametrize(
    ("preset", "ahead"), [("1h", {"hours": 1}), ("24h", {"days": 1}), ("7d", {"days": 7})]
)
def test_a_network_is_blocked_for_a_while(
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
    operator = again(app)
    assert "ended</span>" in operator.get("/admin/route_blocks/").text
    assert (
        "choose one of these"
        in send(operator, "/admin/blocked_networks/new", text="10.0.0.1", expires_at_in="9h").text.casefold()
    )


@pytest.mark.parametrize(
    ("address", "words"),
    [
        (CONTRACT[56].lower(), "is one of our contracts: bridge contract of BNB Chain"),
        (VAULT, "is one of our contracts: vault of pegged pair of CELR, Ethereum to Optimism"),
        (
            "0xdAC17F958D2ee523a2206206994597C13D831ec7",
            "one of our contracts: contract of token USDT on Ethereum",
        ),
        ("0x" + "0" * 40, "does not look like an account: it is the zero address"),
        ("0x" + "1f" * 32, "hash or a transfer ID"),
        ("somebody", "it is not an EVM address"),
        ("0x1619DE6B6B20eD217a58d00f37B9d47C7663feCb", "its checksum is wrong"),
    ],
)
def test_doubtful_address_needs_confirmation(operator: Visitor, address: str, words: str) -> None:
    assert words in send(operator, "/admin/blocked_addresses/new", text=address).text
    many = send(operator, "/admin/blocked_addresses/new", text=f"{address}\n{SOMEBODY}")
    assert words in many.text
    assert 'name="confirm"' in many.text, "a doubt is no refusal"


def test_an_ordinary_account_is_not_doubted(operator: Visitor) -> None:
    for address in (SOMEBODY, SOMEBODY.lower(), SOMEBODY.upper().replace("0X", "0x")):
        preview = send(operator, "/admin/blocked_addresses/new", text=address)
        assert "does not look like an account" not in preview.text
        assert "one of our contracts" not in preview.text


def test_the_transfers_that_are_concerned_are_counted(
    operator: Visitor, database: Database, clock: MovableClock
) -> None:
    now = clock()
    for n in range(1, 4):
        add_transfer(database, n, sender=SOMEBODY, sent_at=now, updated_at=now)
    add_transfer(database, 99, sender=VAULT, sent_at=now, updated_at=now)
    preview = send(operator, "/admin/blocked_addresses/new", text=SOMEBODY.lower())
    assert "received 3 transfers in the last 24 hours" in preview.text
    block = {"symbol": "USDT", "src_chain_id": "1", "dst_chain_id": "56", "both_directions": "1"}
    route = send(operator, "/admin/route_blocks/new", **block)
    assert "4 transfers in the last 24 hours" in route.text


def test_chain_is_picked_or_typed(operator: Visitor, database: Database) -> None:
    """From a list, or by its id."""
    page = operator.get("/admin/route_blocks/new")
    assert '<option value="56">BNB Chain (56)</option>' in page.text
    given = operator.get("/admin/route_blocks/new", query_string={"src_chain_id": "777", "symbol": "USDT"})
    assert (form_of(given)["src_chain_id"], form_of(given)["src_chain_id_other"]) == ("other", "777")
    path = f"/admin/route_blocks/{shown(database, 'route_blocks', 'USDT', 10, 56).row_id}"
    assert "Optimism" in operator.get(path).text
