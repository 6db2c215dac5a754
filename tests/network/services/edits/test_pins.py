"""Base fees that are pinned over the feed: what counts, for how long, and what a preview shows of it."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from flask import Flask
from msgspec.structs import replace

from app.accounts.rules.two_persons import TwoPersons
from app.audit.keys import AuditKeys
from app.audit.previews import Severity
from app.db.database import Database
from app.estimates.models import ReportedFee
from app.estimates.services import EstimateCounts, estimate_inputs, estimate_transfer
from app.http.application import part_of
from app.network.document import NetworkRefused, export_network, import_network
from app.network.edits.refusals import Invalid
from app.network.edits.save import preview_edit, save_edit
from app.network.rules.terms import BaseFee
from tests.actors import TESTER
from tests.applications import Editing, editing_of
from tests.network.services import network_kit as kit
from tests.network.services.edits.kit import ALICE, NOON, document, edited, put, records, texts
from tests.network.services.edits.times import REQUEST, at, written

DAY = timedelta(days=1)
ROUTE = "routes", "USDT", 1, 56
PIN = 7 * 10**17


def pin(app: Flask, fee: int | None = PIN, until: datetime | None = NOON + DAY) -> None:
    values: dict[str, Any] = {
        "pinned_base_fee": None if fee is None else str(fee),
        "pinned_until": None if until is None else written(until),
    }
    save_edit(*editing_of(app), edited(part_of(app, Database), *ROUTE, **values), actor=ALICE)


def report(database: Database, fee: int) -> None:
    put(
        database, ReportedFee, symbol="USDT", src_chain_id=1, dst_chain_id=56, base_fee=fee, at=NOON,
        event_id="fee-1",
    )  # fmt: skip


def counting(database: Database, now: datetime) -> BaseFee | None:
    route = estimate_inputs(*at(database, now), REQUEST, (), None).route
    assert route is not None
    return route.base_fee


def test_pinned_fee_overrides_feed_until_end(
    app: Flask, database: Database, estimate_counts: EstimateCounts
) -> None:
    report(database, 5 * 10**17)
    assert counting(database, NOON) == BaseFee(5 * 10**17, NOON, reported=True)
    pin(app)
    assert counting(database, NOON) == BaseFee(PIN, pinned_until=NOON + DAY)
    just = NOON + DAY - timedelta(microseconds=1)
    assert estimate_transfer(*at(database, just), estimate_counts, REQUEST, None, None).base_fee == PIN
    assert counting(database, NOON + DAY) == BaseFee(5 * 10**17, NOON, reported=True)
    (record,) = records(database)
    assert "pinned base fee from none to 0.7 USDT" in record.detail


def test_pinned_fee_never_gets_stale(
    app: Flask, database: Database, editing: Editing, estimate_counts: EstimateCounts
) -> None:
    """It replaces a fee that is unknown, too."""
    edit = edited(database, *ROUTE, base_fee=None, base_fee_max_age_seconds=60)
    save_edit(*editing, edit, actor=ALICE)
    pin(app)
    later = at(database, NOON + DAY / 2)
    assert estimate_transfer(*later, estimate_counts, REQUEST, None, None).base_fee == PIN
    assert counting(database, NOON + DAY) is None


@pytest.mark.parametrize(
    ("values", "path", "words"),
    [
        ({"pinned_base_fee": "1"}, "pinned_until", "pinned_base_fee is given"),
        ({"pinned_until": written(NOON + DAY)}, "pinned_base_fee", "pinned_until is given"),
        ({"pinned_base_fee": "1", "pinned_until": written(NOON)}, "pinned_until", "is in the past"),
        (
            {"pinned_base_fee": "1", "pinned_until": written(NOON + 30 * DAY + timedelta(seconds=1))},
            "pinned_until",
            "at most 30 days ahead, no later than 2026-12-20 12:00Z",
        ),
    ],
)
def test_pin_needs_fee_and_near_end(
    app: Flask, database: Database, two_persons: TwoPersons, values: dict[str, Any], path: str, words: str
) -> None:
    """An end within thirty days."""
    with pytest.raises(Invalid) as refused:
        preview_edit(database, two_persons, edited(database, *ROUTE, **values))
    (error,) = refused.value.errors
    assert error.path == path
    assert words in error.message
    pin(app, until=NOON + 30 * DAY)


def test_exported_pin_imports_unchanged(
    app: Flask, database: Database, audit_keys: AuditKeys, two_persons: TwoPersons, editing: Editing
) -> None:
    """Also when it has ended."""
    pin(app)
    exported = export_network(database)
    route = document(database)["routes"][0]
    assert (route["pinned_base_fee"], route["pinned_until"]) == (str(PIN), written(NOON + DAY))
    assert "pinned_until" not in document(database)["routes"][1], "left out where nothing is pinned"
    later = replace(database, clock=lambda: NOON + 9 * DAY), audit_keys, two_persons
    assert import_network(*later, exported, actor=TESTER).changes == ()
    pin(app, None, None)
    assert len(import_network(*later, exported, actor=TESTER).changes) == 1
    far = json.loads(exported)
    far["routes"][0]["pinned_until"] = written(NOON + 99 * DAY)
    with pytest.raises(NetworkRefused, match=r"routes\[0\].pinned_until: must be at most 30 days ahead"):
        import_network(*editing, kit.text(far), actor=TESTER)


def test_preview_shows_what_a_pin_does(app: Flask, database: Database, two_persons: TwoPersons) -> None:
    report(database, 5 * 10**17)
    values = {"pinned_base_fee": str(PIN), "pinned_until": written(NOON + DAY)}
    preview = preview_edit(database, two_persons, edited(database, *ROUTE, **values))
    assert texts(preview) == [
        "USDT from Ethereum to BNB Chain: base fee pinned until 2026-11-21 12:00 UTC: 1.4 times the old one "
        "(0.5 USDT → 0.7 USDT); until then it takes precedence over the reported "
        "and the configured fee and never becomes too old"
    ]
    assert preview.severity is Severity.NOTICE
    dear = preview_edit(
        database,
        two_persons,
        edited(database, *ROUTE, **values | {"pinned_base_fee": str(5 * 10**18)}),
    )
    assert dear.severity is Severity.GRAVE, "ten times what counts now"

    pin(app)
    lifted = preview_edit(
        database,
        two_persons,
        edited(database, *ROUTE, pinned_base_fee=None, pinned_until=None),
    )
    (text,) = texts(lifted)
    assert "no longer pinned" in text
    assert "(0.7 USDT → 0.5 USDT, reported since 2026-11-20 12:00 UTC)" in text
    configured = preview_edit(database, two_persons, edited(database, *ROUTE, base_fee="1"))
    assert "0.7 USDT pinned until 2026-11-21 12:00 UTC takes precedence" in texts(configured)[0]
