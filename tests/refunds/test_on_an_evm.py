"""What the gateway serves, sent to the contracts' rule on a real EVM: it pays exactly then."""

from __future__ import annotations

from base64 import b64decode
from dataclasses import dataclass
from typing import Any

import pytest

from app.domain.codes import SendKind
from app.domain.crypto import address_of
from tests.contract.evm.machine import Contract, Reverted
from tests.domain.refund.evidence_kit import twin, vector
from tests.refunds.kit import KINDS, PEOPLE, Asker, Powers, Story, flip, rotation

POWERS: Powers = dict(zip(PEOPLE, (60, 7, 7, 50, 30, 1, 45), strict=False))
SIGNERS = (0, 3, 6)
"""Who is needed for a quorum: with any of them missing it is none."""


def by_address(powers: Powers) -> dict[bytes, int]:
    return {address_of(key): power for key, power in powers.items()}


def contract_of(story: Story, powers: Powers = POWERS, **other: Any) -> Contract:
    place = {"kind": story.kind.value, "chain_id": story.chain, "address": story.contract}
    return Contract(**(place | other), powers=by_address(powers))


@dataclass(frozen=True)
class Served:
    """The evidence out of the status answer."""

    request: bytes
    sigs: list[bytes]
    signers: list[bytes]
    powers: list[int]

    @classmethod
    def of(cls, answer: dict[str, Any]) -> Served:
        lists = ([b64decode(each) for each in answer[name]] for name in ("sorted_sigs", "signers", "powers"))
        sigs, signers, powers = lists
        return cls(
            b64decode(answer["wd_onchain"]), sigs, signers, [int.from_bytes(each, "big") for each in powers]
        )

    def sent_to(self, contract: Contract, **changes: Any) -> str:
        """The digest in hex, or the error."""
        arguments = {name: getattr(self, name) for name in ("request", "sigs", "signers", "powers")}
        try:
            return "0x" + contract.pay(**(arguments | changes)).hex()
        except Reverted as reverted:
            return str(reverted)


@pytest.fixture(params=KINDS)
def story(request: pytest.FixtureRequest) -> Story:
    return Story(request.param)


@pytest.fixture
def served(ask: Asker, story: Story) -> Served:
    ask.take(rotation(story.chain, POWERS), story.sent(), story.prepared())
    ask.take(*(story.signed(PEOPLE[n]) for n in SIGNERS))
    return Served.of(ask.status(story))


def test_the_call_that_is_served_pays(ask: Asker, story: Story, served: Served) -> None:
    evidence, contract = ask.evidence(story), contract_of(story)
    assert contract.send(bytes.fromhex(evidence["call"]["data"][2:])).hex() == evidence["digest"][2:]
    assert served.sent_to(contract) == evidence["digest"]
    kept = contract.vm.state.get_storage(contract.address, 0)
    assert evidence["validator_set_hash"] == f"0x{kept:064x}"


@pytest.mark.one_database
def test_anything_else_does_not(story: Story, served: Served) -> None:
    contract = contract_of(story)
    sigs = served.sigs
    refused = {
        "a signature short": {"sigs": sigs[1:]},
        "none": {"sigs": []},
        "unsorted": {"sigs": sigs[::-1]},
        "one twice": {"sigs": [sigs[0], sigs[0], *sigs[1:]]},
        "malleable": {"sigs": [*sigs[:2], twin(sigs[2])]},
        "cut": {"sigs": [sigs[0][:64], *sigs[1:]]},
        "v of 0": {"sigs": [sigs[0][:64] + bytes([sigs[0][64] - 27]), *sigs[1:]]},
        "other powers": {"powers": [served.powers[0] + 1, *served.powers[1:]]},
        "others who sign": {"signers": served.signers[1:], "powers": served.powers[1:]},
        "another order": {"signers": served.signers[::-1], "powers": served.powers[::-1]},
        "one list too long": {"signers": [*served.signers, b"\0" * 20]},
    }
    errors = {name: served.sent_to(contract, **changes) for name, changes in refused.items()}
    assert errors == {
        "a signature short": "NoQuorum",
        "none": "NoQuorum",
        "unsorted": "NotAscending",
        "one twice": "NotAscending",
        "malleable": "BadSignature",
        "cut": "BadSignature",
        "v of 0": "BadSignature",
        "other powers": "WrongSet",
        "others who sign": "WrongSet",
        "another order": "WrongSet",
        "one list too long": "WrongSet",
    }


