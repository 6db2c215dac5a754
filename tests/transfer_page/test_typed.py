"""What people paste to find their transfer."""

from __future__ import annotations

import pytest

from app.transfer_page.views import read_key

HASH = "0x" + "ab" * 32
SOLANA = "5wHu1qwD7q2ggbJyc8X4nzrUmNMrqUeX1BCNNzGkVQ9JYtGoxA5fNZaAqFqFeFeWLSJJw8Lw7SAqbzsKpLRNQyN"


@pytest.mark.parametrize(
    ("typed", "key"),
    [
        (HASH, HASH),
        (HASH[2:], HASH),
        (HASH.upper(), HASH),
        (f"\t{HASH}\n", HASH),
        (f"{HASH[:20]} {HASH[20:]}", HASH),
        (f"https://etherscan.io/tx/{HASH}", HASH),
        (f"https://etherscan.io/tx/{HASH}?a=1#b", HASH),
        (f"http://127.0.0.1:8000/transfer/0x{'1' * 64}/{HASH}", HASH),
        (SOLANA, SOLANA),
        ("", None),
        ("  ", None),
        ("what?", None),
        ("0x" + "ab" * 33 + "!", None),
        (f"https://solscan.io/tx/{SOLANA}", None),
        ("é" * 64, None),
        ("a" * 3000, None),
    ],
)
def test_key_is_read(typed: str, key: str | None) -> None:
    assert read_key(typed) == key
