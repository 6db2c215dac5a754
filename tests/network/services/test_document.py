"""Import and export of the network document, on both databases."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace
from sqlalchemy import insert, select

from app.db.database import Database
from app.db.engine import reading, writing
from app.http.application import part_of
from app.network import changes
from app.network.document import ImportResult, NetworkRefused, import_network
from app.network.models import NetworkPart, Route
from app.transfers.models import Transfer
from tests.actors import TESTER
from tests.applications import Editing, OpenApp, editing_of
from tests.network.services.edits.kit import document as exported
from tests.network.services.edits.kit import versions
from tests.network.services.network_kit import CONTRACT, SIGNERS, VAULT, VILLAIN, changed, network, text

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
SOME_DAY = "2030-01-01T00:00:00Z"
ALL_PARTS = {"core", "blocked_addresses", "blocked_networks", "validators"}


def import_at(now: datetime, editing: Editing, document: dict[str, Any]) -> ImportResult:
    database, audit_keys, two_persons = editing
    later = replace(database, clock=lambda: now)
    return import_network(later, audit_keys, two_persons, text(document), actor=TESTER)


def fee_ages(database: Database) -> dict[tuple[int, int], datetime]:
    with reading(database.engine) as connection:
        rows = connection.execute(select(Route.src_chain_id, Route.dst_chain_id, Route.base_fee_changed_at))
        return {(row.src_chain_id, row.dst_chain_id): row.base_fee_changed_at for row in rows}


def add_transfer(database: Database, src: int | None, dst: int | None, symbol: str | None = "USDT") -> None:
    with writing(database.engine) as connection:
        connection.execute(
            insert(Transfer).values(
                transfer_id=bytes(32),
                status=1,
                refund_reason=0,
                src_chain_id=src,
                dst_chain_id=dst,
                symbol=symbol,
                updated_at=NOON,
            )
        )


def test_import_and_export_keep_order(open_app: OpenApp) -> None:
    app = open_app()
    document = network()
    document["chains"].reverse()
    document["routes"][0]["rate"]["value"] = "1.500"
    document["pools"][0]["total_cap"] = str(2**256 - 1)
    document["pools"][1]["total_cap"] = None
    document["chains"][0]["drop_gas_amt"] = str(2**256 - 1)
    outcome = import_network(*editing_of(app), text(document), actor=TESTER)
    assert outcome.applied
    assert "add token USDT on chain 1" in outcome.changes
    assert exported(part_of(app, Database)) == document


def test_empty_database_exports_empty_document(open_app: OpenApp) -> None:
    document = exported(part_of(open_app(), Database))
    assert document.pop("version") == 1
    assert set(document) == set(network()) - {"version"}
    assert not any(document.values())


def test_import_of_export_changes_nothing(database: Database, editing: Editing) -> None:
    before = versions(database)
    assert before == dict.fromkeys(ALL_PARTS, 1)
    assert import_at(NOON + timedelta(days=1), editing, exported(database)).changes == ()
    assert versions(database) == before
    assert set(fee_ages(database).values()) == {NOON}


def test_other_spelling_changes_nothing(database: Database, editing: Editing) -> None:
    document = network()
    document["tokens"][0]["address"] = document["tokens"][0]["address"].lower()
    document["blocked_networks"][0]["expires_at"] = "2027-01-01T05:30:00.000000+05:30"
    document["blocked_networks"][1]["cidr"] = "2001:DB8:0:0::/32"
    document["blocked_addresses"][0]["address"] = VILLAIN.lower()
    document["chains"].reverse()
    assert import_network(*editing, text(document), actor=TESTER).changes == ()
    assert versions(database) == dict.fromkeys(ALL_PARTS, 1)


@pytest.mark.parametrize(
    ("path", "value", "part", "sentence"),
    [
        ("chains.0.name", "Main", "core", 'change chain 1: name from "Ethereum" to "Main"'),
        ("pools.0.epoch_cap", "5", "core", 'change pool of USDT on chain 1: epoch_cap from null to "5"'),
        ("routes.0.base_fee", "5", "core", 'change route of USDT from 1 to 56: base_fee from "6054'),
        ("routes.2.rate.amplification", 9, "core", "change route of USDT from 1 to 10: rate from"),
        ("route_blocks.0.both_directions", False, "core", "change block of USDT from 10 to 56: both_"),
        ("pegged_pairs.0", ..., "core", "remove pegged pair of CELR, 1 to 10"),
        ("blocked_addresses.0.reason", "", "blocked_addresses", f"change blocked address {VILLAIN}: reason"),
        ("blocked_networks.0", ..., "blocked_networks", "remove blocked network 203.0.113.0/24"),
        (
            "blocked_networks.1.expires_at",
            SOME_DAY,
            "blocked_networks",
            "change blocked network 2001:db8::/32",
        ),
        ("validators.1.power", "9", "validators", f"change validator {SIGNERS[1]} of chain 1: power from"),
    ],
)
def test_edit_is_reported_and_moves_one_part(
    database: Database, editing: Editing, path: str, value: Any, part: str, sentence: str
) -> None:
    document = changed(path, value)
    dry = import_network(*editing, text(document), dry_run=True, actor=TESTER)
    assert exported(database) == network()
    assert versions(database)[part] == 1

    outcome = import_network(*editing, text(document), actor=TESTER)
    assert outcome.changes == dry.changes
    assert len(outcome.changes) == 1
    assert outcome.changes[0].startswith(sentence)
    assert (outcome.applied, dry.applied) == (True, False)
    assert versions(database) == dict.fromkeys(ALL_PARTS, 1) | {part: 2}
    assert exported(database) == document


def test_fee_age_counts_from_last_change(database: Database, editing: Editing) -> None:
    document = network()
    document["routes"][0]["base_fee"] = "1"
    document["routes"][1]["rate"]["value"] = "2"
    document["routes"][1]["base_fee_max_age_seconds"] = 60
    hour_later = NOON + timedelta(hours=1)
    import_at(hour_later, editing, document)
    assert fee_ages(database) == {(1, 56): hour_later, (56, 1): NOON, (1, 10): NOON}


def test_versions_have_the_time_of_change(database: Database, editing: Editing) -> None:
    later = NOON + timedelta(hours=1)
    import_at(later, editing, changed("chains.0.name", "x"))
    with reading(database.engine) as connection:
        rows = connection.execute(select(NetworkPart.part, NetworkPart.changed_at))
        assert {row.part: row.changed_at for row in rows} == dict.fromkeys(ALL_PARTS, NOON) | {"core": later}


def test_a_refused_import_changes_nothing(database: Database, editing: Editing) -> None:
    document = changed("blocked_networks.0.cidr", "203.0.113.9/24")
    document["chains"][0]["name"] = "other"
    with pytest.raises(NetworkRefused):
        import_network(*editing, text(document), actor=TESTER)
    assert exported(database) == network()
    assert versions(database) == dict.fromkeys(ALL_PARTS, 1)


def test_a_failure_half_way_changes_nothing(
    database: Database, editing: Editing, monkeypatch: pytest.MonkeyPatch
) -> None:

    def fail(*_: object) -> None:
        raise RuntimeError("the disk is full")

    monkeypatch.setattr(changes, "raise_versions", fail)
    with pytest.raises(RuntimeError):
        import_network(*editing, b'{"version": 1}', actor=TESTER)
    assert exported(database) == network()


def test_everything_can_be_removed_and_come_back(database: Database, editing: Editing) -> None:
    gone = import_network(*editing, b'{"version": 1}', actor=TESTER)
    assert "remove chain 1" in gone.changes
    assert not any(exported(database)[section] for section in network() if section != "version")
    import_network(*editing, text(network()), actor=TESTER)
    assert exported(database) == network()
    assert versions(database) == dict.fromkeys(ALL_PARTS, 3)


def test_keys_may_be_exchanged_between_rows(database: Database, editing: Editing) -> None:
    """What rows are about may be exchanged, with all that refers to them."""
    document = json.loads(json.dumps(network()).replace("CELR", "USDT2").replace("USDT", "CELR"))
    document["tokens"] = document["tokens"][::-1]
    import_network(*editing, text(document), actor=TESTER)
    assert {row["symbol"] for row in exported(database)["routes"]} == {"CELR"}


def without(document: dict[str, Any], chain_id: int, symbol: str | None = None) -> dict[str, Any]:
    """The document without a chain, or without one token on it, and what refers to them."""
    document = copy.deepcopy(document)
    columns = ("id", "chain_id", "src_chain_id", "dst_chain_id", "org_chain_id", "pegged_chain_id")
    for section, rows in document.items():
        if not isinstance(rows, list) or (symbol and section in ("chains", "validators")):
            continue
        document[section] = [
            row
            for row in rows
            if chain_id not in [row.get(column) for column in columns] or (symbol and row["symbol"] != symbol)
        ]
    return document


DEPARTURES: list[tuple[str, Callable[[], dict[str, Any]], str]] = [
    ("chain as source", lambda: without(network(), 1), "chains: transfers use chain 1, so it cannot"),
    ("chain as destination", lambda: without(network(), 56), "chains: transfers use chain 56"),
    ("token at the source", lambda: without(network(), 1, "USDT"), "tokens: transfers use USDT on chain 1"),
    ("token at the end", lambda: without(network(), 56, "USDT"), "tokens: transfers use USDT on chain 56"),
    ("contract", lambda: changed("chains.0.contract_addr", VAULT), "chains[0].contract_addr: transfers use"),
    ("no contract", lambda: changed("chains.2.contract_addr", ""), "chains[2].contract_addr: transfers use"),
    ("address", lambda: changed("tokens.0.address", VAULT), "tokens[0].address: transfers use USDT on"),
    ("decimals", lambda: changed("tokens.2.decimal", 6), "tokens[2].decimal: transfers use USDT on chain 56"),
]


@pytest.mark.parametrize("departure", DEPARTURES, ids=lambda departure: departure[0])
def test_what_transfers_use_stays(
    database: Database, editing: Editing, departure: tuple[str, Callable[[], dict[str, Any]], str]
) -> None:
    _, document, error = departure
    import_network(*editing, text(network()), actor=TESTER)
    before_any = import_network(*editing, text(document()), dry_run=True, actor=TESTER)
    assert before_any.changes
    add_transfer(database, 1, 56)
    for dry_run in (True, False):
        with pytest.raises(NetworkRefused) as refused:
            import_network(*editing, text(document()), dry_run=dry_run, actor=TESTER)
        assert any(line.startswith(error) for line in refused.value.errors)
        assert all("disabled" in line for line in refused.value.errors)
    assert exported(database) == network()


@pytest.mark.parametrize(
    "document",
    [
        without(network(), 10),
        without(network(), 1, "CELR"),
        changed("chains.1.contract_addr", VAULT),
        changed("tokens.3.decimal", 9),
        changed("tokens.0.name", "other"),
        changed("chains.0.disabled", True),
        changed("tokens.0.xfer_disabled", True),
    ],
)
def test_what_transfers_do_not_use_may_go(
    database: Database, editing: Editing, document: dict[str, Any]
) -> None:
    add_transfer(database, 1, 56)
    import_network(*editing, text(document), actor=TESTER)
    assert exported(database) == document


def test_missing_contract_may_be_added_later(database: Database, editing: Editing) -> None:
    """While there are transfers."""
    import_network(*editing, text(changed("chains.0.contract_addr", "")), actor=TESTER)
    add_transfer(database, 1, 56)
    import_network(*editing, text(network()), actor=TESTER)
    assert exported(database)["chains"][0]["contract_addr"] == CONTRACT[1]


def test_import_refuses_to_drop_chain_of_announced_send(database: Database, editing: Editing) -> None:
    add_transfer(database, 10, None, None)
    with pytest.raises(NetworkRefused, match="transfers use chain 10"):
        import_network(*editing, text(without(network(), 10)), actor=TESTER)


def test_watch_settings_export_as_imported(database: Database, editing: Editing) -> None:
    document = network()
    watched = {
        "watch_from_block": 12_345,
        "finality": "finalized",
        "poll_seconds": 0.5,
        "rpc": ["RPC_URL_ETHEREUM", "RPC_URL_2"],
    }
    document["chains"][0] |= watched
    document["chains"][1] |= {"watch_from_block": 0, "finality": 0, "poll_seconds": 5, "rpc": []}
    import_network(*editing, text(document), actor=TESTER)
    chains = exported(database)["chains"]
    assert watched.items() <= chains[0].items()
    assert {key: chains[1].get(key) for key in watched} == {
        "watch_from_block": 0, "finality": 0, "poll_seconds": None, "rpc": None,
    }  # fmt: skip
    assert not watched.keys() & chains[2].keys()
    again = import_network(*editing, text(exported(database)), actor=TESTER)
    assert again.changes == ()
