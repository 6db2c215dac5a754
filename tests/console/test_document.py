"""The network document in the console: exported, compared, and taken over as far as somebody wants it."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from app.accounts.rules.roles import Role
from app.db.database import Database
from app.network.document import export_network
from tests.builders.clock import MovableClock
from tests.console.edits import changed_file
from tests.console.forms import form_of, save, send
from tests.console.visitor import NOW, Visitor, signed_in
from tests.network.services.edits.kit import document, records, shown
from tests.network.services.network_kit import SIGNERS, text
from tests.network.services.network_kit import network as small_network


@pytest.fixture
def admin(app: Flask, network: Flask) -> Visitor:
    return signed_in(app, Role.ADMIN)


def compared(visitor: Visitor, rows: dict[str, Any]) -> TestResponse:
    return visitor.post("/admin/document/compare", {"text": text(rows).decode()})


def apply(visitor: Visitor, page: TestResponse, *rows: str, **fields: Any) -> TestResponse:
    return visitor.post("/admin/document/apply", form_of(page) | {"row": list(rows)} | fields)


def test_exported_document_compares_without_difference(operator: Visitor, database: Database) -> None:
    answer = operator.get("/admin/document/network.json")
    assert answer.data == export_network(database)
    assert "attachment" in answer.headers["Content-Disposition"]
    file = {"file": (io.BytesIO(b"\xef\xbb\xbf" + answer.data), "network.json"), "text": ""}
    page = operator.post("/admin/document/compare", file, content_type="multipart/form-data")
    assert "No difference" in page.text


def test_viewer_sees_drift_and_cannot_apply(app: Flask, network: Flask, database: Database) -> None:
    before = export_network(database)
    viewer = signed_in(app, Role.VIEWER)
    page = compared(viewer, changed_file())
    assert "<strong>6</strong> rows differ" in page.text
    assert "Mainnet" in page.text
    assert 'name="row"' not in page.text
    assert "An administrator can apply" in page.text
    assert viewer.post("/admin/document/apply", {"text": "{}"}).status_code == 403
    assert export_network(database) == before


def test_picked_differences_are_applied(admin: Visitor, database: Database) -> None:
    page = compared(admin, changed_file())
    picks = ("chain 1", "pool of USDT on chain 1", f"validator {SIGNERS[1]} of chain 1")
    preview = apply(admin, page, *picks)
    assert "opening validators" in preview.text
    assert document(database)["chains"][0]["name"] == "Ethereum", "a preview writes nothing"
    assert (
        apply(admin, preview, *picks, confirm="1", change_reason="as agreed").location == "/admin/document/"
    )
    now = document(database)
    assert (now["chains"][0]["name"], now["chains"][0]["suggested_gas_cost"]) == ("Mainnet", "7")
    assert now["pools"][0]["liquidity_added"] == "9"
    assert len(now["validators"]) == 1
    assert (now["routes"][0]["base_fee"], len(now["route_blocks"])) != ("7", 0), "what is not picked stays"
    assert "config_fields" not in now
    record = records(database)[-1]
    assert (record.action, record.subject) == ("network.import", "network document")
    assert record.detail == "apply 3 of 6 differences of a network document; note: as agreed"
    rest = apply(
        admin,
        compared(admin, changed_file()),
        "route of USDT from 1 to 56",
        whole=["config_fields", "route_blocks"],
    )
    assert admin.post("/admin/document/apply", form_of(rest) | {
        "row": "route of USDT from 1 to 56", "whole": ["config_fields", "route_blocks"], "confirm": "1",
    }).status_code == 302  # fmt: skip
    assert document(database) == json.loads(text(changed_file())), "and in the end it is the file"


def test_dependent_part_alone_is_refused(admin: Visitor, database: Database) -> None:
    rows = network_with_a_chain_more()
    page = compared(admin, rows)
    answer = apply(admin, page, "token USDT on chain 137")
    assert "Nothing was changed" in answer.text
    assert "chain 137 is not among the chains" in answer.text
    assert 'value="chain 137" form="pick" aria-label="Select Chain Polygon (137)">' in " ".join(
        answer.text.split()
    )
    answer = apply(admin, page)
    assert "select at least one difference" in answer.text.casefold()
    preview = apply(admin, page, "chain 137", "token USDT on chain 137")
    assert apply(admin, preview, "chain 137", "token USDT on chain 137", confirm="1").status_code == 302
    assert document(database)["tokens"][-1]["chain_id"] == 137


def network_with_a_chain_more() -> dict[str, Any]:
    rows = small_network()
    rows["chains"].append(rows["chains"][0] | {"id": 137, "name": "Polygon"})
    rows["tokens"].append(rows["tokens"][0] | {"chain_id": 137})
    return rows


def test_chain_applies_with_its_rows(admin: Visitor, database: Database) -> None:
    save(admin, "/admin/connect/?like=nothing", id="8453", name="Base", explore_url="https://basescan.example",
         contract_addr="", gas_token_symbol="ETH", block_delay="1", minimal_max_slippage="501")  # fmt: skip
    save(admin, "/admin/tokens/new", chain_id="8453", symbol="USDT", name="T", decimal="6",
         address="0x00000000000000000000000000000000000000A1")  # fmt: skip
    page = compared(admin, small_network())
    picks = ("chain 8453", "token USDT on chain 8453")
    assert "It is" not in apply(admin, page, picks[0]).text
    assert "used by 1 token" in apply(admin, page, picks[0]).text
    assert apply(admin, apply(admin, page, *picks), *picks, confirm="1").status_code == 302
    assert [row["id"] for row in document(database)["chains"]] == [1, 10, 56]


def test_document_after_other_edit_conflicts(admin: Visitor, database: Database) -> None:
    preview = apply(admin, compared(admin, changed_file()), "chain 1")
    route = shown(database, "routes", "USDT", 56, 1).row_id
    save(admin, f"/admin/routes/{route}", base_fee="5")
    answer = apply(admin, preview, "chain 1", confirm="1")
    assert "was changed while you were editing" in answer.text
    assert "<strong>7</strong> rows differ" in answer.text, "compared again"
    assert document(database)["chains"][0]["name"] == "Ethereum"


def test_stopping_by_a_file_wants_the_name(admin: Visitor, database: Database) -> None:
    rows = small_network()
    for row in rows["chains"][:2]:
        row |= {"disabled": True}
    picks = ("chain 1", "chain 10")
    preview = apply(admin, compared(admin, rows), *picks)
    assert "Type “stop 2 chains” to confirm" in preview.text
    assert "Nothing was saved" in apply(admin, preview, *picks, confirm="1", typed="").text
    assert apply(admin, preview, *picks, confirm="1", typed="STOP 2 chains").status_code == 302
    assert [row["disabled"] for row in document(database)["chains"]] == [True, True, False]


def test_invalid_document_is_refused(admin: Visitor) -> None:
    for sent, words in (
        ("", "choose a file, or paste"),
        ("{", "the document"),
        ('{"version": 2}', "version"),
        ('{"version": 1, "chains": [{"id": 0}]}', "chains[0].id"),
        ("\ud800", "the document"),
        ("a\0", "the document"),
        ('{"version": 1, "chains": [{"name": "\\u0000"}]}', "the document"),
    ):
        applied = (("apply", {}), ("apply", {"back": "1"})) if sent else ()
        for path, fields in (("compare", {}), *applied):
            document = {"text": sent.encode("utf-8", "surrogatepass")}
            answer = admin.post(f"/admin/document/{path}", document | fields)
            assert answer.status_code == 400, (sent, path)
            assert words.casefold() in answer.text.casefold(), (sent, path)


def test_past_time_is_restored_in_part(admin: Visitor, database: Database, clock: MovableClock) -> None:
    clock.forward(minutes=5)
    route = shown(database, "routes", "USDT", 1, 56)
    fee = route.values["base_fee"]
    save(admin, f"/admin/routes/{route.row_id}", base_fee="7")
    save(admin, "/admin/chains/1", name="Mainnet")
    at = {"time": f"{NOW:%Y-%m-%d %H:%M}:30Z"}
    assert "Restore values" in admin.get("/admin/history/at", query_string=at).text
    page = admin.get("/admin/document/at", query_string=at)
    assert "<strong>2</strong> rows differ" in page.text
    pick = "route of USDT from 1 to 56"
    assert apply(admin, apply(admin, page, pick), pick, confirm="1").status_code == 302
    assert document(database)["routes"][0]["base_fee"] == fee
    assert document(database)["chains"][0]["name"] == "Mainnet"
    assert admin.get("/admin/document/at?time=x").location == "/admin/history/at?time=x"


def test_opening_set_is_edited(admin: Visitor, database: Database) -> None:
    path = "/admin/validators/10/opening"
    for wrong, words in (
        ("0x12 1", "Must be"),
        (f"{SIGNERS[0]}", "Line 1"),
        (f"{SIGNERS[0]} 0", "more than 0"),
    ):
        answer = send(admin, path, validators=wrong)
        assert words in answer.text.partition("field-error")[2]
    preview = send(admin, path, validators=f"{SIGNERS[0].lower()} 3\r\n{SIGNERS[1]} 4")
    assert "opening validators" in preview.text
    assert send(admin, path, preview, confirm="1").location == "/admin/chains/10#validators"
    assert [(r["signer"], r["power"]) for r in document(database)["validators"] if r["chain_id"] == 10] == [
        (SIGNERS[0], "3"), (SIGNERS[1], "4"),
    ]  # fmt: skip
    stale = admin.get(path)
    assert form_of(stale)["validators"] == f"{SIGNERS[0]} 3\r\n{SIGNERS[1]} 4"
    preview = send(admin, path, stale, validators=f"{SIGNERS[1]} 5")
    assert send(admin, path, preview, confirm="1").status_code == 302
    assert [r["power"] for r in document(database)["validators"] if r["chain_id"] == 10] == ["5"]
    assert "was changed while you were editing" in send(admin, path, stale, validators=f"{SIGNERS[1]} 6").text
    assert "Nothing was changed" in send(admin, path).text
    assert admin.get("/admin/validators/77/opening").status_code == 404
