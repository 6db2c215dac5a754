"""What is shown of a refund: its evidence and call, or what is missing."""

import json
from base64 import b64encode

import pytest
from eth_abi.abi import decode
from eth_utils.address import to_normalized_address
from eth_utils.crypto import keccak
from msgspec.structs import fields, replace

from app.refunds.rules.explanation import RefundExplanation, explain_refund
from app.transfers.rules.refunds.claimable import validate_refund
from app.transfers.rules.refunds.request_checks import RefundContext, domain_separator, signing_digest
from app.values.codes import SendKind, TransferHistoryStatus
from app.values.crypto import address_of, checksum_address
from app.values.identifiers import TransferId
from tests.refunds.rules.evidence_kit import KINDS, POLYGON, context, key, members, sign, some, wd_for

KEYS = [key(name) for name in range(4)]
SET = members(dict(zip(KEYS, (10, 20, 30, 40), strict=True)), version=7)
S = TransferHistoryStatus


def explained(ctx: RefundContext, requests, signatures, validators=SET, status=None) -> RefundExplanation:
    explanation = explain_refund(
        validate_refund(ctx, requests, signatures, validators), ctx, validators, status
    )
    json.dumps(explanation.as_dict())
    return explanation


def signed_by(ctx: RefundContext, wd_onchain: bytes, *numbers: int) -> list[bytes]:
    return [sign(ctx, wd_onchain, KEYS[number]) for number in numbers]


@pytest.mark.parametrize(
    ("kind", "function", "first", "text", "named"),
    [
        (SendKind.POOL, "withdraw", "wdmsg", "WithdrawMsg", "chainid seqnum receiver token amount refid"),
        (SendKind.DEPOSIT, "withdraw", "request", "Withdraw",
         "token receiver amount burn_account ref_chain_id ref_id"),
        (SendKind.BURN, "mint", "request", "Mint", "token account amount depositor ref_chain_id ref_id"),
    ],
)  # fmt: skip
def test_explanation_names_call_of_proven_refund(kind, function, first, text, named):
    ctx = context(kind)
    wd_onchain = wd_for(ctx)
    signatures = signed_by(ctx, wd_onchain, 3, 1, 2)
    shown = explained(ctx, [wd_onchain], signatures, status=S.TRANSFER_REFUND_TO_BE_CONFIRMED)
    assert (shown.valid, shown.proven, shown.missing, shown.contradictions) == (True, True, (), ())
    assert shown.contract == checksum_address(ctx.contract or b"")
    assert (shown.kind, shown.chain_id) == (kind.value, 137)
    assert shown.transfer_id == "0x" + ctx.transfer_id.hex()
    assert shown.digest == "0x" + signing_digest(kind, POLYGON, ctx.contract or b"", wd_onchain).hex()
    assert shown.domain and shown.domain.text == text
    assert shown.domain.separator == "0x" + domain_separator(kind, POLYGON, ctx.contract or b"").hex()
    assert shown.call and shown.call.function == function
    assert shown.call.signature == f"{function}(bytes,bytes[],address[],uint256[])"
    assert [(each.name, each.type) for each in shown.call.arguments] == [
        (first, "bytes"), ("sigs", "bytes[]"), ("signers", "address[]"), ("powers", "uint256[]"),
    ]  # fmt: skip
    message, sigs, signers, powers = (each.value for each in shown.call.arguments)
    assert message == "0x" + wd_onchain.hex()
    # Of the three who signed, two have the quorum's power.
    by_signer = {address_of(KEYS[n]): sign(ctx, wd_onchain, KEYS[n]) for n in (2, 3)}
    assert sigs == tuple("0x" + by_signer[who].hex() for who in sorted(by_signer))
    assert signers == tuple(checksum_address(who) for who, _ in SET.members)
    assert powers == tuple(str(power) for _, power in SET.members)
    data = bytes.fromhex((shown.call.data or "0x")[2:])
    assert data[:4] == keccak(text=shown.call.signature)[:4]
    assert decode([each.type for each in shown.call.arguments], data[4:]) == (
        wd_onchain,
        tuple(by_signer[who] for who in sorted(by_signer)),
        tuple(to_normalized_address(who) for who, _ in SET.members),
        tuple(power for _, power in SET.members),
    )
    assert shown.wd_onchain == b64encode(wd_onchain).decode()
    assert shown.request and list(shown.request) == named.split()
    assert shown.request["amount"] == "5000000"
    assert shown.request["token"] == checksum_address(some("token"))
    assert (shown.withdraw_id is not None) is (kind is SendKind.POOL)
    assert (shown.power_signed, shown.power_total, shown.quorum) == ("90", "100", "67")
    assert (shown.validator_set_version, shown.validator_set_hash) == (7, "0x" + SET.contract_hash.hex())
    assert shown.not_signed == (checksum_address(address_of(KEYS[0])),)
    assert {row.address: row.signed for row in shown.signers} == {
        checksum_address(address_of(who)): number > 0 for number, who in enumerate(KEYS)
    }
    assert all((row.signature is not None) == row.signed for row in shown.signers)
    assert sum(int(row.power) for row in shown.signers if row.signed) == 90


