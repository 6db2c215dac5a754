"""The search of every page: transfers, accounts, chains, tokens, blocks and pages of the console."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from flask import current_app, flash, redirect, request, url_for
from flask.typing import ResponseReturnValue
from flask_admin import expose

from app.admin.access import READ
from app.admin.pages.search.network import NamedRow, network_rows
from app.admin.pages.search.terms import whole_ones
from app.admin.pages.search.transfers import Found, SearchResult, search
from app.admin.views.base import ConsoleView
from app.runtime.gateway import Gateway, current_gateway

LONGEST_TYPED: Final = 2_000
"""Characters of a text; no link to an explorer has more."""

_KINDS: Final = {"chains": "Chain", "tokens": "Token", "blocked_addresses": "Block"}


@dataclass(frozen=True, slots=True)
class Hit:
    """Something beside transfers: what it is, what it is called, more about it, and its page."""

    kind: str
    title: str
    detail: str
    url: str


class SearchView(ConsoleView):
    """What the box at the top of each page leads to."""

    access = {"index": READ}

    def __init__(self) -> None:
        super().__init__(name="Search", endpoint="search")

    def in_menu(self) -> bool:
        """Every page has its box."""
        return False

    @expose("/")
    def index(self) -> ResponseReturnValue:
        """What was found; where that is one thing, its page."""
        typed = request.args.get("q", "").replace("\0", "").strip()[:LONGEST_TYPED]
        if not typed:
            return self.render("console/search/index.html", typed="", result=None, hits=[])
        gateway = current_gateway()
        result = search(gateway, typed)
        hits = [*_network(gateway, typed), *_accounts(result)]
        if len(hits) + len(result.transfers) == 1:
            return redirect(_the_one(result, hits))
        return self.render("console/search/index.html", typed=typed, result=result, hits=hits)


def _the_one(result: SearchResult, hits: list[Hit]) -> str:
    if hits:
        return hits[0].url
    if result.kind is not Found.TRANSFER:
        flash(result.message, "info")
    return url_for("transfers.transfer", transfer_id=result.transfers[0].transfer_id)


def _network(gateway: Gateway, typed: str) -> list[Hit]:
    found: dict[NamedRow, None] = {}
    for text in (typed, *whole_ones(typed)):
        found |= dict.fromkeys(network_rows(gateway, text))
    return [_hit(row) for row in found]


def _hit(row: NamedRow) -> Hit:
    endpoint = f"{row.section}.edit"
    (argument,) = next(current_app.url_map.iter_rules(endpoint)).arguments
    values: dict[str, Any] = {argument: row.key}
    return Hit(_KINDS[row.section], row.title, row.detail, url_for(endpoint, **values))


def _accounts(result: SearchResult) -> list[Hit]:
    return [
        Hit("Account", account, "Show its transfers", url_for("transfers.index", account=account))
        for account in result.accounts
    ]
