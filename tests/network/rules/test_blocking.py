"""Blocked accounts and networks, against the slow way of looking them up."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.network.rules.blocking import BlockedAddresses, BlockedNetworks

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
PAST, FUTURE = NOON - timedelta(microseconds=1), NOON + timedelta(microseconds=1)
ends = st.sampled_from([None, PAST, NOON, FUTURE])


@st.composite
def networks(draw: st.DrawFn) -> str:
    """Networks close enough together to meet the addresses below."""
    if draw(st.booleans()):
        length = draw(st.integers(0, 32))
        number = draw(st.integers(0, 255)) << 24 | draw(st.integers(0, 3))
        return str(ip_network((number, length), strict=False))
    length = draw(st.integers(0, 128))
    return str(
        ip_network(
            (IPv6Address(draw(st.integers(0, 7)) << draw(st.sampled_from([0, 60, 125]))), length),
            strict=False,
        )
    )


addresses = st.builds(
    lambda high, low: IPv4Address(high << 24 | low), st.integers(0, 255), st.integers(0, 3)
) | st.builds(lambda n, shift: IPv6Address(n << shift), st.integers(0, 7), st.sampled_from([0, 60, 125]))


@given(st.lists(st.tuples(networks(), ends), max_size=8), addresses)
def test_blocking_matches_the_slow_way(
    blocks: list[tuple[str, datetime | None]], address: IPv4Address | IPv6Address
) -> None:
    expected = any(
        address in ip_network(cidr) and (until is None or until > NOON)
        for cidr, until in blocks
        if ip_network(cidr).version == address.version
    )
    assert BlockedNetworks(blocks).blocks(address, NOON) == expected


def test_a_mapped_address_counts_as_ipv4() -> None:
    blocked = BlockedNetworks([("203.0.113.0/24", None)])
    assert blocked.blocks(ip_address("::ffff:203.0.113.7"), NOON)
    assert not blocked.blocks(ip_address("::203.0.113.7"), NOON)
    assert not BlockedNetworks([("::/0", None)]).blocks(ip_address("::ffff:203.0.113.7"), NOON)


@pytest.mark.parametrize(
    "cidr", ["", "1.2.3.4", "1.2.3.4/33", "1.2.3/24", "1.2.3.4/x", "::/129", "::/-1", "g::/8"]
)
def test_other_text_is_refused_as_network(cidr: str) -> None:
    with pytest.raises(ValueError, match="is no network"):
        BlockedNetworks([(cidr, None)])


def test_accounts_match_any_case_until_expiry() -> None:
    blocked = BlockedAddresses([("0xAbC", FUTURE), ("TBase", None), ("gone", NOON), ("STRASSE", None)])
    for account in ("0xabc", "0XABC", "tbase", "TBASE", "straße"):
        assert blocked.blocks(account, NOON)
    for account in ("0xabd", "gone", "", "0xabc "):
        assert not blocked.blocks(account, NOON)
    assert not blocked.blocks("0xabc", FUTURE)


@pytest.mark.parametrize("order", [1, -1])
def test_the_longest_of_several_blocks_counts(order: int) -> None:
    for longest in (FUTURE, None):
        blocks = [("A", PAST), ("a", longest)][::order]
        assert BlockedAddresses(blocks).blocks("a", NOON)
        cidrs = [("10.0.0.0/8", PAST), ("10.0.0.0/8", longest)][::order]
        assert BlockedNetworks(cidrs).blocks(ip_address("10.1.1.1"), NOON)
        assert len(BlockedNetworks(cidrs)) == len(BlockedAddresses(blocks)) == 1
