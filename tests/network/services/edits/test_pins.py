"""Base fees that are pinned over the feed: what counts, for how long, and what a preview says of it."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

import pytest

from app.audit.previews import Severity
from app.estimates.models import ReportedFee
from app.estimates.services import estimate_inputs, estimate_transfer
from app.network.document import NetworkRefused, export_network, import_network
from app.network.edits.refusals import Invalid
from app.network.edits.save import preview_edit, save_edit
from app.network.rules.terms import BaseFee
from tests.actors import TESTER
from tests.gateway import Gateway, parts
from tests.network.services import network_kit as kit
from tests.network.services.edits.kit import ALICE, NOON, document, edited, put, records, texts
from tests.network.services.edits.times import REQUEST, at, written

DAY = timedelta(days=1)
ROUTE = "routes", "USDT", 1, 56
PIN = 7 * 10**17


def pin(gateway: Gateway, fee: int | None = PIN, until: datetime | None = NOON + DAY) -> None:
    values = {
        "pinned_base_fee": None if fee is None else str(fee),
        "pinned_until": None if until is None else written(until),
    }
    save_edit(*gateway.editing, edited(gateway, *ROUTE, **values), actor=ALICE)


def report(gateway: Gateway, fee: int) -> None:
    put(
        gateway, ReportedFee, symbol="USDT", src_chain_id=1, dst_chain_id=56, base_fee=fee, at=NOON,
        event_id="fee-1",
    )  # fmt: skip


def counting(gateway: Gateway) -> BaseFee | None:
    route = estimate_inputs(gateway.database, gateway.snapshots, REQUEST, None, None).route
    assert route is not None
    return route.base_fee


def test_pinned_fee_overrides_feed_until_end(gateway: Gateway) -> None:
    report(gateway, 5 * 10**17)
    assert counting(at(gateway, NOON)) == BaseFee(5 * 10**17, NOON, reported=True)
    pin(gateway)
    assert counting(at(gateway, NOON)) == BaseFee(PIN, pinned_until=NOON + DAY)
    just = NOON + DAY - timedelta(microseconds=1)
    assert (
        estimate_transfer(
            *parts(at(gateway, just), "database", "snapshots", "estimate_counts"), REQUEST, None, None
        ).base_fee
        == PIN
    )
    assert counting(at(gateway, NOON + DAY)) == BaseFee(5 * 10**17, NOON, reported=True)
    (record,) = records(gateway)
    assert "pinned base fee from none to 0.7 USDT" in record.detail


def test_pinned_fee_never_gets_stale(gateway: Gateway) -> None:
    """It also stands in for a fee that is unknown."""
    edit = edited(gateway, *ROUTE, base_fee=None, base_fee_max_age_seconds=60)
    save_edit(*gateway.editing, edit, actor=ALICE)
    pin(gateway)
    later = at(gateway, NOON + DAY / 2)
    assert (
        estimate_transfer(
            later.database, later.snapshots, later.estimate_counts, REQUEST, None, None
        ).base_fee
        == PIN
    )
    assert counting(at(gateway, NOON + DAY)) is None


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
def test_pin_needs_fee_and_near_end(gateway: Gateway, values: dict[str, Any], path: str, words: str) -> None:
    """An end within thirty days."""
    with pytest.raises(Invalid) as refused:
        preview_edit(gateway.database, gateway.two_persons, edited(gateway, *ROUTE, **values))
    (error,) = refused.value.errors
    assert error.path == path
    assert words in error.message
    pin(gateway, until=NOON + 30 * DAY)


def test_exported_pin_imports_unchanged(gateway: Gateway) -> None:
    """Also when it has ended."""
    pin(gateway)
    exported = export_network(gateway.database)
    route = document(gateway)["routes"][0]
    assert (route["pinned_base_fee"], route["pinned_until"]) == (str(PIN), written(NOON + DAY))
    assert "pinned_until" not in document(gateway)["routes"][1], "left out where nothing is pinned"
    later = at(gateway, NOON + 9 * DAY)
    assert import_network(*later.editing, exported, actor=TESTER).changes == ()
    pin(gateway, None, None)
    assert len(import_network(*later.editing, exported, actor=TESTER).changes) == 1
    far = json.loads(exported)
    far["routes"][0]["pinned_until"] = written(NOON + 99 * DAY)
    with pytest.raises(NetworkRefused, match=r"routes\[0\].pinned_until: must be at most 30 days ahead"):
        import_network(*gateway.editing, kit.text(far), actor=TESTER)


def test_a_preview_says_what_a_pin_does(gateway: Gateway) -> None:
    report(gateway, 5 * 10**17)
    values = {"pinned_base_fee": str(PIN), "pinned_until": written(NOON + DAY)}
    preview = preview_edit(gateway.database, gateway.two_persons, edited(gateway, *ROUTE, **values))
    assert texts(preview) == [
        "USDT from Ethereum to BNB Chain: base fee pinned until 2026-11-21 12:00 UTC: 1.4 times the old one "
        "(0.5 USDT → 0.7 USDT); until then it takes precedence over the reported "
        "and the configured fee and never becomes too old"
    ]
    assert preview.severity is Severity.NOTICE
    dear = preview_edit(
        gateway.database,
        gateway.two_persons,
        edited(gateway, *ROUTE, **values | {"pinned_base_fee": str(5 * 10**18)}),
    )
    assert dear.severity is Severity.GRAVE, "ten times what counts now"

    pin(gateway)
    lifted = preview_edit(
        gateway.database,
        gateway.two_persons,
        edited(gateway, *ROUTE, pinned_base_fee=None, pinned_until=None),
    )
    (text,) = texts(lifted)
    assert "no longer pinned" in text
    assert "(0.7 USDT → 0.5 USDT, reported since 2026-11-20 12:00 UTC)" in text
    configured = preview_edit(gateway.database, gateway.two_persons, edited(gateway, *ROUTE, base_fee="1"))
    assert "0.7 USDT pinned until 2026-11-21 12:00 UTC takes precedence" in texts(configured)[0]
