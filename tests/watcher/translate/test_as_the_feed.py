"""A watcher and a reporter report a fact in the same words: what is translated is what the feed reads."""

from __future__ import annotations

from datetime import UTC, datetime

import orjson
import pytest

from app.feed.lines import ReadLine, read_line
from app.transfers.rules.events.codec import encode_event
from app.transfers.rules.events.event_types import EVENT_CLASSES, Event
from app.watcher.rules.logs.translation import head_event, reorged_event
from tests.watcher.logs import (
    ALICE,
    BOB,
    BRIDGE,
    HERE,
    ID,
    OTHER_ID,
    PEGGED,
    THERE,
    TOKEN,
    VAULT,
    block_hash,
    header,
    log,
    send,
)
from tests.watcher.translate.kit import added, executed, mint, relay, translated, withdraw, withdrawn

NOW = datetime(2026, 12, 1, tzinfo=UTC)

LOGS = (
    added(index=0, tx="1"),
    relay(index=1, tx="1"),
    added(VAULT, index=2, tx="2"),
    withdrawn(HERE, OTHER_ID, index=3, tx="2"),
    relay(index=4, tx="3"),
    withdraw(index=5, tx="4"),
    withdraw(bytes(32), index=6, tx="5"),
    mint(HERE, index=7, tx="6"),
    send(index=8, tx="7"),
    log("Deposited", ID, ALICE, TOKEN, 5, THERE, BOB, 9, contract=VAULT, index=9),
    log("BurnV1", OTHER_ID, PEGGED, ALICE, 2**256 - 1, BOB, contract=BRIDGE, index=10),
    log("LiquidityAdded", 5, ALICE, TOKEN, 9, index=11),
    log("SignersUpdated", [ALICE, BOB], [5, 2**200], index=12),
    executed(),
    executed(VAULT, index=5),
)

EVENTS: list[Event] = [
    *translated(*LOGS, read_to=1000).events,
    head_event(HERE, header(7)),
    reorged_event(HERE, header(7).number, block_hash(7), header(7, "b")),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: f"{event.type}:{event.id[-30:]}")
def test_line_equals_the_event(event: Event) -> None:
    line = {"id": event.id, "type": event.type, **orjson.loads(encode_event(event))}
    read = read_line(1, orjson.dumps(line), NOW)
    assert isinstance(read, ReadLine), read
    assert read.event == event


def test_every_chain_event_type_is_covered() -> None:
    not_of_chains = {
        "transfer.submitted",
        "transfer.failed",
        "network.status",
        "refund.requested",
        "refund.prepared",
        "refund.signed",
        "refund.failed",
        "fee.updated",
        "events.retracted",
    }
    reported_types = {event.type for event in EVENTS}
    assert reported_types == set(EVENT_CLASSES) - not_of_chains
