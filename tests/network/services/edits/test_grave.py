"""Every effect with high impact, and the edit that leads to it. None of them may get a lower severity."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

import pytest
from flask import Flask

from app.accounts.rules.two_persons import TwoPersons
from app.audit.previews import Preview, Severity
from app.db.database import Database
from app.http.application import part_of
from app.network.document import export_network, import_network
from app.network.edits.connect import opening_edits, opening_set
from app.network.edits.fees import FeeEdit
from app.network.edits.plan import Edit
from app.network.edits.save import Command, preview_edit
from tests.actors import TESTER
from tests.applications import editing_of
from tests.network.services import network_kit as kit
from tests.network.services.edits.kit import NOON, edited, removed
from tests.network.services.edits.new_rows import NEW_ROWS
from tests.network.services.edits.times import written

Made = Callable[[Database], Command]


def edit(section: str, *key: Any, **values: Any) -> Made:
    return lambda database: edited(database, section, *key, **values)


def gone(section: str, *key: Any) -> Made:
    return lambda database: removed(database, section, *key)


def new(section: str, **values: Any) -> Made:
    return lambda _database: Edit(section, values=NEW_ROWS[section] | values)


def opening(*members: dict[str, Any]) -> Made:
    return lambda database: opening_edits(1, opening_set(database, 1), members)


def grave(preview: Preview) -> list[str]:
    return [effect.text for effect in preview.effects if effect.severity is Severity.GRAVE]


ROUTE: Final = ("routes", "USDT", 1, 56)
PAIR: Final = ("pegged_pairs", "CELR", 1, 10)
FEE: Final = 605437528092011966
UNTIL: Final = written(NOON + timedelta(days=1))
NO_FEE: Final = "a fee is not known: no estimates"
NODES: Final = {"watch_from_block": 7, "rpc": ["RPC_URL_ETHEREUM"]}
TIERS: Final = [{"from": "0", "ppm": 400}, {"from": "1000000000000", "ppm": 300}]

GRAVE: Final[list[tuple[str, Made, str | None]]] = [
    # Words of the effect, the edit, and what has to be typed to confirm it.
    # Routes that stop.
    ("stop at once", edit("chains", 1, disabled=True, disabled_reason="x"), "Ethereum"),
    ("no estimates from or to Ethereum", edit("chains", 1, disabled=True, disabled_reason="x"), "Ethereum"),
    ("stop at once", edit("tokens", 1, "USDT", xfer_disabled=True), None),
    ("stop at once", edit("tokens", 1, "USDT", pool_disabled=True), None),
    ("stops at once", new("route_blocks"), None),
    ("stops at once", gone(*ROUTE), None),
    ("at once", gone(*PAIR), None),
    ("at once", edit(*PAIR, org_token={"xfer_disabled": True}), None),
    # Fees that are not known, or leap.
    (NO_FEE, new("routes", src_chain_id=10, dst_chain_id=1, base_fee=None), None),
    (NO_FEE, new("routes", src_chain_id=10, dst_chain_id=1, perc_fee_tiers=None), None),
    (NO_FEE, new("pegged_pairs", deposit_base_fee=None), None),
    (NO_FEE, new("pegged_pairs", burn_base_fee=None), None),
    (NO_FEE, new("pegged_pairs", perc_fee_tiers=None), None),
    (": no estimates", edit(*ROUTE, base_fee=None), None),
    (": no estimates", edit(*ROUTE, perc_fee_tiers=None), None),
    (": no estimates", edit(*PAIR, deposit_base_fee=None), None),
    (": no estimates", edit(*PAIR, burn_base_fee=None), None),
    (": no estimates", edit(*PAIR, perc_fee_tiers=None), None),
    ("base fee 5 times", edit(*ROUTE, base_fee=str(FEE * 5)), None),
    ("base fee drops to 0 (0.605437528092011966 USDT → 0 USDT)", edit(*ROUTE, base_fee="0"), None),
    ("base fee 10 times", edit(*PAIR, burn_base_fee="80"), None),
    ("base fee about 9.857 times", edit(*PAIR, deposit_base_fee="69"), None),
    ("protocol fee", edit(*ROUTE, perc_fee_tiers=[{"from": "0", "ppm": 4000}, TIERS[1]]), None),
    ("protocol fee", edit(*ROUTE, perc_fee_tiers=[*TIERS, {"from": "2000000000000", "ppm": 0}]), None),
    ("protocol fee", edit(*PAIR, perc_fee_tiers=[{"from": "0", "ppm": 5000}]), None),
    ("base fee pinned", edit(*ROUTE, pinned_base_fee=str(FEE * 9), pinned_until=UNTIL), None),
    ("base fee 5 times", lambda _: FeeEdit(56, "USDT", amount=FEE * 5), None),
    # Rates. Those of open routes are tried, too.
    ("rate about 1.1 times", edit(*ROUTE, rate={"model": "fixed", "value": "1.1001"}), "USDT"),
    ("rate about 0.9", edit(*ROUTE, rate={"model": "fixed", "value": "0.9"}), "USDT"),
    ("rate from fixed", edit(*ROUTE, rate={"model": "stableswap", "amplification": 7}), "USDT"),
    (
        "rate from the StableSwap curve",
        edit("routes", "USDT", 1, 10, rate={"model": "fixed", "value": "1"}),
        None,
    ),
    # Tokens and pools.
    ("are read with 18 decimals instead of 6", edit("tokens", 1, "USDT", decimal=18), None),
    ("clients see a new contract", edit("tokens", 1, "USDT", address=kit.VAULT), None),
    # Chains, and who signs for them.
    ("wait 60 blocks instead of 12", edit("chains", 1, block_delay=60), None),
    ("wait 1 blocks instead of 12", edit("chains", 1, block_delay=1), None),
    ("max_slippage of at least 0.39 %", edit("chains", 1, minimal_max_slippage=3900), None),
    ("has no nodes: it cannot be read", edit("chains", 1, watch_from_block=7), None),
    ("verified against the new opening", opening({"chain_id": 1, "signer": kit.VAULT, "power": "1"}), None),
    ("no opening validators of Ethereum are left", opening(), None),
    # What is blocked.
    ("is one of our contracts", new("blocked_addresses", address=kit.CONTRACT[1].lower()), None),
    ("is one of our contracts", new("blocked_addresses", address=kit.USDT[1][0]), None),
    ("is one of our contracts", new("blocked_addresses", address=kit.VAULT), None),
    ("is one of our contracts", new("blocked_addresses", address=kit.BRIDGE), None),
    ("a very wide network", new("blocked_networks", cidr="10.0.0.0/8"), None),
    ("a very wide network", new("blocked_networks", cidr="2000::/19"), None),
]


def test_high_impact_is_shown_and_confirmed(app: Flask) -> None:
    database = part_of(app, Database)
    for words, made, typed in GRAVE:
        preview = preview_edit(database, part_of(app, TwoPersons), made(database))
        assert any(words in text for text in grave(preview)), (words, preview.effects)
        assert (preview.severity, preview.needs_typed) == (Severity.GRAVE, typed), words


AFTER: Final[list[tuple[str, dict[str, Any], Made]]] = [
    # Words of the effect, what was in the network before, and the edit.
    (
        "no longer pinned, and no other is known: no estimates",
        {"routes.0.base_fee": None, "routes.0.pinned_base_fee": "9", "routes.0.pinned_until": UNTIL},
        edit(*ROUTE, pinned_base_fee=None, pinned_until=None),
    ),
    (
        "the base fee is no longer pinned: ",
        {"routes.0.pinned_base_fee": "9", "routes.0.pinned_until": UNTIL},
        edit(*ROUTE, pinned_base_fee=None, pinned_until=None),
    ),
    (
        "no effect now",
        {"routes.0.pinned_base_fee": str(FEE), "routes.0.pinned_until": UNTIL},
        edit(*ROUTE, base_fee=str(FEE * 5)),
    ),
    (
        "has no nodes: it cannot be read",
        {"chains.0.watch_from_block": 7, "chains.0.rpc": ["RPC_URL_ETHEREUM"]},
        edit("chains", 1, rpc=[]),
    ),
    (
        "is one of our contracts",
        {"pegged_pairs.0.deposit_contracts": ["0x" + "c4" * 20]},
        new("blocked_addresses", address="0x" + "c4" * 20),
    ),
]


@pytest.mark.parametrize(("words", "before", "made"), AFTER)
def test_high_impact_after_earlier_edits(app: Flask, words: str, before: dict[str, Any], made: Made) -> None:
    database = part_of(app, Database)
    document = json.loads(export_network(database))
    for path, value in before.items():
        section, number, key = path.split(".")
        document[section][int(number)][key] = value
    import_network(*editing_of(app), json.dumps(document).encode(), actor=TESTER)
    preview = preview_edit(database, part_of(app, TwoPersons), made(database))
    assert any(words in text for text in grave(preview)), preview.effects
