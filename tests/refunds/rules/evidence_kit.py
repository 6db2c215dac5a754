"""Keys, transfers and requests for the evidence tests."""

import hashlib
import json
from pathlib import Path
from typing import Any

from coincurve import PrivateKey
from msgspec.structs import replace

from app.network.rules.quorum import ValidatorSet
from app.transfers.rules.refunds.request_checks import RefundContext, signing_digest
from app.transfers.rules.refunds.request_message import RefundRequest, encode_request
from app.values.codes import SendKind
from app.values.crypto import CURVE_ORDER, address_of, sign_digest

VECTORS = Path(__file__).parents[2] / "contract" / "vectors"
KINDS = tuple(SendKind)


def vector(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((VECTORS / name).read_text())
    return loaded


def key(name: object) -> bytes:
    """A private key of the test's own, the same in every run."""
    return hashlib.sha256(f"test key {name}".encode()).digest()


def some(name: str, size: int = 20) -> bytes:
    return hashlib.sha256(f"test bytes {name}".encode()).digest()[:size]


def context(kind: SendKind, **changes: Any) -> RefundContext:
    """A transfer about which everything is known."""
    known = RefundContext(
        transfer_id=some(f"transfer {kind}", 32),
        kind=kind,
        src_chain_id=137,
        contract=some(f"contract {kind}"),
        token=some("token"),
        receiver=some("sender"),
        amount=5_000_000,
    )
    return replace(known, **changes)


def request_for(ctx: RefundContext, **changes: Any) -> RefundRequest:
    """The request that pays the whole transfer back."""
    assert ctx.kind and ctx.receiver and ctx.token and ctx.amount
    own: dict[str, Any] = {
        SendKind.POOL: {"chain_id": ctx.src_chain_id, "seqnum": 77},
        SendKind.DEPOSIT: {"ref_chain_id": ctx.src_chain_id, "burn_account": some("burner")},
        SendKind.BURN: {"ref_chain_id": ctx.src_chain_id, "depositor": some("depositor")},
    }[ctx.kind]
    whole = RefundRequest(
        kind=ctx.kind,
        receiver=ctx.receiver,
        token=ctx.token,
        amount=ctx.amount,
        ref_id=ctx.transfer_id,
        **own,
    )
    return replace(whole, **changes)


def wd_for(ctx: RefundContext, **changes: Any) -> bytes:
    return encode_request(request_for(ctx, **changes))


def sign(ctx: RefundContext, wd_onchain: bytes, private_key: bytes) -> bytes:
    assert ctx.kind and ctx.src_chain_id is not None and ctx.contract
    return sign_digest(signing_digest(ctx.kind, ctx.src_chain_id, ctx.contract, wd_onchain), private_key)


def members(powers: dict[bytes, int], version: int = 1, chain_id: int = 137) -> ValidatorSet:
    """A set from private keys and powers."""
    return ValidatorSet.of(chain_id, version, ((address_of(who), power) for who, power in powers.items()))


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
