"""What an edit will do, shown before it is saved; test_grave.py has those with high impact."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from flask import Flask

from app.accounts.rules.two_persons import TwoPersons
from app.audit.previews import Preview, Severity
from app.db.database import Database
from app.estimates.models import PoolCounter, PoolVolume, ReportedFee
from app.http.application import part_of
from app.network.edits.plan import Edit
from app.network.edits.save import preview_edit, save_edit
from tests.applications import Editing
from tests.network.services import network_kit as kit
from tests.network.services.edits.kit import ALICE, NOON, add_transfer, edited, put, removed, texts
from tests.network.services.edits.new_rows import NEW_ROWS


def look(app: Flask, section: str, *key: Any, **values: Any) -> Preview:
    return preview_edit(
        part_of(app, Database),
        part_of(app, TwoPersons),
        edited(part_of(app, Database), section, *key, **values),
    )


def test_stopped_chain_names_what_stops(app: Flask, database: Database, editing: Editing) -> None:
    for n in range(3):
        add_transfer(database, n)
    add_transfer(database, 3, sent_at=NOON - timedelta(hours=25))
    add_transfer(database, 4, status=5)
    add_transfer(database, 5, src=10, dst=56)
    preview = look(app, "chains", 1, disabled=True, disabled_reason="x")
    assert texts(preview) == [
        "4 transfers are in progress from or to Ethereum: no change, and clients still see the status",
        "no estimates from or to Ethereum until it is resumed",
        "7 routes stop at once; 4 transfers in the last 24 hours",
    ]
    assert preview.effects[2].details == (
        "USDT from Ethereum to Optimism",
        "USDT from Ethereum to BNB Chain: 4 transfers in the last 24 hours",
        "USDT from BNB Chain to Ethereum",
        "CELR from Ethereum to Optimism (pegged)",
        "CELR from Ethereum to BNB Chain (pegged)",
        "CELR from Optimism to Ethereum (pegged)",
        "CELR from BNB Chain to Ethereum (pegged)",
    )
    assert (preview.severity, preview.needs_typed) == (Severity.GRAVE, "Ethereum")

    save_edit(
        *editing,
        edited(database, "chains", 1, disabled=True, disabled_reason="x"),
        actor=ALICE,
        typed="Ethereum",
    )
    back = look(app, "chains", 1, disabled=False)
    assert texts(back) == ["7 routes open at once"]
    assert back.severity is Severity.NOTICE


def test_burn_and_mint_stops_too(app: Flask) -> None:
    """Between two pegged chains."""
    preview = look(app, "tokens", 10, "CELR", xfer_disabled=True)
    assert texts(preview) == ["4 routes stop at once"]


@pytest.mark.parametrize(
    ("values", "effect"),
    [
        ({}, "1 route stops at once"),
        ({"both_directions": True}, "2 routes stop at once"),
        ({"symbol": "CELR", "dst_chain_id": 10}, "1 route stops at once"),
        ({"dst_chain_id": 137}, "no route or pegged pair is open there: the block has no effect now"),
    ],
)
def test_route_block_preview_counts_stopped_routes(
    database: Database, two_persons: TwoPersons, values: dict[str, Any], effect: str
) -> None:
    preview = preview_edit(
        database, two_persons, Edit("route_blocks", values=NEW_ROWS["route_blocks"] | values)
    )
    assert texts(preview) == [effect]


def test_block_of_closed_route_stops_nothing(
    database: Database, two_persons: TwoPersons, editing: Editing
) -> None:
    save_edit(*editing, edited(database, "tokens", 56, "USDT", xfer_disabled=True), actor=ALICE)
    block = Edit("route_blocks", values=NEW_ROWS["route_blocks"])
    assert texts(preview_edit(database, two_persons, block)) == [
        "no route or pegged pair is open there: the block has no effect now"
    ]


def test_a_new_route_opens(database: Database, two_persons: TwoPersons) -> None:
    opened = preview_edit(database, two_persons, Edit("routes", values=kit.route(10, 1)))
    assert texts(opened) == ["1 route opens at once"]
    blocked = preview_edit(database, two_persons, Edit("routes", values=kit.route(10, 56)))
    assert texts(blocked) == []


FEE = 605437528092011966


def test_fee_tiers_are_compared_at_each_start(app: Flask) -> None:
    tiers = [
        {"from": "0", "ppm": 400},
        {"from": "500000000000", "ppm": 350},
        {"from": "2000000000000", "ppm": 0},
    ]
    preview = look(app, "routes", "USDT", 1, 56, perc_fee_tiers=tiers)
    (effect,) = preview.effects
    assert effect.text == "USDT from Ethereum to BNB Chain: protocol fee changes"
    assert effect.details == ("from 2 000 000 USDT: 0.03 % → 0 %",)
    assert effect.severity is Severity.GRAVE, "it drops to 0"


@pytest.mark.parametrize(("ppm", "leaps"), [(4000, True), (800, False)])
def test_every_kind_of_fee_leaps_alike(app: Flask, ppm: int, leaps: bool) -> None:
    times = ppm // 400
    tiers = [{"from": "0", "ppm": ppm}, {"from": "1000000000000", "ppm": 300}]
    for preview in (
        look(app, "routes", "USDT", 1, 56, perc_fee_tiers=tiers),
        look(app, "routes", "USDT", 1, 56, base_fee=str(FEE * times)),
        look(app, "pegged_pairs", "CELR", 1, 10, burn_base_fee=str(8 * times)),
    ):
        assert (preview.severity is Severity.GRAVE) is leaps


def test_reported_fee_precedes_the_configured(app: Flask, database: Database) -> None:
    put(
        database,
        ReportedFee,
        symbol="USDT",
        src_chain_id=1,
        dst_chain_id=56,
        base_fee=10**18,
        at=NOON,
        event_id="e",
    )
    preview = look(app, "routes", "USDT", 1, 56, base_fee=str(FEE * 12))
    assert texts(preview)[0].endswith(
        "; no effect now: 1 USDT reported since 2026-11-20 12:00 UTC takes precedence"
    )
    assert preview.severity is Severity.GRAVE, "twelve times is as likely a slip as without the feed's fee"
    twice = look(app, "routes", "USDT", 1, 56, base_fee=str(FEE * 2))
    assert twice.severity is Severity.NOTICE


def test_caps_under_what_is_used(app: Flask, database: Database) -> None:
    put(database, PoolCounter, chain_id=1, symbol="USDT", added=0, sent=10**12, relayed=0, withdrawn=0)
    put(database, PoolVolume, chain_id=1, symbol="USDT", minute=int(NOON.timestamp()) // 60, amount=7 * 10**6)
    over = look(app, "pools", 1, "USDT", total_cap="6000000000000", epoch_cap="7000000")
    assert texts(over) == [
        "the new total cap of USDT on Ethereum is 6 000 000 USDT, but 6 000 000 USDT is used already: "
        "no transfers to it until the balance is lower",
        "the new epoch cap (3 600 s) of USDT on Ethereum is 7 USDT, but 7 USDT is used already: "
        "no transfers to it until the next epoch",
    ]
    assert over.severity is Severity.GRAVE
    room = look(app, "pools", 1, "USDT", total_cap="6000000000001", epoch_cap="7000001")
    assert (texts(room), room.severity) == ([], Severity.PLAIN)


def test_address_block_preview_counts_transfers(
    app: Flask, database: Database, two_persons: TwoPersons
) -> None:
    sender = "0x" + "ab" * 20
    add_transfer(database, 1, sender="0x" + "AB" * 20)
    add_transfer(database, 2, src=10, dst=1, receiver=sender)
    add_transfer(database, 3, sender=sender, sent_at=NOON - timedelta(hours=25))
    block = preview_edit(database, two_persons, Edit("blocked_addresses", values={"address": sender}))
    assert texts(block) == ["this address sent or received 2 transfers in the last 24 hours"]
    assert texts(
        preview_edit(database, two_persons, removed(database, "blocked_addresses", kit.VILLAIN))
    ) == ["blocked callers get estimates again at once"]
    ended = look(app, "blocked_addresses", kit.VILLAIN, expires_at="2026-11-20T12:00:00Z")
    assert texts(ended) == ["its end is in the past: it blocks nothing"]


def test_wide_network_has_no_high_impact(database: Database, two_persons: TwoPersons) -> None:
    """One that is twice as wide has."""
    preview = preview_edit(database, two_persons, Edit("blocked_networks", values={"cidr": "10.0.0.0/9"}))
    assert preview.severity is not Severity.GRAVE


def test_harmless_edit_has_no_effects(app: Flask) -> None:
    for name, key, values in (
        ("chains", (1,), {"name": "Mainnet"}),
        ("chains", (1,), {"block_delay": 24, "minimal_max_slippage": 781}),
        ("tokens", (1, "USDT"), {"icon": "https://example.org/i.png"}),
        ("route_blocks", ("USDT", 10, 56), {"reason": "x"}),
    ):
        preview = look(app, name, *key, **values)
        assert (texts(preview), preview.severity) == ([], Severity.PLAIN), name
        assert [change.field for change in preview.differences] == list(values)


def test_new_chain_preview_names_missing_parts(database: Database, two_persons: TwoPersons) -> None:
    new = preview_edit(database, two_persons, Edit("chains", None, NEW_ROWS["chains"]))
    name = NEW_ROWS["chains"]["name"]
    assert texts(new) == [
        f"no validators of {name} are known: its refunds cannot be verified until the feed reports them or "
        "an opening set is entered",
        f"no watcher reads {name}: a reporter has to send its events",
    ]


def test_effects_on_reading_a_chain(app: Flask, database: Database, editing: Editing) -> None:
    nodes = {"rpc": ["RPC_URL_ETHEREUM"]}
    assert texts(look(app, "chains", 1, watch_from_block=7)) == [
        "Ethereum has no nodes: it cannot be read",
    ]
    save_edit(*editing, edited(database, "chains", 1, watch_from_block=7, **nodes), actor=ALICE)
    assert texts(look(app, "chains", 1, watch_from_block=9)) == []
    assert texts(look(app, "chains", 1, watch_from_block=5)) == ["Ethereum is read again from block 5 on"]
    assert texts(look(app, "chains", 1, rpc=[])) == ["Ethereum has no nodes: it cannot be read"]
    further = {"deposit_contracts": [kit.CONTRACT[56]]}
    assert texts(look(app, "pegged_pairs", "CELR", 1, 10, **further)) == [
        "Ethereum is read again from block 7 on"
    ]
    unwatched = look(app, "chains", 1, watch_from_block=None)
    assert texts(unwatched) == [
        "Ethereum is no longer watched: its transfers keep their status until a reporter sends events"
    ]
    assert unwatched.severity is Severity.GRAVE
