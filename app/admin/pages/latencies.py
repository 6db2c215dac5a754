"""Latencies between every two chains: shown in the heat map, and the measure of a stuck transfer."""

from __future__ import annotations

from dataclasses import dataclass

from app.admin.pages.components import ChainName, chain_name
from app.domain.transfer.latency import median_seconds, window
from app.domain.transfer.stuck import Pair
from app.models.engine import reading
from app.queries.latency.by_pair import PairOrder, pair_orders
from app.runtime.gateway import Gateway


@dataclass(frozen=True, slots=True)
class PairLatency:
    """One cell of the heat map: transfers released in the last 7 days, exact to the microsecond."""

    src: ChainName
    dst: ChainName
    count: int
    median_seconds: float
    p90_seconds: float


def latencies_by_pair(gateway: Gateway) -> dict[Pair, PairOrder]:
    """The order statistics of the last 7 days, of the pairs that have any."""
    with reading(gateway.reads) as connection:
        return {
            (order.src_chain_id, order.dst_chain_id): order
            for order in pair_orders(connection, *window(gateway.clock()))
        }


def heat_map(gateway: Gateway, orders: dict[Pair, PairOrder]) -> tuple[PairLatency, ...]:
    """The cells by source and destination, in the order of their ids."""
    chains = gateway.snapshots.current().terms.chain_infos
    cells = []
    for (src_id, dst_id), order in sorted(orders.items()):
        src, dst = chain_name(chains, src_id), chain_name(chains, dst_id)
        median, p90 = median_seconds(order.middle), median_seconds([order.p90])
        cells.append(PairLatency(src, dst, order.count, median, p90))
    return tuple(cells)
