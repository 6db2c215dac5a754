"""The caller is the peer, or what the outermost trusted proxy saw."""

import pytest

from app.values.ip_addresses import caller_address, counted_network

CASES = [
    # peer, X-Forwarded-For, trusted proxies, caller
    ("198.51.100.7", None, 0, "198.51.100.7"),
    ("198.51.100.7", "203.0.113.9", 0, "198.51.100.7"),
    ("127.0.0.1", "203.0.113.9", 1, "203.0.113.9"),
    ("127.0.0.1", "203.0.113.9, 192.0.2.1", 1, "192.0.2.1"),
    ("127.0.0.1", "203.0.113.9, 192.0.2.1", 2, "203.0.113.9"),
    ("127.0.0.1", "spoofed, 203.0.113.9 ,192.0.2.1", 2, "203.0.113.9"),
    ("127.0.0.1", "203.0.113.9", 2, "127.0.0.1"),
    ("127.0.0.1", "", 1, "127.0.0.1"),
    ("127.0.0.1", None, 1, "127.0.0.1"),
    ("127.0.0.1", "unknown", 1, "127.0.0.1"),
    ("127.0.0.1", "999.1.1.1", 1, "127.0.0.1"),
    ("127.0.0.1", "203.0.113.9:4711", 1, "203.0.113.9"),
    ("127.0.0.1", "[2001:db8::1]:4711", 1, "2001:db8::1"),
    ("127.0.0.1", "[2001:db8::1]", 1, "2001:db8::1"),
    ("127.0.0.1", "2001:db8::1", 1, "2001:db8::1"),
    ("127.0.0.1", "::ffff:203.0.113.9", 1, "203.0.113.9"),
    ("::ffff:203.0.113.9", None, 0, "203.0.113.9"),
    ("::ffff:cb00:7109", None, 0, "203.0.113.9"),
    ("fe80::1%eth0", None, 0, "fe80::1"),
    ("::1", None, 0, "::1"),
    ("", None, 0, None),
    (None, None, 0, None),
    (None, "203.0.113.9", 1, "203.0.113.9"),
]


@pytest.mark.parametrize(("peer", "forwarded_for", "trusted", "expected"), CASES)
def test_caller_address_uses_trusted_forwarded_for(
    peer: str | None, forwarded_for: str | None, trusted: int, expected: str | None
) -> None:
    address = caller_address(peer, forwarded_for, trusted)
    assert (None if address is None else str(address)) == expected


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::", "2001:db8:1:3::/64"),
        ("::1", "::/64"),
    ],
)
def test_guesses_are_counted_by_network(address: str, network: str) -> None:
    found = caller_address(address, None, 0)
    assert found is not None
    assert counted_network(found) == network
