"""Each line of the status table, from events to the projected row."""

from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask

from app.values.codes import XferStatus
from tests.feed.services.world import (
    KEYS,
    about,
    feed,
    prepared,
    released,
    request,
    sent,
    signature,
    signed,
)

TX = "0x" + "dd" * 32
WD = request(1)


def decision(status: XferStatus, at: float = -40) -> dict[str, Any]:
    return about(1, "network.status", at=at, xfer_status=int(status))


def quorum() -> list[dict[str, Any]]:
    return [prepared(1, WD), *(signed(1, signature(WD, key)) for key in KEYS[:2])]


SUBMITTED = about(1, "transfer.submitted", src_chain_id=1)
SUBMITTED_REFUND = about(1, "refund.submitted", tx_hash=TX.upper().replace("0X", "0x"))
REFUND_DELAYED = about(1, "refund.delayed", delayed_id="0x" + "de" * 32, tx_hash=TX)
CASES: list[tuple[str, list[dict[str, Any]], int]] = [
    ("submitted", [SUBMITTED], 1),
    ("failed", [SUBMITTED, about(1, "transfer.failed")], 2),
    ("sent outranks failed", [about(1, "transfer.failed"), sent(1)], 1),
    ("sent", [sent(1)], 1),
    ("confirmed", [sent(1), about(1, "transfer.confirmed")], 3),
    ("ok to relay", [sent(1), decision(XferStatus.OK_TO_RELAY)], 3),
    ("success", [sent(1), about(1, "transfer.confirmed"), decision(XferStatus.SUCCESS)], 4),
    ("only a decision", [decision(XferStatus.SUCCESS)], 4),
    *((f"bad {x.name}", [sent(1), decision(x)], 6) for x in XferStatus if x.is_bad),
    (
        "the latest decision counts",
        [sent(1), decision(XferStatus.BAD_TOKEN, -40), decision(XferStatus.SUCCESS, -39)],
        4,
    ),
    ("refund requested", [sent(1), decision(XferStatus.BAD_TOKEN), about(1, "refund.requested")], 7),
    ("decision refund requested", [sent(1), decision(XferStatus.REFUND_REQUESTED)], 7),
    ("prepared", [sent(1), prepared(1, WD)], 7),
    ("prepared without a send", [prepared(1, WD)], 7),
    ("below the quorum", [sent(1), prepared(1, WD), signed(1, signature(WD, KEYS[0]))], 7),
    ("at the quorum", [sent(1), *quorum()], 8),
    ("signatures first", [*quorum()[1:], quorum()[0], sent(1)], 8),
    ("refund submitted", [sent(1), *quorum(), about(1, "refund.submitted", tx_hash=TX)], 9),
    ("refund failed", [sent(1), *quorum(), SUBMITTED_REFUND, about(1, "refund.failed", tx_hash=TX)], 8),
    ("the failure first", [sent(1), *quorum(), about(1, "refund.failed", tx_hash=TX), SUBMITTED_REFUND], 8),
    (
        "a failure takes back its own transaction only",
        [sent(1), *quorum(), SUBMITTED_REFUND, about(1, "refund.failed", tx_hash="0x" + "ab" * 32)],
        9,
    ),
    ("refund delayed", [sent(1), *quorum(), REFUND_DELAYED], 9),
    ("the refund's delay outlasts a failure", [REFUND_DELAYED, about(1, "refund.failed", tx_hash=TX)], 9),
    ("refund delayed, then paid", [sent(1), REFUND_DELAYED, about(1, "refund.completed", tx_hash=TX)], 10),
    ("delayed", [sent(1), *quorum(), about(1, "transfer.delayed")], 11),
    ("released outranks delayed", [sent(1), about(1, "transfer.delayed"), released(1)], 5),
    ("refunded outranks all", [sent(1), released(1), about(1, "refund.completed")], 10),
    ("decision refund done", [sent(1), decision(XferStatus.REFUND_DONE)], 10),
    ("only a signature", [signed(1, signature(WD, KEYS[0]))], 0),
]


@pytest.mark.parametrize(("events", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_events_give_status(
    app: Flask, status: Callable[[int], Any], events: list[dict[str, Any]], expected: int
) -> None:
    verdict = feed(app, *events)
    assert (verdict.accepted, verdict.refused) == (len(events), [])
    row = status(1)
    assert row.status == expected
    decisions = [
        e["xfer_status"] for e in sorted(events, key=lambda e: e["at"]) if e["type"] == "network.status"
    ]
    assert row.refund_reason == (decisions[-1] if expected == 6 else 0)


def test_earliest_event_supplies_links_and_amounts(app: Flask, status: Callable[[int], Any]) -> None:
    feed(
        app,
        sent(1, at=-90, amount="5", src_tx_hash="0x" + "22" * 32),
        sent(1, at=-95, amount="7", src_tx_hash="0x" + "33" * 32),
    )
    assert (status(1).amount, status(1).src_tx_hash) == (7, "0x" + "33" * 32)


def test_links_prefer_release_over_delay(app: Flask, status: Callable[[int], Any]) -> None:
    feed(app, sent(1), about(1, "transfer.delayed", dst_tx_hash="0x" + "11" * 32))
    assert status(1).src_tx_hash == "0x" + "01" * 32
    assert status(1).dst_tx_hash == "0x" + "11" * 32
    feed(app, about(1, "refund.submitted", tx_hash=TX), released(1))
    assert status(1).dst_tx_hash == "0x" + "ee" * 32
