"""Every validator set that a chain has had."""

from __future__ import annotations

import pytest
from flask import Flask

from app.console.network.validators import SetVersion, validator_sets
from app.db.database import Database
from app.network.document import import_network
from app.values.identifiers import ChainId
from tests.actors import TESTER
from tests.applications import change_part, editing_of
from tests.feed.services.world import NOW, address, event, feed
from tests.network.services.network_kit import SIGNERS, network, text


@pytest.fixture
def app(app: Flask) -> Flask:
    change_part(app, Database, clock=lambda: NOW)
    import_network(*editing_of(app), text(network()), actor=TESTER)
    return app


def of_chain(database: Database, chain_id: int) -> tuple[SetVersion, ...]:
    return validator_sets(database, ChainId(chain_id))


def test_opening_set_is_current_until_rotation(database: Database) -> None:
    (opening,) = of_chain(database, 1)
    assert (opening.of.version, opening.current, opening.event_id, opening.at) == (0, True, None, None)
    assert [f"0x{signer.hex()}" for signer, *_ in opening.strongest] == [s.lower() for s in SIGNERS]
    assert [share for *_, share in opening.strongest] == [500_000, 500_000]
    assert opening.of.quorum == opening.of.total_power * 2 // 3 + 1
    assert of_chain(database, 56) == ()


def test_validator_versions_omit_retracted_rotations(app: Flask, database: Database) -> None:
    signers = [address(7), address(8), address(9)]
    first = {"chain_id": 1, "signers": signers, "powers": ["1", "2", "4"], "block": 300}
    second = {"chain_id": 1, "signers": signers[:1], "powers": ["5"], "block": 400}
    feed(app, event("validators.updated", "second", at=-10, **second))
    feed(app, event("validators.updated", "first", at=-20, **first))
    newest, middle, opening = of_chain(database, 1)
    assert [(v.of.version, v.current, v.event_id) for v in (newest, middle, opening)] == [
        (2, True, "second"), (1, False, "first"), (0, False, None),
    ]  # fmt: skip
    assert [(power, share) for _, power, share in middle.strongest] == [
        (4, 571_428), (2, 285_714), (1, 142_857),
    ]  # fmt: skip
    feed(app, event("chain.reorged", chain_id=1, from_block=400))
    assert [(v.of.version, v.current) for v in of_chain(database, 1)] == [(1, True), (0, False)]
