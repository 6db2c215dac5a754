import json
from base64 import b64decode, b64encode
from typing import Any

import pytest

from app.domain.amounts import MAX_UINT256
from app.domain.codes import SendKind
from app.domain.crypto import address_of, parse_evm_address
from app.domain.refund.explanation import RefundExplanation
from app.domain.refund.saved_answer import verify_saved_answer
from tests.domain.refund.contract_mirror import execute, set_hash
from tests.domain.refund.evidence_kit import (
    KINDS,
    context,
    every_flip,
    key,
    members,
    sign,
    twin,
    vector,
    wd_for,
)
from tests.everyday import some

RECORDED = vector("withdraw_evidence_chain97.json")
CONTRACT = parse_evm_address(RECORDED["bridge_contract"]) or b""
PARTS = ("wd_onchain", "sorted_sigs", "signers", "powers")
ANSWER = {name: RECORDED[name] for name in PARTS}
KEYS = [key(name) for name in range(5)]


def text(data: bytes) -> str:
    return b64encode(data).decode()


def raw(name: str) -> list[bytes]:
    return [b64decode(entry) for entry in RECORDED[name]]


KEPT_HASH = set_hash(raw("signers"), [int.from_bytes(power, "big") for power in raw("powers")])


def verified(answer: dict[str, Any], **how: Any) -> RefundExplanation:
    shown = verify_saved_answer(answer, how.pop("chain_id", 97), how.pop("contract", CONTRACT), **how)
    json.dumps(shown.as_dict())
    assert shown.valid is shown.proven is (not shown.missing)
    assert bool(shown.call and shown.call.arguments) is shown.valid
    return shown


def changed(name: str, place: int, entry: bytes, base: dict[str, Any] = ANSWER) -> dict[str, Any]:
    entries = list(base[name])
    entries[place] = text(entry)
    return {**base, name: entries}


def test_the_recorded_evidence_verifies():
    for answer in (RECORDED, ANSWER, {**ANSWER, "err": None, "status": 8}):
        shown = verified(answer)
        assert shown.valid, shown.missing
        assert shown.kind == "pool"
        assert shown.power_signed == RECORDED["signed_power"]
        assert shown.quorum == RECORDED["quorum"]
        assert [row.address for row in shown.signers] == RECORDED["signer_addresses"]
        assert all(row.signed for row in shown.signers)
        assert shown.validator_set_hash == "0x" + KEPT_HASH.hex()
        assert shown.transfer_id is None
        assert any("liquidity withdrawal" in note for note in shown.notes)
    assert verified(ANSWER, kind=SendKind.POOL, set_hash=KEPT_HASH).valid


def test_the_contract_takes_the_recorded_evidence_too():
    fields = execute(
        "pool", 97, CONTRACT, KEPT_HASH, b64decode(RECORDED["wd_onchain"]),
        raw("sorted_sigs"), raw("signers"), raw("powers"),
    )  # fmt: skip
    assert fields[5] == 899640000


@pytest.mark.parametrize("stated", [ANSWER, RECORDED], ids=["bare", "with what the file states"])
def test_any_flipped_bit_of_request_signatures_or_signers_is_noticed(stated):
    for wd_onchain in some(every_flip(b64decode(RECORDED["wd_onchain"])), 7):
        assert not verified({**stated, "wd_onchain": text(wd_onchain)}).valid
    for name in ("sorted_sigs", "signers"):
        for place, entry in enumerate(raw(name)):
            for other in some(every_flip(entry), 7):
                assert not verified(changed(name, place, other, stated)).valid


def test_any_flipped_bit_of_the_powers_is_noticed_against_what_the_contract_keeps_or_the_file_states():
    for place, power in enumerate(raw("powers")):
        for other in every_flip(power):
            assert not verified(changed("powers", place, other), set_hash=KEPT_HASH).valid
            assert not verified(changed("powers", place, other, RECORDED)).valid


def test_any_flipped_bit_of_chain_and_contract_is_noticed():
    for bit in range(64):
        assert not verified(ANSWER, chain_id=97 ^ (1 << bit)).valid
    for contract in every_flip(CONTRACT):
        assert not verified(ANSWER, contract=contract).valid


