"""How much of a token its pool takes in with one transfer."""

from __future__ import annotations

from typing import Any

from app.domain.codes import Reason
from app.domain.errors import GatewayError
from app.domain.estimate import refusals as refuse
from app.domain.keys import ChainId, PoolKey, RouteKey
from app.runtime.gateway import Gateway
from app.services.estimates.facts import kept_facts


def token_bound(gateway: Gateway, chain_id: ChainId | int, token_addr: str) -> int | None:
    """What the inbound limit of the token's pool leaves, and its caps where these leave less; at least 0.

    It is the largest amount that an estimate from this chain does not refuse with 1005 or 1017.

    :param token_addr: as in the transfer configs, in any case.
    :returns: in the token's smallest units; None where it has no pool, which then bounds nothing.
    :raises GatewayError: the chain or its token is not known.
    """
    snapshot = gateway.snapshots.current()
    if chain_id not in snapshot.terms.chains:
        raise refuse.chain_unknown(chain_id)
    symbol = _symbol(snapshot.configs.answer["chain_token"][str(chain_id)]["token"], token_addr)
    pool = snapshot.terms.pools.get(PoolKey(ChainId(chain_id), symbol))
    if pool is None:
        return None
    here = RouteKey(symbol, ChainId(chain_id), ChainId(chain_id))
    facts, _ = kept_facts(gateway, here, pool, gateway.clock())
    now = pool.moved_by(facts.src, facts.epoch_volume)
    rests = (now.inbound_limit, now.epoch_rest, now.total_rest)
    return max(0, min(rest for rest in rests if rest is not None))


def _symbol(tokens: list[dict[str, Any]], address: str) -> str:
    for each in tokens:
        if each["token"]["address"].lower() == address.lower():
            return str(each["token"]["symbol"])
    raise GatewayError(
        "this chain has no token with this address: use the addresses in /v2/getTransferConfigs",
        reason=Reason.TOKEN_NOT_ON_SRC,
    )
