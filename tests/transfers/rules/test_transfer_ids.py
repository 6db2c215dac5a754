"""Ids that contracts give to sends and withdrawals."""

from typing import Any

import pytest
from eth_abi.packed import encode_packed
from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

from app.transfers.rules.events.contract_ids import (
    burn_transfer_id,
    deposit_transfer_id,
    pool_transfer_id,
    pool_withdraw_id,
)
from app.values.crypto import parse_evm_address
from tests.refunds.rules.evidence_kit import some, vector

A, B, TOKEN, CONTRACT = some("a"), some("b"), some("token"), some("contract")
SEND: dict[str, Any] = {
    "sender": A,
    "receiver": B,
    "token": TOKEN,
    "amount": 10**18,
    "dst_chain_id": 56,
    "nonce": 2**63,
    "src_chain_id": 1,
}


def raw(address: str) -> bytes:
    parsed = parse_evm_address(address)
    assert parsed
    return parsed


def packed(types: str, *values: object) -> bytes:
    shown = [to_checksum_address(v) if isinstance(v, bytes) and len(v) == 20 else v for v in values]
    return keccak(encode_packed(types.split(), shown))


def test_the_recorded_send_has_its_recorded_id():
    send = vector("send_id.json")
    recorded = pool_transfer_id(
        sender=raw(send["sender"]),
        receiver=raw(send["receiver"]),
        token=raw(send["token"]),
        amount=int(send["amount"]),
        dst_chain_id=send["dst_chain_id"],
        nonce=send["nonce"],
        src_chain_id=send["src_chain_id"],
    )
    assert "0x" + recorded.hex() == send["transfer_id"]


def test_recorded_refund_matches_withdraw_id():
    refund = vector("refund_message_chain1.json")
    recorded = pool_withdraw_id(
        chain_id=refund["chain_id"],
        seqnum=refund["seqnum"],
        receiver=raw(refund["receiver"]),
        token=raw(refund["token"]),
        amount=int(refund["amount"]),
    )
    assert "0x" + recorded.hex() == refund["withdraw_id"]


def test_ids_are_packed_like_contracts():
    assert pool_transfer_id(**SEND) == packed(
        "address address address uint256 uint64 uint64 uint64", A, B, TOKEN, 10**18, 56, 2**63, 1
    )
    pegged = "address address uint256 uint64 address uint64 uint64 address"
    assert deposit_transfer_id(
        depositor=A,
        token=TOKEN,
        amount=7,
        mint_chain_id=56,
        mint_account=B,
        nonce=3,
        src_chain_id=1,
        vault=CONTRACT,
    ) == packed(pegged, A, TOKEN, 7, 56, B, 3, 1, CONTRACT)
    assert burn_transfer_id(
        account=A,
        token=TOKEN,
        amount=7,
        to_chain_id=0,
        to_account=B,
        nonce=3,
        src_chain_id=56,
        bridge=CONTRACT,
    ) == packed(pegged, A, TOKEN, 7, 0, B, 3, 56, CONTRACT)


@pytest.mark.parametrize(
    "wrong",
    [
        {"sender": bytes(19)},
        {"receiver": bytes(21)},
        {"token": b""},
        {"amount": -1},
        {"amount": 2**256},
        {"dst_chain_id": 2**64},
        {"nonce": -1},
        {"src_chain_id": 2**64},
    ],
)
def test_values_beyond_their_type_have_no_id(wrong):
    with pytest.raises(ValueError, match=r"bytes|uint"):
        pool_transfer_id(**{**SEND, **wrong})
