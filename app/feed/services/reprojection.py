"""Validates stored events again after a change of the network or a request for a refund, and makes every
projection agree with the log again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import Connection

from app.audit.keys import AuditKeys
from app.audit.rules.records import Actor
from app.audit.services import record, record_separately
from app.db.database import Database
from app.db.engine import writing
from app.feed.projection.anomalies import validate_pools
from app.feed.projection.chains import project_validators
from app.feed.projection.pools import spell_again
from app.feed.projection.transfers import project_again
from app.feed.services.ahead import settle
from app.feed.services.log import refuse_grown
from app.feed.verifying.comparing import Difference
from app.feed.verifying.run import repair_all
from app.network.changes import Change
from app.network.queries import load_network_facts
from app.network.sections import Row
from app.transfers.queries.usage import (
    paid_out_on_routes,
    tokens_of_one_address,
    transfers_naming_contracts,
    transfers_naming_tokens,
    transfers_of_tokens,
)
from app.values.amounts import parse_decimal
from app.values.identifiers import ChainId, PoolKey, RouteKey, TransferId

_PAIR_SIDES: Final = (("org_chain_id", "org_token"), ("pegged_chain_id", "pegged_token"))

_TOKEN_FACTS: Final = ("address", "decimal")
"""The columns that transfers are validated by, of a token that only a pair has."""

_TOKEN_CHAINS: Final[dict[str, tuple[str, ...]]] = {
    "tokens": ("chain_id",),
    "pools": ("chain_id",),
    "pegged_pairs": ("org_chain_id", "pegged_chain_id"),
}
"""By section the columns with the chains whose tokens a row describes."""

CONTRACT_COLUMNS: Final[dict[str, tuple[str, ...]]] = {
    "chains": ("contract_addr",),
    "pegged_pairs": (
        "pegged_deposit_contract_addr", "deposit_contracts", "pegged_burn_contract_addr", "burn_contracts",
    ),
}  # fmt: skip
"""By section the columns of the contracts that take sends."""


class ContractsChanged(Struct, frozen=True):
    """Contracts that were added or removed: of a pegged pair, or without a symbol of a chain's pool.

    ``addresses`` is None where none was configured before, or none is now. Then it changes for every contract
    that a send names whether it is listed.
    """

    chain_ids: frozenset[ChainId]
    symbol: str | None
    addresses: frozenset[str] | None


class FactsChanged(Struct, frozen=True):
    """The facts that stored events are validated by and that a change added, removed or altered.

    :param chain_ids: whose contract, pegged pairs or opening validators changed.
    :param named: tokens whose addresses may mean other symbols now.
    :param contracts: that take sends and were added or removed: sends that name one are validated again.
    :param routes: that have another rate.
    """

    chain_ids: frozenset[ChainId]
    tokens: frozenset[PoolKey]
    pools: frozenset[PoolKey]
    named: frozenset[PoolKey] = frozenset()
    contracts: frozenset[ContractsChanged] = frozenset()
    routes: frozenset[RouteKey] = frozenset()

    @classmethod
    def by(cls, changes: Iterable[Change]) -> FactsChanged:
        chain_ids: set[ChainId] = set()
        tokens: set[PoolKey] = set()
        pools: set[PoolKey] = set()
        contracts: set[ContractsChanged] = set()
        named: set[PoolKey] = set()
        routes: set[RouteKey] = set()
        for change in changes:
            if change.section.name == "pools":
                pools.add(PoolKey(change.row["chain_id"], change.row["symbol"]))
            if (columns := _TOKEN_CHAINS.get(change.section.name)) and _says_what_is_named(change):
                named.update(PoolKey(change.row[column], change.row["symbol"]) for column in columns)
            if not _alters_facts(change):
                continue
            if change.section.name == "tokens":
                tokens.add(PoolKey(change.row["chain_id"], change.row["symbol"]))
            elif change.section.name == "routes":
                routes.update(_rate_changed(change))
            else:
                chain_ids.update(change.row[column] for column in change.section.chains)
                contracts.update(_contracts_changed(change))
                tokens.update(_own_tokens_changed(change))
        return cls(
            frozenset(chain_ids), frozenset(tokens), frozenset(pools), frozenset(named), frozenset(contracts),
            frozenset(routes),
        )  # fmt: skip


def _says_what_is_named(change: Change) -> bool:
    """Whether the change may give a token's address another symbol: a row was added, removed or altered."""
    return change.before is None or change.after is None or _alters_facts(change)


def _alters_facts(change: Change) -> bool:
    """Whether the row was added or removed, or has another fact. A name or an icon is no fact."""
    facts, before, after = change.section.facts, change.before, change.after
    if before is None or after is None:
        return bool(facts)
    return any(_fact(before[column]) != _fact(after[column]) for column in facts)


