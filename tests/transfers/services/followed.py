"""Processes that look at the journal of statuses only where a test lets them."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask
from sqlalchemy import Connection

from app.db.database import Database
from app.feed.projection.journal import JOURNAL_WRITTEN
from app.http.application import part_of
from app.network.snapshot import SnapshotSource
from app.transfers.queries.status import TransferRow
from app.transfers.services.status import TransferStatus, transfer_status
from app.values.errors import GatewayError
from app.values.identifiers import TransferId
from app.waiting import cached_rows
from app.waiting.cached_rows import CachedRows
from app.waiting.register import Waiting
from tests.feed.services.world import (
    KEYS,
    about,
    feed,
    prepared,
    request,
    sent,
    signature,
    signed,
    transfer_id,
)

ID, OTHER, UNKNOWN = (TransferId(bytes.fromhex(transfer_id(n)[2:])) for n in (1, 2, 9))

LOOK_SECONDS = 0.05
"""Between two looks."""


class Process:
    """Another process than the one that writes: it looks at the journal only where a test lets it."""

    def __init__(self, app: Flask, *, minds_servers: bool = True) -> None:
        """
        :param minds_servers: whether it caches nothing where a URL leads to several servers.
        """
        self.now = 0.0
        self.followed = 0
        is_one_server = part_of(app, Database).public.is_one_server if minds_servers else lambda: True
        self.rows = CachedRows(lambda: self.now, is_one_server)
        self.waiting = Waiting(part_of(app, Database).public, 10, self.rows)
        self.rows.follow = self._follow
        self.app = app
        self.reads: list[TransferId] = []

    def _follow(self) -> None:
        self.followed += 1

    def look(self) -> None:
        self.now += LOOK_SECONDS
        self.waiting.look()

    def ask(self, transfer_id: TransferId = ID) -> TransferStatus | str:
        database, snapshots = part_of(self.app, Database), part_of(self.app, SnapshotSource)
        try:
            return transfer_status(database, snapshots, self.rows, transfer_id)
        except GatewayError as error:
            return error.msg

    def row(self) -> TransferRow | None:
        return self.rows.row(part_of(self.app, Database), ID)[0]

    def stored(self, transfer_id: TransferId = ID) -> TransferStatus | str:
        """What a process without memory answers."""
        return Process(self.app).ask(transfer_id)

    def note_reads(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Have ``reads`` name each transfer that any process reads."""
        read = cached_rows._rows_and_engine

        def noted(connection: Connection, ids: list[TransferId]) -> Any:
            self.reads += ids
            return read(connection, ids)

        monkeypatch.setattr(cached_rows, "_rows_and_engine", noted)


class Writer(Process):
    """The process that writes."""

    def __init__(self, app: Flask) -> None:
        super().__init__(app)
        for engine in (part_of(app, Database).engine, part_of(app, Database).feed):
            JOURNAL_WRITTEN.hand_in(engine, self.rows.drop_at_end)


def open_refund(app: Flask) -> bytes:
    wd = request(1)
    first = about(1, "network.status", at=-40, xfer_status=4), about(1, "refund.requested", at=-30)
    feed(app, sent(1), *first, prepared(1, wd), *(signed(1, signature(wd, key)) for key in KEYS[:3]))
    return wd
