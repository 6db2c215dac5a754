"""Whoever just changed the configuration can ask for it as it is now."""

from __future__ import annotations

from app.db.database import Database
from app.network.document import import_network
from app.network.services import NetworkSnapshots
from tests.actors import TESTER
from tests.applications import Editing
from tests.network.services.network_kit import changed, network, text


def test_the_newest_is_read_while_others_wait(database: Database, editing: Editing) -> None:
    import_network(*editing, text(network()), actor=TESTER)
    snapshots = NetworkSnapshots(database.engine, 3600)
    assert snapshots.current().terms.chains[1].name == "Ethereum"
    import_network(*editing, text(changed("chains.0.name", "Main")), actor=TESTER)
    assert snapshots.current().terms.chains[1].name == "Ethereum", "within its age"
    assert snapshots.newest().terms.chains[1].name == "Main"
