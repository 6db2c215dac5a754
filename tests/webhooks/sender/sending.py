"""The sender, run once."""

from __future__ import annotations

from app.webhooks.post import Poster
from app.webhooks.sender import Sender
from tests.gateway import Gateway
from tests.webhooks.sender.receiver import Names


async def send_due(gateway: Gateway) -> None:
    """Send what is due by the gateway's clock."""
    poster = Poster(Names(), gateway.allowed)
    await Sender(gateway.database, gateway.snapshots, gateway.audit_keys, poster).run_once()
    await poster.close()
