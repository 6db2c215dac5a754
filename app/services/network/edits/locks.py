"""Which fields of a row a form must not offer for change, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from sqlalchemy import Connection

from app.db.engine import reading_consistently
from app.queries.transfers.usage import transfers_use_chain, transfers_use_token
from app.runtime.gateway import Gateway
from app.services.network.edits.planning import COUNTED_BY_FEED, EDITABLE
from app.services.network.guards import PAIR_SIDES, sent_through
from app.services.network.sections import Section

KEY_REASON: Final = "it identifies the row. To change it, add a new row and remove this one"
COUNTED_REASON: Final = "opening values are set once; the event feed counts everything after that"


def locked_fields(gateway: Gateway, section: str, documented: Mapping[str, Any]) -> dict[str, str]:
    """The keys of the document that an edit of this row may not change, each with the reason.

    This only helps the form. A save makes its own checks (``plan_edit``).

    :param documented: the row as the document writes it.
    """
    of = EDITABLE[section]
    locked = dict.fromkeys((_key(of, column) for column in of.key), KEY_REASON)
    locked |= dict.fromkeys((_key(of, column) for column in COUNTED_BY_FEED.get(section, ())), COUNTED_REASON)
    with reading_consistently(gateway.engine) as connection:
        locked |= _locked_by_transfers(connection, section, documented)
    return locked


def _locked_by_transfers(connection: Connection, section: str, row: Mapping[str, Any]) -> Iterator[Any]:
    if section == "chains" and row["contract_addr"] and transfers_use_chain(connection, row["id"]):
        yield "contract_addr", "transfers use this chain, and their refunds are signed for its contract"
    if section == "tokens" and transfers_use_token(connection, row["chain_id"], row["symbol"]):
        for name in ("address", "decimal"):
            yield name, "transfers use this token, and their amounts and refunds depend on it"
    for side in PAIR_SIDES if section == "pegged_pairs" else ():
        if sent_through(connection, side, row, {None, row[side.own]}):
            for name in (side.own, side.version):
                yield name, "transfers in progress use this contract, and their refunds are signed for it"


def _key(section: Section, column: str) -> str:
    """The document's name of a column."""
    name: str = section.schema.fields[column].data_key or column
    return name