@pytest.mark.parametrize(
    ("left_out", "valid"),
    [((0,), True), ((3,), True), ((0, 1), False), ((0, 3), False), ((0, 1, 2, 3), False)],
)
def test_under_the_quorum_it_is_invalid(left_out, valid):
    sigs = [sig for place, sig in enumerate(RECORDED["sorted_sigs"]) if place not in left_out]
    shown = verified({**ANSWER, "sorted_sigs": sigs})
    assert shown.valid is valid
    assert len(shown.not_signed) == len(left_out)
    if not valid:
        assert "is below the quorum of 357684457599804701992552267" in shown.missing[-1]


def answer_for(kind: SendKind, numbers: tuple[int, ...] = (0, 1, 2, 3)) -> tuple[Any, Any, dict[str, Any]]:
    """A status answer as a gateway serves it, signed by some of five validators of power 10 each."""
    ctx = context(kind)
    wd_onchain = wd_for(ctx)
    validators = members(dict.fromkeys(KEYS, 10))
    who = sorted((KEYS[number] for number in numbers), key=address_of)
    answer = {
        "err": None,
        "status": 8,
        "wd_onchain": text(wd_onchain),
        "sorted_sigs": [text(sign(ctx, wd_onchain, each)) for each in who],
        "signers": [text(each) for each in validators.signers],
        "powers": [text(each) for each in validators.powers],
    }
    return ctx, validators, answer


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("told", [True, False])
def test_a_refund_of_each_kind_verifies_and_tells_its_kind(kind, told):
    ctx, validators, answer = answer_for(kind)
    how = {"chain_id": 137, "contract": ctx.contract, "kind": kind if told else None}
    shown = verified(answer, **how, transfer_id=ctx.transfer_id, set_hash=validators.contract_hash)
    assert shown.valid, shown.missing
    assert shown.kind == kind.value
    assert shown.transfer_id == "0x" + ctx.transfer_id.hex()
    assert shown.notes == ()
    assert verified(answer, **how).transfer_id == shown.transfer_id
    assert not verified(answer, **how, transfer_id=bytes(32)).valid
    assert not verified(answer, **how, set_hash=bytes(32)).valid
    for other in KINDS:
        if other is not kind:
            assert not verified(answer, chain_id=137, contract=ctx.contract, kind=other).valid


@pytest.mark.parametrize("kind", KINDS)
def test_a_request_for_another_chain_is_invalid_though_signed(kind):
    ctx = context(kind)
    named = "chain_id" if kind is SendKind.POOL else "ref_chain_id"
    wd_onchain = wd_for(ctx, **{named: 56})
    _, _, answer = answer_for(kind)
    who = sorted(KEYS, key=address_of)
    answer |= {
        "wd_onchain": text(wd_onchain),
        "sorted_sigs": [text(sign(ctx, wd_onchain, each)) for each in who],
    }
    shown = verified(answer, chain_id=137, contract=ctx.contract)
    assert shown.missing == ("the refund request names chain 56, not 137",)


def swap(name: str) -> Any:
    return lambda answer: {**answer, name: [answer[name][1], answer[name][0], *answer[name][2:]]}


def put(name: str, value: Any) -> Any:
    return lambda answer: {**answer, name: value}


def entry(name: str, place: int, value: Any) -> Any:
    return lambda answer: {**answer, name: [*answer[name][:place], value, *answer[name][place + 1 :]]}


