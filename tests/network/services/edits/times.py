"""The gateway at other times."""

from __future__ import annotations

from datetime import datetime

from app.estimates.rules.inputs import EstimateRequest
from app.network.services import NetworkSnapshots
from app.values.identifiers import ChainId
from tests.gateway import Gateway


def at(gateway: Gateway, now: datetime) -> Gateway:
    """The gateway at another time, with nothing in memory."""
    snapshots = NetworkSnapshots(gateway.engine, 0, clock=lambda: now)
    return gateway.but(clock=lambda: now, snapshots=snapshots)


def written(time: datetime) -> str:
    return f"{time:%Y-%m-%dT%H:%M:%SZ}"


REQUEST = EstimateRequest(ChainId(1), ChainId(56), "USDT", 10**9, 5000)
