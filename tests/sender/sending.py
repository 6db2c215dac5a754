"""The sender, run once."""

from __future__ import annotations

from app.runtime.gateway import Gateway
from app.sender.loop import Sender
from app.sender.post import Poster
from tests.sender.receiver import Names


async def send_due(gateway: Gateway) -> None:
    """Send what is due by the gateway's clock."""
    poster = Poster(Names(), gateway.webhook_networks)
    await Sender(gateway, poster).run_once()
    await poster.close()
