"""A gateway with the small network, its clock at NOW."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select

from app.models.engine import reading
from app.models.transfers import Transfer
from app.runtime.gateway import Gateway, current_gateway
from tests.databases import SharedDatabase
from tests.services.feed.world import NOW, fill_network, transfer_id


@pytest.fixture
def gateway(app: Flask, database: SharedDatabase) -> Gateway:
    gateway = replace(current_gateway(), clock=lambda: NOW)
    fill_network(database, gateway.engine)
    return gateway


@pytest.fixture
def status(gateway: Gateway) -> Callable[[int], Any]:
    """The projected row of transfer ``n``."""

    def row(n: int) -> Any:
        with reading(gateway.engine) as connection:
            key = bytes.fromhex(transfer_id(n)[2:])
            return connection.execute(
                select(Transfer.__table__).where(Transfer.transfer_id == key)
            ).one_or_none()

    return row
