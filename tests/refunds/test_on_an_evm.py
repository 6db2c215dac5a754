"""What the gateway serves, sent to the contracts on a real EVM: they pay exactly then."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from app.transfers.rules.refunds.request_message import decode_request
from app.values.codes import SendKind
from app.values.codes import TransferHistoryStatus as Status
from tests.amounts import few_or_many
from tests.contract.evm.machine import Bridge, Call, Chain
from tests.feed.services.world import SENDER
from tests.refunds.bridges import POWERS, bridge_of, by_address, known_call, pays, served_call
from tests.refunds.kit import KINDS, PEOPLE, Gateway, Story, rotation
from tests.refunds.rules.evidence_kit import vector

SIGNERS = (0, 3, 6)
"""Who is needed for a quorum: with any of them missing it is none."""


@pytest.fixture(params=KINDS)
def story(request: pytest.FixtureRequest) -> Story:
    return Story(request.param)


@pytest.fixture
def served(gateway: Gateway, story: Story) -> Call:
    gateway.take(rotation(story.chain, POWERS), story.sent(), story.prepared())
    gateway.take(*(story.signed(PEOPLE[n]) for n in SIGNERS))
    return served_call(gateway.status(story))


@pytest.mark.parametrize("version", [1, 2])
def test_the_call_that_is_served_pays_once(
    gateway: Gateway, story: Story, served: Call, version: int
) -> None:
    evidence, bridge = gateway.evidence(story), bridge_of(story, version=version)
    assert evidence["validator_set_hash"] == f"0x{bridge.set_hash:064x}"
    assert bridge.outcome_of(served) == evidence["digest"]
    data = bytes.fromhex(evidence["call"]["data"][2:])
    done = bridge.at.send(data).event(
        {"pool": "WithdrawDone", "deposit": "Withdrawn", "burn": "Mint"}[story.kind]
    )
    assert bridge.balance(bytes.fromhex(SENDER[2:])) == int(evidence["request"]["amount"])
    assert done["refid" if story.kind is SendKind.POOL else "refId"].hex() == evidence["transfer_id"][2:]
    if story.kind is SendKind.POOL:
        assert f"0x{done['withdrawId'].hex()}" == evidence["withdraw_id"]
    assert bridge.outcome_of(served) == "AlreadyDone"


@pytest.mark.parametrize("count", few_or_many(6, 200))
def test_every_claim_is_paid_to_the_sender(gateway: Gateway, count: int) -> None:
    """A stranger sends what the evidence answers: the sender of the transfer is paid."""
    chance = Random(f"claims {count}")
    for number in range(1, count + 1):
        story = Story(chance.choice(KINDS), number)
        people = chance.sample(PEOPLE, chance.randint(1, 6))
        powers = {key: chance.choice((1, 7, 50, 2**128)) for key in people}
        bridge = bridge_of(story, powers, version=chance.choice((1, 2)))
        gateway.take(rotation(story.chain, powers, at=number / 1000 - 200), story.sent(), story.prepared())
        gateway.take(*(story.signed(key) for key in powers))
        evidence = gateway.evidence(story)
        assert evidence["valid"]
        transaction = evidence["transaction"]
        assert (transaction["chain_id"], transaction["value"]) == (story.chain, "0")
        stranger = chance.randbytes(20)
        data = bytes.fromhex(transaction["data"][2:])
        bridge.chain.transact(bytes.fromhex(transaction["to"][2:]), data, stranger)
        assert bridge.balance(bytes.fromhex(SENDER[2:])) == int(evidence["request"]["amount"]) > 0


def test_call_is_bound_to_chain_contract_kind(story: Story, served: Call) -> None:
    assert pays(bridge_of(story), served)
    elsewhere: list[dict[str, Any]] = [{"chain": Chain(3 - story.chain)}, {"address": b"\x77" * 20}]
    elsewhere += [{"kind": kind.value} for kind in KINDS if kind is not story.kind]
    for place in elsewhere:
        assert not pays(bridge_of(story, **place), served), place


def test_evm_pays_only_claimable_refund_during_rotation(gateway: Gateway, story: Story) -> None:
    """Before the quorum, the EVM refuses whatever is known; from the quorum on, it pays."""
    bridge, powers = bridge_of(story), POWERS
    gateway.take(rotation(story.chain, powers), story.sent(), story.prepared())
    after = {PEOPLE[1]: 7, PEOPLE[2]: 7, PEOPLE[20]: 10, PEOPLE[21]: 10, PEOPLE[22]: 10}
    paid, power_signed = [], []
    for key in (*PEOPLE[:7], None, *PEOPLE[20:23]):
        if key is None:
            gateway.take(rotation(story.chain, after, at=-20))
            powers = after
            bridge.set_validators(by_address(after))
        else:
            gateway.take(story.signed(key))
        answer, evidence = gateway.status(story), gateway.evidence(story)
        outcome = bridge.outcome_of(known_call(evidence))
        assert outcome == (
            evidence["digest"] if answer["status"] == Status.TRANSFER_REFUND_TO_BE_CONFIRMED else "NoQuorum"
        )
        paid.append(answer["status"] == Status.TRANSFER_REFUND_TO_BE_CONFIRMED)
        power_signed.append(int(evidence["power_signed"]))
        if key is None:
            assert (evidence["quorum"], evidence["validator_set_version"]) == ("30", 2)
            assert len(evidence["not_signed"]) == 3
            assert evidence["missing"][0].endswith("16 more needed")
    assert paid == [False, False, False, False, True, True, True, False, False, True, True]
    assert power_signed == [60, 67, 74, 124, 154, 155, 200, 14, 24, 34, 44]


@pytest.mark.parametrize(
    ("powers", "enough"), [((3, 3, 3), 3), ((3, 4, 3), 2), ((1, 1, 1), 3), ((1, 0, 0), 1)]
)
def test_two_thirds_are_not_enough(gateway: Gateway, powers: tuple[int, ...], enough: int) -> None:
    story, members = Story(SendKind.POOL), dict(zip(PEOPLE, powers, strict=False))
    bridge = bridge_of(story, members)
    gateway.take(rotation(story.chain, members), story.sent(), story.prepared())
    for number, key in enumerate(members, start=1):
        gateway.take(story.signed(key))
        served = gateway.status(story)["status"] == Status.TRANSFER_REFUND_TO_BE_CONFIRMED
        taken = pays(bridge, known_call(gateway.evidence(story)))
        assert served is (number >= enough) is taken


def test_the_recorded_evidence_pays() -> None:
    recorded = vector("withdraw_evidence_chain97.json")
    served = served_call(recorded)
    powers = dict(zip(served.signers, served.powers, strict=True))
    address = bytes.fromhex(recorded["bridge_contract"][2:])
    token = decode_request(SendKind.POOL, served.request).token
    bridge = Bridge(SendKind.POOL.value, Chain(recorded["chain_id"]), address, powers, token)
    assert pays(bridge, served)
    assert bridge.outcome_of(served.but(sigs=served.sigs[:2])) == "NoQuorum"
