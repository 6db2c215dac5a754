"""All that an estimate depends on, as frozen data.

Amounts and fees are integers in smallest units: of the source token where they are sent or
held by the source pool, of the destination token where they are paid out or taken as a fee.
"""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from app.network.rules.pools import PoolState
from app.network.rules.terms import ChainTerms, PeggedTerms, RouteBlock, RouteTerms, TokenTerms
from app.values.identifiers import ChainId, RouteKey


class EstimateRequest(Struct, frozen=True):
    """The request, already read: numbers within their protobuf types, ``amt`` at most 2^256-1.

    ``slippage_tolerance`` is in parts per million and may still be out of its range.
    ``is_pegged`` is ``None`` where it was left out. ``tolerance_left_out``: the client is one of
    those that send none (``COMPAT_CLIENTS``); it counts as 0, and its range is not checked.
    """

    src_chain_id: ChainId
    dst_chain_id: ChainId
    token_symbol: str
    amt: int
    slippage_tolerance: int
    is_pegged: bool | None = None
    tolerance_left_out: bool = False

    @property
    def route_key(self) -> RouteKey:
        return RouteKey(self.token_symbol, self.src_chain_id, self.dst_chain_id)


class EstimateInputs(Struct, frozen=True):
    """One request with everything the answer depends on.

    ``pegged`` is the pair (or burn → mint) that would apply between the two chains, independently of the
    request's ``is_pegged``. Only messages have ``symbol_chains``, the enabled chains that have the token,
    ``open_destinations``, those it can go to from the source, and ``spelling``, the symbol of a token of the
    source that differs only in letter case. ``facts_age``: how many seconds ago the pools' counters and the
    reported fee were read, only for the explanation; None where they are not used.
    """

    request: EstimateRequest
    now: datetime
    caller_blocked: bool = False
    address_blocked: bool = False
    src_chain: ChainTerms | None = None
    dst_chain: ChainTerms | None = None
    src_token: TokenTerms | None = None
    dst_token: TokenTerms | None = None
    route: RouteTerms | None = None
    pegged: PeggedTerms | None = None
    block: RouteBlock = RouteBlock.NONE
    src_pool: PoolState | None = None
    dst_pool: PoolState | None = None
    symbol_chains: tuple[str, ...] = ()
    open_destinations: tuple[str, ...] = ()
    spelling: str | None = None
    facts_age: float | None = None
