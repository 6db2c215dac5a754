"""Judges kept events again after a change of the configuration that they are judged by."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from app.domain.keys import ChainId, PoolKey
from app.queries.feed.facts import load_network_facts
from app.queries.transfers.usage import transfers_of_tokens
from app.services.feed.anomalies import judge_pools
from app.services.feed.chains import fold_validators
from app.services.feed.projection import refold
from app.services.network.changes import Change


@dataclass(frozen=True, slots=True)
class FactsChanged:
    """The facts by which kept events are judged and which a change added, removed or altered.

    ``chain_ids`` are chains whose contract, pegged pairs or opening validators changed; ``tokens``
    and ``pools`` name a chain and a symbol.
    """

    chain_ids: frozenset[ChainId]
    tokens: frozenset[PoolKey]
    pools: frozenset[PoolKey]

    @classmethod
    def by(cls, changes: Iterable[Change]) -> FactsChanged:
        """The facts that these changes of the configuration touch."""
        chain_ids: set[ChainId] = set()
        tokens: set[PoolKey] = set()
        pools: set[PoolKey] = set()
        for change in changes:
            if change.section.name == "pools":
                pools.add(PoolKey(change.row["chain_id"], change.row["symbol"]))
            if set(change.section.facts).isdisjoint(change.columns):
                continue
            if change.section.name == "tokens":
                tokens.add(PoolKey(change.row["chain_id"], change.row["symbol"]))
            else:
                chain_ids.update(change.row[column] for column in change.section.chains)
        return cls(frozenset(chain_ids), frozenset(tokens), frozenset(pools))


def refold_after_network_change(connection: Connection, changed: FactsChanged, now: datetime) -> None:
    """Judge those kept events again that the changed facts may concern, in the transaction of the change."""
    if changed.tokens:
        transfers = transfers_of_tokens(connection, changed.tokens)
        refold(connection, transfers, load_network_facts(connection), now)
    for chain_id in sorted(changed.chain_ids):
        fold_validators(connection, chain_id, now)
    judge_pools(connection, changed.pools, now)
