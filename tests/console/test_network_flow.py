"""A change is looked at before it bites; who is slower is told; a chain is not stopped by a slip."""

from __future__ import annotations

from flask import Flask

from app.db.database import Database
from tests.console.forms import form_of, save, send
from tests.console.visitor import Visitor, other_operator
from tests.network.services.edits.kit import add_transfer, document, records, shown


def test_effects_are_shown_in_words(operator: Visitor, database: Database) -> None:
    path = f"/admin/routes/{shown(database, 'routes', 'USDT', 1, 56).row_id}"
    preview = send(operator, path, base_fee="6.05437528092011966")
    assert "base fee 10 times the old one" in preview.text
    assert "effect-grave" in preview.text
    assert "0.605437528092011966 USDT" in preview.text, "human units beside smallest units"
    back = operator.post(path, form_of(preview) | {"back": "1"})
    assert form_of(back)["base_fee"] == "6.05437528092011966"
    assert document(database)["routes"][0]["base_fee"] == "605437528092011966"


def test_the_second_is_told_what_changed(app: Flask, operator: Visitor, database: Database) -> None:
    path = f"/admin/routes/{shown(database, 'routes', 'USDT', 1, 56).row_id}"
    second = other_operator(app)
    form = second.get(path)
    preview = send(second, path, base_fee="8")
    assert save(operator, path, base_fee="7").status_code == 302
    for answer in (send(second, path, form, base_fee="8"), send(second, path, preview, confirm="1")):
        assert "Changed while you were editing" in answer.text
        assert "605437528092011966" in answer.text, "what they saw"
        assert '<td data-label="Now" class="come break">7 USDT<' in answer.text, "what it is now"
        assert '<td data-label="You entered" class="come break">8 USDT<' in answer.text, "what they wanted"
        assert f'href="{path}"' in answer.text
    assert document(database)["routes"][0]["base_fee"] == "7" + "0" * 18
    assert save(second, path, base_fee="8").status_code == 302, "from the current values"
    assert document(database)["routes"][0]["base_fee"] == "8" + "0" * 18


def test_only_what_was_entered_is_called_wanted(app: Flask, operator: Visitor) -> None:
    second = other_operator(app)
    form = second.get("/admin/chains/1")
    save(operator, "/admin/chains/1", block_delay="99")
    answer = send(second, "/admin/chains/1", form, name="Mainnet")
    meanwhile, wanted = answer.text.split("<h2>Your change</h2>")
    assert "Block delay" in meanwhile
    assert "Mainnet" in wanted
    assert "Block delay" not in wanted


def test_a_row_that_was_removed_meanwhile(app: Flask, operator: Visitor, database: Database) -> None:
    path = f"/admin/route_blocks/{shown(database, 'route_blocks', 'USDT', 10, 56).row_id}"
    second = other_operator(app)
    form, removal = second.get(path), second.get(f"{path}/remove")
    send(operator, f"{path}/remove", confirm="1")
    for answer in (
        second.post(path, form_of(form) | {"confirm": "1"}),
        second.post(f"{path}/remove", form_of(removal) | {"confirm": "1"}),
    ):
        assert "was removed while you were editing" in answer.text
    assert document(database)["route_blocks"] == []


def test_nothing_is_removed_unseen(operator: Visitor, database: Database) -> None:
    path = f"/admin/route_blocks/{shown(database, 'route_blocks', 'USDT', 10, 56).row_id}/remove"
    assert "Changed while you were editing" in operator.post(path, {"confirm": "1"}).text
    assert len(document(database)["route_blocks"]) == 1


def test_stopping_chain_needs_reason_and_name(operator: Visitor, database: Database) -> None:
    add_transfer(database, 1)
    page = operator.get("/admin/chains/1/stop")
    assert "1 transfer is in progress from or to Ethereum" in page.text
    assert "stop at once" in page.text
    for fields, words in (
        ({"disabled_reason": " ", "typed": "Ethereum"}, "Enter why the chain is stopped"),
        ({"disabled_reason": "incident", "typed": "ether"}, "Type “Ethereum”"),
        ({"disabled_reason": "incident", "typed": ""}, "Type “Ethereum”"),
    ):
        answer = send(operator, "/admin/chains/1/stop", page, **fields)
        assert words in answer.text
        assert form_of(answer)["disabled_reason"] == fields["disabled_reason"]
        assert not document(database)["chains"][0]["disabled"]
    answer = send(operator, "/admin/chains/1/stop", page, disabled_reason="incident", typed="Ethereum")
    assert answer.location == "/admin/chains/"
    chain = document(database)["chains"][0]
    assert (chain["disabled"], chain["disabled_reason"]) == (True, "incident")
    assert operator.get("/admin/chains/1/stop").location == "/admin/chains/1"
    assert "stopped" in operator.get("/admin/chains/").text

    preview = operator.get("/admin/chains/1/resume")
    assert "open at once" in preview.text
    assert send(operator, "/admin/chains/1/resume", preview, confirm="1").status_code == 302
    chain = document(database)["chains"][0]
    assert (chain["disabled"], chain["disabled_reason"]) == (False, "")
    assert operator.get("/admin/chains/1/resume").location == "/admin/chains/1"
    assert operator.get("/admin/chains/77/stop").status_code == 404


