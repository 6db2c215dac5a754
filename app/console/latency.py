"""Latencies between every two chains: shown on the dashboard, and the measure of a stuck transfer."""

from __future__ import annotations

from msgspec import Struct

from app.console.transfers.components import ChainName, chain_name
from app.db.database import Database
from app.db.engine import reading
from app.latency.queries import ninth_tenths_by_pair, twice_medians_by_pair
from app.latency.rules.median import median_seconds, seconds, window
from app.network.snapshot import SnapshotSource
from app.transfers.rules.stuck import Pair

Medians = dict[Pair, int]
"""Twice the median of each pair that has any, in microseconds."""


class PairLatency(Struct, frozen=True):
    """Transfers between two chains that were released in the last 7 days, exact to the microsecond."""

    src: ChainName
    dst: ChainName
    count: int
    median_seconds: float
    p90_seconds: float


def medians_of_the_week(database: Database) -> Medians:
    """Twice the medians of the last 7 days."""
    with reading(database.reads) as connection:
        return twice_medians_by_pair(connection, *window(database.clock()))


def slowest_pairs(database: Database, snapshots: SnapshotSource, medians: Medians) -> tuple[PairLatency, ...]:
    """The pairs of the last 7 days, the slowest median first."""
    chains = snapshots.current().terms.chain_infos
    with reading(database.reads) as connection:
        ninth_tenths = ninth_tenths_by_pair(connection, *window(database.clock()))
    pairs = (
        PairLatency(
            chain_name(chains, src),
            chain_name(chains, dst),
            count,
            median_seconds(twice),
            seconds(p90),
        )
        for (src, dst), twice in medians.items()
        for p90, count in [ninth_tenths.get((src, dst), (0, 0))]
        if count  # 0: the last has left the window since the medians were read
    )
    return tuple(sorted(pairs, key=lambda pair: (-pair.median_seconds, pair.src.id, pair.dst.id)))
