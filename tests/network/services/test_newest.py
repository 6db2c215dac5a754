"""Whoever just changed the configuration can ask for it as it is now."""

from __future__ import annotations

from flask import Flask

from app.network.document import import_network
from app.network.services import NetworkSnapshots
from tests.actors import TESTER
from tests.gateway import gateway_of
from tests.network.services.network_kit import changed, network, text


def test_the_newest_is_read_while_others_wait(app: Flask) -> None:
    gateway = gateway_of(app)
    import_network(*gateway.editing, text(network()), actor=TESTER)
    snapshots = NetworkSnapshots(gateway.engine, 3600)
    assert snapshots.current().terms.chains[1].name == "Ethereum"
    import_network(*gateway.editing, text(changed("chains.0.name", "Main")), actor=TESTER)
    assert snapshots.current().terms.chains[1].name == "Ethereum", "within its age"
    assert snapshots.newest().terms.chains[1].name == "Main"