def test_the_form_asks_for_the_name_too(operator: Visitor, database: Database) -> None:
    preview = send(operator, "/admin/chains/56", disabled="1", disabled_reason="halted")
    assert "Type “BNB Chain” to confirm" in preview.text
    again = send(operator, "/admin/chains/56", preview, confirm="1", typed="BNB")
    assert "Nothing was saved" in again.text
    assert not document(database)["chains"][2]["disabled"]
    assert send(operator, "/admin/chains/56", again, confirm="1", typed=" BNB Chain ").status_code == 302
    assert document(database)["chains"][2]["disabled"]
    assert "network.edit" in [record.action for record in records(database)]


def test_stop_ignores_edits_but_needs_present_name(app: Flask, operator: Visitor, database: Database) -> None:
    page, other = operator.get("/admin/chains/1/stop"), other_operator(app)
    save(other, "/admin/chains/1", name="Mainnet")
    answer = send(operator, "/admin/chains/1/stop", page, disabled_reason="x", typed="Ethereum")
    assert "Type “Mainnet” to confirm" in answer.text
    assert not document(database)["chains"][0]["disabled"]
    save(other, "/admin/chains/1", block_delay="13")
    send(operator, "/admin/chains/1/stop", answer, disabled_reason="x", typed="Mainnet")
    now = document(database)["chains"][0]
    assert (now["disabled"], now["block_delay"]) == (True, 13), (
        "nobody's edit delays a stop, or is lost by it"
    )


def test_base_fees_by_destination(app: Flask, operator: Visitor, database: Database) -> None:
    path = "/admin/routes/base-fees"
    fields = {"dst_chain_id": "56", "symbol": "", "how": "factor", "factor": "1.5\u202f0", "amount": ""}
    preview = send(operator, path, **fields)
    assert "USDT from Ethereum to BNB Chain" in preview.text
    assert "908 156 292 138 017 949" in preview.text.replace("\u2009", " ").replace("\u202f", " ")
    assert document(database)["routes"][0]["base_fee"] == "605437528092011966"
    other = other_operator(app)
    save(
        other,
        f"/admin/routes/{shown(database, 'routes', 'USDT', 1, 56).row_id}",
        base_fee="10",
        base_fee_unit="smallest",
    )
    answer = send(operator, path, preview, confirm="1")
    assert "was changed while you were editing" in answer.text
    assert document(database)["routes"][0]["base_fee"] == "10"
    assert send(operator, path, answer, confirm="1").status_code == 302
    assert [route["base_fee"] for route in document(database)["routes"]] == [
        "15", "605437528092011966", "605437528092011966",
    ]  # fmt: skip
    fields |= {"how": "amount", "amount": "7 000", "amount_unit": "smallest", "symbol": "USDT"}
    assert send(operator, path, send(operator, path, **fields), confirm="1").status_code == 302
    assert document(database)["routes"][0]["base_fee"] == "7000"


def test_what_is_wrong_with_base_fees(operator: Visitor, database: Database) -> None:
    path, good = "/admin/routes/base-fees", {"dst_chain_id": "56", "how": "factor", "factor": "2"}
    blank = operator.get(path)
    for wrong, words in (
        ({"dst_chain_id": ""}, "Choose the destination chain"),
        ({"dst_chain_id": "77"}, "No route leads there"),
        ({"how": ""}, "Choose how to change the fees"),
        ({"factor": "1,5"}, "decimal point, such as 1.5"),
        ({"factor": "0"}, "Enter a factor above 0"),
        ({"how": "amount", "amount": "-1", "symbol": "USDT"}, "is not a number"),
        ({"how": "amount", "amount": "5"}, "are not known. Choose chain and token"),
        ({"how": "amount", "amount": "5"}, "Choose a token"),
        ({"symbol": "NONE"}, "No route leads there"),
    ):
        answer = send(operator, path, blank, **good | wrong, confirm="1")
        assert words.casefold() in answer.text.casefold(), wrong
    assert send(operator, path, blank, **good, other="1").status_code == 400
    assert document(database)["routes"][0]["base_fee"] == "605437528092011966"
