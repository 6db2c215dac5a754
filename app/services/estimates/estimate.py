"""Estimates: what a transfer would cost, and what its receiver would get."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from app.domain.blocking import IPAddress
from app.domain.estimate.estimate import Estimate, estimate
from app.domain.estimate.inputs import BaseFee, EstimateInputs, EstimateRequest, PoolState, RouteBlock
from app.domain.estimate.pricing import wants_pegged
from app.queries.estimates.facts import Epoch, Moved, estimate_facts
from app.runtime.gateway import Gateway
from app.runtime.snapshot import NetworkSnapshot


def estimate_transfer(
    gateway: Gateway, request: EstimateRequest, usr_addr: str | None, caller: IPAddress | None
) -> Estimate:
    """The estimate by the present configuration, pools and fees, counted by how it ends.

    :param usr_addr: the user's account on any chain, None where it was left out.
    :param caller: the IP address of the caller (docs/interface.md#caller), None where it is not known.
    :raises EstimateRefused: with the code of the first check that fails.
    :raises Unavailable: when the configuration is too old to be trusted.
    """
    try:
        answer = estimate(estimate_inputs(gateway, request, usr_addr, caller))
    except Exception as error:
        gateway.estimate_counts.refused(error)
        raise
    gateway.estimate_counts.answered()
    return answer


def estimate_inputs(
    gateway: Gateway, request: EstimateRequest, usr_addr: str | None, caller: IPAddress | None
) -> EstimateInputs:
    """Everything that the estimate depends on: the configuration, and the pools and fees read now."""
    now = gateway.clock()
    inputs = _configured(gateway.snapshots.current(), request, now, usr_addr, caller)
    route, src, dst = inputs.route, inputs.src_pool, inputs.dst_pool
    if route is None or src is None or dst is None or wants_pegged(inputs):
        return inputs
    epoch = Epoch.at(now, src.epoch_seconds) if src.epoch_cap is not None and src.epoch_seconds else None
    route_key = request.token_symbol, request.src_chain_id, request.dst_chain_id
    facts = gateway.public_reads.ask(estimate_facts, *route_key, epoch)
    return replace(
        inputs,
        route=route
        if facts.reported_fee is None
        else replace(route, base_fee=_reported(*facts.reported_fee)),
        src_pool=moved_pool(src, facts.src, facts.epoch_volume),
        dst_pool=moved_pool(dst, facts.dst),
    )


def _configured(
    snapshot: NetworkSnapshot,
    request: EstimateRequest,
    now: datetime,
    usr_addr: str | None,
    caller: IPAddress | None,
) -> EstimateInputs:
    """The inputs from the configuration alone, with the pools at their opening values."""
    terms, symbol = snapshot.terms, request.token_symbol
    route_key = symbol, request.src_chain_id, request.dst_chain_id
    src, dst = (request.src_chain_id, symbol), (request.dst_chain_id, symbol)
    return EstimateInputs(
        request=request,
        now=now,
        caller_blocked=caller is not None and snapshot.blocked_networks.blocks(caller, now),
        address_blocked=bool(usr_addr) and snapshot.blocked_addresses.blocks(usr_addr or "", now),
        src_chain=terms.chains.get(request.src_chain_id),
        dst_chain=terms.chains.get(request.dst_chain_id),
        src_token=terms.tokens.get(src),
        dst_token=terms.tokens.get(dst),
        route=terms.routes.get(route_key),
        pegged=terms.pegged.get(route_key),
        block=terms.blocks.get(route_key, RouteBlock.NONE),
        src_pool=terms.pools.get(src),
        dst_pool=terms.pools.get(dst),
        symbol_chains=terms.symbol_chains.get(symbol, ()),
        open_destinations=terms.destinations.get(src, ()),
    )


def _reported(amount: int, since: datetime) -> BaseFee:
    return BaseFee(amount, since=since, reported=True)


def moved_pool(pool: PoolState, by: Moved, epoch_volume: int = 0) -> PoolState:
    """A pool now: its opening values and what events added to them."""
    return PoolState(
        added=pool.added + by.added,
        sent=pool.sent + by.sent,
        relayed=pool.relayed + by.relayed,
        withdrawn=pool.withdrawn + by.withdrawn,
        total_cap=pool.total_cap,
        epoch_cap=pool.epoch_cap,
        epoch_volume=epoch_volume,
        epoch_seconds=pool.epoch_seconds,
    )
