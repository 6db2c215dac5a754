"""What uses a row that cannot be removed, with links to the pages of each user."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from flask import url_for

from app.admin.network_names import row_title
from app.db.engine import reading
from app.queries.network import load_rows
from app.runtime.gateway import current_gateway
from app.services.network.edits.planning import BLOCKED, EDITABLE
from app.services.network.edits.results import RowUsers, counted


@dataclass(frozen=True, slots=True)
class LinkedUsers:
    """Users of a kind: how many, the names of the first with their pages, and how many more there are."""

    title: str
    links: tuple[tuple[str, str | None], ...]
    more: int


def users_with_links(users: Iterable[RowUsers]) -> list[LinkedUsers]:
    """The users with links; None where a user has no page of its own."""
    pages = _pages()
    return [
        LinkedUsers(
            ("over " if each.at_least else "") + counted(each.count, each.kind),
            tuple(pages.get(name) or (name, _transfer_page(name)) for name in each.names),
            each.count - len(each.names),
        )
        for each in users
    ]


def _pages() -> dict[str, tuple[str, str]]:
    """Title and page of each row, by the name that the service uses for it."""
    found: dict[str, tuple[str, str]] = {}
    with reading(current_gateway().reads) as connection:
        for section in EDITABLE.values():
            if section.part in BLOCKED:
                continue
            for row in load_rows(connection, section.model):
                key = row["chain_id"] if section.name == "chains" else row["id"]
                one = section.name.removesuffix("s").replace("_", " ")
                title = row_title(one, section.documented(row))
                found[section.describe(row)] = title, url_for(f"{section.name}.edit", key=key)
    return found


def _transfer_page(name: str) -> str | None:
    return f"{url_for('admin.index')}transfers/{name}" if name.startswith("0x") else None
