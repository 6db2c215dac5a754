"""The latency operation: how long transfers between two chains take."""

from __future__ import annotations

from collections.abc import Mapping

from app.domain.codes import Reason
from app.domain.errors import GatewayError
from app.domain.estimate.network_terms import ChainInfo
from app.domain.keys import MAX_CHAIN_ID, ChainId
from app.domain.transfer.latency import median_seconds, window
from app.domain.transfer.progress import UNKNOWN_TIMES, RouteTimes
from app.queries.latency import middle_and_p90, middle_latencies
from app.runtime.gateway import Gateway


def median_latency(gateway: Gateway, src_chain_id: ChainId, dst_chain_id: ChainId) -> float:
    """The exact median, in seconds, of the transfers released in the last 7 days.

    Disabled chains are answered too. A median is kept for a moment, and so is that there is none: the 7 days
    then end when it was read.

    :raises GatewayError: for equal or unknown chains, and when no transfer counts.
    :raises Unavailable: the configuration cannot be read.
    """
    src, dst = two_chains(gateway, src_chain_id, dst_chain_id)
    middle, _ = gateway.kept_reads.ask(
        (middle_latencies, src_chain_id, dst_chain_id),
        lambda: gateway.public_reads.ask(
            middle_latencies, src_chain_id, dst_chain_id, *window(gateway.clock())
        ),
    )
    if not middle:
        raise GatewayError(
            f"no transfer from {src.name} to {dst.name} was released in the last 7 days",
            reason=Reason.NO_LATENCY_DATA,
        )
    return median_seconds(middle)


def two_chains(gateway: Gateway, src_chain_id: ChainId, dst_chain_id: ChainId) -> tuple[ChainInfo, ChainInfo]:
    """The two chains of a question about latencies.

    :raises GatewayError: they are the same, or one is not known.
    :raises Unavailable: the configuration cannot be read.
    """
    if src_chain_id == dst_chain_id:
        raise GatewayError(
            f"source and destination are the same chain ({src_chain_id}): choose two different chains",
            reason=Reason.SAME_CHAIN,
        )
    chains = gateway.snapshots.current().terms.chain_infos
    return _known(chains, src_chain_id), _known(chains, dst_chain_id)


def route_times(gateway: Gateway, src_chain_id: ChainId, dst_chain_id: ChainId) -> RouteTimes:
    """How long transfers between two chains usually take, as it was minutes ago: for hints alone.

    Any two chains are answered, known or not; ``UNKNOWN_TIMES`` where no transfer was released, and for
    numbers that no chain can be configured with.
    """
    if max(src_chain_id, dst_chain_id) > MAX_CHAIN_ID:
        return UNKNOWN_TIMES
    found, _ = gateway.kept_longer.ask(
        (middle_and_p90, src_chain_id, dst_chain_id),
        lambda: gateway.public_reads.ask(
            middle_and_p90, src_chain_id, dst_chain_id, *window(gateway.clock())
        ),
    )
    if found is None:
        return UNKNOWN_TIMES
    middle, p90 = found
    return RouteTimes(median_seconds(middle), median_seconds([p90]))


def _known(chains: Mapping[ChainId, ChainInfo], chain_id: ChainId) -> ChainInfo:
    chain = chains.get(chain_id)
    if chain is None:
        raise GatewayError(
            f"chain {chain_id} is unknown: choose one of the chains in /v2/getTransferConfigs",
            reason=Reason.CHAIN_UNKNOWN,
        )
    return chain
