"""How long nothing was heard of reporters and chains."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from app.db.engine import ask, reading
from app.domain.keys import ChainId
from app.queries.reporters import every_token, last_accepted
from app.queries.transfers.trends import chain_progress
from app.runtime.gateway import Gateway
from app.services.watching.chains import watched_chains

NEVER: Final = math.inf

MOST_REPORTERS: Final = 200
"""So many are told; those beyond, by their names, are left out."""


@dataclass(frozen=True, slots=True)
class ChainLag:
    """How far a watched chain is behind.

    :param seconds: the age of the newest block that a watcher knows of; ``NEVER`` before there is one.
    :param blocks: how many of those that it knows of it has not read; None before it has read any.
    """

    seconds: float
    blocks: int | None


def reporter_ages(gateway: Gateway) -> Mapping[str, float]:
    """For how many seconds nothing was accepted of each reporter whose token is valid."""
    now, ages = gateway.clock(), {}
    with reading(gateway.reads) as connection:
        kept = every_token(connection)
        valid = {
            row.name
            for row in kept
            if row.revoked_at is None and (row.expires_at is None or row.expires_at > now)
        }
        names = valid | {token.name for token in gateway.environment_tokens}
        for name in sorted(names)[:MOST_REPORTERS]:
            row = last_accepted(connection, name)
            ages[name] = _age(now, None if row is None else row.received_at)
    return ages


def chain_ages(gateway: Gateway) -> Mapping[ChainId, float]:
    """How many seconds ago the newest event happened of each chain that is in service.

    :raises Unavailable: the configuration cannot be read.
    """
    now, terms = gateway.clock(), gateway.snapshots.current().terms
    newest = {row.chain_id: row.newest_at for row in ask(gateway.reads, chain_progress)}
    return {
        chain_id: _age(now, newest.get(chain_id))
        for chain_id, chain in terms.chains.items()
        if not chain.disabled
    }


def chain_lags(gateway: Gateway) -> Mapping[ChainId, ChainLag]:
    """How far each chain is behind that is configured to be watched.

    :raises Unavailable: the configuration cannot be read.
    """
    now = gateway.clock()
    return {
        chain.chain_id: ChainLag(_age(now, chain.head_at), chain.lag if chain.is_read else None)
        for chain in watched_chains(gateway)
    }


def _age(now: datetime, at: datetime | None) -> float:
    return NEVER if at is None else (now - at).total_seconds()