@pytest.mark.one_database
def test_no_flipped_bit_is_paid(story: Story, served: Served) -> None:
    contract = contract_of(story)
    flips: list[dict[str, Any]] = [
        {"request": flip(served.request, bit)} for bit in range(0, len(served.request) * 8, 11)
    ]
    flips += [
        {"sigs": [*served.sigs[:place], flip(sig, bit), *served.sigs[place + 1 :]]}
        for place, sig in enumerate(served.sigs)
        for bit in range(place, 65 * 8, 17)
    ]
    assert all(not served.sent_to(contract, **changes).startswith("0x") for changes in flips)


@pytest.mark.one_database
def test_it_is_bound_to_chain_contract_and_kind(story: Story, served: Served) -> None:
    assert served.sent_to(contract_of(story)).startswith("0x")
    elsewhere = [{"chain_id": 3 - story.chain}, {"address": b"\x77" * 20}]
    elsewhere += [{"kind": kind.value} for kind in KINDS if kind is not story.kind]
    for place in elsewhere:
        assert not served.sent_to(contract_of(story, **place)).startswith("0x"), place


def test_one_by_one_and_through_a_rotation(ask: Asker, story: Story) -> None:
    """Before the quorum, the EVM refuses whatever is known; from the quorum on, it pays."""
    contract, powers = contract_of(story), POWERS
    ask.take(rotation(story.chain, powers), story.sent(), story.prepared())
    after = {PEOPLE[1]: 7, PEOPLE[2]: 7, PEOPLE[20]: 10, PEOPLE[21]: 10, PEOPLE[22]: 10}
    paid = []
    for key in (*PEOPLE[:7], None, *PEOPLE[20:23]):
        if key is None:
            ask.take(rotation(story.chain, after, at=-20))
            powers = after
            contract.keep(by_address(after))
        else:
            ask.take(story.signed(key))
        answer, evidence = ask.status(story), ask.evidence(story)
        known = Served(
            b64decode(evidence["wd_onchain"]),
            [bytes.fromhex(row["signature"][2:]) for row in evidence["signers"] if row["signed"]],
            [bytes.fromhex(row["address"][2:]) for row in evidence["signers"]],
            [int(row["power"]) for row in evidence["signers"]],
        )
        outcome = known.sent_to(contract)
        assert outcome == (evidence["digest"] if answer["status"] == 8 else "NoQuorum")
        paid.append(answer["status"] == 8)
    assert paid == [False, False, False, False, True, True, True, False, False, True, True]


@pytest.mark.parametrize(
    ("powers", "enough"), [((3, 3, 3), 3), ((3, 4, 3), 2), ((1, 1, 1), 3), ((1, 0, 0), 1)]
)
def test_two_thirds_are_not_enough(ask: Asker, powers: tuple[int, ...], enough: int) -> None:
    story, members = Story(SendKind.POOL), dict(zip(PEOPLE, powers, strict=False))
    contract = contract_of(story, members)
    ask.take(rotation(story.chain, members), story.sent(), story.prepared())
    for number, key in enumerate(members, start=1):
        ask.take(story.signed(key))
        served = ask.status(story)["status"] == 8
        sigs = [
            bytes.fromhex(row["signature"][2:]) for row in ask.evidence(story)["signers"] if row["signed"]
        ]
        ordered = sorted(by_address(members).items())
        known = Served(story.request(), sigs, [who for who, _ in ordered], [power for _, power in ordered])
        assert served is (number >= enough) is known.sent_to(contract).startswith("0x")


def test_the_recorded_evidence_pays() -> None:
    recorded = vector("withdraw_evidence_chain97.json")
    served = Served.of(recorded)
    powers = dict(zip(served.signers, served.powers, strict=True))
    address = bytes.fromhex(recorded["bridge_contract"][2:])
    contract = Contract(SendKind.POOL.value, recorded["chain_id"], address, powers)
    assert served.sent_to(contract).startswith("0x")
    assert served.sent_to(contract, sigs=served.sigs[:2]) == "NoQuorum"
