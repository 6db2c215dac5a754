"""Hashes, addresses and signatures, against other implementations."""

import pytest
from eth_keys.backends.native.main import NativeECCBackend
from eth_keys.datatypes import PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from app.values.crypto import (
    CURVE_ORDER,
    BadSignature,
    address_of,
    checksum_address,
    keccak256,
    minimal_big_endian,
    parse_evm_address,
    recover_signer,
    sign_digest,
)
from tests.refunds.rules.contract_mirror import ecrecover
from tests.refunds.rules.evidence_kit import every_flip, key, some, twin

DIGEST = some("digest", 32)
KEY = key("signer")
SIGNATURE = sign_digest(DIGEST, KEY)


def test_keccak_is_not_sha3():
    assert keccak256(b"").hex() == "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"
    assert (
        keccak256(b"Transfer(address,address,uint256)").hex()
        == "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
    )


@pytest.mark.parametrize(
    "published",
    [
        "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
        "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
        "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
        "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
        "0x52908400098527886E0F7030069857D2E4169EE7",
        "0xde709f2102306220921060314715629080e2fb77",
    ],
)
def test_checksum_addresses_of_eip_55(published):
    raw = bytes.fromhex(published[2:])
    assert checksum_address(raw) == published
    assert checksum_address(published.lower()) == published
    assert parse_evm_address(published.upper()) == raw


@pytest.mark.parametrize(
    "text", ["", "0x", "0x" + "a" * 39, "0x" + "a" * 41, "a" * 40, "0x" + "g" * 40, "0x" + "a" * 40 + "\n",
             " 0x" + "a" * 40, "0x" + "١" * 40]
)  # fmt: skip
def test_other_text_is_no_address(text):
    assert parse_evm_address(text) is None
    with pytest.raises(ValueError, match="not an EVM address"):
        checksum_address(text)


@given(st.binary(min_size=32, max_size=32), st.integers(1, CURVE_ORDER - 1))
def test_recover_signer_returns_signing_address(digest, secret):
    private_key = secret.to_bytes(32, "big")
    signature = sign_digest(digest, private_key)
    assert len(signature) == 65
    assert recover_signer(digest, signature) == address_of(private_key)


@pytest.mark.parametrize("number", range(10))
def test_signature_equals_other_implementation(number):
    digest, secret = some(f"digest {number}", 32), key(number)
    signature = sign_digest(digest, secret)
    assert ecrecover(digest, signature) == recover_signer(digest, signature) == address_of(secret)
    other = NativeECCBackend().ecdsa_sign(digest, PrivateKey(secret))
    other_bytes = other.to_bytes()[:64] + bytes([other.v + 27])
    assert recover_signer(digest, other_bytes) == address_of(secret)


def test_flipped_bit_changes_the_signer():
    for signature in every_flip(SIGNATURE):
        try:
            assert recover_signer(DIGEST, signature) != address_of(KEY)
        except BadSignature:
            continue
    for digest in every_flip(DIGEST):
        assert recover_signer(digest, SIGNATURE) != address_of(KEY)


R_OFF_CURVE = next(
    r for r in range(1, 100) if pow(r**3 + 7, (2**256 - 2**32 - 978) // 2, 2**256 - 2**32 - 977) != 1
)


@pytest.mark.parametrize(
    ("signature", "reason"),
    [
        (b"", "65 bytes, not 0"),
        (SIGNATURE[:64], "65 bytes, not 64"),
        (SIGNATURE + b"\0", "65 bytes, not 66"),
        (SIGNATURE[:64] + b"\0", "v is 0"),
        (SIGNATURE[:64] + b"\1", "v is 1"),
        (SIGNATURE[:64] + b"\x1d", "v is 29"),
        (twin(SIGNATURE), "malleable form"),
        (bytes(32) + SIGNATURE[32:], "r is not"),
        (CURVE_ORDER.to_bytes(32, "big") + SIGNATURE[32:], "r is not"),
        (b"\xff" * 32 + SIGNATURE[32:], "r is not"),
        (SIGNATURE[:32] + bytes(32) + SIGNATURE[64:], "s is not"),
        (SIGNATURE[:32] + CURVE_ORDER.to_bytes(32, "big") + SIGNATURE[64:], "s is not"),
        (SIGNATURE[:32] + (CURVE_ORDER // 2 + 1).to_bytes(32, "big") + SIGNATURE[64:], "above half"),
        (R_OFF_CURVE.to_bytes(32, "big") + SIGNATURE[32:], "not on the curve"),
    ],
)
def test_contract_refusals_have_their_reason(signature, reason):
    with pytest.raises(BadSignature, match=reason):
        recover_signer(DIGEST, signature)


def test_s_of_half_order_is_accepted():
    assert recover_signer(DIGEST, SIGNATURE[:32] + (CURVE_ORDER // 2).to_bytes(32, "big") + SIGNATURE[64:])


def test_a_digest_has_32_bytes():
    for digest in (b"", bytes(31), bytes(33)):
        with pytest.raises(ValueError, match="32 bytes"):
            recover_signer(digest, SIGNATURE)
        with pytest.raises(ValueError, match="32 bytes"):
            sign_digest(digest, KEY)


@pytest.mark.parametrize(
    ("value", "encoded"), [(0, ""), (1, "01"), (255, "ff"), (256, "0100"), (2**256 - 1, "ff" * 32)]
)
def test_minimal_big_endian(value, encoded):
    assert minimal_big_endian(value).hex() == encoded


@pytest.mark.parametrize("value", [-1, 2**256])
def test_minimal_big_endian_is_for_uint256(value):
    with pytest.raises(ValueError, match="uint256"):
        minimal_big_endian(value)
