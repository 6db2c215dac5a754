"""Changes of the configuration that are refused because transfers use what they change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sqlalchemy import Connection

from app.queries.transfers.existence import transfers_use_chain, transfers_use_token
from app.services.network.changes import Change


def refusals(connection: Connection, changes: Iterable[Change]) -> Iterator[str]:
    """The reason for each refused change, after its JSON path (docs/interface.md#network-document)."""
    for change in changes:
        if change.section.name == "chains":
            yield from _of_chain(connection, change)
        elif change.section.name == "tokens":
            yield from _of_token(connection, change)


def _of_chain(connection: Connection, change: Change) -> Iterator[str]:
    row = change.before
    # Where there was no contract yet, nothing can have been signed for one.
    replaced = row is not None and bool(row["contract_addr"]) and "contract_addr" in change.columns
    if row is None or not (change.after is None or replaced):
        return
    if not transfers_use_chain(connection, row["chain_id"]):
        return
    if change.after is None:
        yield (
            f"chains: transfers use chain {row['chain_id']}, so it cannot be removed; "
            'keep it and set its "disabled" to true'
        )
    else:
        yield (
            f"chains[{change.index}].contract_addr: transfers use chain {row['chain_id']}, and refunds are "
            f"signed for its contract; keep {row['contract_addr']} "
            '(to stop new transfers, set "disabled" to true)'
        )


def _of_token(connection: Connection, change: Change) -> Iterator[str]:
    row = change.before
    edited = [column for column in ("address", "decimal") if column in change.columns]
    if row is None or not edited:
        return
    if not transfers_use_token(connection, row["chain_id"], row["symbol"]):
        return
    name = f"{row['symbol']} on chain {row['chain_id']}"
    if change.after is None:
        yield (
            f"tokens: transfers use {name}, so it cannot be removed; "
            'keep it and set its "xfer_disabled" to true'
        )
        return
    for column in edited:
        yield (
            f"tokens[{change.index}].{column}: transfers use {name}, and their amounts and refunds hang "
            f'on it; keep {row[column]} (for another contract, set "xfer_disabled" to true here '
            "and list that one under a new symbol)"
        )
