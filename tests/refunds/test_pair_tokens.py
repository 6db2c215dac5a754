"""A pair with tokens of its own: refunds of its sends are in these, not in what its chains list."""

from __future__ import annotations

from typing import Any

import pytest

from app.network.document import NetworkRefused, import_network
from app.values.codes import SendKind
from tests.actors import TESTER
from tests.applications import Editing, editing_of
from tests.feed.services.world import address, network
from tests.network.services.network_kit import text
from tests.refunds.kit import PEOPLE, Asker, Powers, Story, rotation

SET: Powers = {PEOPLE[0]: 1}
SIDES = {SendKind.DEPOSIT: "org_token", SendKind.BURN: "pegged_token"}
OWN = address(6001)


@pytest.fixture(params=SIDES)
def story(request: pytest.FixtureRequest) -> Story:
    return Story(request.param)


def put(ask: Asker, story: Story, *, listed: bool = True, **said: Any) -> None:
    document = network()
    document["pegged_pairs"][0][SIDES[story.kind]] = said
    if not listed:
        document["pegged_pairs"] = document["pegged_pairs"][:1]
        document["tokens"] = [
            row for row in document["tokens"] if (row["chain_id"], row["symbol"]) != (story.chain, "CELR")
        ]
    import_network(*editing_of(ask.app), text(document), actor=TESTER)


def wanted(story: Story, token: str) -> bytes:
    return story.request(token=bytes.fromhex(token[2:]))


@pytest.mark.parametrize("listed", [True, False])
def test_evidence_is_in_the_pairs_own_token(ask: Asker, story: Story, listed: bool) -> None:
    put(ask, story, listed=listed, address=OWN, decimal=18)
    request = wanted(story, OWN)
    ask.take(
        rotation(story.chain, SET), story.sent(), story.prepared(request), story.signed(PEOPLE[0], request)
    )
    status = ask.status(story)
    assert status["status"] == 8
    assert story.contract_takes(status, SET)


def test_request_in_chain_token_is_contradicted(ask: Asker, story: Story) -> None:
    put(ask, story, address=OWN)
    ask.take(rotation(story.chain, SET), story.sent())
    refused = ask.feed(story.prepared()).refused
    assert [line.reason for line in refused] and "token" in refused[0].reason


def test_pair_token_validates_events_again(ask: Asker, story: Story, editing: Editing) -> None:
    """Only while nothing under way hangs on the old one: here the send comes before the pair is known."""
    document = network()
    document["pegged_pairs"] = []
    import_network(*editing, text(document), actor=TESTER)
    request = wanted(story, OWN)
    ask.take(rotation(story.chain, SET))
    ask.feed(story.sent(), story.prepared(request))
    put(ask, story, address=OWN)
    ask.feed(story.prepared(request), story.signed(PEOPLE[0], request))
    assert ask.status(story)["status"] == 8


def test_the_token_stays_under_open_transfers(ask: Asker, story: Story) -> None:
    put(ask, story, address=OWN)
    ask.take(story.sent())
    for said in ({}, {"address": address(6002)}, {"address": OWN, "decimal": 6}):
        with pytest.raises(NetworkRefused, match=f"{SIDES[story.kind]}: open .* transfers of CELR"):
            put(ask, story, **said)
    put(ask, story, address=OWN, name="Another name")
