"""The sandbox's story, reported once at a fixed moment, read as the feed reads it and projected."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import pytest

from app.feed.lines import ReadLine, read_line
from app.sandbox.catalogue import network_document, network_facts
from app.sandbox.feed import sandbox_events
from app.transfers.rules.events.counting import Logged
from app.transfers.rules.events.event_types import ChainReorged, Event, TransferEvent
from app.transfers.rules.events.reorganisations import Reorg
from app.transfers.rules.history import TransferHistory
from app.transfers.rules.projected import TransferState, transfer_state
from app.values.identifiers import TransferId

Reported = dict[str, Any]

NOW = datetime(2026, 11, 21, 14, 5, 6, 700, tzinfo=UTC)


def read(reported: Iterable[Reported], now: datetime) -> list[Event]:
    """Each event as the feed reads its line; one that it refuses fails the test."""
    events = []
    for number, each in enumerate(reported, 1):
        verdict = read_line(number, json.dumps(each).encode(), now)
        assert isinstance(verdict, ReadLine), verdict
        events.append(verdict.event)
    return events


def project(events: Iterable[Event]) -> dict[str, TransferState]:
    """The state of each transfer after these events, accepted in this order, by its 0x id."""
    logs: dict[TransferId, list[Logged[TransferEvent]]] = defaultdict(list)
    reorgs = []
    for seq, event in enumerate(events, 1):
        if isinstance(event, TransferEvent):
            logs[event.transfer_id].append(Logged(seq, event))
        elif isinstance(event, ChainReorged):
            reorgs.append(Reorg(seq, event.chain_id, event.from_block))
    return {
        f"0x{transfer_id.hex()}": transfer_state(TransferHistory(transfer_id, log, reorgs), network_facts())
        for transfer_id, log in logs.items()
    }


@pytest.fixture(scope="session")
def reported() -> list[Reported]:
    return list(sandbox_events(NOW))


@pytest.fixture(scope="session")
def events(reported: list[Reported]) -> list[Event]:
    return read(reported, NOW)


@pytest.fixture(scope="session")
def states(events: list[Event]) -> dict[str, TransferState]:
    return project(events)


@pytest.fixture(scope="session")
def document() -> dict[str, Any]:
    return network_document()
