"""When a refund is proven, and which signatures are refused."""

from itertools import permutations
from typing import Any

import pytest
from msgspec.structs import replace

from app.transfers.rules.refunds.claimable import signature_is_provably_false, validate_refund
from app.transfers.rules.refunds.request_checks import (
    RefundContext,
    contradictions,
    domain_separator,
    signing_digest,
)
from app.values.codes import SendKind
from app.values.crypto import address_of
from app.values.identifiers import ChainId, TransferId
from tests.refunds.rules.contract_mirror import Revert
from tests.refunds.rules.evidence_kit import (
    KINDS,
    POLYGON,
    context,
    every_flip,
    key,
    members,
    pay,
    sign,
    sign_with_nonce,
    some,
    transfer_id,
    twin,
    wd_for,
)

KEYS = [key(name) for name in range(4)]
SET = members(dict(zip(KEYS, (10, 20, 30, 40), strict=True)))  # quorum 67
ETHEREUM = ChainId(1)
NO_TRANSFER = TransferId(bytes(32))
UNKNOWN_PARTS = ("kind", "src_chain_id", "contract", "token", "receiver", "amount")


@pytest.mark.parametrize("kind", KINDS)
def test_refund_is_served_exactly_at_quorum(kind):
    ctx = context(kind)
    wd_onchain = wd_for(ctx)
    signatures = {who: sign(ctx, wd_onchain, who) for who in KEYS}
    for order in permutations(KEYS):
        for count in range(len(order) + 1):
            signed = order[:count]
            verdict = validate_refund(ctx, [wd_onchain], [signatures[who] for who in signed], SET)
            power = sum(SET.power_of(address_of(who)) or 0 for who in signed)
            assert verdict.requests[0].power_signed == power
            assert (verdict.served is not None) == (power >= 67)
            assert bool(verdict.missing) == (power < 67)
            assert set(verdict.not_signed) == {address_of(who) for who in KEYS if who not in signed}
            if verdict.served:
                fields = pay(ctx, verdict.served, SET)
                assert ctx.transfer_id in fields.values()
            else:
                with pytest.raises(Revert, match="quorum not reached"):
                    pay(ctx, verdict.requests[0], SET)


@pytest.mark.parametrize("kind", KINDS)
def test_a_flipped_signature_is_refused(kind):
    ctx = context(kind)
    wd_onchain = wd_for(ctx)
    for signature in every_flip(sign(ctx, wd_onchain, KEYS[3])):
        assert signature_is_provably_false(ctx, [wd_onchain], signature, SET)
        assert validate_refund(ctx, [wd_onchain], [signature], SET).requests[0].power_signed == 0


@pytest.mark.parametrize("kind", KINDS)
def test_flipped_request_bit_serves_nothing(kind):
    ctx = context(kind)
    wd_onchain = wd_for(ctx)
    signatures = [sign(ctx, wd_onchain, who) for who in KEYS]
    assert validate_refund(ctx, [wd_onchain], signatures, SET).served
    for other in every_flip(wd_onchain):
        verdict = validate_refund(ctx, [other], signatures, SET)
        assert verdict.served is None
        assert verdict.requests[0].power_signed == 0
        assert verdict.missing


@pytest.mark.parametrize("kind", KINDS)
def test_signature_binds_chain_contract_and_kind(kind):
    ctx = context(kind)
    wd_onchain = wd_for(ctx)
    others = [replace(ctx, contract=contract) for contract in every_flip(ctx.contract or b"")]
    others += [replace(ctx, src_chain_id=POLYGON ^ (1 << bit)) for bit in range(32)]
    others += [replace(ctx, kind=each) for each in KINDS if each is not kind]
    for other in others:
        signatures = [sign(other, wd_onchain, who) for who in KEYS]
        assert validate_refund(ctx, [wd_onchain], signatures, SET).requests[0].power_signed == 0


def test_digest_needs_real_address_and_chain():
    for contract in (b"", bytes(19), bytes(32)):
        with pytest.raises(ValueError, match="20 bytes"):
            domain_separator(SendKind.POOL, ETHEREUM, contract)
    for chain_id in (-1, 2**256):
        with pytest.raises(ValueError, match="chain id"):
            signing_digest(SendKind.POOL, ChainId(chain_id), bytes(20), b"")


