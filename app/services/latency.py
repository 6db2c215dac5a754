"""The latency operation: how long transfers between two chains take."""

from __future__ import annotations

from collections.abc import Mapping

from app.domain.codes import Reason
from app.domain.errors import GatewayError
from app.domain.estimate.network_terms import ChainInfo
from app.domain.keys import ChainId
from app.domain.transfer.latency import median_seconds, window
from app.queries.latency.middle import middle_latencies
from app.runtime.gateway import Gateway


def median_latency(gateway: Gateway, src_chain_id: ChainId, dst_chain_id: ChainId) -> float:
    """The exact median, in seconds, of the transfers released in the last 7 days.

    Disabled chains are answered too. A median is kept for a moment, and so is that there is none: the 7 days
    then end when it was read.

    :raises GatewayError: for equal or unknown chains, and when no transfer counts.
    :raises Unavailable: the configuration cannot be read.
    """
    if src_chain_id == dst_chain_id:
        raise GatewayError(
            f"source and destination are the same chain ({src_chain_id}): choose two different chains",
            reason=Reason.SAME_CHAIN,
        )
    chains = gateway.snapshots.current().terms.chain_infos
    src, dst = _known(chains, src_chain_id), _known(chains, dst_chain_id)
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


def _known(chains: Mapping[ChainId, ChainInfo], chain_id: ChainId) -> ChainInfo:
    chain = chains.get(chain_id)
    if chain is None:
        raise GatewayError(
            f"chain {chain_id} is unknown: choose one of the chains in /v2/getTransferConfigs",
            reason=Reason.CHAIN_UNKNOWN,
        )
    return chain