FIRST_SIG = raw("sorted_sigs")[0]
SPOILED = {
    "an error": (put("err", {"code": 500, "msg": "no"}), "is an error"),
    "no request": (put("wd_onchain", None), "no refund request"),
    "an empty request": (put("wd_onchain", ""), "no refund request"),
    "a request that is no text": (put("wd_onchain", 5), "wd_onchain is not a string"),
    "url-safe base64": (put("wd_onchain", "-_-_"), "wd_onchain is not base64"),
    "unpadded base64": (put("wd_onchain", "AAA"), "wd_onchain is not base64"),
    "stray bits in base64": (put("wd_onchain", "AAB="), "wd_onchain is not standard base64"),
    "a line break in base64": (put("wd_onchain", "AAAA\n"), "wd_onchain is not base64"),
    "letters beyond ascii": (put("wd_onchain", "ÄAAA"), "wd_onchain is not base64"),
    "no request of any kind": (put("wd_onchain", "/w=="), "cannot be read as any kind"),
    "no list of signatures": (put("sorted_sigs", None), "sorted_sigs is not a list"),
    "a text for a list": (put("signers", "AAAA"), "signers is not a list"),
    "a list too long": (put("sorted_sigs", ["AAAA"] * 1001), "more than 1000"),
    "no signatures": (put("sorted_sigs", []), "below the quorum"),
    "an entry that is no text": (entry("powers", 2, None), "powers[2] is not a string"),
    "one power too few": (lambda a: {**a, "powers": a["powers"][1:]}, "4 signers, but 3 powers"),
    "a power with a leading zero": (entry("powers", 0, text(b"\0" + raw("powers")[0])), "minimal big-endian"),
    "a power of 33 bytes": (entry("powers", 0, text(b"\1" * 33)), "minimal big-endian"),
    "powers beyond what a contract adds": (
        entry("powers", 0, text(MAX_UINT256.to_bytes(32, "big"))), "powers that add up to 2^255 or more"),
    "signers out of order": (swap("signers"), "ascending order of address"),
    "a signer twice": (lambda a: {**a, "signers": [a["signers"][0]] * 4}, "in the set twice"),
    "a short signer": (entry("signers", 0, text(bytes(19))), "20 bytes, not 19"),
    "the zero address": (entry("signers", 0, text(bytes(20))), "zero address"),
    "signatures out of order": (swap("sorted_sigs"), "strictly ascending"),
    "a signature twice": (
        lambda a: {**a, "sorted_sigs": [a["sorted_sigs"][0], *a["sorted_sigs"]]}, "strictly ascending"),
    "a malleable form": (entry("sorted_sigs", 0, text(twin(FIRST_SIG))), "malleable form"),
    "a signature of another v": (entry("sorted_sigs", 0, text(FIRST_SIG[:64] + b"\1")), "v is 1"),
    "a cut signature": (entry("sorted_sigs", 0, text(FIRST_SIG[:64])), "65 bytes, not 64"),
    "another signed power": (put("signed_power", "1"), "the signed_power in the file differs"),
    "another quorum": (put("quorum", "1"), "the quorum in the file differs"),
    "another chain": (put("chain_id", 1), "the chain_id in the file differs"),
    "another contract": (put("bridge_contract", "0x" + "11" * 20), "the bridge_contract in the file differs"),
    "other signers": (put("signer_addresses", ["0x" + "11" * 20]), "signer_addresses in the file differs"),
    "signers of another type": (put("signer_addresses", 7), "the signer_addresses in the file differs"),
}  # fmt: skip


@pytest.mark.parametrize("name", SPOILED)
def test_a_spoiled_answer_is_invalid_and_says_why(name):
    spoil, reason = SPOILED[name]
    shown = verified(spoil(ANSWER))
    assert not shown.valid
    assert any(reason in words for words in shown.missing), shown.missing


def test_an_empty_answer_is_no_evidence():
    assert verified({}).missing == ("the answer has no refund request (wd_onchain)",)


def test_a_pegged_request_that_nobody_signed_keeps_its_kind_open():
    ctx, _, answer = answer_for(SendKind.BURN)
    shown = verified({**answer, "sorted_sigs": []}, chain_id=137, contract=ctx.contract)
    assert (shown.kind, shown.digest, shown.domain, shown.call) == (None, None, None, None)


def test_a_stranger_among_the_signatures_is_noticed_though_the_quorum_stands():
    ctx, _, answer = answer_for(SendKind.POOL)
    stranger = sign(ctx, b64decode(answer["wd_onchain"]), key("stranger"))
    for place in range(5):
        sigs = list(answer["sorted_sigs"])
        sigs.insert(place, text(stranger))
        shown = verified({**answer, "sorted_sigs": sigs}, chain_id=137, contract=ctx.contract)
        assert any("which is not a signer" in words for words in shown.missing)
