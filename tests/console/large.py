"""A gateway with the configuration of a production gateway, and long lists of everything else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flask import Flask

from app.accounts.rules.two_persons import NO_APPROVALS
from app.network.document import import_network
from app.network.from_configs import document_from_configs
from tests.actors import TESTER
from tests.applications import audited_of
from tests.builders.network import text, validator

RECORDED = Path(__file__).parents[1] / "contract" / "vectors" / "transfer_configs_mainnet.json"


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


def reduced_document() -> dict[str, Any]:
    """The same with three tokens and 120 validators: each section has more rows than a page shows."""
    document = production_document()
    for section in ("tokens", "pools", "routes", "route_blocks", "pegged_pairs"):
        document[section] = [row for row in document[section] if row["symbol"] in ("WETH", "USDC", "USDT")]
    return document | {name: document[name][:120] for name in ("validators", "blocked_addresses")}


def address(n: int) -> str:
    return f"0x{10**30 + n:040x}"


def import_production(app: Flask) -> None:
    """Record 1 is the import of everything."""
    import_network(*audited_of(app), NO_APPROVALS, text(production_document()), actor=TESTER)
