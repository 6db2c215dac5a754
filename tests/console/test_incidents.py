"""Every page shows which chains are stopped, and several are stopped or resumed at once."""

from __future__ import annotations

from flask import Flask

from app.accounts.rules.roles import Role
from app.db.database import Database
from app.network.document import import_network
from tests.actors import TESTER
from tests.applications import Editing
from tests.builders.clock import MovableClock
from tests.console.forms import form_of, save, send
from tests.console.visitor import Visitor, signed_in
from tests.network.services.edits.kit import document, records
from tests.network.services.network_kit import network as small_network
from tests.network.services.network_kit import text

ALL = ["1", "10", "56"]


def stop(visitor: Visitor, chain: int, name: str, reason: str) -> None:
    path = f"/admin/chains/{chain}/stop"
    assert send(visitor, path, disabled_reason=reason, typed=name.upper()).status_code == 302


def stopped(database: Database) -> dict[int, str]:
    return {row["id"]: row["disabled_reason"] for row in document(database)["chains"] if row["disabled"]}


def banner(visitor: Visitor, path: str = "/admin/") -> str:
    page = visitor.get(path).text
    _, found, rest = page.partition('<section class="incidents"')
    return " ".join(rest.partition("</section>")[0].split()) if found else ""


def test_every_page_shows_stops_and_reasons(app: Flask, operator: Visitor, clock: MovableClock) -> None:
    assert banner(operator) == ""
    stop(operator, 56, "BNB Chain", "RPC compromised <b>")
    clock.forward(minutes=4)
    for path in ("/admin/", "/admin/transfers/", "/admin/routes/", "/admin/account/", "/admin/audit/"):
        shown_text = banner(operator, path)
        assert "<strong>BNB Chain stopped</strong>" in shown_text, path
        assert "4 min ago</a> by operator@example.org: RPC compromised &lt;b&gt;" in shown_text
        assert 'href="/admin/chains/56/resume"' in shown_text
    viewer = signed_in(app, Role.VIEWER)
    assert "BNB Chain stopped" in banner(viewer)
    assert "resume" not in banner(viewer)
    listed = operator.get("/admin/chains/").text
    assert "RPC compromised &lt;b&gt;" in listed.partition("<table")[2], "the reason stands in the list"
    send(operator, "/admin/chains/56/resume", confirm="1")
    assert banner(operator) == ""


def test_banner_names_author_of_stop(operator: Visitor, editing: Editing, clock: MovableClock) -> None:
    rows = small_network()
    rows["chains"][0] |= {"disabled": True, "disabled_reason": "by the file"}
    import_network(*editing, text(rows), actor=TESTER)
    clock.forward(minutes=50)
    assert f"50 min ago</a> by {TESTER.name}: by the file" in banner(operator)
    clock.forward(minutes=3)
    save(operator, "/admin/chains/1", disabled_reason="in other words")
    assert f"53 min ago</a> by {TESTER.name}: in other words" in banner(operator), "it was stopped before"


def test_several_are_stopped_and_resumed_at_once(operator: Visitor, database: Database) -> None:
    page = operator.get("/admin/chains/stop?chain=1&chain=56&chain=77&chain=x")
    assert "Stop 2 chains?" in page.text
    assert "stop at once" in page.text
    form = form_of(page) | {"chain": ["1", "56"]}
    for fields, words in (
        ({"disabled_reason": "", "typed": "stop 2 chains"}, "Enter why the chain is stopped"),
        ({"disabled_reason": "leak", "typed": "2"}, "Type “stop 2 chains” to confirm"),
    ):
        answer = operator.post("/admin/chains/stop", form | fields)
        assert answer.text.count(words) >= 1
        assert answer.text.count("Enter why the chain") <= 1, "once, not once a chain"
        assert stopped(database) == {}
    done = operator.post("/admin/chains/stop", form | {"disabled_reason": "leak", "typed": " Stop 2  Chains"})
    assert done.location == "/admin/chains/"
    assert stopped(database) == {1: "leak", 56: "leak"}
    (record,) = [each for each in records(database) if each.action.startswith("network.")]
    assert record.action == "network.stop"
    assert record.detail == "stop 2 chains: BNB Chain, Ethereum; reason: leak"
    assert "Resume the 2 chains that were stopped together" in banner(operator)
    assert banner(operator).count("2 chains") == 1

    preview = operator.get("/admin/chains/resume?all=1")
    assert "open at once" in preview.text
    form = form_of(preview) | {"chain": ["1", "56"]}
    save(operator, "/admin/chains/1", disabled_reason="not yet")
    assert "was changed while you were editing" in operator.post("/admin/chains/resume", form).text
    assert len(stopped(database)) == 2
    form = form_of(operator.get("/admin/chains/resume?all=1")) | {"chain": ["1", "56"]}
    assert operator.post("/admin/chains/resume", form).status_code == 302
    assert stopped(database) == {}


def test_banner_omits_retired_chain(operator: Visitor, database: Database) -> None:
    stop(operator, 1, "Ethereum", "shut down")
    save(operator, "/admin/chains/1", retired="1")
    assert "shut down" not in banner(operator)
    assert "retired" in operator.get("/admin/chains/").text
    assert document(database)["chains"][0]["retired"] is True
    form = form_of(operator.get("/admin/chains/1/resume"))
    assert operator.post("/admin/chains/1/resume", form).status_code == 302
    assert "retired" not in document(database)["chains"][0]
    refused = send(operator, "/admin/chains/10", retired="1")
    assert stopped(database) == {}
    assert 'name="confirm"' not in refused.text, "it runs, so there is nothing to retire"


def test_all_are_stopped(operator: Visitor, database: Database) -> None:
    stop(operator, 10, "Optimism", "before")
    page = operator.get("/admin/chains/stop?all=1")
    fields = {"disabled_reason": "drill", "typed": "stop 2 chains", "chain": ALL}
    assert operator.post("/admin/chains/stop", form_of(page) | fields).status_code == 302
    assert stopped(database) == {1: "drill", 10: "before", 56: "drill"}, "a reason is not written over"
    assert operator.get("/admin/chains/stop?all=1").location == "/admin/chains/"
    assert operator.get("/admin/chains/resume").location == "/admin/chains/", "none is picked"
