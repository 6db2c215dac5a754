"""Keys, transfers and requests for the evidence tests."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from coincurve import PrivateKey
from msgspec.structs import replace

from app.network.rules.quorum import ValidatorSet
from app.transfers.rules.refunds.claimable import RequestValidation
from app.transfers.rules.refunds.request_checks import RefundContext, signing_digest
from app.transfers.rules.refunds.request_message import RefundRequest, encode_request
from app.values.codes import SendKind
from app.values.crypto import CURVE_ORDER, address_of, sign_digest
from app.values.identifiers import ChainId, TransferId
from tests.refunds.rules.contract_mirror import execute

VECTORS = Path(__file__).parents[2] / "contract" / "vectors"
KINDS = tuple(SendKind)
POLYGON = ChainId(137)


def vector(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((VECTORS / name).read_text())
    return loaded


def key(name: object) -> bytes:
    """A private key of the test's own, the same in every run."""
    return hashlib.sha256(f"test key {name}".encode()).digest()


def some(name: str, size: int = 20) -> bytes:
    return hashlib.sha256(f"test bytes {name}".encode()).digest()[:size]


def transfer_id(name: str) -> TransferId:
    return TransferId(some(name, 32))


def context(kind: SendKind, **changes: Any) -> RefundContext:
    """A transfer about which everything is known."""
    known = RefundContext(
        transfer_id=transfer_id(f"transfer {kind}"),
        kind=kind,
        src_chain_id=POLYGON,
        contract=some(f"contract {kind}"),
        token=some("token"),
        receiver=some("sender"),
        amount=5_000_000,
    )
    return replace(known, **changes)


def request_for(ctx: RefundContext, **changes: Any) -> RefundRequest:
    """The request that pays the whole transfer back."""
    assert ctx.kind and ctx.receiver and ctx.token and ctx.amount
    own: dict[SendKind, dict[str, Any]] = {
        SendKind.POOL: {"chain_id": ctx.src_chain_id, "seqnum": 77},
        SendKind.DEPOSIT: {"ref_chain_id": ctx.src_chain_id, "burn_account": some("burner")},
        SendKind.BURN: {"ref_chain_id": ctx.src_chain_id, "depositor": some("depositor")},
    }
    whole = RefundRequest(
        kind=ctx.kind,
        receiver=ctx.receiver,
        token=ctx.token,
        amount=ctx.amount,
        ref_id=ctx.transfer_id,
        **own[ctx.kind],
    )
    return replace(whole, **changes)


def wd_for(ctx: RefundContext, **changes: Any) -> bytes:
    return encode_request(request_for(ctx, **changes))


def sign(ctx: RefundContext, wd_onchain: bytes, private_key: bytes) -> bytes:
    assert ctx.kind and ctx.src_chain_id is not None and ctx.contract
    return sign_digest(signing_digest(ctx.kind, ctx.src_chain_id, ctx.contract, wd_onchain), private_key)


def members(powers: dict[bytes, int], version: int = 1, chain_id: ChainId = POLYGON) -> ValidatorSet:
    """A set from private keys and powers."""
    return ValidatorSet.of(chain_id, version, ((address_of(who), power) for who, power in powers.items()))


def pay(
    ctx: RefundContext, validation: RequestValidation, validators: ValidatorSet
) -> dict[int, int | bytes]:
    """What the contract with these validators pays on the request, by number of field. Raises Revert."""
    assert ctx.kind and ctx.src_chain_id and ctx.contract
    return execute(
        ctx.kind.value,
        ctx.src_chain_id,
        ctx.contract,
        validators.contract_hash,
        validation.wd_onchain,
        list(validation.sorted_sigs),
        list(validators.signers),
        list(validators.powers),
    )


def twin(signature: bytes) -> bytes:
    """The malleable form: recovers to the same signer, with s in the upper half."""
    s = CURVE_ORDER - int.from_bytes(signature[32:64], "big")
    return signature[:32] + s.to_bytes(32, "big") + bytes([55 - signature[64]])


def sign_with_nonce(digest: bytes, private_key: bytes, nonce: int) -> bytes:
    """Another valid signature by the same key: textbook ECDSA with a nonce of the test's choice."""
    point = PrivateKey(nonce.to_bytes(32, "big")).public_key.format(compressed=False)
    r, odd = int.from_bytes(point[1:33], "big"), point[64] & 1
    secret, e = int.from_bytes(private_key, "big"), int.from_bytes(digest, "big")
    s = pow(nonce, -1, CURVE_ORDER) * (e + r * secret) % CURVE_ORDER
    signature = r.to_bytes(32, "big") + s.to_bytes(32, "big") + bytes([27 + odd])
    return signature if s <= CURVE_ORDER // 2 else twin(signature)


def flipped(data: bytes, bit: int) -> bytes:
    return (int.from_bytes(data, "big") ^ (1 << bit)).to_bytes(len(data), "big")


def every_flip(data: bytes) -> list[bytes]:
    return [flipped(data, bit) for bit in range(len(data) * 8)]
