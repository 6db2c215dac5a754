"""Every table that grows has something that ends it, or docs/pruning.md names it."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from msgspec.structs import replace
from sqlalchemy import Table, func, insert, select

from app.accounts.models import Operator
from app.accounts.rules.roles import Role
from app.audit.keys import AuditKeys
from app.db.database import Database
from app.db.engine import reading, writing
from app.db.models import db
from app.feed.services.ingest import Intake
from app.feed.services.prune import prune
from app.refunds.models import SignatureAside, UserRefundRequest
from app.transfers.models import StuckAcknowledgement, TransferNote
from tests.actors import TESTER
from tests.contract.recorded_answers import ROOT
from tests.feed.services.world import KEYS, NOW, about, feed, prepared, request, sent, signature, signed
from tests.feed.services.world import transfer_id as wire_id

LATER = NOW + timedelta(days=30)
KEY = bytes.fromhex(wire_id(1)[2:])
EMPTY = {"refunds", "signatures_not_needed", "latency_records", "anomalies", "contradicted_reports"}
"""Tables of transfers that have nothing of a refunded one whose facts agree."""


WITH_THE_TRANSFER = "when their transfer is pruned"
FOR_GOOD = "never"
ENDS = {
    WITH_THE_TRANSFER: {
        "transfers", "transfer_accounts", "transfer_blocks", "transfer_hashes", "transfer_notes",
        "stuck_acknowledgements", "status_changes", "latency_records", "refunds", "refund_asks",
        "refund_basis", "withdraw_ids", "signatures_aside", "signatures_not_needed", "anomalies",
        "contradicted_reports",
    },
    "with their transfer; heads, fees and liquidity as the page says": {"events"},
    "when its time comes": {"events_ahead"},
    "when they become 0": {"pool_volumes", "course_counts"},
    "after 7 days": {"latency_counts", "latency_window", "estimate_counts"},
    "after 30 days, by a running sender": {"webhook_deliveries"},
    "after 400 days": {"api_key_uses"},
    "after their end, with the next sign-in": {"operator_sessions", "sign_in_failures"},
    "when the watcher needs them no more": {
        "watch_headers", "watch_waiting", "watch_spans", "watch_misses",
    },
    "one for each URL and chain, and each block in doubt": {"watch_faulty_urls", "watch_unmatched"},
    "one for each row of the network document": {
        "chains", "tokens", "pools", "routes", "pegged_pairs", "opening_validators", "network_parts",
        "route_blocks", "blocked_addresses", "blocked_networks", "config_fields",
    },
    "one for each pool, chain, route or reporter": {
        "pool_counters", "chain_progress", "chain_watches", "fed_fees", "fed_validator_sets", "pruned_chains",
        "pruned_pools", "ingest_usage", "pruned_reporters",
    },
    "a fixed number": {
        "evidence_counts", "operator_rules", "grown_database", "backfills", "schema_floors",
    },
    "made by people or integrators": {
        "operators", "operator_passkeys", "operator_recovery_codes", "api_keys", "ingest_tokens", "proposals",
        "webhook_subscriptions", "webhook_subjects", "webhook_alerts",
    },
    FOR_GOOD: {
        "pruned_transfers", "pruned_events", "pruned_withdraws", "audit_records", "audit_subjects",
        "withdraws_done", "retracted_events", "retraction_targets",
    },
}  # fmt: skip
"""When rows of each table go, or what bounds their number."""


def test_every_table_has_an_end() -> None:
    named = [name for names in ENDS.values() for name in names]
    assert sorted(named) == sorted(db.metadata.tables)


def test_page_names_what_grows_for_good() -> None:
    page = (ROOT / "docs/pruning.md").read_text()
    section = page[page.index('<a id="growth"></a>') :]
    assert set(re.findall(r"`(\w+)`", section)) == ENDS[FOR_GOOD]


def test_tables_of_transfers_go_with_them() -> None:
    of_transfers = {name for name, table in db.metadata.tables.items() if "transfer_id" in table.c}
    others = {"events", "pruned_transfers", "pruned_withdraws", "retracted_events"}
    assert ENDS[WITH_THE_TRANSFER] == of_transfers - others


def number(database: Database, table: Table) -> int:
    """How many rows a table has of the transfer."""
    with reading(database.engine) as connection:
        of_it = table.c.transfer_id == KEY
        return connection.scalar(select(func.count()).select_from(table).where(of_it)) or 0


@pytest.mark.every_database
def test_nothing_of_a_pruned_transfer_is_left(
    app: Flask, database: Database, intake: Intake, audit_keys: AuditKeys
) -> None:
    wanted = request(1)
    signatures = [signed(1, signature(wanted, key)) for key in KEYS[:5]]
    feed(app, sent(1), about(1, "network.status", xfer_status=3), prepared(1, wanted), *signatures)
    feed(app, about(1, "refund.completed", at=-5, tx_hash="0x" + "ab" * 32, chain_id=1, block=7))
    by_hand(database)
    tables = [db.metadata.tables[name] for name in sorted(ENDS[WITH_THE_TRANSFER])]
    assert {table.name for table in tables if not number(database, table)} <= EMPTY
    later = replace(database, clock=lambda: LATER)
    assert prune(later, audit_keys, intake, LATER, actor=TESTER).transfers.total() == 1
    assert [table.name for table in tables if number(database, table)] == []


def by_hand(database: Database) -> None:
    """What people and refused reports leave of the transfer."""
    of_it: dict[str, Any] = {"transfer_id": KEY, "at": NOW}
    account = {"email": "a@example.org", "password": "", "role": Role.ADMIN.value, "created_at": NOW}
    account |= {"active": True, "fs_uniquifier": "one", "second_factor_required": False}
    aside = {"event_id": "aside", "signature": b"s", "received_at": NOW, "reporter": "test"}
    with writing(database.engine) as connection:
        operator = connection.execute(insert(Operator).returning(Operator.id), account).scalar_one()
        connection.execute(insert(TransferNote), of_it | {"operator_id": operator, "text": "note"})
        connection.execute(insert(UserRefundRequest), of_it)
        connection.execute(insert(SignatureAside), of_it | aside)
        acknowledged = {"status": 6, "status_since": NOW, "note": "", "by": "a@example.org"}
        connection.execute(insert(StuckAcknowledgement), of_it | acknowledged)
