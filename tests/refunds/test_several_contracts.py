"""Pairs with several contracts, and with tokens of their own: each refund is by and in those of its send."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from app.db.database import Database
from app.db.engine import reading
from app.http.application import part_of
from app.network.document import NetworkRefused, import_network
from app.transfers.models import Anomaly
from app.transfers.rules.anomalies import AnomalyKind
from app.transfers.rules.refunds.request_checks import signing_digest
from app.values.codes import SendKind
from app.values.codes import TransferHistoryStatus as Status
from app.values.crypto import checksum_address, sign_digest
from tests.actors import TESTER
from tests.applications import Editing, editing_of
from tests.contract.evm.machine import Bridge, Chain
from tests.feed.services.world import address, network, signed
from tests.network.services.network_kit import text
from tests.refunds.bridges import bridge_of, pays, served_call
from tests.refunds.kit import PEOPLE, Gateway, Powers, Story, rotation

SET: Powers = {PEOPLE[0]: 1}
LISTS = {SendKind.DEPOSIT: "deposit_contracts", SendKind.BURN: "burn_contracts"}
OTHER = bytes.fromhex(address(5001)[2:])


@pytest.fixture(params=LISTS)
def story(request: pytest.FixtureRequest) -> Story:
    return Story(request.param)


def bridges(story: Story) -> dict[bytes, Bridge]:
    """On one chain the pair's own contract in version 2, and the other one in version 1."""
    own = bridge_of(story, SET)
    other = bridge_of(story, SET, chain=own.chain, address=OTHER, version=1)
    return {story.contract: own, OTHER: other}


def list_other(gateway: Gateway, story: Story, *contracts: bytes) -> None:
    document = network()
    document["pegged_pairs"][0][LISTS[story.kind]] = [checksum_address(each) for each in contracts]
    import_network(*editing_of(gateway.app), text(document), actor=TESTER)


def signed_for(story: Story, contract: bytes) -> dict[str, Any]:
    request = story.request()
    digest = signing_digest(story.kind, story.chain, contract, request)
    return signed(story.n, sign_digest(digest, PEOPLE[0]))


def unlisted(gateway: Gateway) -> list[str]:
    with reading(part_of(gateway.app, Database).reads) as connection:
        rows = connection.execute(Anomaly.__table__.select()).all()
    return [row.subject[-1] for row in rows if row.kind == AnomalyKind.UNLISTED_CONTRACT]


def test_receiving_contract_pays_each_refund(gateway: Gateway, story: Story) -> None:
    """The one that took the send."""
    list_other(gateway, story, OTHER)
    gateway.take(rotation(story.chain, SET))
    at = bridges(story)
    takers = {1: None, 2: story.contract, 3: OTHER}
    for n, named in takers.items():
        each = replace(story, n=n)
        contract = named or story.contract
        send = each.sent(**({"contract": "0x" + named.hex()} if named else {}))
        gateway.take(send, each.prepared(), signed_for(each, contract))
        evidence, status = gateway.evidence(each), gateway.status(each)
        assert (status["status"], evidence["contract"]) == (
            Status.TRANSFER_REFUND_TO_BE_CONFIRMED,
            checksum_address(contract),
        )
        call = served_call(status)
        assert [pays(at[where], call) for where in at] == [contract == where for where in at]
        at[contract].at.send(bytes.fromhex(evidence["call"]["data"][2:]))
    assert unlisted(gateway) == []


def test_unlisted_contract_serves_nothing(gateway: Gateway, story: Story) -> None:
    gateway.take(rotation(story.chain, SET), story.sent(contract="0x" + OTHER.hex()), story.prepared())
    for contract in (OTHER, story.contract):
        gateway.take(signed_for(story, contract))
    assert gateway.status(story)["status"] == Status.TRANSFER_REQUESTING_REFUND
    evidence = gateway.evidence(story)
    assert (evidence["proven"], evidence["contract"], evidence["digest"]) == (False, None, None)
    assert any(
        f"{checksum_address(OTHER)}, which the send names as its" in why for why in evidence["missing"]
    )
    assert unlisted(gateway) == ["1"]

    list_other(gateway, story, OTHER)
    status = gateway.status(story)
    assert (status["status"], unlisted(gateway)) == (Status.TRANSFER_REFUND_TO_BE_CONFIRMED, [])
    assert pays(bridges(story)[OTHER], served_call(status))


def test_pool_send_by_other_contract_waits(gateway: Gateway) -> None:
    story = Story(SendKind.POOL)
    gateway.take(rotation(1, SET), story.sent(contract="0x" + OTHER.hex()), story.prepared())
    gateway.take(story.signed(PEOPLE[0]))
    assert (gateway.status(story)["status"], unlisted(gateway)) == (Status.TRANSFER_REQUESTING_REFUND, ["1"])
    named = Story(SendKind.POOL, 2)
    gateway.take(named.sent(contract="0x" + named.contract.hex()), named.prepared(), named.signed(PEOPLE[0]))
    assert (gateway.status(named)["status"], unlisted(gateway)) == (
        Status.TRANSFER_REFUND_TO_BE_CONFIRMED,
        ["1"],
    )
    assert pays(bridge_of(named, SET, chain=Chain(1)), served_call(gateway.status(named)))


SIDES = {SendKind.DEPOSIT: "org_token", SendKind.BURN: "pegged_token"}
OWN = address(6001)


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
