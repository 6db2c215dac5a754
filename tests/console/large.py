"""A gateway with the configuration of a production gateway, and long lists of everything else."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from flask import Flask
from sqlalchemy import insert

from app.accounts.rules.roles import Role
from app.accounts.rules.two_persons import NO_APPROVALS, TwoPersons
from app.credentials.services.issuing import issue, new_key, new_token
from app.db.database import Database
from app.db.engine import writing
from app.http.application import part_of
from app.network.document import import_network
from app.network.edits.restore import Undo
from app.network.edits.save import preview_edit, save_edit
from app.network.from_configs import document_from_configs
from app.transfers.models import Anomaly
from tests.actors import TESTER
from tests.applications import audited_of, editing_of
from tests.builders.network import text, validator
from tests.console.visitor import NOW, add_account
from tests.webhooks.services.hooks import to_everything

RECORDED = Path(__file__).parents[1] / "contract" / "vectors" / "transfer_configs_mainnet.json"

HEX = re.compile("0x[0-9a-fA-F]+")

MANY = 120
"""More rows than a page shows."""

VALIDATORS = 1000
"""Of one chain: as many as a form takes."""

SIZE = {"chains": 60, "tokens": 821, "pools": 181, "routes": 630, "pegged_pairs": 296}
"""Rows of the largest sections."""


def production_document() -> dict[str, Any]:
    """The recorded configuration, with validators of one chain and blocked addresses."""
    document = dict(document_from_configs(RECORDED.read_bytes()).document)
    document["validators"] = [validator(1, address(n), str(n + 1)) for n in range(VALIDATORS)]
    document["blocked_addresses"] = [{"address": address(n), "reason": "a list"} for n in range(VALIDATORS)]
    return document


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


def address(n: int) -> str:
    return f"0x{10**30 + n:040x}"


def import_production(app: Flask) -> None:
    """Record 1 is the import of everything."""
    import_network(*audited_of(app), NO_APPROVALS, text(production_document()), actor=TESTER)


def fill_lists(app: Flask) -> None:
    """Accounts, tokens, keys, webhooks, anomalies and a proposal to undo the whole import."""
    database = part_of(app, Database)
    for n in range(MANY):
        add_account(app, Role.VIEWER, f"viewer-{n}@example.org")
        issue(*editing_of(app), new_token(f"reporter-{n}"), actor=TESTER)
        issue(*editing_of(app), new_key(f"wallet-{n}", ("read",), "100/minute"), actor=TESTER)
        to_everything(app, f"https://hooks-{n}.example/")
    rows = [
        {
            "kind": "paid_twice", "subject": f"pool:{n}:USDT", "detail": "Two payouts", "event_ids": [],
            "first_at": NOW, "last_at": NOW,
        }
        for n in range(MANY)
    ]  # fmt: skip
    with writing(database.engine) as connection:
        connection.execute(insert(Anomaly), rows)
    seen = preview_edit(database, part_of(app, TwoPersons), Undo(1, as_document=True)).fingerprint
    undo = Undo(1, as_document=True, shown=seen)
    save_edit(*editing_of(app), undo, actor=TESTER, reason="a wrong file")


def emptied(document: bytes) -> dict[str, int]:
    """How many rows of each section an exported document has."""
    return {name: len(rows) for name, rows in json.loads(document).items() if isinstance(rows, list)}