CONTRADICTED = [
    ({"ref_id": transfer_id("another transfer")}, "refers to transfer"),
    ({"receiver": some("thief")}, "sent"),
    ({"token": some("another token")}, "pays token"),
    ({"amount": 5_000_001}, "only 5000000 was sent"),
    ({"amount": 2**256 - 1}, "only 5000000 was sent"),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("changes", "reason"), CONTRADICTED)
def test_contradicted_request_counts_for_nothing(kind, changes, reason):
    ctx = context(kind)
    wd_onchain = wd_for(ctx, **changes)
    (words,) = contradictions(wd_onchain, ctx)
    assert reason in words
    verdict = validate_refund(ctx, [wd_onchain], [sign(ctx, wd_onchain, who) for who in KEYS], SET)
    assert verdict.served is None
    assert not verdict.requested
    assert not verdict.requests[0].provable
    assert words in verdict.missing[0]


@pytest.mark.parametrize("kind", KINDS)
def test_request_for_other_chain_is_contradicted(kind):
    ctx = context(kind)
    name = "chain_id" if kind is SendKind.POOL else "ref_chain_id"
    (words,) = contradictions(wd_for(ctx, **{name: 56}), ctx)
    assert words == "it names chain 56, but the transfer was sent on chain 137"


def test_a_liquidity_withdrawal_is_no_refund():
    ctx = context(SendKind.POOL)
    for ref_id in (b"", bytes(31)):
        assert "not to 0x" in contradictions(wd_for(ctx, ref_id=ref_id), ctx)[0]


@pytest.mark.parametrize("kind", KINDS)
def test_only_what_is_known_contradicts(kind):
    ctx = context(kind)
    wrong = wd_for(
        ctx, receiver=some("thief"), token=some("another token"), amount=9_999_999, ref_id=ctx.transfer_id
    )
    bare = RefundContext(transfer_id=ctx.transfer_id)
    assert contradictions(wrong, bare) == ()
    assert len(contradictions(wrong, ctx)) == 3
    assert contradictions(wrong, replace(bare, amount=5)) == ("it pays 9999999, but only 5 was sent",)
    elsewhere = RefundContext(transfer_id=transfer_id("another transfer"))
    assert "refers to transfer" in contradictions(wrong, elsewhere)[0]


def test_unreadable_request_is_contradicted():
    bare = RefundContext(transfer_id=NO_TRANSFER)
    for unreadable in (b"\xff\xff", b""):
        assert contradictions(unreadable, bare) == ("it cannot be read as any kind of refund request",)


@pytest.mark.parametrize("part", UNKNOWN_PARTS)
def test_unknown_facts_neither_serve_nor_refuse(part):
    whole = context(SendKind.BURN)
    wd_onchain = wd_for(whole)
    signatures = [sign(whole, wd_onchain, who) for who in KEYS]
    ctx = replace(whole, **{part: None})
    assert len(ctx.unknown) == 1
    verdict = validate_refund(ctx, [wd_onchain], signatures, SET)
    assert verdict.served is None
    assert verdict.requested  # it counts for status 7
    assert verdict.missing == (f"not known yet: {ctx.unknown[0]}",)
    stranger = sign(whole, wd_onchain, key("stranger"))
    assert signature_is_provably_false(ctx, [wd_onchain], stranger, SET) is None
    assert signature_is_provably_false(ctx, [wd_onchain], twin(stranger), SET)
    assert validate_refund(whole, [wd_onchain], signatures, SET).served


def test_without_a_validator_set_signatures_wait():
    ctx = context(SendKind.POOL)
    wd_onchain = wd_for(ctx)
    signature = sign(ctx, wd_onchain, KEYS[0])
    verdict = validate_refund(ctx, [wd_onchain], [signature], None)
    assert verdict.served is None
    assert verdict.missing == ("not known yet: the validator set of the source chain",)
    assert signature_is_provably_false(ctx, [wd_onchain], signature, None) is None
    assert signature_is_provably_false(ctx, [wd_onchain], signature[:64], None)


