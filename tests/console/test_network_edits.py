"""Each section through its forms: added, changed, removed; errors are shown at their field."""

from __future__ import annotations

import json
from typing import Any

import pytest
from flask import Flask

from app.db.database import Database
from tests.console.edits import CHANGES, NEW, added, key_of_last, new_page
from tests.console.forms import form_of, save, send
from tests.console.visitor import Visitor
from tests.network.services.edits.kit import add_transfer, document, records, shown
from tests.network.services.network_kit import CONTRACT, VAULT
from tests.network.services.network_kit import network as small_network

ADDED: dict[str, dict[str, Any]] = {
    "chains": {"id": 8453, "drop_gas_amt": "0", "disabled": False, "minimal_max_slippage": 501},
    "tokens": {"symbol": "USDC", "address": VAULT, "decimal": 6, "xfer_disabled": False},
    "pools": {
        "symbol": "CELR",
        "total_cap": "1000000" + "0" * 18,
        "epoch_cap": None,
        "liquidity_added": "7" + "0" * 18,
    },
    "routes": {
        "rate": {"model": "stableswap", "amplification": 85},
        "base_fee": "300000",
        "base_fee_max_age_seconds": 600,
        "perc_fee_tiers": [{"from": "0", "ppm": 400}, {"from": "1000500000", "ppm": 300}],
    },
    "route_blocks": {
        "symbol": "LATER",
        "src_chain_id": 5,
        "both_directions": True,
        "expires_at": "2027-01-31T00:00:00Z",
    },
    "pegged_pairs": {"symbol": "USDT", "bridge_version": 2, "deposit_base_fee": "0"},
    "blocked_addresses": {"address": VAULT, "expires_at": "2027-01-31T18:00:00Z", "reason": ""},
    "blocked_networks": {"cidr": "198.51.100.0/24", "reason": "two\nlines", "expires_at": None},
}


ADDED_BY = {
    "chains": "network.connect",
    "blocked_addresses": "network.block",
    "blocked_networks": "network.block",
}


@pytest.mark.parametrize("section", NEW)
def test_row_is_added_changed_removed_and_restored(
    operator: Visitor, database: Database, section: str
) -> None:
    count = len(document(database)[section])
    first = send(operator, new_page(section), **NEW[section])
    assert 'name="confirm"' in first.text, first.text
    assert len({"reason", "change_reason"} & form_of(first).keys()) == 1, "a new block has its own"
    assert len(document(database)[section]) == count, "a preview writes nothing"
    assert send(operator, new_page(section), first, confirm="1").status_code == 302
    assert added(database, section).items() >= ADDED[section].items()
    assert "Audit record" in operator.get(f"/admin/{section}/").text

    path = f"/admin/{section}/{key_of_last(database, section)}"
    sent, expected = CHANGES[section]
    before = added(database, section)
    saved = save(operator, path, **sent, change_reason="agreed\nin ticket 7")
    assert saved.location == f"/admin/{section}/"
    assert records(database)[-1].detail.endswith("; note: agreed in ticket 7")
    after = added(database, section)
    assert after.items() >= expected.items()
    assert {key for key in after if after[key] != before[key]} >= set(expected)

    assert send(operator, path).text.count("Nothing was changed") == 1, "a form sent back is no change"
    assert added(database, section) == after

    preview = operator.get(f"{path}/remove")
    assert "Removed" in preview.text
    assert send(operator, f"{path}/remove", preview, confirm="1").status_code == 302
    assert len(document(database)[section]) == count
    stored = [record for record in records(database) if record.action.startswith("network.")]
    first_action = ADDED_BY.get(section, "network.create")
    assert [record.action for record in stored] == [first_action, "network.edit", "network.remove"]
    assert {record.actor for record in stored} == {"operator@example.org"}
    assert operator.get(path).status_code == 404

    removal = stored[-1]
    page = operator.get(
        "/admin/history/", query_string={"subject": json.loads(removal.changes)[0]["subject"]}
    )
    assert "This row was removed" in page.text
    restore = f"/admin/{section}/restore/{removal.id}/0?before=1"
    assert restore in operator.get(f"/admin/audit/{removal.id}").text
    preview = operator.get(restore)
    assert "Added" in preview.text, preview.text
    typed = sent.get("typed", "")
    assert send(operator, restore, preview, confirm="1", typed=typed).status_code == 302
    assert added(database, section) == after
    back = operator.get(f"/admin/{section}/restore/{removal.id}/0").location
    assert "/remove" in back, "a version without the row is its removal"


