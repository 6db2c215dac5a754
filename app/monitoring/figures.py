"""Figures from the database about the gateway: ages, levels of pools, counts, backlogs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from msgspec import Struct

from app.credentials.ingest_token import EnvironmentTokens
from app.credentials.models import IngestToken
from app.credentials.queries import every_credential, last_accepted
from app.db.database import Database
from app.db.engine import reading, run_read
from app.estimates.queries import pool_counters
from app.latency.median import window
from app.latency.queries import twice_medians_by_pair
from app.network.pools import PoolCounters
from app.network.sections import Part
from app.network.snapshot import SnapshotSource
from app.transfers.anomalies import AnomalyKind
from app.transfers.queries.anomalies import open_anomalies_by_kind
from app.transfers.queries.status import count_at_status
from app.transfers.queries.trends import chain_progress
from app.transfers.services.acknowledging import count_stuck
from app.transfers.stages import MustAct, Thresholds
from app.values.codes import TransferHistoryStatus as Status
from app.values.identifiers import ChainId, PoolKey
from app.watcher.services.chains import watched_chains
from app.webhooks.queries import count_due, due_subscriptions

NEVER: Final = math.inf

MOST_REPORTERS: Final = 200
"""The most reporters that are reported. Those beyond, by their names, are left out."""


class ChainLag(Struct, frozen=True):
    """How far a watched chain is behind.

    :param seconds: the age of the newest block that a watcher knows; ``NEVER`` before there is one.
    :param blocks: how many known blocks it has not read; None before it has read any.
    """

    seconds: float
    blocks: int | None


def reporter_ages(database: Database, environment_tokens: EnvironmentTokens) -> Mapping[str, float]:
    """Seconds since the last accepted event, for each reporter with a valid token."""
    now, ages = database.clock(), {}
    with reading(database.reads) as connection:
        tokens = every_credential(connection, IngestToken)
        valid = {
            row.name
            for row in tokens
            if row.revoked_at is None and (row.expires_at is None or row.expires_at > now)
        }
        names = valid | {token.name for token in environment_tokens}
        for name in sorted(names)[:MOST_REPORTERS]:
            row = last_accepted(connection, name)
            ages[name] = _age(now, None if row is None else row.received_at)
    return ages


def chain_ages(database: Database, snapshots: SnapshotSource) -> Mapping[ChainId, float]:
    """Seconds since the newest event happened, for each chain that is in service.

    :raises Unavailable: the configuration cannot be read.
    """
    now, terms = database.clock(), snapshots.current().terms
    newest = {row.chain_id: row.newest_at for row in run_read(database.reads, chain_progress)}
    return {
        chain_id: _age(now, newest.get(chain_id))
        for chain_id, chain in terms.chains.items()
        if not chain.disabled
    }


def chain_lags(database: Database, snapshots: SnapshotSource) -> Mapping[ChainId, ChainLag]:
    """How far each chain is behind that is configured to be watched.

    :raises Unavailable: the configuration cannot be read.
    """
    now = database.clock()
    return {
        chain.chain_id: ChainLag(_age(now, chain.head_at), chain.lag if chain.is_read else None)
        for chain in watched_chains(database, snapshots)
    }


def _age(now: datetime, at: datetime | None) -> float:
    return NEVER if at is None else (now - at).total_seconds()


class PoolLevel(Struct, frozen=True):
    """In tokens, as floating-point numbers: only for graphs. ``cap``: None without one."""

    liquidity: float
    cap: float | None


def config_version(snapshots: SnapshotSource) -> int:
    """The version of the network's configuration; 0 before there is one.

    :raises Unavailable: the configuration cannot be read.
    """
    version = snapshots.current().versions.get(Part.CORE.value)
    return 0 if version is None else version.version


def pool_levels(database: Database, snapshots: SnapshotSource) -> Mapping[PoolKey, PoolLevel]:
    """What each configured pool holds, and its total cap.

    :raises Unavailable: the configuration cannot be read.
    """
    terms = snapshots.current().terms
    moved = run_read(database.reads, pool_counters)
    levels = {}
    for key, opening in terms.pools.items():
        pool, unit = opening.moved_by(moved.get(key, PoolCounters())), 10 ** terms.tokens[key].decimals
        levels[key] = PoolLevel(
            pool.counters.balance / unit, None if pool.total_cap is None else pool.total_cap / unit
        )
    return levels


def transfers_by_status(database: Database) -> Mapping[int, int]:
    """How many transfers are at each status; each counted up to ``COUNTED``."""
    with reading(database.reads) as connection:
        return {int(status): count_at_status(connection, int(status)) for status in Status}


def stuck_transfers(database: Database) -> Mapping[MustAct, int]:
    """How many transfers are longer in their state than the rule allows, by who must act; counted up to
    ``COUNTED``.
    """
    with reading(database.reads) as connection:
        thresholds = Thresholds.of(twice_medians_by_pair(connection, *window(database.clock())))
    return {who: count_stuck(database, who, thresholds)[0] for who in MustAct}


def open_anomalies(database: Database) -> Mapping[str, int]:
    """How many anomalies of each kind are not acknowledged; in all counted up to ``COUNTED``."""
    found = Counter({kind.value: 0 for kind in AnomalyKind})
    found.update(run_read(database.reads, open_anomalies_by_kind))
    return found


class Backlog(Struct, frozen=True):
    """``due``: deliveries, counted up to ``COUNTED``. ``oldest_seconds``: since when the first of them is
    due, 0 without any.
    """

    due: int
    oldest_seconds: float


def webhook_backlog(database: Database) -> Backlog:
    """The deliveries that are due to active receivers and wait for a sender."""
    now = database.clock()
    with reading(database.reads) as connection:
        due = count_due(connection, now)
        waiting = due_subscriptions(connection, now) if due else ()
    oldest = (now - waiting[0].first_at).total_seconds() if waiting else 0.0
    return Backlog(due, oldest)
