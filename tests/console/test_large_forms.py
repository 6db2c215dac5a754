"""No form that the console makes is refused for its size: three times the production configuration passes."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from flask import Flask

from app.accounts.rules.roles import Role
from app.accounts.rules.two_persons import NO_APPROVALS
from app.console.shell.caller import SIGNED_IN_PARTS
from app.db.database import Database
from app.http.application import part_of
from app.network.document import export_network, import_network
from tests.actors import TESTER
from tests.applications import Audited
from tests.builders.network import text
from tests.console.forms import form_of
from tests.console.large import production_document
from tests.console.visitor import Visitor, signed_in
from tests.databases import SharedDatabase
from tests.network.services.network_kit import VAULT

ETHEREUM, NEW = 1, 8454
CHAIN = {"id": str(NEW), "name": "New", "explore_url": "https://explorer.example", "contract_addr": VAULT}


@pytest.fixture
def large(app: Flask, shared_database: SharedDatabase, audited: Audited) -> Flask:
    def fill() -> None:
        import_network(*audited, NO_APPROVALS, text(tripled_document()), actor=TESTER)

    shared_database.fill("tests.console three times production", fill)
    return app


@pytest.fixture
def operator(large: Flask) -> Visitor:
    return signed_in(large, Role.OPERATOR)


def of_ethereum(document: dict[str, Any], section: str) -> list[dict[str, Any]]:
    return [row for row in document[section] if row["chain_id"] == ETHEREUM]


def filled(form: dict[str, str]) -> dict[str, str]:
    contracts = [name for name in form if name.endswith("_address")]
    return form | CHAIN | {name: f"0x{10**20 + n:040x}" for n, name in enumerate(contracts)}


def test_tokens_of_a_large_chain_are_chosen_first(large: Flask, operator: Visitor) -> None:
    path = f"/admin/connect/?like={ETHEREUM}"
    page = operator.get(path)
    assert page.text.count('name="token"') == len(of_ethereum(tripled_document(), "tokens"))
    assert "Select at least one token" in operator.get(f"{path}&chosen=1").text
    chosen = f"{path}&chosen=1&token=USDT&token=USDC1&token=NONE"
    form = filled(form_of(operator.get(chosen)))
    assert len([name for name in form if name.endswith("_address")]) == 2
    preview = operator.post(chosen, form)
    done = operator.post(chosen, form_of(preview) | {"confirm": "1"})
    assert done.location.startswith("/admin/estimates/")
    now = json.loads(export_network(part_of(large, Database)))
    assert {row["symbol"] for row in now["tokens"] if row["chain_id"] == NEW} == {"USDT", "USDC1"}


def test_largest_chain_is_copied_whole(large: Flask, operator: Visitor) -> None:
    before = tripled_document()
    tokens = [row["symbol"] for row in of_ethereum(before, "tokens")]
    path = f"/admin/connect/?like={ETHEREUM}&chosen=1&" + "&".join(f"token={symbol}" for symbol in tokens)
    form = filled(form_of(operator.get(path)))
    form |= {name: "1" for name in form if name.endswith("_take")}
    assert 3_000 < len(form) < SIGNED_IN_PARTS // 2
    preview = operator.post(path, form)
    assert preview.status_code == 200, preview.text
    assert 'name="confirm"' in preview.text
    done = operator.post(path, form_of(preview) | {"confirm": "1"})
    assert done.location.startswith("/admin/estimates/")
    now = json.loads(export_network(part_of(large, Database)))
    assert len([row for row in now["tokens"] if row["chain_id"] == NEW]) == len(tokens)


def test_forms_before_signing_in_are_small(app: Flask) -> None:
    fields = {f"field{n}": "" for n in range(101)}
    assert app.test_client().post("/admin/sign-in", data=fields).status_code == 413


HEX = re.compile("0x[0-9a-fA-F]+")


def tripled_document() -> dict[str, Any]:
    """The recorded configuration with three tokens, pools and routes for each."""
    document = production_document()
    for section in ("tokens", "pools", "routes"):
        rows = document[section]
        document[section] = [_another(row, number) for number in range(3) for row in rows]
    return document


def _another(row: dict[str, Any], number: int) -> dict[str, Any]:
    """The row for another token, which has a contract of its own."""
    if number == 0:
        return row
    own = {"symbol": f"{row['symbol']}{number}"}
    contract = row.get("address", "")
    if HEX.fullmatch(contract):
        own["address"] = f"0x{int(contract, 16) ^ number:0{len(contract) - 2}x}"
    elif contract:
        own["address"] = f"{contract}{number}"
    return row | own
