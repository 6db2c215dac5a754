"""Addresses and URLs that webhooks are not sent to, in every spelling."""

from ipaddress import ip_address

import pytest

from app.webhooks.rules.addresses import (
    AddressRefused,
    checked_addresses,
    is_public,
    parse_networks,
    parse_url,
)

REFUSED = [
    "0.0.0.0", "10.1.2.3", "100.64.0.1", "127.0.0.1", "127.8.9.1", "169.254.169.254", "172.16.0.1",
    "172.31.255.255", "192.0.0.8", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1",
    "198.19.255.255", "198.51.100.7",
    "168.63.129.16", "161.26.0.10", "166.8.0.1", "166.11.255.255", "192.80.8.124", "100.100.100.200",
    "192.0.0.192", "fd00:ec2::254", "fd20:ce::254", "fd00:c1::a9fe:a9fe", "::ffff:168.63.129.16",
    "2002:a83f:8110::1", "64:ff9b::a83f:8110",
    "203.0.113.9", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
    "::", "::1", "::ffff:8.8.8.8", "::ffff:127.0.0.1", "::127.0.0.1", "64:ff9b::808:808", "64:ff9b:1::1",
    "100::1", "2001::1", "2001:2::1", "2001:db8::1", "2002:808:808::1", "2002:7f00:1::", "3fff::1", "5f00::1",
    "fc00::1", "fd12::1", "fe80::1", "fec0::1", "ff02::1", "fe80::1%eth0", "2600::1%1",
]  # fmt: skip
PUBLIC = [
    "1.1.1.1",
    "168.63.129.15",
    "168.63.129.17",
    "166.12.0.1",
    "161.27.0.1",
    "8.8.8.8",
    "172.32.0.1",
    "192.0.1.1",
    "2600::1",
    "2a00:1450::8",
    "2606:4700::1111",
]


@pytest.mark.parametrize("address", REFUSED)
def test_non_public_address_is_refused(address: str) -> None:
    with pytest.raises(AddressRefused):
        checked_addresses([address], (), plain=False)


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_allowed(address: str) -> None:
    assert checked_addresses([address, address], (), plain=False) == [ip_address(address)]


def test_python_refuses_no_further_address() -> None:
    """Of many addresses those that Python calls private are refused here, too."""
    for first in range(256):
        for rest in (
            "0.0.1",
            "0.2.9",
            "18.4.4",
            "64.1.1",
            "88.99.3",
            "168.0.1",
            "254.1.1",
            "51.100.2",
            "0.113.4",
        ):
            address = ip_address(f"{first}.{rest}")
            assert address.is_global or not is_public(address), address
    for first in range(0, 0x10000, 7):
        address = ip_address(f"{first:x}:0db8::1")
        assert address.is_global or not is_public(address), address


def test_one_refused_address_refuses_name() -> None:
    with pytest.raises(AddressRefused):
        checked_addresses(["8.8.8.8", "10.0.0.1"], (), plain=False)
    with pytest.raises(AddressRefused, match="no address"):
        checked_addresses([], (), plain=False)


def test_opened_networks_are_allowed() -> None:
    """http is allowed only there."""
    networks = parse_networks(["10.0.0.0/8", "fd00::/8"])
    assert checked_addresses(["10.0.0.1", "fd00::1", "8.8.8.8"], networks, plain=False)
    assert checked_addresses(["10.0.0.1"], networks, plain=True)
    for refused in ("8.8.8.8", "11.0.0.1", "::ffff:10.0.0.1"):
        with pytest.raises(AddressRefused):
            checked_addresses([refused], networks, plain=True)
    with pytest.raises(AddressRefused):
        checked_addresses(["192.168.0.1"], networks, plain=False)


@pytest.mark.parametrize(
    ("text", "url", "place"),
    [
        ("https://Example.ORG", "https://example.org/", "example.org:443"),
        ("HTTPS://example.org:8443/Hooks?a=B&c", "https://example.org:8443/Hooks?a=B&c", "example.org:8443"),
        ("https://example.org?x=1", "https://example.org/?x=1", "example.org:443"),
        ("https://8.8.8.8/x", "https://8.8.8.8/x", "8.8.8.8:443"),
        ("https://[2600::0:1]:443/", "https://[2600::1]/", "2600::1:443"),
        ("http://a.b.example.:80/", "http://a.b.example/", "a.b.example:80"),
    ],
)
def test_urls_are_read_in_one_form(text: str, url: str, place: str) -> None:
    target = parse_url(text)
    assert (target.url, target.place) == (url, place)


@pytest.mark.parametrize(
    "text",
    [
        "", "example.org", "ftp://example.org/", "https://", "https:///x", "https://user@example.org/",
        "https://user:pass@example.org/", "https://example.org#part", "https://example.org/#part",
        "https://example.org:0/", "https://example.org:65536/", "https://example.org:/", "https://example.org:8o/",
        "https://2130706433/", "https://0x7f000001/", "https://0x7f.1/", "https://0177.0.0.1/", "https://127.1/",
        "https://017700000001/", "https://127.0.0.0x1/", "https://127.0.0.01/", "https://8.8.8/",
        "https://1.2.3.4.5/", "https://127.0.0.1./", "https://[fe80::1%25eth0]/", "https://[fe80::1%eth0]/", "https://[::1",
        "https://[127.0.0.1]/", "https://exa mple.org/", "https://example.org\\@evil.example/",
        "https://exämple.org/", "https://example.org/ä", "https://①②⑦.⓪.⓪.①/", "https://example..org/",
        "https://.example.org/", "https://-a.example/", "https://example.org/\r\nX: y", "https://example.org/\0",
        "https://" + "a" * 64 + ".example/", "https://example.org/" + "a" * 2048,
        "https://example.org?" + "a" * 2028,
    ],
)  # fmt: skip
def test_ambiguous_urls_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must"):
        parse_url(text)
