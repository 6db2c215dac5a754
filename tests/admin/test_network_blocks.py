"""Blocking many at once: pasted or from a file, looked at line by line."""

from __future__ import annotations

import io

import pytest

from app.runtime.gateway import Gateway
from tests.admin.forms import form_of, send
from tests.admin.visitor import Visitor
from tests.services.network.edits.kit import document, records
from tests.services.network.network_kit import VILLAIN

PATH = "/admin/blocked_addresses/add"


def address(number: int) -> str:
    return f"0x{number:040x}"


def test_many_addresses_at_once(operator: Visitor, network: Gateway) -> None:
    text = f"{address(1)}, stolen\r\n{address(2)}\r\n{address(1)}\r\n{VILLAIN.lower()}"
    preview = send(operator, PATH, text=text, reason="shared", source="case 7", expires_at="2027-01-31")
    for words in ("Block 2 addresses?", "1 line repeats", "blocked already for at least as long"):
        assert words in preview.text
    assert len(document(network)["blocked_addresses"]) == 1
    assert send(operator, PATH, preview, confirm="1").location == "/admin/blocked_addresses/"
    _, first, second = document(network)["blocked_addresses"]
    assert first == {
        "address": first["address"], "reason": "stolen", "source": "case 7",
        "expires_at": "2027-01-31T00:00:00Z",
    }  # fmt: skip
    assert second["reason"] == "shared"
    assert records(network)[-1].action == "network.block"
    again = send(operator, PATH, text=text)
    assert "blocked already" in again.text


def test_a_wrong_line_stops_the_list(operator: Visitor, network: Gateway) -> None:
    preview = send(operator, PATH, text=f"{address(1)}\r\n0x12\r\n<b>x y</b>")
    assert "2 lines have errors" in preview.text
    assert "&lt;b&gt;x y&lt;/b&gt;" in preview.text
    assert 'name="confirm"' not in preview.text
    answer = send(operator, PATH, preview, confirm="1")
    assert "2 lines have errors" in answer.text
    assert len(document(network)["blocked_addresses"]) == 1
    assert form_of(operator.post(PATH, form_of(preview) | {"back": "1"}))["text"].startswith(address(1))


def test_a_file_and_networks(operator: Visitor, network: Gateway) -> None:
    path = "/admin/blocked_networks/add"
    content = "\ufeffcidr,reason,expires_at\n198.51.100.7,exit,\n8.0.0.0/7,,2027-01-01T00:00:00Z\n"
    preview = operator.post(path, {"file": (io.BytesIO(content.encode()), "list.csv"), "text": ""})
    assert "very wide network" in preview.text
    assert "198.51.100.7/32" in preview.text
    assert send(operator, path, preview, confirm="1").status_code == 302
    assert [row["cidr"] for row in document(network)["blocked_networks"][2:]] == [
        "198.51.100.7/32", "8.0.0.0/7",
    ]  # fmt: skip
    picture = operator.post(path, {"file": (io.BytesIO(b"\x89PNG\xff\xfe"), "list.png"), "text": ""})
    assert "not UTF-8 text" in picture.text
    assert "paste at least one line" in operator.post(path, {"text": " "}).text.casefold()
    assert (
        "must be a time" in operator.post(path, {"text": "10.0.0.0/8", "expires_at": "soon"}).text.casefold()
    )
    assert operator.post(path, {"text": "10.0.0.0/8", "source": "x"}).status_code == 400, "has no source"


@pytest.mark.soak("ten thousand rows")
def test_ten_thousand_lines(operator: Visitor, network: Gateway) -> None:
    text = "\r\n".join(f"{address(n)}, a reason that is as long as reasons are" for n in range(1, 10_001))
    preview = send(operator, PATH, text=text)
    assert "Block 10" in preview.text
    assert send(operator, PATH, preview, confirm="1").status_code == 302
    assert len(document(network)["blocked_addresses"]) == 10_001
