"""The snapshot: never older than allowed, never rebuilt without need, refused rather than wrong."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from msgspec.structs import replace
from sqlalchemy import create_engine, delete
from sqlalchemy.exc import OperationalError

from app.db.database import Database
from app.db.engine import writing
from app.http.application import part_of
from app.network import services as network_snapshot
from app.network.document import import_network
from app.network.models import NetworkPart
from app.network.rules.terms import (
    FeeTier,
    FixedRate,
    PeggedTerms,
    RouteBlock,
    StableSwapRate,
    TokenTerms,
)
from app.network.services import NetworkSnapshots
from app.network.snapshot import NetworkSnapshot, SnapshotSource
from app.values.codes import BridgeType, SendKind
from app.values.errors import Unavailable
from app.values.identifiers import PoolKey, RouteKey
from app.watcher.services.chains import watch_terms, watched_network
from tests.actors import TESTER
from tests.applications import Editing
from tests.builders import network as build
from tests.estimates.rules.estimate_cases import pool_with
from tests.network.services import network_kit as kit
from tests.network.services.network_kit import (
    BNB_CHAIN,
    BRIDGE,
    CONTRACT,
    ETHEREUM,
    OPTIMISM,
    USDT,
    VAULT,
    VILLAIN,
    changed,
    network,
    text,
)
from tests.steps import statements
from tests.timer import Timer

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


@dataclass
class Loading:
    """The way to the database, with a switch and a count."""

    monkeypatch: pytest.MonkeyPatch
    broken: bool = False
    loads: list[NetworkSnapshot] = field(default_factory=list)

    def __post_init__(self) -> None:
        load = network_snapshot.load_snapshot

        def watched(*arguments: Any) -> NetworkSnapshot:
            if self.broken:
                raise OperationalError("select", {}, Exception("no connection"))
            self.loads.append(load(*arguments))
            return self.loads[-1]

        self.monkeypatch.setattr(network_snapshot, "load_snapshot", watched)


@pytest.fixture
def timer() -> Timer:
    return Timer()


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Loading:
    return Loading(monkeypatch)


@pytest.fixture
def snapshots(database: Database, timer: Timer) -> NetworkSnapshots:
    return NetworkSnapshots(database.engine, 1.0, timer)


def test_snapshot_is_renewed_only_when_old(
    editing: Editing, reads: Loading, snapshots: NetworkSnapshots, timer: Timer
) -> None:
    first = snapshots.current()
    import_network(*editing, text(changed("chains.0.name", "Main")), actor=TESTER)
    timer.now += 1.0
    assert snapshots.current() is first
    timer.now += 0.001
    assert snapshots.current().terms.chains[ETHEREUM].name == "Main"
    assert len(reads.loads) == 2


def test_without_an_age_every_reader_looks(database: Database, editing: Editing) -> None:
    snapshots = NetworkSnapshots(database.engine, 0)
    assert snapshots.current().terms.chains[ETHEREUM].name == "Ethereum"
    import_network(*editing, text(changed("chains.0.name", "Main")), actor=TESTER)
    assert snapshots.current().terms.chains[ETHEREUM].name == "Main"


def test_newest_snapshot_ignores_allowed_age(database: Database, editing: Editing) -> None:
    snapshots = NetworkSnapshots(database.engine, 3600)
    assert snapshots.current().terms.chains[ETHEREUM].name == "Ethereum"
    import_network(*editing, text(changed("chains.0.name", "Main")), actor=TESTER)
    assert snapshots.current().terms.chains[ETHEREUM].name == "Ethereum", "within its age"
    assert snapshots.newest().terms.chains[ETHEREUM].name == "Main"


def test_unchanged_snapshot_renews_by_one_statement(
    database: Database, snapshots: NetworkSnapshots, timer: Timer
) -> None:
    before = snapshots.current()
    timer.now += 2
    with statements(database.engine) as executed:
        assert snapshots.current() is before
    (statement,) = executed
    assert statement.startswith("SELECT")


@pytest.mark.parametrize(
    ("path", "value", "renewed"),
    [
        ("routes.0.base_fee", "1", {"terms", "configs"}),
        ("blocked_addresses.0.reason", "", {"blocked_addresses"}),
        ("blocked_networks.0", ..., {"blocked_networks"}),
        ("validators.0.power", "5", set()),
    ],
)
def test_only_changed_part_is_rebuilt(
    editing: Editing, snapshots: NetworkSnapshots, timer: Timer, path: str, value: Any, renewed: set[str]
) -> None:
    before = snapshots.current()
    import_network(*editing, text(changed(path, value)), actor=TESTER)
    timer.now += 2
    after = snapshots.current()
    parts = ("terms", "configs", "blocked_addresses", "blocked_networks")
    assert {part for part in parts if getattr(after, part) is not getattr(before, part)} == renewed
    assert after.versions != before.versions


def test_old_view_serves_for_a_minute(reads: Loading, snapshots: NetworkSnapshots, timer: Timer) -> None:
    first = snapshots.current()
    reads.broken = True
    for _ in range(10):
        timer.now += 6
        assert snapshots.current() is first
    timer.now += 0.001
    with pytest.raises(Unavailable):
        snapshots.current()
    reads.broken = False
    timer.now += 1
    assert snapshots.current() is first


def test_minute_counts_from_last_success(reads: Loading, snapshots: NetworkSnapshots, timer: Timer) -> None:
    snapshots.current()
    timer.now += 59
    snapshots.current()
    reads.broken = True
    timer.now += 59
    snapshots.current()


def test_snapshot_is_unavailable_before_first_load(tmp_path: Path, timer: Timer) -> None:
    empty = create_engine(f"sqlite:///{tmp_path / 'empty.db'}")
    with pytest.raises(Unavailable):
        NetworkSnapshots(empty, 1.0, timer).current()
    empty.dispose()


def test_failing_database_is_read_once_a_second(
    database: Database, timer: Timer, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshots = NetworkSnapshots(database.engine, 0, timer)
    snapshots.current()
    called_at = []

    def fail(*_: object) -> NetworkSnapshot:
        called_at.append(timer.now)
        raise OperationalError("select", {}, Exception("no connection"))

    monkeypatch.setattr(network_snapshot, "load_snapshot", fail)
    for _ in range(9):
        timer.now += 0.25
        snapshots.current()
    assert called_at == [1000.25, 1001.25, 1002.25]


def test_many_threads_share_one_renewal(
    editing: Editing, reads: Loading, snapshots: NetworkSnapshots, timer: Timer
) -> None:
    snapshots.current()
    import_network(*editing, text(changed("chains.0.name", "Main")), actor=TESTER)
    timer.now += 2
    start, names = threading.Barrier(8), []

    def read() -> None:
        start.wait()
        names.append(snapshots.current().terms.chains[ETHEREUM].name)

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert names == ["Main"] * 8
    assert len(reads.loads) == 2


def test_hanging_renewal_blocks_no_other(
    snapshots: NetworkSnapshots, timer: Timer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(network_snapshot, "TIMEOUT_SECONDS", 0.05)
    first = snapshots.current()
    hanging, release = threading.Event(), threading.Event()

    def hang(*_: object) -> NetworkSnapshot:
        hanging.set()
        release.wait(10)
        return first

    monkeypatch.setattr(network_snapshot, "load_snapshot", hang)
    timer.now += 2
    stuck = threading.Thread(target=snapshots.current)
    stuck.start()
    assert hanging.wait(10)
    assert snapshots.current() is first
    timer.now += network_snapshot.MAX_STALE_SECONDS
    with pytest.raises(Unavailable):
        snapshots.current()
    release.set()
    stuck.join()


def test_tables_without_version_are_read(database: Database, timer: Timer) -> None:
    with writing(database.engine) as connection:
        connection.execute(delete(NetworkPart))
    assert NetworkSnapshots(database.engine, 1.0, timer).current().terms.chains


def test_terms_are_what_was_configured(snapshots: NetworkSnapshots) -> None:
    terms = snapshots.current().terms
    assert terms.chains[ETHEREUM].minimal_max_slippage == 780
    assert terms.tokens[PoolKey(BNB_CHAIN, "USDT")] == TokenTerms("USDT", 18, address=kit.USDT[BNB_CHAIN][0])
    assert terms.pools[PoolKey(ETHEREUM, "USDT")] == pool_with(
        added=5_000_000_000_000, total_cap=9_000_000_000_000, epoch_seconds=3600
    )
    route = terms.routes[RouteKey("USDT", ETHEREUM, BNB_CHAIN)]
    assert route.rate == FixedRate.parse("1.000001")
    assert route.base_fee and route.base_fee.amount == 605437528092011966
    assert route.tiers == (FeeTier(0, 400), FeeTier(1_000_000_000_000, 300))
    assert terms.routes[RouteKey("USDT", ETHEREUM, OPTIMISM)].rate == StableSwapRate(200)
    info = terms.chain_infos[OPTIMISM]
    assert (info.block_delay, info.explore_url) == (12, "https://explorer-10.example")
    assert info.tx_link("0xab") == "https://explorer-10.example/tx/0xab"
    assert replace(info, tx_path="/transaction/").tx_link("0xab") == (
        "https://explorer-10.example/transaction/0xab"
    )
    assert info.tx_link(None) == ""


def test_pegged_transfers_go_every_way(snapshots: NetworkSnapshots) -> None:
    tiers = (FeeTier(0, 500),)

    def terms(bridge_type: BridgeType, fee: int, *way: Any) -> PeggedTerms:
        contract, payer, to_chain = way
        return PeggedTerms(
            bridge_type, fee, tiers, contract=contract, payer=payer, version=2, to_chain=to_chain
        )

    deposit, burn, burn_mint = BridgeType.DEPOSIT_MINT, BridgeType.BURN_WITHDRAW, BridgeType.BURN_MINT
    assert snapshots.current().terms.pegged == {
        ("CELR", 1, 10): terms(deposit, 7, kit.VAULT, kit.BRIDGE, 10),
        ("CELR", 10, 1): terms(burn, 8, kit.BRIDGE, kit.VAULT, 0),
        ("CELR", 1, 56): terms(deposit, 7, kit.VAULT, kit.BRIDGE, 56),
        ("CELR", 56, 1): terms(burn, 8, kit.BRIDGE, kit.VAULT, 0),
        ("CELR", 10, 56): terms(burn_mint, 7, kit.BRIDGE, kit.BRIDGE, 56),
        ("CELR", 56, 10): terms(burn_mint, 7, kit.BRIDGE, kit.BRIDGE, 10),
    }


def test_burn_and_mint_needs_both_bridges(
    editing: Editing, snapshots: NetworkSnapshots, timer: Timer
) -> None:
    """The fee is that of the destination pair."""
    document = network()
    document["pegged_pairs"][1] |= {"deposit_base_fee": "99", "perc_fee_tiers": [{"from": "0", "ppm": 1}]}
    import_network(*editing, text(document), actor=TESTER)
    pegged = snapshots.current().terms.pegged
    assert pegged[RouteKey("CELR", OPTIMISM, BNB_CHAIN)] == PeggedTerms(
        BridgeType.BURN_MINT,
        99,
        (FeeTier(0, 1),),
        contract=kit.BRIDGE,
        payer=kit.BRIDGE,
        version=2,
        to_chain=BNB_CHAIN,
    )
    assert pegged[RouteKey("CELR", BNB_CHAIN, OPTIMISM)].base_fee == 7
    document["pegged_pairs"][0]["bridge_version"] = 1
    import_network(*editing, text(document), actor=TESTER)
    timer.now += 2
    assert ("CELR", 10, 56) not in snapshots.current().terms.pegged


def test_direct_pair_precedes_burn_and_mint(editing: Editing, snapshots: NetworkSnapshots) -> None:
    import_network(
        *editing,
        text(changed("pegged_pairs.2", kit.pair(10, 56) | {"deposit_base_fee": "3"})),
        actor=TESTER,
    )
    pegged = snapshots.current().terms.pegged
    assert pegged[RouteKey("CELR", OPTIMISM, BNB_CHAIN)].bridge_type is BridgeType.DEPOSIT_MINT
    assert pegged[RouteKey("CELR", OPTIMISM, BNB_CHAIN)].base_fee == 3


def test_blocks_know_their_directions(editing: Editing, snapshots: NetworkSnapshots) -> None:
    one_way, weaker = build.block(1, 56), build.block(56, 10)
    import_network(
        *editing,
        text(network() | {"route_blocks": [weaker, *network()["route_blocks"], one_way]}),
        actor=TESTER,
    )
    assert snapshots.current().terms.blocks == {
        ("USDT", 10, 56): RouteBlock.BOTH,
        ("USDT", 56, 10): RouteBlock.BOTH,
        ("USDT", 1, 56): RouteBlock.ONE_WAY,
    }


def test_messages_name_only_open_ways(editing: Editing, snapshots: NetworkSnapshots, timer: Timer) -> None:
    terms = snapshots.current().terms
    assert terms.symbol_chains["USDT"] == ("Ethereum", "Optimism", "BNB Chain")
    assert terms.destinations[PoolKey(ETHEREUM, "USDT")] == ("Optimism", "BNB Chain")
    document = network()
    document["chains"][1]["disabled"] = True
    document["tokens"][5]["xfer_disabled"] = True
    document["route_blocks"][0] |= {"src_chain_id": 1, "both_directions": False}
    import_network(*editing, text(document), actor=TESTER)
    timer.now += 2
    terms = snapshots.current().terms
    assert terms.symbol_chains == {"USDT": ("Ethereum", "BNB Chain"), "CELR": ("Ethereum",)}
    assert terms.destinations == {(56, "USDT"): ("Ethereum",)}


def test_blocks_come_with_their_times(snapshots: NetworkSnapshots) -> None:
    snapshot = snapshots.current()
    assert snapshot.blocked_addresses.blocks(VILLAIN.upper(), NOW)
    caller = ip_address("203.0.113.200")
    assert snapshot.blocked_networks.blocks(caller, NOW)
    assert not snapshot.blocked_networks.blocks(caller, NOW.replace(year=2027))
    assert snapshot.blocked_networks.blocks(ip_address("2001:db8::1"), NOW.replace(year=2090))


def test_watched_chains_and_their_log_meanings(app: Flask, database: Database, editing: Editing) -> None:
    snapshots = part_of(app, SnapshotSource)
    other = "0x" + "0a" * 20
    document = network()
    document["chains"][0] |= {"watch_from_block": 7, "rpc": ["RPC_URL_A"], "poll_seconds": 1.5}
    document["chains"][1] |= {"watch_from_block": 9, "finality": "finalized", "disabled": True}
    document["pegged_pairs"][0] |= {"deposit_contracts": [VILLAIN], "pegged_token": {"address": other}}
    import_network(*editing, text(document), actor=TESTER)
    terms, known = watch_terms(snapshots), watched_network(database, snapshots)
    assert set(terms) == {1, 10}
    one, ten = terms[ETHEREUM], terms[OPTIMISM]
    assert (one.from_block, one.finality, one.poll_seconds, one.rpc) == (7, 24, 1.5, ("RPC_URL_A",))
    assert one.pool_bridge == raw(CONTRACT[1])
    assert one.vaults == {raw(VAULT), raw(VILLAIN)} and not one.bridges
    assert one.contracts == {raw(CONTRACT[1]), raw(VAULT), raw(VILLAIN)}
    assert (ten.finality, ten.disabled) == ("finalized", True)
    assert ten.bridges == {raw(BRIDGE)}
    assert known.facts.pool_symbol(raw(USDT[1][0]), ETHEREUM) == "USDT"
    burned = known.facts.pairs_of_token(SendKind.BURN, raw(other), OPTIMISM, raw(BRIDGE))
    assert [(pair.symbol, pair.org_chain_id) for pair in burned] == [("CELR", 1)]
    before = known.version
    document["tokens"][0]["name"] = "Another"
    import_network(*editing, text(document), actor=TESTER)
    assert watched_network(database, snapshots).version != before


def raw(address: str) -> bytes:
    return bytes.fromhex(address[2:])
