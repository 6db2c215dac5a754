"""Whatever changes an answer is seen at the next look at the journal, by the process that writes at once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import update

from app.db.engine import writing
from app.feed.services.prune import prune
from app.feed.services.reprojection import replay
from app.feed.services.retract import retract_ids
from app.network.document import import_network
from app.refunds.services import _store
from app.transfers.models import Transfer
from tests.actors import TESTER
from tests.builders import network as build
from tests.databases import SharedDatabase
from tests.feed.services.world import (
    KEYS,
    NOW,
    about,
    event,
    feed,
    network,
    released,
    request,
    sent,
    signature,
    signed,
    small_network,
)
from tests.gateway import Gateway
from tests.refunds.kit import PEOPLE, rotation
from tests.transfers.services.followed import ID, Process, Writer, open_refund

pytestmark = pytest.mark.every_database


@pytest.fixture
def gateway(app: Flask, shared_database: SharedDatabase) -> Gateway:
    return small_network(shared_database, clock=lambda: NOW)


@pytest.fixture
def process(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> Process:
    return _noted(Process(gateway), monkeypatch)


@pytest.fixture
def writer(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> Process:
    return _noted(Writer(gateway), monkeypatch)


def _noted(process: Process, monkeypatch: pytest.MonkeyPatch) -> Process:
    process.note_reads(monkeypatch)
    return process


def _edit_link(gateway: Gateway) -> None:
    document = network()
    chains = [each | {"explore_url": "https://other.example/"} for each in document["chains"]]
    import_network(*gateway.editing, build.text(document | {"chains": chains}), actor=TESTER)


def _prune(gateway: Gateway) -> None:
    later = gateway.but(clock=lambda: NOW + timedelta(days=30))
    prune(later.database, later.audit_keys, later.intake, NOW + timedelta(days=1), actor=TESTER)


def _repair(gateway: Gateway) -> None:
    replay(*gateway.audited, actor=TESTER)


def _ask_for_refund(gateway: Gateway) -> None:
    with writing(gateway.engine) as connection:
        _store(connection, ID, NOW)


def _spoil(**values: Any) -> Callable[[Gateway], None]:
    def spoil(gateway: Gateway) -> None:
        with writing(gateway.engine) as connection:
            connection.execute(update(Transfer).values(values))

    return spoil


def _events(*events: Any) -> Callable[[Gateway], None]:
    return lambda gateway: [feed(gateway, each) for each in events] and None


def _instead(of: str, event: Any) -> Callable[[Gateway], None]:
    def happen(gateway: Gateway) -> None:
        feed(gateway, event)
        retract_ids(*gateway.audited, [of], "orphaned", actor=TESTER)

    return happen


def _signed_by(*keys: bytes) -> Callable[[Gateway], None]:
    return _events(*(signed(1, signature(request(1), key)) for key in keys))


_REFUNDED = (sent(1), about(1, "network.status", at=-40, xfer_status=4))
_CHANGES: dict[str, tuple[Callable[[Gateway], Any], Callable[[Gateway], None]]] = {
    "released": (_events(sent(1)), _events(released(1))),
    "a reorganisation": (
        _events(sent(1), released(1)),
        _events(event("chain.reorged", chain_id=1, from_block=100)),
    ),
    "released in another block": (
        _events(sent(1), released(1, event_id="one", block=210)),
        _instead("one", released(1, event_id="two", at=-5, block=220)),
    ),
    "a release with its block": (
        _events(sent(1), released(1, event_id="one")),
        _events(released(1, event_id="one", block=220)),
    ),
    "sent at another time": (
        _events(sent(1, event_id="one", at=-100)),
        _instead("one", sent(1, event_id="two", at=-90)),
    ),
    "further signatures": (open_refund, _signed_by(*KEYS[3:])),
    "a rotation": (
        open_refund,
        _events(rotation(1, {PEOPLE[0]: 1}, at=-20)),
    ),
    "a refund is requested": (_events(*_REFUNDED), _ask_for_refund),
    "an edited link": (_events(sent(1)), _edit_link),
    "pruning": (_events(sent(1), released(1), sent(2)), _prune),
    "a repair": (
        lambda gateway: (feed(gateway, sent(1)), _spoil(src_tx_hash="0xfalse")(gateway)),
        _repair,
    ),
}


@pytest.mark.parametrize("change", _CHANGES)
def test_next_look_sees_each_change(gateway: Gateway, process: Process, change: str) -> None:
    after = _answers_after(gateway, process, change)
    process.look()
    assert (process.ask(), process.row()) == after


@pytest.mark.parametrize("change", _CHANGES)
def test_writer_sees_each_change_at_once(gateway: Gateway, writer: Process, change: str) -> None:
    after = _answers_after(gateway, writer, change)
    assert (writer.ask(), writer.row()) == after


def _answers_after(gateway: Gateway, process: Process, change: str) -> Any:
    """What a process without memory answers after the change. Before, the process answered from memory."""
    prepare, happen = _CHANGES[change]
    prepare(gateway)
    process.look()
    process.ask()
    before = process.ask(), process.row()
    assert process.reads == [ID], "it is not from memory"
    happen(gateway)
    gateway.snapshots.newest()
    after = process.stored(), Process(gateway).row()
    assert after != before, "nothing changed"
    return after
