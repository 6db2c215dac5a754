"""Estimates: what a transfer would cost, and what its receiver would get."""

from __future__ import annotations

from dataclasses import replace

from app.domain.blocking import IPAddress
from app.domain.estimate.base_fees import base_fee_now
from app.domain.estimate.estimate import Estimate, estimate
from app.domain.estimate.inputs import EstimateInputs, EstimateRequest, RouteBlock
from app.domain.estimate.network_terms import in_any_case
from app.domain.estimate.pricing import is_pegged
from app.runtime.gateway import Gateway
from app.runtime.snapshot import NetworkSnapshot
from app.services.estimates.facts import kept_facts


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
    gateway: Gateway,
    request: EstimateRequest,
    usr_addr: str | None,
    caller: IPAddress | None,
    snapshot: NetworkSnapshot | None = None,
) -> EstimateInputs:
    """Everything that the estimate depends on: the configuration, and pools and fees, kept or read now.

    :param snapshot: the configuration; None for the present one.
    """
    snapshot = snapshot or gateway.snapshots.current()
    now, route_key = gateway.clock(), request.route_key
    terms, src, dst = snapshot.terms, route_key.src, route_key.dst
    route, pegged = terms.routes.get(route_key), terms.pegged.get(route_key)
    src_pool, dst_pool, age = terms.pools.get(src), terms.pools.get(dst), None
    by_pair = is_pegged(request.is_pegged, joined=pegged is not None, routed=route is not None)
    if route is not None and src_pool is not None and dst_pool is not None and not by_pair:
        facts, age = kept_facts(gateway, route_key, src_pool, now)
        route = replace(route, base_fee=base_fee_now(route.pin, facts.reported_fee, route.base_fee, now))
        src_pool = src_pool.moved_by(facts.src, facts.epoch_volume)
        dst_pool = dst_pool.moved_by(facts.dst)
    return EstimateInputs(
        request=request,
        now=now,
        caller_blocked=caller is not None and snapshot.blocked_networks.blocks(caller, now),
        address_blocked=bool(usr_addr) and snapshot.blocked_addresses.blocks(usr_addr or "", now),
        src_chain=terms.chains.get(request.src_chain_id),
        dst_chain=terms.chains.get(request.dst_chain_id),
        src_token=terms.tokens.get(src),
        dst_token=terms.tokens.get(dst),
        route=route,
        pegged=pegged,
        block=terms.blocks.get(route_key, RouteBlock.NONE),
        src_pool=src_pool,
        dst_pool=dst_pool,
        symbol_chains=terms.symbol_chains.get(route_key.symbol, ()),
        open_destinations=terms.destinations.get(src, ()),
        spelling=None if src in terms.tokens else terms.spellings.get(in_any_case(src)),
        facts_age=age,
    )
