"""The sender, run once."""

from __future__ import annotations

from flask import Flask

from app.audit.keys import AuditKeys
from app.db.database import Database
from app.http.application import part_of
from app.network.snapshot import SnapshotSource
from app.webhooks.post import Poster
from app.webhooks.rules.addresses import AllowedNetworks
from app.webhooks.sender import Sender
from tests.webhooks.sender.receiver import Names


async def send_due(app: Flask) -> None:
    """Send what is due by the application's clock."""
    poster = Poster(Names(), part_of(app, AllowedNetworks))
    await sender_of(app, poster).run_once()
    await poster.close()


def sender_of(app: Flask, poster: Poster) -> Sender:
    return Sender(part_of(app, Database), part_of(app, SnapshotSource), part_of(app, AuditKeys), poster)
