"""The search of every page: what it leads to, and what it shows where several things are found."""

from __future__ import annotations

import re
from html import unescape

import pytest
from flask import Flask

from app.accounts.rules.roles import Role
from app.console.transfers.detail import transfer_detail
from app.db.database import Database
from app.network.document import import_network
from app.network.snapshot import SnapshotSource
from app.sandbox.catalogue import SANDBOX_TRANSFERS
from app.values.identifiers import TransferId
from tests.actors import TESTER
from tests.applications import Editing
from tests.console.visitor import Visitor, signed_in
from tests.feed.services.world import feed, sent
from tests.network.services.network_kit import VILLAIN, network, text

COMPLETED = SANDBOX_TRANSFERS[7].transfer_id


def search_redirect(visitor: Visitor, typed: str) -> str:
    """Where the search leads; empty where it shows a list."""
    answer = visitor.get("/admin/search/", query_string={"q": typed})
    assert answer.status_code in (200, 302), typed
    return answer.location or ""


def hits(visitor: Visitor, typed: str) -> list[tuple[str, str]]:
    """Kind and title of everything other than transfers."""
    page = visitor.get("/admin/search/", query_string={"q": typed}).text
    return [
        (kind, unescape(title))
        for kind, title in re.findall(r'class="hit-kind">(\w+)</span> <a[^>]*>([^<]*)</a>', page)
    ]


def test_every_page_has_the_box(sandbox: Flask, viewer: Visitor) -> None:
    for path in ("/admin/", "/admin/routes/", "/admin/audit/", f"/admin/transfers/{COMPLETED}"):
        page = viewer.get(path).text
        assert page.count('action="/admin/search/"') == page.count('id="search"') == 1, path
        assert 'aria-keyshortcuts="/"' in page, path


def test_links_to_explorers_lead_to_the_transfer(
    app: Flask, sandbox: Flask, database: Database, snapshots: SnapshotSource
) -> None:
    transaction = transfer_detail(
        database, snapshots, TransferId(bytes.fromhex(COMPLETED[2:]))
    ).src_transaction
    assert transaction
    assert transaction.link
    visitor = signed_in(app, Role.VIEWER)
    for link in (
        transaction.link,
        f"{transaction.link}#eventlog",
        f"Hi, where is my money? {transaction.link}, since Monday.",
        f"https://scan.example/#/transaction/{transaction.tx_hash[2:]}?lang=en",
        f"https://console.example/admin/transfers/{COMPLETED}",
    ):
        assert search_redirect(visitor, link) == f"/admin/transfers/{COMPLETED}", link


def test_one_match_opens_and_several_list(sandbox: Flask, viewer: Visitor) -> None:
    assert search_redirect(viewer, "bnb CHAIN") == "/admin/chains/56"
    assert search_redirect(viewer, "42161") == "/admin/chains/42161"
    assert re.fullmatch(r"/admin/tokens/\d+", search_redirect(viewer, "usdc polygon"))
    listed = hits(viewer, "usdc")
    assert len(listed) > 2
    assert {kind for kind, _ in listed} == {"Token"}
    assert ("Token", "USDC on Polygon") in listed


def test_search_finds_block_of_account(network: Flask, viewer: Visitor) -> None:
    assert search_redirect(viewer, VILLAIN.lower()).startswith("/admin/blocked_addresses/")
    feed(network, sent(1, sender=VILLAIN, src_chain_id=1, dst_chain_id=56))
    assert [kind for kind, _ in hits(viewer, VILLAIN)] == ["Block"]


def test_search_for_odd_text_shows_no_results(sandbox: Flask, viewer: Visitor) -> None:
    for typed in ("", "   ", "\0"):
        page = viewer.get("/admin/search/", query_string={"q": typed})
        assert "What you can search for" in page.text
    odd = ("%", "_", "%%%%", "'; DROP TABLE transfers; --", "…", "...", "0x", "0x…", "(" * 50, "x" * 5_000)
    for typed in (*odd, "https://"):
        answer = viewer.get("/admin/search/", query_string={"q": typed})
        assert answer.status_code == 200, typed
        assert "No results" in answer.text, typed


def test_chain_name_ignores_letter_case(app: Flask, editing: Editing) -> None:
    rows = network()
    rows["chains"][0]["name"] = "Straße & Co."
    import_network(*editing, text(rows), actor=TESTER)
    visitor = signed_in(app, Role.VIEWER)
    # The only result, so its page opens. Without regard to case, "ß" is "ss".
    assert search_redirect(visitor, "strasse &") == f"/admin/chains/{rows['chains'][0]['id']}"


def test_pages_are_found_by_their_names(app: Flask, sandbox: Flask) -> None:
    viewer, admin = signed_in(app, Role.VIEWER), signed_in(app, Role.ADMIN)
    assert search_redirect(viewer, "Audit log") == "/admin/audit/"
    assert search_redirect(admin, "base FEES") == "/admin/routes/base-fees"
    assert search_redirect(viewer, "base fees") == "", "a page of operators"
    assert ("Page", "Ingest tokens") in hits(admin, "tokens")
    assert ("Page", "Ingest tokens") not in hits(viewer, "tokens")
    assert "Page" not in {kind for kind, _ in hits(admin, "us")}


@pytest.mark.every_database
def test_routes_are_found_by_both_chains(sandbox: Flask, viewer: Visitor) -> None:
    listed = hits(viewer, "usdt ethereum BNB")
    assert listed == [
        ("Route", "USDT from Ethereum to BNB Chain"),
        ("Route", "USDT from BNB Chain to Ethereum"),
    ]
    assert hits(viewer, "route usdt from bnb to ethereum") == listed[::-1]
    assert {kind for kind, _ in hits(viewer, "usdt 1 56")} == {"Route"}
    assert len(hits(viewer, "route ethereum bnb")) > 2
    page = viewer.get("/admin/search/", query_string={"q": "usdt ethereum bnb"}).text
    link = re.search(r'href="(/admin/routes/\d+)">USDT from Ethereum', page)
    assert link and "from Ethereum to BNB Chain" in viewer.get(link[1]).text


def test_pools_are_found_by_their_word(sandbox: Flask, viewer: Visitor) -> None:
    assert re.fullmatch(r"/admin/pools/\d+", search_redirect(viewer, "pool usdt ethereum"))
    listed = hits(viewer, "pool USDT")
    assert len(listed) > 2 and {kind for kind, _ in listed} == {"Pool"}


def test_operators_are_found_by_administrators(app: Flask, sandbox: Flask) -> None:
    viewer, admin = signed_in(app, Role.VIEWER), signed_in(app, Role.ADMIN)
    assert re.fullmatch(r"/admin/operators/\d+", search_redirect(admin, "viewer@"))
    assert search_redirect(viewer, "viewer@") == "" and hits(viewer, "viewer@") == []