def test_signature_before_request_is_not_provably_false():
    ctx = context(SendKind.POOL)
    stranger = sign(ctx, wd_for(ctx), key("stranger"))
    assert signature_is_provably_false(ctx, [], stranger, SET) is None
    assert validate_refund(ctx, [], [stranger], SET).missing == (
        "no refund request is known yet: the validator network is preparing it",
    )


def test_signature_by_non_validator_is_refused():
    ctx = context(SendKind.POOL)
    first, second = wd_for(ctx), wd_for(ctx, seqnum=78)
    stranger = sign(ctx, first, key("stranger"))
    over_second = sign(ctx, second, KEYS[0])
    assert "must be made by a current validator of chain 137" in (
        signature_is_provably_false(ctx, [first], stranger, SET) or ""
    )
    assert signature_is_provably_false(ctx, [first], over_second, SET)
    assert signature_is_provably_false(ctx, [first, second], over_second, SET) is None


def test_signature_over_contradiction_is_retained():
    """It counts for nothing."""
    ctx = context(SendKind.POOL)
    right, wrong = wd_for(ctx), wd_for(ctx, receiver=some("thief"))
    over_wrong = sign(ctx, wrong, KEYS[3])
    assert signature_is_provably_false(ctx, [right, wrong], over_wrong, SET) is None
    # As long as only the contradicted one is known, the right one may still come.
    assert signature_is_provably_false(ctx, [wrong], sign(ctx, right, KEYS[3]), SET) is None
    assert all(
        each.power_signed == 0 for each in validate_refund(ctx, [right, wrong], [over_wrong], SET).requests
    )


def test_second_signature_adds_no_power():
    """The smallest of a signer counts."""
    ctx = context(SendKind.POOL)
    wd_onchain = wd_for(ctx)
    plain = sign(ctx, wd_onchain, KEYS[3])
    digest = signing_digest(SendKind.POOL, POLYGON, ctx.contract or b"", wd_onchain)
    second = sign_with_nonce(digest, KEYS[3], 12345)
    assert second != plain
    for order in ([plain, second], [second, plain], [plain] * 3 + [second] * 2):
        validation = validate_refund(ctx, [wd_onchain], order, SET).requests[0]
        assert validation.signed == ((address_of(KEYS[3]), min(plain, second)),)
        assert validation.power_signed == 40


def test_two_requests_at_quorum_serve_none():
    ctx = context(SendKind.POOL)
    first, second = wd_for(ctx), wd_for(ctx, seqnum=78)
    over_first = [sign(ctx, first, who) for who in KEYS]
    over_second = [sign(ctx, second, who) for who in KEYS]
    alone = validate_refund(ctx, [first, second], over_first, SET)
    assert alone.served is not None
    assert alone.served.wd_onchain == first
    assert len(alone.requests) == 2
    both = validate_refund(ctx, [first, second], over_first + over_second, SET)
    assert both.served is None
    assert both.requested
    assert "2 different requests are signed by a quorum" in both.missing[0]
    # A contradicted one next to it does not count as a second.
    wrong = wd_for(ctx, receiver=some("thief"))
    over_wrong = [sign(ctx, wrong, who) for who in KEYS]
    with_contradicted = validate_refund(ctx, [first, wrong], over_first + over_wrong, SET)
    assert with_contradicted.served is not None
    assert with_contradicted.served.wd_onchain == first


def test_another_chains_validators_are_refused():
    ctx = context(SendKind.POOL)
    elsewhere = members({KEYS[0]: 1}, chain_id=ETHEREUM)
    with pytest.raises(ValueError, match="validators of chain 1 do not sign refunds"):
        validate_refund(ctx, [], [], elsewhere)
    with pytest.raises(ValueError, match="validators of chain 1 do not sign refunds"):
        signature_is_provably_false(ctx, [], bytes(65), elsewhere)


def test_a_context_has_whole_ids_and_addresses():
    with pytest.raises(ValueError, match="32 bytes"):
        RefundContext(transfer_id=TransferId(b""))
    for name in ("contract", "token", "receiver"):
        short: dict[str, Any] = {name: b"short"}
        with pytest.raises(ValueError, match="20 bytes"):
            RefundContext(transfer_id=NO_TRANSFER, **short)
