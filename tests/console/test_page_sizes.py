"""No page grows with its rows: of many it shows some and their number, and links to the others."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import insert

from app.accounts.rules.roles import Role
from app.accounts.rules.two_persons import TwoPersons
from app.audit.services import show_audit
from app.credentials.services.issuing import issue, new_key, new_token
from app.db.database import Database
from app.db.engine import writing
from app.http.application import part_of
from app.network.document import export_network, import_network
from app.network.edits.restore import Undo
from app.network.edits.save import preview_edit, save_edit
from app.transfers.models import Anomaly
from app.values.amounts import grouped
from tests.actors import TESTER
from tests.applications import Editing, OpenApp, editing_of
from tests.builders.network import text
from tests.console.forms import form_of
from tests.console.large import SIZE, VALIDATORS, import_production, production_document, reduced_document
from tests.console.roles import EXPECTED
from tests.console.visitor import NOW, Visitor, add_account, signed_in
from tests.console.walking import Walk
from tests.databases import SharedDatabase
from tests.feed.services.world import event, feed, sent, transfer_id
from tests.steps import statements
from tests.webhooks.services.hooks import to_everything

MOST_BYTES = 300_000
ROWS = 25
MANY = 120
"""More rows than a page shows."""


def emptied(document: bytes) -> dict[str, int]:
    """How many rows of each section an exported document has."""
    return {name: len(rows) for name, rows in json.loads(document).items() if isinstance(rows, list)}


def total(document: dict[str, Any]) -> int:
    return sum(emptied(json.dumps(document).encode()).values())


REDUCED = reduced_document()


@pytest.fixture
def large(app: Flask, shared_database: SharedDatabase, editing: Editing) -> Flask:
    """A gateway whose first record is an import of many rows."""

    def fill() -> None:
        import_network(*editing, text(REDUCED), actor=TESTER)

    shared_database.fill("tests.console reduced production", fill)
    return app


@pytest.fixture
def admin(large: Flask) -> Visitor:
    return signed_in(large, Role.ADMIN)


def rows_of(page: str) -> int:
    """How many rows a page shows, collapsed or not."""
    return page.count('<table class="diff')


def next_page(page: str, path: str) -> str | None:
    found = re.search(r'<a class="button quiet" href="([^"#]+)#rows">\s*Next', page)
    return None if found is None else path + found[1].replace("&amp;", "&")


def test_pages_of_section_show_each_row_once(admin: Visitor) -> None:
    path, seen = "/admin/audit/1", list[str]()
    address: str | None = f"{path}?rows=pools:1"
    while address is not None:
        page = admin.get(address).text
        seen += re.findall(r"<strong>Added: (Pool [^<]+)</strong>", page)
        address = next_page(page, path)
    assert len(seen) == len(set(seen)) == len(REDUCED["pools"]) > ROWS


def test_unknown_page_of_rows_shows_another(admin: Visitor) -> None:
    for rows in ("routes:999", "routes:0", "routes:x", "nothing:2", ":", "²", "all:-1"):
        page = admin.get("/admin/audit/1", query_string={"rows": rows})
        assert page.status_code == 200
        assert 0 < rows_of(page.text) <= ROWS, rows


def test_links_of_later_page_lead_to_their_rows(admin: Visitor) -> None:
    page = admin.get("/admin/audit/1?rows=routes:3").text
    title = re.search(r"<strong>Added: (Route of \S+)", page)
    row = re.search(r'href="(/admin/history/record/1/\d+)">Open row', page)
    assert title is not None
    assert row is not None
    opened = admin.get(admin.get(row[1]).location).text
    assert title[1].casefold() in opened.casefold()


def test_record_is_downloaded_whole(large: Flask, admin: Visitor) -> None:
    answer = admin.get("/admin/audit/1.json")
    entry = show_audit(part_of(large, Database), 1)
    assert entry is not None
    assert len(answer.get_json()["changes"]) == len(entry.changes) == total(REDUCED)
    assert "attachment" in answer.headers["Content-Disposition"]
    assert admin.get("/admin/audit/999.json").status_code == 404


def test_record_of_production_is_shown_and_undone_whole(
    app: Flask, database: Database, shared_database: SharedDatabase
) -> None:
    shared_database.fill("tests.console production", lambda: import_production(app))
    admin, changes = signed_in(app, Role.ADMIN), total(production_document())
    page = admin.get("/admin/audit/1")
    assert len(page.data) < MOST_BYTES
    assert rows_of(page.text) == ROWS
    for section, rows in SIZE.items():
        label = section.replace("_", " ").capitalize()
        counts = page.text.partition(f"{label}</a></th>")[2].partition("</tr>")[0]
        assert f'<td class="number">{rows}</td>' in counts, section
    assert f"Page 1 of {-(-changes // ROWS)}" in page.text
    path = "/admin/history/undo/1?rows=routes:2"
    with statements(database.engine) as executed:
        page = admin.get(path)
    assert len(executed) < 150, "they do not grow with the rows"
    assert len(page.data) < MOST_BYTES
    assert rows_of(page.text) == ROWS
    button = page.text.index('name="confirm"')
    assert button < page.text.index("<h2>Effects</h2>") < page.text.index('<details class="card"')
    assert f"Undo {grouped(changes)} changes" in page.text
    done = admin.post(path, form_of(page) | {"confirm": "1", "change_reason": "a wrong file"})
    assert done.location.startswith("/admin/audit/")
    assert not any(emptied(export_network(database)).values())


def test_undo_refuses_changes_after_preview(large: Flask, admin: Visitor) -> None:
    """A row that was on no page that was opened, too."""
    database = part_of(large, Database)
    stale = admin.get("/admin/history/undo/1")
    number = len(REDUCED["chains"]) + len(REDUCED["tokens"]) + 3
    restore = f"/admin/pools/restore/1/{number}?before=1"
    removal = admin.get(admin.get(restore).location)
    assert removal.status_code == 200
    routes = json.loads(export_network(database))["routes"]
    key = re.search(r'href="(/admin/routes/\d+)"', admin.get("/admin/routes/").text)
    assert key is not None
    removed = admin.get(f"{key[1]}/remove")
    admin.post(f"{key[1]}/remove", form_of(removed) | {"confirm": "1"})
    assert len(json.loads(export_network(database))["routes"]) == len(routes) - 1
    answer = admin.post("/admin/history/undo/1", form_of(stale) | {"confirm": "1"})
    assert "were changed while you were looking" in answer.text
    assert emptied(export_network(database))["chains"] == len(REDUCED["chains"])


NOT_OPENED = {
    "history.row", "chains.new", "connect.token",
    "validators.index", "watching.index",  # lead to another page
    "audit.export_csv", "audit.export_lines", "audit.record_file", "document.export",
    "history.at_document", "transfers.export_csv", "console.static", "security.static",  # files
    "blocked_networks.edit", "blocked_networks.remove", "chains.resume",
    "operators.reset_second_factor", "account.kept", "account.recovery_codes",  # of what is not there
    "transfers.transfer",  # test_page_of_transfer_with_many_events
}  # fmt: skip
"""Routes that no link of the large gateway leads to, or that answer with a file or another page. Those that
restore a row or sign in are about one thing, and left out by their names."""

AT = "time=2026-11-21+12%3A00"

EVERY_PAGE = (
    "/admin/audit/1", "/admin/history/undo/1", f"/admin/history/at?{AT}", f"/admin/document/at?{AT}",
    "/admin/proposals/", "/admin/proposals/1", "/admin/chains/1", "/admin/validators/1/opening",
    "/admin/validators/1/sets", "/admin/validators/1/sets/0", "/admin/chains/stop?all=1",
    "/admin/connect/?like=1", "/admin/connect/?like=56", "/admin/history/?subject=chain+1",
    "/admin/search/?q=usd", "/admin/tokens/?page_size=100000", "/admin/blocked_addresses/",
)  # fmt: skip
"""Pages with many rows, in addition to all that links lead to."""


@pytest.fixture
def crowded(open_app: OpenApp, shared_database: SharedDatabase) -> Flask:
    """The large configuration, with long lists of everything else and a proposal to undo all of it."""
    app = open_app(own=True, two_persons=("pegged_pairs",))

    def fill() -> None:
        import_production(app)
        fill_lists(app)

    shared_database.fill("tests.console crowded", fill)
    return app


@pytest.mark.slow
def test_every_page_is_bounded(crowded: Flask) -> None:
    """A page that grows with its rows fails here, a new one too: links lead to it, or it has to be listed."""
    admin = signed_in(crowded, Role.ADMIN)
    walked = Walk(admin, crowded.url_map.bind("localhost"))
    for address in (*EVERY_PAGE, "/admin/"):
        walked.along(address)
    assert not walked.wrong, "\n".join(walked.wrong)
    large = {address for address, page in walked.texts.items() if len(page.encode()) >= MOST_BYTES}
    assert not large
    routes = {rule.endpoint for rule in crowded.url_map.iter_rules() if "GET" in (rule.methods or ())}
    pages = {
        name for name in routes & EXPECTED.keys() if not name.endswith(".restore") and "security." not in name
    }
    assert pages - walked.pages.keys() <= NOT_OPENED, "links lead to every page, or it is listed"


def test_page_of_transfer_with_many_events(app: Flask, network: Flask) -> None:
    of = {"transfer_id": transfer_id(1), "xfer_status": 2}
    reports = [event("network.status", f"report {n}", at=-70 + n / 10, **of) for n in range(300)]
    feed(network, sent(1), *reports)
    operator = signed_in(app, Role.OPERATOR)
    path = f"/admin/transfers/{transfer_id(1)}"
    page = operator.get(path)
    assert page.status_code == 200
    assert len(page.data) < MOST_BYTES
    assert "more.</p>" in page.text or "Page 1 of" in page.text


def test_previews_of_everything_are_bounded(admin: Visitor) -> None:
    """Of a document that removes all and of one that changes all, of a list of blocks, of a validator set."""
    document = json.loads(admin.get("/admin/document/network.json").data)
    empty: dict[str, Any] = {"version": 1} | {name: [] for name in document if name != "version"}
    for changed in (empty, document | {"routes": [row | {"base_fee": "7"} for row in document["routes"]]}):
        compared = admin.post("/admin/document/compare", {"text": json.dumps(changed)})
        assert 0 < len(compared.data) < MOST_BYTES
        picks = {
            kind: re.findall(rf'name="{kind}" value="([^"]+)"', compared.text) for kind in ("row", "whole")
        }
        picked = form_of(compared) | picks
        preview = admin.post("/admin/document/apply", picked)
        assert 'name="confirm"' in preview.text
        assert len(preview.data) < MOST_BYTES
        assert rows_of(preview.text) == ROWS
        following = admin.post("/admin/document/apply", form_of(preview) | picked | {"rows": "all:2"})
        assert rows_of(following.text) == ROWS
        assert set(subjects(following.text)).isdisjoint(subjects(preview.text))
    lines = "\n".join(f"0x{10**31 + n:040x}" for n in range(2 * VALIDATORS))
    blocks = admin.post("/admin/blocked_addresses/new", {"text": lines, "reason": "a list"})
    assert 'name="confirm"' in blocks.text
    assert len(blocks.data) < MOST_BYTES
    done = admin.post("/admin/blocked_addresses/new", form_of(blocks) | {"confirm": "1"})
    assert "/admin/blocked_addresses/" in done.location
    powers = "\n".join(f"0x{10**31 + n:040x} {n + 1}" for n in range(VALIDATORS))
    form = form_of(admin.get("/admin/validators/1/opening"))
    members = admin.post("/admin/validators/1/opening", form | {"validators": powers})
    assert 'name="confirm"' in members.text
    assert len(members.data) < MOST_BYTES
    assert rows_of(members.text) == ROWS


def subjects(page: str) -> list[str]:
    return re.findall(r"<summary><strong>\w+</strong>: ([^<]+)</summary>", page)


def test_confirmed_document_applies_all_rows(large: Flask, admin: Visitor) -> None:
    document = json.loads(admin.get("/admin/document/network.json").data)
    document["routes"] = [row | {"base_fee": "7"} for row in document["routes"]]
    compared = admin.post("/admin/document/compare", {"text": json.dumps(document)})
    preview = admin.post("/admin/document/apply", form_of(compared) | {"whole": "routes"})
    admin.post("/admin/document/apply", form_of(preview) | {"confirm": "1", "change_reason": "new fees"})
    routes = json.loads(export_network(part_of(large, Database)))["routes"]
    assert {row["base_fee"] for row in routes} == {"7"}
    assert len(routes) == len(REDUCED["routes"]) > ROWS


def fill_lists(app: Flask) -> None:
    """Accounts, tokens, keys, webhooks, anomalies and a proposal to undo the whole import."""
    database = part_of(app, Database)
    for n in range(MANY):
        add_account(app, Role.VIEWER, f"viewer-{n}@example.org")
        issue(*editing_of(app), new_token(f"reporter-{n}"), actor=TESTER)
        issue(*editing_of(app), new_key(f"wallet-{n}", ("read",), "100/minute"), actor=TESTER)
        to_everything(app, f"https://hooks-{n}.example/")
    rows = [
        {
            "kind": "paid_twice", "subject": f"pool:{n}:USDT", "detail": "Two payouts", "event_ids": [],
            "first_at": NOW, "last_at": NOW,
        }
        for n in range(MANY)
    ]  # fmt: skip
    with writing(database.engine) as connection:
        connection.execute(insert(Anomaly), rows)
    seen = preview_edit(database, part_of(app, TwoPersons), Undo(1, as_document=True)).fingerprint
    undo = Undo(1, as_document=True, shown=seen)
    save_edit(*editing_of(app), undo, actor=TESTER, reason="a wrong file")
