"""Queries of higher features about rows of the network. ``app/features.py`` hands them in."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Final, Protocol

from sqlalchemy import Connection

from app.db.engine import HandedIn
from app.network.rules.pools import PoolCounters
from app.values.codes import SendKind
from app.values.identifiers import ChainId, PoolKey, RouteKey
from app.values.times import Epoch


class TransferUse(Protocol):
    """How transfers use rows of the network."""

    def chains_in_use(self, connection: Connection, chain_ids: Collection[int], /) -> set[int]:
        """Which of the chains any transfer comes from or goes to."""

    def tokens_in_use(
        self, connection: Connection, tokens: Collection[tuple[int, str]], /
    ) -> set[tuple[int, str]]:
        """Which of the tokens, each by chain and symbol, any transfer was of."""

    def tokens_of_open_sends(
        self, connection: Connection, tokens: Collection[tuple[int, str]], /
    ) -> set[tuple[int, str]]:
        """Which of the tokens, each by source chain and symbol, a transfer that is not over was sent of."""

    def open_transfers_use_contract(
        self,
        connection: Connection,
        kind: SendKind,
        symbol: str,
        chains: tuple[ChainId, ChainId | None],
        contracts: Collection[str | None],
        /,
    ) -> bool:
        """Whether a transfer that is not over was sent through one of a pegged pair's contracts."""

    def transfers_use_chain(self, connection: Connection, chain_id: ChainId, /) -> bool:
        """Whether any transfer comes from the chain or goes there."""

    def transfers_use_token(self, connection: Connection, chain_id: ChainId, symbol: str, /) -> bool:
        """Whether any transfer of the token comes from the chain or goes there, or did and was pruned."""

    def transfers_using(
        self, connection: Connection, chain_id: ChainId, symbol: str | None, limit: int, /
    ) -> tuple[int, list[bytes]]:
        """How many transfers use a chain or a token, up to ``COUNT_LIMIT`` + 1, and the ids of some."""

    def count_under_way(self, connection: Connection, chain_id: ChainId, /) -> int:
        """How many transfers from the chain or to it are not finished, up to ``COUNT_LIMIT`` + 1."""

    def sent_since(
        self, connection: Connection, since: datetime, route_keys: Collection[RouteKey], /
    ) -> Mapping[RouteKey, int]:
        """How many transfers were sent on each of the routes since the hour of a time."""

    def transfers_of_accounts(
        self, connection: Connection, since: datetime, accounts: Collection[str], /
    ) -> Sequence[tuple[datetime, bytes]]:
        """Times and ids of the transfers sent since then that have one of the accounts on either side."""


COUNT_LIMIT: Final = 10_000
"""Counting transfers ends here, which keeps it cheap. The console shows more as "over 10,000"."""

TRANSFER_USE: Final = HandedIn[[], TransferUse]("transfer_use")

REPORTED_FEES: Final = HandedIn[[], Mapping[RouteKey, tuple[int, datetime]]]("reported_fees")
"""The latest reported fee of every route that has one, in destination units, and its time."""

POOL_USE: Final = HandedIn[[PoolKey, Epoch | None], tuple[PoolCounters, int]]("pool_use")
"""The counters of a pool, and what was sent from it in the epoch, both in smallest units."""
