"""The bridge contract's rule, written apart from the code under test.

Hashes and packs with eth-utils and eth-abi, recovers with eth-keys' pure Python backend, and decodes the
request by field number alone, as the contract's own decoder does. Refusals are reverts.
"""

from functools import lru_cache

from eth_abi.abi import encode
from eth_abi.packed import encode_packed
from eth_keys.backends.native.main import NativeECCBackend
from eth_keys.datatypes import Signature
from eth_keys.exceptions import BadSignature
from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak
from eth_utils.exceptions import ValidationError

HALF_ORDER = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0
DOMAIN_TEXTS = {"pool": "WithdrawMsg", "deposit": "Withdraw", "burn": "Mint"}
FIELD_SIZES = {
    "pool": {1: "uint64", 2: "uint64", 3: "address", 4: "address", 5: "uint256", 6: "bytes32"},
    "deposit": {1: "address", 2: "address", 3: "uint256", 4: "address", 5: "uint64", 6: "bytes32"},
    "burn": {1: "address", 2: "address", 3: "uint256", 4: "address", 5: "uint64", 6: "bytes32"},
}


class Revert(Exception):
    """The contract refuses it."""


def require(held: bool, reason: str) -> None:
    if not held:
        raise Revert(reason)


def set_hash(signers: list[bytes], powers: list[int]) -> bytes:
    """What the contract stores of its validator set."""
    words = [encode(["address"], [to_checksum_address(signer)]) for signer in signers]
    words += [encode(["uint256"], [power]) for power in powers]  # the elements of packed arrays are padded
    return keccak(b"".join(words))


def execute(
    kind: str,
    chain_id: int,
    contract: bytes,
    stored_hash: bytes,
    wd_onchain: bytes,
    sigs: list[bytes],
    signers: list[bytes],
    powers: list[bytes],
) -> dict[int, int | bytes]:
    """Do what `withdraw` or `mint` does up to the payout; return the request's fields by number."""
    power_numbers = [int.from_bytes(power, "big") for power in powers]
    domain = keccak(
        encode_packed(
            ["uint256", "address", "string"], [chain_id, to_checksum_address(contract), DOMAIN_TEXTS[kind]]
        )
    )
    inner = keccak(encode_packed(["bytes32", "bytes"], [domain, wd_onchain]))
    digest = keccak(b"\x19Ethereum Signed Message:\n32" + inner)
    require(set_hash(signers, power_numbers) == stored_hash, "mismatch current signers")
    quorum = sum(power_numbers) * 2 // 3 + 1
    _verify_powers(digest, sigs, signers, power_numbers, quorum)
    fields = decode(kind, wd_onchain)
    if kind == "pool":
        require(fields.get(1) == chain_id, "dst chainId mismatch")
    return fields


def _verify_powers(
    digest: bytes, sigs: list[bytes], signers: list[bytes], powers: list[int], quorum: int
) -> None:
    signed, index, previous = 0, 0, bytes(20)
    for sig in sigs:
        signer = ecrecover(digest, sig)
        require(signer > previous, "signers not in ascending order")
        previous = signer
        while signer > signers[index]:
            index += 1
            require(index < len(signers), "signer not found")
        if signer == signers[index]:
            signed += powers[index]
        if signed >= quorum:
            return
    raise Revert("quorum not reached")


@lru_cache(maxsize=20_000)
def ecrecover(digest: bytes, sig: bytes) -> bytes:
    require(len(sig) == 65, "invalid signature length")
    r, s, v = int.from_bytes(sig[:32], "big"), int.from_bytes(sig[32:64], "big"), sig[64]
    require(s <= HALF_ORDER, "invalid signature s")
    require(v in (27, 28), "invalid signature v")
    try:
        signature = Signature(vrs=(v - 27, r, s))
        return NativeECCBackend().ecdsa_recover(digest, signature).to_canonical_address()
    except (BadSignature, ValidationError) as refused:
        raise Revert("invalid signature") from refused


def decode(kind: str, raw: bytes) -> dict[int, int | bytes]:
    fields: dict[int, int | bytes] = {}
    at = 0
    while at < len(raw):
        key, at = _varint(raw, at)
        known = FIELD_SIZES[kind].get(key >> 3)
        if known is None:
            raise Revert("the mirror knows no skipped fields")
        value, at = _varint(raw, at)
        if known == "uint64":
            fields[key >> 3] = value
            continue
        chunk, at = raw[at : at + value], at + value
        require(len(chunk) == value, "out of bounds")
        if known == "uint256":
            require(len(chunk) <= 32, "amount too long")
            fields[key >> 3] = int.from_bytes(chunk, "big")
        else:
            require(len(chunk) == {"address": 20, "bytes32": 32}[known], f"not a {known}")
            fields[key >> 3] = chunk
    return fields


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place in range(10):
        require(at + place < len(raw), "out of bounds")
        byte = raw[at + place]
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return value, at + place + 1
    raise Revert("invalid varint")
