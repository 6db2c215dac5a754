"""Any set of 1 to 30 validators, any order of arrival, rotations in between."""

from dataclasses import dataclass
from random import Random

import pytest
from hypothesis import event, example, given
from hypothesis import strategies as st

from app.network.rules.quorum import ValidatorSet
from app.transfers.rules.refunds.claimable import (
    RequestValidation,
    signature_is_provably_false,
    validate_refund,
)
from app.transfers.rules.refunds.request_checks import RefundContext
from app.values.codes import SendKind
from app.values.crypto import address_of
from tests.amounts import costly
from tests.refunds.rules.contract_mirror import Revert
from tests.refunds.rules.evidence_kit import (
    KINDS,
    context,
    flipped,
    key,
    members,
    pay,
    sign,
    some,
    twin,
    wd_for,
)

PEOPLE = [key(f"validator {number}") for number in range(40)]
POWER = st.one_of(st.integers(1, 5), st.integers(0, 2**88))
SETS = st.dictionaries(st.sampled_from(PEOPLE[:36]), POWER, min_size=1, max_size=30)
KIND = st.sampled_from(KINDS)


@dataclass(frozen=True)
class Arrival:
    """One thing that reaches the gateway: a signature by someone, perhaps spoiled, or a rotation."""

    signer: int = 0
    spoiled: str = ""
    rotation: dict[bytes, int] | None = None


def story(powers: dict[bytes, int], random: Random) -> list[Arrival]:
    """Most members sign, in any order; others, spoiled signatures and rotations come in between."""
    members_of = [PEOPLE.index(who) for who in powers]
    arrivals = [Arrival(signer=number) for number in members_of if random.random() < 0.9]
    arrivals += [
        Arrival(signer=random.choice([*members_of, random.randrange(40)]), spoiled=how)
        for how in random.choices(["", "twin", "bit", "cut", "other"], k=random.randrange(12))
    ]
    random.shuffle(arrivals)
    current = powers
    for place in sorted(
        random.sample(range(len(arrivals) + 1), random.choice([0, 0, 1, min(2, len(arrivals))]))
    ):
        current = rotated(current, random)
        arrivals.insert(place, Arrival(rotation=current))
    return arrivals


def rotated(powers: dict[bytes, int], random: Random) -> dict[bytes, int]:
    """Some leave, some come, some have other powers."""
    stay = {who: power for who, power in powers.items() if random.random() < 0.8}
    stay.update({who: random.randint(1, 5) for who in random.sample(PEOPLE[:36], random.randrange(4))})
    stay = dict(list(stay.items())[:30])
    return stay or {PEOPLE[0]: 1}


def contract_takes(ctx: RefundContext, validation: RequestValidation, validators: ValidatorSet) -> bool:
    try:
        return bool(pay(ctx, validation, validators))
    except Revert:
        return False


def spoil(signature: bytes, how: str, over_other: bytes) -> bytes:
    return {
        "": signature,
        "twin": twin(signature),
        "bit": flipped(signature, 300),
        "cut": signature[:-1],
        "other": over_other,
    }[how]


@costly
@given(KIND, SETS, st.integers(0, 2**32))
def test_served_exactly_when_members_have_quorum(kind, first, seed):
    """The model knows people and powers only; no digest, no signature."""
    ctx = context(kind)
    wd_onchain = wd_for(ctx)
    other = wd_for(ctx, amount=1)
    powers, version = first, 1
    accepted: list[bytes] = []
    signers: set[bytes] = set()
    for arrival in story(first, Random(seed)):
        if arrival.rotation is not None:
            powers, version = arrival.rotation, version + 1
        else:
            who = PEOPLE[arrival.signer]
            signature = spoil(sign(ctx, wd_onchain, who), arrival.spoiled, sign(ctx, other, who))
            false = signature_is_provably_false(ctx, [wd_onchain], signature, members(powers, version))
            right = arrival.spoiled == "" and who in powers
            assert (false is None) == right
            if right:
                accepted.append(signature)
                signers.add(who)
        validators = members(powers, version)
        verdict = validate_refund(ctx, [wd_onchain], accepted, validators)
        power = sum(powers[who] for who in signers & powers.keys())
        assert verdict.requests[0].power_signed == power
        assert (verdict.served is not None) == (power * 3 > sum(powers.values()) * 2)
        assert {who for who, _ in verdict.requests[0].signed} == {
            address_of(w) for w in signers & powers.keys()
        }
    event(f"ends served: {verdict.served is not None}" if accepted else "without a signature")
    final = members(powers, version)
    final_validation = validate_refund(ctx, [wd_onchain], accepted, final)
    assert contract_takes(ctx, final_validation.requests[0], final) == (final_validation.served is not None)


@costly
@given(KIND, SETS, st.data())
def test_order_and_repetition_change_nothing(kind, powers, data):
    ctx = context(kind)
    requests = [wd_for(ctx, amount=amount) for amount in (5_000_000, 4_000_000, 3_000_000)]
    requests.append(wd_for(ctx, receiver=some("thief")))
    validators = members(powers)
    signatures = [sign(ctx, request, who) for request in requests[:2] for who in PEOPLE[::3]]
    signatures += [twin(signatures[0]), b"", signatures[1][:64]]
    straight = validate_refund(ctx, requests, signatures, validators)
    shuffled = data.draw(st.permutations(signatures)) + data.draw(st.lists(st.sampled_from(signatures)))
    turned = data.draw(st.permutations(requests)) + data.draw(st.lists(st.sampled_from(requests)))
    assert validate_refund(ctx, turned, shuffled, validators) == straight


@pytest.mark.parametrize("size", range(1, 31))
def test_fresh_keys_sign_until_contract_accepts(size):
    random, kind = Random(size), KINDS[size % 3]
    people = random.sample(PEOPLE, size)
    powers = {who: random.randint(1, 100) for who in people}
    validators = members(powers)
    ctx = context(kind)
    wd_onchain = wd_for(ctx)
    signatures: list[bytes] = []
    for who in people:
        before = validate_refund(ctx, [wd_onchain], signatures, validators)
        signatures.append(sign(ctx, wd_onchain, who))
        after = validate_refund(ctx, [wd_onchain], signatures, validators)
        if after.served and not before.served:
            assert not contract_takes(ctx, before.requests[0], validators)
            assert contract_takes(ctx, after.served, validators)
            assert after.requests[0].power_signed >= validators.quorum > before.requests[0].power_signed
            break
    else:
        pytest.fail("all have signed and nothing is served")


@costly
@given(SETS, st.lists(st.tuples(st.integers(0, 35), st.booleans()), max_size=60))
@example({PEOPLE[0]: 1}, [(0, False), (0, True)])
def test_at_most_one_request_is_served(powers, votes):
    """And none while another has a quorum, too."""
    ctx = context(SendKind.POOL)
    requests = [wd_for(ctx), wd_for(ctx, seqnum=78)]
    validators = members(powers)
    signatures = [sign(ctx, requests[second], PEOPLE[who]) for who, second in votes]
    verdict = validate_refund(ctx, requests, signatures, validators)
    reached = [
        sum(powers.get(PEOPLE[who], 0) for who in {w for w, second in votes if second is choice})
        >= validators.quorum
        for choice in (False, True)
    ]
    served = verdict.served.wd_onchain if verdict.served else None
    assert served == {(True, False): requests[0], (False, True): requests[1]}.get((reached[0], reached[1]))
