"""Every validator set that a chain has had."""

from __future__ import annotations

import pytest
from flask import Flask

from app.console.network.validators import SetVersion, validator_sets
from app.network.document import import_network
from app.values.identifiers import ChainId
from tests.actors import TESTER
from tests.feed.services.world import NOW, address, event, feed
from tests.gateway import Gateway, current_gateway
from tests.network.services.network_kit import SIGNERS, network, text


@pytest.fixture
def gateway(app: Flask) -> Gateway:
    gateway = current_gateway().but(clock=lambda: NOW)
    import_network(*gateway.editing, text(network()), actor=TESTER)
    return gateway


def of_chain(gateway: Gateway, chain_id: int) -> tuple[SetVersion, ...]:
    return validator_sets(gateway.database, ChainId(chain_id))


def test_opening_set_is_current_until_rotation(gateway: Gateway) -> None:
    (opening,) = of_chain(gateway, 1)
    assert (opening.of.version, opening.current, opening.event_id, opening.at) == (0, True, None, None)
    assert [f"0x{signer.hex()}" for signer, *_ in opening.strongest] == [s.lower() for s in SIGNERS]
    assert [share for *_, share in opening.strongest] == [500_000, 500_000]
    assert opening.of.quorum == opening.of.total_power * 2 // 3 + 1
    assert of_chain(gateway, 56) == ()


def test_retracted_rotations_are_no_versions(gateway: Gateway) -> None:
    signers = [address(7), address(8), address(9)]
    first = {"chain_id": 1, "signers": signers, "powers": ["1", "2", "4"], "block": 300}
    second = {"chain_id": 1, "signers": signers[:1], "powers": ["5"], "block": 400}
    feed(gateway, event("validators.updated", "second", at=-10, **second))
    feed(gateway, event("validators.updated", "first", at=-20, **first))
    newest, middle, opening = of_chain(gateway, 1)
    assert [(v.of.version, v.current, v.event_id) for v in (newest, middle, opening)] == [
        (2, True, "second"), (1, False, "first"), (0, False, None),
    ]  # fmt: skip
    assert [(power, share) for _, power, share in middle.strongest] == [
        (4, 571_428), (2, 285_714), (1, 142_857),
    ]  # fmt: skip
    feed(gateway, event("chain.reorged", chain_id=1, from_block=400))
    assert [(v.of.version, v.current) for v in of_chain(gateway, 1)] == [(1, True), (0, False)]
