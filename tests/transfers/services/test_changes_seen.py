"""Whatever changes an answer is seen at the next look at the journal, by the process that writes at once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from msgspec.structs import replace
from sqlalchemy import update

from app.audit.keys import AuditKeys
from app.db.database import Database
from app.db.engine import writing
from app.feed.services.ingest import Intake
from app.feed.services.prune import prune
from app.feed.services.reprojection import replay
from app.feed.services.retract import retract_ids
from app.http.application import part_of
from app.network.document import import_network
from app.network.snapshot import SnapshotSource
from app.refunds.services import _store
from app.transfers.models import Transfer
from tests.actors import TESTER
from tests.applications import audited_of, editing_of
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
from tests.refunds.kit import PEOPLE, rotation
from tests.transfers.services.followed import ID, Process, Writer, open_refund

pytestmark = pytest.mark.every_database


@pytest.fixture
def app(app: Flask, shared_database: SharedDatabase) -> Flask:
    return small_network(app, shared_database, clock=lambda: NOW)


@pytest.fixture
def process(app: Flask, monkeypatch: pytest.MonkeyPatch) -> Process:
    return _noted(Process(app), monkeypatch)


@pytest.fixture
def writer(app: Flask, monkeypatch: pytest.MonkeyPatch) -> Process:
    return _noted(Writer(app), monkeypatch)


def _noted(process: Process, monkeypatch: pytest.MonkeyPatch) -> Process:
    process.note_reads(monkeypatch)
    return process


def _edit_link(app: Flask) -> None:
    document = network()
    chains = [each | {"explore_url": "https://other.example/"} for each in document["chains"]]
    import_network(*editing_of(app), build.text(document | {"chains": chains}), actor=TESTER)


def _prune(app: Flask) -> None:
    later = replace(part_of(app, Database), clock=lambda: NOW + timedelta(days=30))
    prune(later, part_of(app, AuditKeys), part_of(app, Intake), NOW + timedelta(days=1), actor=TESTER)


def _repair(app: Flask) -> None:
    replay(*audited_of(app), actor=TESTER)


def _ask_for_refund(app: Flask) -> None:
    with writing(part_of(app, Database).engine) as connection:
        _store(connection, ID, NOW)


def _spoil(**values: Any) -> Callable[[Flask], None]:
    def spoil(app: Flask) -> None:
        with writing(part_of(app, Database).engine) as connection:
            connection.execute(update(Transfer).values(values))

    return spoil


def _events(*events: Any) -> Callable[[Flask], None]:
    return lambda app: [feed(app, each) for each in events] and None


def _instead(of: str, event: Any) -> Callable[[Flask], None]:
    def happen(app: Flask) -> None:
        feed(app, event)
        retract_ids(*audited_of(app), [of], "orphaned", actor=TESTER)

    return happen


def _signed_by(*keys: bytes) -> Callable[[Flask], None]:
    return _events(*(signed(1, signature(request(1), key)) for key in keys))


_REFUNDED = (sent(1), about(1, "network.status", at=-40, xfer_status=4))
_CHANGES: dict[str, tuple[Callable[[Flask], Any], Callable[[Flask], None]]] = {
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
        lambda app: (feed(app, sent(1)), _spoil(src_tx_hash="0xfalse")(app)),
        _repair,
    ),
}


@pytest.mark.parametrize("change", _CHANGES)
def test_next_look_sees_each_change(app: Flask, process: Process, change: str) -> None:
    after = _answers_after(app, process, change)
    process.look()
    assert (process.ask(), process.row()) == after


@pytest.mark.parametrize("change", _CHANGES)
def test_writer_sees_each_change_at_once(app: Flask, writer: Process, change: str) -> None:
    after = _answers_after(app, writer, change)
    assert (writer.ask(), writer.row()) == after


def _answers_after(app: Flask, process: Process, change: str) -> Any:
    """What a process without memory answers after the change. Before, the process answered from memory."""
    prepare, happen = _CHANGES[change]
    prepare(app)
    process.look()
    process.ask()
    before = process.ask(), process.row()
    assert process.reads == [ID], "it is not from memory"
    happen(app)
    part_of(app, SnapshotSource).newest()
    after = process.stored(), Process(app).row()
    assert after != before, "nothing changed"
    return after
