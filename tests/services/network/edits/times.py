"""The gateway at other times."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from app.domain.estimate.inputs import EstimateRequest
from app.domain.keys import ChainId
from app.runtime.gateway import Gateway
from app.services.network.snapshot import NetworkSnapshots


def at(gateway: Gateway, now: datetime) -> Gateway:
    """The gateway at another time, with nothing in memory."""
    snapshots = NetworkSnapshots(gateway.engine, 0, clock=lambda: now)
    return replace(gateway, clock=lambda: now, snapshots=snapshots)


def written(time: datetime) -> str:
    return f"{time:%Y-%m-%dT%H:%M:%SZ}"


REQUEST = EstimateRequest(ChainId(1), ChainId(56), "USDT", 10**9, 5000)
