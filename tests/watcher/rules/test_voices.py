"""Which URLs are of one provider."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from app.watcher.rules.voices import voices_of


@pytest.mark.parametrize(
    ("hosts", "voices"),
    [
        (["eth.one.example", "eth.two.example"], "A B"),
        (["eth.one.example", "backup.One.example."], "A A"),
        (["one.example", "eth.one.example", "two.example"], "A A C"),
        (["10.0.0.1", "10.0.0.2", "10.0.0.1"], "A B A"),
        (["::1", "fe80::1", "::1"], "A B A"),
        (["geth-0.nodes.local", "geth-1.nodes.local"], "A A"),
        (["localhost", "localhost"], "A A"),
        ([], ""),
    ],
)
def test_hosts_with_two_equal_labels_are_one_provider(hosts: Sequence[str], voices: str) -> None:
    named = dict(zip("ABC", hosts, strict=False))
    assert " ".join(voices_of(named).values()) == voices


@pytest.mark.parametrize(
    ("same", "independent", "voices"),
    [
        pytest.param("", "", "A A C D", id="hosts of one domain have one voice"),
        pytest.param("CD", "", "A A C C", id="two domains are joined"),
        pytest.param("BC", "", "A A A D", id="a host is joined with all of the other's domain"),
        pytest.param("", "AB", "A B C D", id="hosts of one domain are separated"),
        pytest.param("", "A", "A A C D", id="one cannot be separated from nobody"),
        pytest.param("AB", "AB", "A A C D", id="joined precedes separated"),
        pytest.param("XY", "Z", "A A C D", id="unknown names change nothing"),
    ],
)
def test_operator_joins_and_separates_providers(same: str, independent: str, voices: str) -> None:
    hosts = {"A": "0.nodes.local", "B": "1.nodes.local", "C": "one.example", "D": "two.example"}
    assert " ".join(voices_of(hosts, [*same], [*independent]).values()) == voices


@pytest.mark.parametrize(
    ("hosts", "same", "independent", "voices"),
    [
        (["eth.one.example", "eth.two.example", "backup.two.example"], "AC", "", "A A A"),
        (["eth.one.example", "eth.two.example", "backup.two.example"], "AC", "BC", "A B A"),
        (["0.nodes.local", "1.nodes.local", "2.nodes.local"], "", "AB", "A B A"),
        (["0.nodes.local", "1.nodes.local", "2.nodes.local"], "", "ABC", "A B C"),
    ],
)
def test_url_of_two_providers_joins_them(
    hosts: Sequence[str], same: str, independent: str, voices: str
) -> None:
    named = dict(zip("ABC", hosts, strict=True))
    assert " ".join(voices_of(named, [*same], [*independent]).values()) == voices