@pytest.mark.parametrize("kind", KINDS)
def test_missing_power_and_signers_are_named(kind):
    ctx = context(kind)
    wd_onchain = wd_for(ctx)
    shown = explained(ctx, [wd_onchain], signed_by(ctx, wd_onchain, 0, 1))
    assert (shown.valid, shown.proven) == (False, False)
    assert shown.call and (shown.call.arguments, shown.call.data) == ((), None)
    assert "signed power 30 of 100 is below the quorum of 67: 37 more needed" in shown.missing
    words = next(each for each in shown.missing if each.startswith("not signed yet: "))
    for number in (2, 3):
        assert f"{checksum_address(address_of(KEYS[number]))} (power {(number + 1) * 10})" in words
    assert checksum_address(address_of(KEYS[0])) not in words
    assert len(shown.not_signed) == 2


@pytest.mark.parametrize("status", [each for each in S if each is not S.TRANSFER_REFUND_TO_BE_CONFIRMED])
def test_proven_but_unclaimable_is_not_valid(status):
    ctx = context(SendKind.POOL)
    wd_onchain = wd_for(ctx)
    shown = explained(ctx, [wd_onchain], signed_by(ctx, wd_onchain, 1, 2, 3), status=status)
    assert (shown.valid, shown.proven, shown.status) == (False, True, status.value)
    assert shown.call and (shown.call.arguments, shown.call.data) == ((), None)
    assert "nothing to claim" in shown.missing[-1]
    assert sum(row.signed for row in shown.signers) == 3


def test_unknown_refund_shows_what_is_missing():
    shown = explained(RefundContext(transfer_id=TransferId(bytes(32))), [], [], None)
    assert shown.missing == ("no refund request is known yet: the validator network is preparing it",)
    empty = {"valid", "proven", "missing", "transfer_id", "power_signed"}
    for field in fields(shown):
        if field.name not in empty:
            assert getattr(shown, field.name) in (None, ()), field.name


def test_unreadable_request_is_shown_undecoded():
    shown = explained(context(SendKind.POOL), [b"\xff"], [])
    assert shown.request is None
    assert shown.wd_onchain == "/w=="
    assert "cannot be read" in shown.contradictions[0]


def test_explanation_lists_other_refund_requests():
    ctx = context(SendKind.POOL)
    first, second, wrong = wd_for(ctx), wd_for(ctx, seqnum=78), wd_for(ctx, token=some("x"))
    signatures = [*signed_by(ctx, first, 1, 2, 3), *signed_by(ctx, second, 0)]
    shown = explained(ctx, [second, wrong, first], signatures)
    assert shown.valid
    assert shown.wd_onchain == b64encode(first).decode()
    others = {each.wd_onchain: each for each in shown.other_requests}
    assert set(others) == {b64encode(second).decode(), b64encode(wrong).decode()}
    assert others[b64encode(second).decode()].power_signed == "10"
    assert others[b64encode(wrong).decode()].contradictions


def test_unknown_facts_are_named():
    ctx = replace(context(SendKind.DEPOSIT), contract=None, token=None)
    wd_onchain = wd_for(context(SendKind.DEPOSIT))
    shown = explained(ctx, [wd_onchain], [], None)
    assert shown.missing == (
        "not known yet: the address of the source chain's token vault",
        "not known yet: the token's address on the source chain",
        "not known yet: the validator set of the source chain",
    )
    assert shown.digest is None
    assert shown.domain is None
    assert shown.request  # the kind is known, so it can be read
