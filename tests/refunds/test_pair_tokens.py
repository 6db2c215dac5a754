"""A pair with tokens of its own: refunds of its sends are in these, not in what its chains list."""

from __future__ import annotations

from typing import Any

import pytest

from app.network.document import NetworkRefused, import_network
from app.values.codes import SendKind
from app.values.codes import TransferHistoryStatus as Status
from tests.actors import TESTER
from tests.applications import Editing, editing_of
from tests.feed.services.world import address, network
from tests.network.services.network_kit import text
from tests.refunds.bridges import bridge_of, pays, served_call
from tests.refunds.kit import PEOPLE, Gateway, Powers, Story, rotation

SET: Powers = {PEOPLE[0]: 1}
SIDES = {SendKind.DEPOSIT: "org_token", SendKind.BURN: "pegged_token"}
OWN = address(6001)


@pytest.fixture(params=SIDES)
def story(request: pytest.FixtureRequest) -> Story:
    return Story(request.param)


def put(gateway: Gateway, story: Story, *, listed: bool = True, **values: Any) -> None:
    document = network()
    document["pegged_pairs"][0][SIDES[story.kind]] = values
    if not listed:
        document["pegged_pairs"] = document["pegged_pairs"][:1]
        document["tokens"] = [
            row for row in document["tokens"] if (row["chain_id"], row["symbol"]) != (story.chain, "CELR")
        ]
    import_network(*editing_of(gateway.app), text(document), actor=TESTER)


def wanted(story: Story, token: str) -> bytes:
    return story.request(token=bytes.fromhex(token[2:]))


@pytest.mark.parametrize("listed", [True, False])
def test_evidence_is_in_the_pairs_own_token(gateway: Gateway, story: Story, listed: bool) -> None:
    put(gateway, story, listed=listed, address=OWN, decimal=18)
    request = wanted(story, OWN)
    gateway.take(
        rotation(story.chain, SET), story.sent(), story.prepared(request), story.signed(PEOPLE[0], request)
    )
    status = gateway.status(story)
    assert status["status"] == Status.TRANSFER_REFUND_TO_BE_CONFIRMED
    assert pays(bridge_of(story, SET, token=bytes.fromhex(OWN[2:])), served_call(status))


def test_pair_token_validates_events_again(gateway: Gateway, story: Story, editing: Editing) -> None:
    """Only while no open transfer uses the old one: here the send comes before the pair is known."""
    document = network()
    document["pegged_pairs"] = []
    import_network(*editing, text(document), actor=TESTER)
    request = wanted(story, OWN)
    gateway.take(rotation(story.chain, SET))
    gateway.feed(story.sent(), story.prepared(request))
    put(gateway, story, address=OWN)
    gateway.feed(story.prepared(request), story.signed(PEOPLE[0], request))
    assert gateway.status(story)["status"] == Status.TRANSFER_REFUND_TO_BE_CONFIRMED


def test_the_token_stays_under_open_transfers(gateway: Gateway, story: Story) -> None:
    put(gateway, story, address=OWN)
    gateway.take(story.sent())
    for values in ({}, {"address": address(6002)}, {"address": OWN, "decimal": 6}):
        with pytest.raises(NetworkRefused, match=f"{SIDES[story.kind]}: open .* transfers of CELR"):
            put(gateway, story, **values)
    put(gateway, story, address=OWN, name="Another name")
