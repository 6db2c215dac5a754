"""What refers to a row: other rows and transfers. A row that is referred to is not removed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from sqlalchemy import ColumnElement, Connection

from app.queries.transfers.usage import COUNT_LIMIT, count_transfers, of_chain, of_token, some_transfers
from app.services.network.edits.results import InUse, RowUsers
from app.services.network.sections import SECTIONS, Row, Section

NAMED: Final = 10
"""How many rows or transfers of a kind are named in the refusal."""

_KINDS: Final = {
    "tokens": "token",
    "pools": "pool",
    "routes": "route",
    "route_blocks": "route block",
    "pegged_pairs": "pegged pair",
    "validators": "validator",
}
_CHAIN_COLUMNS: Final = ("chain_id", "src_chain_id", "dst_chain_id", "org_chain_id", "pegged_chain_id")
_ADVICE: Final = {
    "chains": "Stop the chain instead, or remove everything that uses it first.",
    "tokens": "Stop transfers of the token instead, or remove everything that uses it first.",
    "pools": "Remove everything that uses it first.",
}

Rows = Mapping[str, list[Row]]


def require_unused(connection: Connection, section: Section, row: Row, rows: Rows) -> None:
    """Make sure that neither rows nor transfers use the row.

    :param rows: of every section but the blocked accounts and networks.
    :raises InUse: with what uses it.
    """
    users = tuple(_users(connection, section, row, rows))
    if users:
        raise InUse(section.describe(row), users, _ADVICE[section.name])


def _users(connection: Connection, section: Section, row: Row, rows: Rows) -> Iterator[RowUsers]:
    if section.name == "chains":
        yield from _referring(rows, tuple(_KINDS), row["chain_id"], None)
        yield from _transfers(connection, of_chain(row["chain_id"]))
    elif section.name == "tokens":
        names = ("pools", "routes", "route_blocks", "pegged_pairs")
        yield from _referring(rows, names, row["chain_id"], row["symbol"])
        yield from _transfers(connection, of_token(row["chain_id"], row["symbol"]))
    elif section.name == "pools":
        yield from _referring(rows, ("routes",), row["chain_id"], row["symbol"])


def _referring(rows: Rows, names: tuple[str, ...], chain_id: int, symbol: str | None) -> Iterator[RowUsers]:
    """Rows that name the chain, and the symbol where it matters."""
    for section in SECTIONS:
        if section.name not in names:
            continue
        found = [
            section.describe(row)
            for row in rows[section.name]
            if any(row.get(column) == chain_id for column in _CHAIN_COLUMNS)
            and symbol in (None, row.get("symbol"))
        ]
        if found:
            yield RowUsers(_KINDS[section.name], len(found), tuple(found[:NAMED]))


def _transfers(connection: Connection, which: ColumnElement[bool]) -> Iterator[RowUsers]:
    if count := count_transfers(connection, which):
        names = tuple(f"0x{i.hex()}" for i in some_transfers(connection, which, NAMED))
        yield RowUsers("transfer", min(count, COUNT_LIMIT), names, at_least=count > COUNT_LIMIT)
