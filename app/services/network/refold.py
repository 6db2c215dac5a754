"""Where a change of the configuration reaches the kept events."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, or_, select, tuple_

from app.models.transfers import Transfer
from app.queries.feed.facts import load_network_facts
from app.services.feed.anomalies import judge_pools
from app.services.feed.chains import fold_validators
from app.services.feed.projection import refold
from app.services.network.changes import Change

PoolKey = tuple[int, str]


@dataclass(frozen=True, slots=True)
class FactsChanged:
    """Facts that kept events are judged by and that are others now: came, went or changed.

    ``chain_ids`` are chains whose contract, pegged pairs or opening validators changed; ``tokens``
    and ``pools`` name a chain and a symbol.
    """

    chain_ids: frozenset[int]
    tokens: frozenset[PoolKey]
    pools: frozenset[PoolKey]

    @classmethod
    def by(cls, changes: Iterable[Change]) -> FactsChanged:
        """What these changes of the configuration make different."""
        chain_ids: set[int] = set()
        tokens: set[PoolKey] = set()
        pools: set[PoolKey] = set()
        for change in changes:
            if change.section.name == "pools":
                pools.add((change.row["chain_id"], change.row["symbol"]))
            if set(change.section.facts).isdisjoint(change.columns):
                continue
            if change.section.name == "tokens":
                tokens.add((change.row["chain_id"], change.row["symbol"]))
            else:
                chain_ids.update(change.row[column] for column in change.section.chains)
        return cls(frozenset(chain_ids), frozenset(tokens), frozenset(pools))


def refold_after_network_change(connection: Connection, changed: FactsChanged, now: datetime) -> None:
    """Judge kept events again that may count now, or count otherwise. In the transaction of the change."""
    if changed.tokens:
        tokens = list(changed.tokens)
        of_token = (
            tuple_(Transfer.src_chain_id, Transfer.symbol).in_(tokens),
            tuple_(Transfer.dst_chain_id, Transfer.symbol).in_(tokens),
        )
        transfers = connection.scalars(select(Transfer.transfer_id).where(or_(*of_token))).all()
        refold(connection, transfers, load_network_facts(connection), now)
    for chain_id in sorted(changed.chain_ids):
        fold_validators(connection, chain_id, now)
    judge_pools(connection, changed.pools, now)
