"""Blocking one or many at once, looked at line by line; the lists of blocks."""

from __future__ import annotations

import re

import pytest

from app.db.database import Database
from tests.console.forms import form_of, send
from tests.console.visitor import Visitor
from tests.network.services.edits.kit import document, records
from tests.network.services.network_kit import VILLAIN

PATH = "/admin/blocked_addresses/new"


def address(number: int) -> str:
    return f"0x{number:040x}"


def test_many_addresses_at_once(operator: Visitor, database: Database) -> None:
    text = f"{address(1)}\r\n{address(2)}\r\n{address(1)}\r\n{VILLAIN.lower()}"
    preview = send(operator, PATH, text=text, reason="shared", source="case 7", expires_at="2027-01-31")
    for words in ("Block 2 addresses?", "1 line repeats", "blocked already for at least as long", "case 7"):
        assert words in preview.text
    assert len(document(database)["blocked_addresses"]) == 1
    saved = send(operator, PATH, preview, confirm="1")
    assert saved.location == "/admin/blocked_addresses/"
    _, *added = document(database)["blocked_addresses"]
    assert [row["address"][-1] for row in added] == ["1", "2"]
    for row in added:
        assert (row["reason"], row["source"], row["expires_at"]) == (
            "shared", "case 7", "2027-01-31T00:00:00Z",
        )  # fmt: skip
    assert records(database)[-1].action == "network.block"
    assert "change_reason" not in form_of(preview), "each row has the reason"
    again = send(operator, PATH, text=text)
    assert "blocked already" in again.text


def test_one_address(operator: Visitor, database: Database) -> None:
    given = operator.get(PATH, query_string={"address": address(1)})
    assert form_of(given)["text"] == address(1)
    preview = send(operator, PATH, given, reason="stolen")
    assert "Block 1 address?" in preview.text
    assert send(operator, PATH, preview, confirm="1").status_code == 302
    assert document(database)["blocked_addresses"][-1]["reason"] == "stolen"
    listed = operator.get("/admin/blocked_addresses/").text
    assert re.search(r"Done: [^<]*0x0+1", listed), listed


def test_the_lists_are_tabs_of_one_page(operator: Visitor) -> None:
    tabs = {"blocked_addresses": "Addresses", "blocked_networks": "Networks", "route_blocks": "Routes"}
    for name, label in tabs.items():
        page = operator.get(f"/admin/{name}/").text
        menu, _, content = page.partition("<main")
        assert re.findall(r'<a href="(/admin/[^"]*)" aria-current="page">Blocks', menu) == [
            "/admin/blocked_addresses/"
        ]
        assert not re.search(r">(Blocked (addresses|networks)|Route blocks)<", menu)
        (nav,) = re.findall(r'<nav [^>]*aria-label="Blocks">(.*?)</nav>', content, re.DOTALL)
        assert re.findall(r'href="/admin/(\w+)/"', nav) == list(tabs)
        assert re.findall(r'aria-current="page">(\w+)<', nav) == [label]


def test_a_wrong_line_stops_the_list(operator: Visitor, database: Database) -> None:
    preview = send(operator, PATH, text=f"{address(1)}\r\n0x12\r\n<b>x,y</b>")
    assert "2 lines have errors" in preview.text
    assert "&lt;b&gt;x,y&lt;/b&gt;" in preview.text
    assert 'name="confirm"' not in preview.text
    answer = send(operator, PATH, preview, confirm="1")
    assert "2 lines have errors" in answer.text
    assert len(document(database)["blocked_addresses"]) == 1
    assert form_of(operator.post(PATH, form_of(preview) | {"back": "1"}))["text"].startswith(address(1))


def test_networks(operator: Visitor, database: Database) -> None:
    path = "/admin/blocked_networks/new"
    preview = send(operator, path, text="198.51.100.7\n8.0.0.0/7", reason="exit")
    assert "very wide network" in preview.text
    assert "198.51.100.7/32" in preview.text
    assert send(operator, path, preview, confirm="1").status_code == 302
    assert [row["cidr"] for row in document(database)["blocked_networks"][2:]] == [
        "198.51.100.7/32", "8.0.0.0/7",
    ]  # fmt: skip
    assert "enter at least one" in operator.post(path, {"text": " "}).text.casefold()
    assert (
        "must be a time" in operator.post(path, {"text": "10.0.0.0/8", "expires_at": "soon"}).text.casefold()
    )
    assert operator.post(path, {"text": "10.0.0.0/8", "source": "x"}).status_code == 400, "has no source"


@pytest.mark.slow
def test_ten_thousand_lines(operator: Visitor, database: Database) -> None:
    text = "\r\n".join(address(n) for n in range(1, 10_001))
    preview = send(operator, PATH, text=text)
    assert "Block 10" in preview.text
    assert send(operator, PATH, preview, confirm="1").status_code == 302
    assert len(document(database)["blocked_addresses"]) == 10_001
