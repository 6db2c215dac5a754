"""Hashing, addresses and signatures of the EVM.

Only this module uses the hashing and curve libraries. Addresses are 20 raw bytes, digests 32, signatures 65
(r, s, v with v 27 or 28) everywhere else in the domain.
"""

import re
from functools import lru_cache
from typing import Final

from coincurve import PrivateKey, PublicKey
from Crypto.Hash import keccak

from app.values.amounts import is_uint256

ADDRESS_BYTES: Final = 20
HASH_BYTES: Final = 32
SIGNATURE_BYTES: Final = 65

CURVE_ORDER: Final = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
"""Order of secp256k1 (SEC 2, section 2.4.1)."""

_HALF_ORDER: Final = CURVE_ORDER // 2
_CACHED_RECOVERIES: Final = 32_768

# The bit that differs between a lower case letter and its upper case one, where an address has a letter, and
# where its hash requires upper case: 40 digits at once, as addresses take most of the time of reading an
# event.
_LETTERS: Final = bytes(0x20 if chr(code) in "abcdef" else 0 for code in range(256))
_HIGH: Final = bytes(0x20 if chr(code) in "89abcdef" else 0 for code in range(256))
_EVM_ADDRESS: Final = re.compile(r"0[xX]([0-9a-fA-F]{40})")


class BadSignature(ValueError):
    """Not a signature that a bridge contract would accept; the message says what is wrong with it."""


def keccak256(data: bytes) -> bytes:
    """The EVM's hash, 32 bytes; it is not SHA3-256."""
    return keccak.new(digest_bits=256, data=data).digest()


def recover_signer(digest: bytes, signature: bytes) -> bytes:
    """The 20-byte address whose key made the 65-byte ``signature`` over the 32-byte ``digest``.

    Accepts only what the contracts accept: v 27 or 28, s at most half the curve's order
    (docs/interface/contracts.md#signatures). Recovered signers are cached, so validating a transfer again
    costs no curve arithmetic.

    :raises BadSignature: also a ``ValueError``.
    :raises ValueError: the digest does not have 32 bytes.
    """
    if len(digest) != HASH_BYTES:
        raise ValueError(f"a digest has 32 bytes, not {len(digest)}")
    if fault := _form_fault(signature):
        raise BadSignature(fault)
    return _recover(bytes(digest), bytes(signature))


def sign_digest(digest: bytes, private_key: bytes) -> bytes:
    """65 bytes with low s and v 27 or 28. Deterministic (RFC 6979)."""
    if len(digest) != HASH_BYTES:
        raise ValueError(f"a digest has 32 bytes, not {len(digest)}")
    signed = PrivateKey(private_key).sign_recoverable(digest, hasher=None)
    return signed[:64] + bytes([signed[64] + 27])


def address_of(private_key: bytes) -> bytes:
    return _address_of_public(PrivateKey(private_key).public_key)


def parse_evm_address(text: str) -> bytes | None:
    """The 20 bytes of ``0x`` and 40 hex digits, None for any other text.

    The EIP-55 checksum is not checked: addresses come in any letter case.
    """
    match = _EVM_ADDRESS.fullmatch(text)
    return bytes.fromhex(match[1]) if match else None


def checksum_address(address: bytes | str) -> str:
    """``0x`` and 40 hex digits with the EIP-55 letter case.

    :raises ValueError: for bytes that are not 20 long and for text that is no EVM address.
    """
    raw = parse_evm_address(address) if isinstance(address, str) else bytes(address)
    if raw is None or len(raw) != ADDRESS_BYTES:
        raise ValueError(f"not an EVM address: {address!r}")
    return _with_checksum(raw)


@lru_cache(maxsize=4096)  # addresses repeat: of contracts, of people who send to themselves, in each event
def _with_checksum(raw: bytes) -> str:
    digits = raw.hex().encode("ascii")
    nibbles = keccak256(digits).hex().encode("ascii")[: len(digits)]
    raised = int.from_bytes(digits.translate(_LETTERS)) & int.from_bytes(nibbles.translate(_HIGH))
    return "0x" + (int.from_bytes(digits) ^ raised).to_bytes(len(digits)).decode("ascii")


def minimal_big_endian(value: int) -> bytes:
    """Without leading zeros: ``b""`` for 0, at most 32 bytes.

    :raises ValueError: outside 0..2^256-1.
    """
    if not is_uint256(value):
        raise ValueError("not a uint256")
    return value.to_bytes((value.bit_length() + 7) // 8, "big")


def _form_fault(signature: bytes) -> str | None:
    """Without curve arithmetic."""
    if len(signature) != SIGNATURE_BYTES:
        return f"a signature has 65 bytes, not {len(signature)}"
    r = int.from_bytes(signature[:32], "big")
    s = int.from_bytes(signature[32:64], "big")
    v = signature[64]
    if v not in (27, 28):
        return f"v is {v}, not 27 or 28"
    if not 0 < r < CURVE_ORDER:
        return "r is not between 1 and the curve's order"
    if not 0 < s < CURVE_ORDER:
        return "s is not between 1 and the curve's order"
    if s > _HALF_ORDER:
        return "s is above half the curve's order: the contract rejects this malleable form"
    return None


@lru_cache(maxsize=_CACHED_RECOVERIES)
def _recover(digest: bytes, signature: bytes) -> bytes:
    compact = signature[:64] + bytes([signature[64] - 27])
    try:
        return _address_of_public(PublicKey.from_signature_and_message(compact, digest, hasher=None))
    except ValueError:
        raise BadSignature("no signer can be recovered from it: r is not on the curve") from None


def _address_of_public(key: PublicKey) -> bytes:
    return keccak256(key.format(compressed=False)[1:])[-ADDRESS_BYTES:]