def _fact(value: Any) -> Any:
    """A column's value; of a token that only a pair has, the parts that events are validated by."""
    return {key: value[key] for key in _TOKEN_FACTS if key in value} if isinstance(value, dict) else value


def _rate_changed(change: Change) -> Iterator[RouteKey]:
    """The route, where payouts are validated by another rate than before. Without a fixed rate it is 1."""
    rates = ((row and row["rate_value"]) or "1" for row in (change.before, change.after))
    if len({parse_decimal(rate) for rate in rates}) > 1:
        yield RouteKey(*(change.row[column] for column in RouteKey._fields))


def _own_tokens_changed(change: Change) -> Iterator[PoolKey]:
    """The tokens, by chain, that a pegged pair describes otherwise than before."""
    if change.section.name != "pegged_pairs":
        return
    for chain, side in _PAIR_SIDES:
        before, after = (_fact({} if row is None else row[side]) for row in (change.before, change.after))
        if before != after:
            yield PoolKey(change.row[chain], change.row["symbol"])


def _contracts_changed(change: Change) -> Iterator[ContractsChanged]:
    columns = CONTRACT_COLUMNS.get(change.section.name, ())
    before, after = (_contracts(row, columns) for row in (change.before, change.after))
    if before != after:
        addresses = before ^ after if before and after else None
        chain_ids = frozenset(change.row[column] for column in change.section.chains)
        yield ContractsChanged(chain_ids, change.row.get("symbol"), addresses)


def _contracts(row: Row | None, columns: tuple[str, ...]) -> frozenset[str]:
    values = (row[column] for column in columns) if row else ()
    lists = (value if isinstance(value, list) else [value] for value in values)
    return frozenset(contract for contracts in lists for contract in contracts if contract)


def follow_network_changes(connection: Connection, changes: Iterable[Change], now: datetime) -> None:
    """Validate again the stored events that the changes may concern, in their transaction."""
    changed = FactsChanged.by(changes)
    transfers = set(transfers_of_tokens(connection, changed.tokens) if changed.tokens else ())
    if changed.named:
        # A pool on the destination decides among symbols of one address on the source, which is any chain.
        sharing = tokens_of_one_address(connection, {key.symbol for key in changed.named})
        chain_ids = {key.chain_id for key in (*changed.named, *sharing)}
        transfers.update(transfers_naming_tokens(connection, chain_ids, {key.symbol for key in sharing}))
    if changed.routes:
        transfers.update(paid_out_on_routes(connection, changed.routes))
    for contracts in changed.contracts:
        transfers.update(
            transfers_naming_contracts(connection, contracts.chain_ids, contracts.symbol, contracts.addresses)
        )
    if transfers:
        project_again(connection, sorted(transfers), load_network_facts(connection), now)
    for chain_id in sorted(changed.chain_ids):
        project_validators(connection, chain_id, now)
    spell_again(connection, changed.named, now)
    validate_pools(connection, changed.pools, now)


def follow_refund_request(connection: Connection, transfer_id: TransferId, now: datetime) -> None:
    project_again(connection, [transfer_id], load_network_facts(connection), now)


_ACTION: Final = "events.replay"
_SUBJECT: Final = "event log"


class StillDiffers(RuntimeError):
    """Rows differed each time that the log was projected. The message says what to do."""


def replay(
    database: Database,
    audit_keys: AuditKeys,
    progress: Callable[[int], None] = lambda _transfers: None,
    *,
    actor: Actor,
    found: Callable[[Difference], None] = lambda _difference: None,
) -> int:
    """Project the log again, and repair the stored rows that differ from it.

    Some rows are repaired in each transaction; between them, and while the log is projected, the feed and the
    answers go on. An interrupted replay leaves some rows repaired and others as before; start it again. Where
    everything agrees nothing is written.

    Anomalies that hold again stay acknowledged. Those that came from a refused line stay: the log has no
    trace of them.

    :param progress: called after each chunk of transfers with their number.
    :param found: called with each row that differed, once it is repaired.
    :returns: how many transfers there are.
    :raises NoEventLog: the transfers have no events.
    :raises NoSecondSchema: the log cannot be projected again here, or not now.
    :raises StillDiffers: something else changes the rows again and again.
    """
    with writing(database.engine) as connection:
        refuse_grown(connection)
        settle(connection, database.clock())
        now = database.clock()
        record(connection, audit_keys, actor, _ACTION, _SUBJECT, now=now, detail="started")
    repaired = 0

    def count(difference: Difference) -> None:
        nonlocal repaired
        repaired += 1
        found(difference)

    transfers, is_right = repair_all(database, count, progress)
    detail = f"compared {transfers} transfers with the log, {repaired} rows differed and were repaired"
    detail += "" if is_right else "; some may differ still"
    record_separately(database, audit_keys, actor, _ACTION, _SUBJECT, detail=detail)
    if not is_right:
        raise StillDiffers("rows differed in every round, as if something changed them: run it again")
    return transfers