def test_other_fields_are_refused(operator: Visitor, database: Database) -> None:
    before = document(database)
    names = {"chains": "id", "blocked_networks": "cidr", "blocked_addresses": "address"}
    for section, new in NEW.items():
        answer = send(operator, new_page(section), **new, confirm="1", base_fee_changed_at="x")
        assert answer.status_code == 400, section
        assert "no field “base_fee_changed_at”: nothing was changed" in answer.text
        path = f"/admin/{section}/{key_of_last(database, section)}"
        answer = send(operator, path, **{names.get(section, "symbol"): "7"}, confirm="1")
        assert answer.status_code == 400, "what a row is about is no field of its form"
    assert document(database) == before


WRONG = [
    # What only a form refuses; and some that the services do, which test all of them.
    ("chains", {"id": "1.5"}, "enter a whole number, digits only"),
    ("chains", {"id": "1"}, "Ethereum exists already: change that one"),
    ("chains", {"id": "9" * 30}, "too large"),
    ("chains", {"name": " "}, "enter a value"),
    ("chains", {"explore_url": "http://explorer.example"}, "must be an https URL"),
    ("chains", {"disabled": "1"}, "Enter why the chain is stopped"),
    ("chains", {"disabled": "1", "disabled_reason": "\r\n "}, "Enter why the chain is stopped"),
    ("tokens", {"chain_id": ""}, "Choose a chain"),
    ("tokens", {"chain_id": "99"}, "chain 99 is not among the chains"),
    ("pools", {"symbol": ""}, "Choose a token"),
    ("pools", {"total_cap": "0." + "0" * 18 + "1"}, "CELR has 18 decimals. Enter at most 18 digits"),
    ("pools", {"total_cap": "1,5"}, "without commas and with a decimal point"),
    ("pools", {"total_cap": "1.5", "total_cap_unit": "smallest"}, "Enter smallest units as digits only"),
    ("pools", {"total_cap": "1.5", "total_cap_unit": "wei"}, "Choose whole tokens or smallest units"),
    ("pools", {"total_cap": "1" + "0" * 78}, "at most 2^256-1"),
    ("pools", {"total_cap": "1e6"}, "is not a number"),
    ("pools", {"total_cap": "-1"}, "is not a number"),
    ("pools", {"total_cap": "²", "total_cap_unit": "smallest"}, "Enter smallest units as digits only"),
    ("pools", {"total_cap": "9" * 121, "total_cap_unit": "smallest"}, "Enter smallest units as digits only"),
    ("pools", {"epoch_seconds": "0"}, "must be an integer from 1"),
    ("routes", {"rate_model": "free"}, "Choose how the rate is found"),
    ("routes", {"rate_amplification": ""}, "enter a whole number"),
    ("routes", {"rate_model": "fixed", "rate_value": "1,5"}, "must be a positive decimal"),
    ("routes", {"base_fee": "1.5 USDT"}, "is not a number"),
    ("routes", {"src_chain_id": "1"}, "must be a different chain"),
    ("routes", {"perc_fee_tiers_0_fee": ""}, "Row 1, fee: enter a number, such as 0.04"),
    ("routes", {"perc_fee_tiers_0_from": "5"}, "Row 1, from: must be 0 in the first tier"),
    ("routes", {"perc_fee_tiers_2_from": "0"}, "Row 2, from: must be greater"),
    ("routes", {"perc_fee_tiers_0_fee": "2.0001"}, "Row 1, fee: enter at most 2 %"),
    ("routes", {"perc_fee_tiers_0_fee": "0.00001"}, "Row 1, fee: a fee in percent has 4 decimals"),
    ("routes", {"pinned_base_fee": "1"}, "is missing, but “Pinned base fee” is given"),
    ("routes", {"pinned_until": "2027-01-01"}, "“Pinned until” is given: set both or neither"),
    ("route_blocks", {"dst_chain_id_other": "5", "dst_chain_id": "other"}, "must be a different chain"),
    ("route_blocks", {"dst_chain_id_other": "five", "dst_chain_id": "other"}, "choose a chain"),
    ("pegged_pairs", {"pegged_deposit_contract_addr": "0x12"}, "must have 40 or 64 hex digits"),
    ("pegged_pairs", {"org_token_address": "0x12"}, "must have 40 or 64 hex digits"),
    ("tokens", {"min_send": "5", "max_send": "4"}, "must be at least “Minimum amount”"),
    ("chains", {"rpc": "https://node.example/key"}, "must be the name of an environment variable"),
    ("chains", {"finality": "soon"}, "Enter a whole number of blocks, or finalized"),
    ("chains", {"poll_seconds": "often"}, "Enter a number of seconds"),
    ("blocked_addresses", {"text": "0x12"}, "must have 40 or 64 hex digits"),
    ("blocked_addresses", {"expires_at": "tomorrow"}, "must be a time"),
    ("blocked_networks", {"text": "198.51.100.1/24"}, "must have no bits set beyond its prefix"),
]


SELECTS = ("chain_id", "src_chain_id", "symbol", "rate_model")


def test_refusal_is_shown_in_plain_words(operator: Visitor, database: Database) -> None:
    before = document(database)
    blank = {section: operator.get(new_page(section)) for section in NEW}
    for section, values, words in WRONG:
        answer = send(operator, new_page(section), blank[section], **NEW[section] | values, confirm="1")
        assert answer.status_code == 200, values
        assert words.casefold() in answer.text.casefold(), values
        assert 'name="confirm"' not in answer.text
        name, typed = next(iter(values.items()))
        if name not in SELECTS:
            assert form_of(answer)[name].split() == typed.split(), "what was typed is still there"
    assert document(database) == before


def test_fields_fixed_by_transfers_are_refused(operator: Visitor, database: Database) -> None:
    """They are shown, and a form from before the transfer does not change them."""
    assert "contract_addr" in form_of(operator.get("/admin/chains/1"))
    stale = operator.get("/admin/chains/1")
    add_transfer(database, 1)
    page = operator.get("/admin/chains/1")
    assert "contract_addr" not in form_of(page)
    assert "refunds are signed for its contract" in page.text
    assert CONTRACT[1] in page.text
    token = shown(database, "tokens", 56, "USDT").row_id
    assert not {"address", "decimal"} & set(form_of(operator.get(f"/admin/tokens/{token}")))
    assert send(operator, "/admin/chains/1", page, contract_addr=VAULT).status_code == 400
    late = send(operator, "/admin/chains/1", stale, contract_addr=VAULT, confirm="1")
    assert late.status_code == 400, "a form from before the transfer"
    assert document(database)["chains"] == small_network()["chains"]


def test_row_in_use_names_its_users(operator: Visitor, database: Database) -> None:
    add_transfer(database, 1)
    answer = operator.get("/admin/chains/56/remove")
    route = shown(database, "routes", "USDT", 1, 56).row_id
    assert f'href="/admin/routes/{route}">route of USDT from Ethereum to BNB Chain<' in answer.text
    assert f'href="/admin/transfers/0x{(1).to_bytes(32, "big").hex()}"' in answer.text
    assert "Stop the chain instead" in answer.text
    assert len(document(database)["chains"]) == 3


def test_viewer_sees_row_but_cannot_edit(network: Flask, viewer: Visitor) -> None:
    page = viewer.get("/admin/chains/1")
    assert "Ethereum" in page.text
    assert "<fieldset disabled" in page.text
    assert "Preview change" not in page.text
    assert "/admin/chains/1/stop" not in viewer.get("/admin/chains/").text
    assert viewer.post("/admin/chains/1", {"name": "x"}).status_code == 403


def test_pool_shows_its_balance(operator: Visitor, database: Database) -> None:
    page = operator.get(f"/admin/pools/{shown(database, 'pools', 1, 'USDT').row_id}")
    assert "Pool balance" in page.text
    assert "5 000 000" in page.text.replace("\u2009", " ").replace("\u202f", " ").replace("\xa0", " ")
    assert "liquidity_added" not in form_of(page)


def test_edit_pages_of_unknown_rows_answer_404(operator: Visitor) -> None:
    for section in NEW:
        for key in (0, 999_999, 10**30):
            assert operator.get(f"/admin/{section}/{key}").status_code == 404
            assert operator.get(f"/admin/{section}/{key}/remove").status_code == 404
