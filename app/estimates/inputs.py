"""All that an estimate depends on, as frozen data. The use case gathers it; nothing here reads a clock.

Amounts and fees are integers in smallest units: of the source token where they are sent or
held by the source pool, of the destination token where they are paid out or taken as a fee.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from fractions import Fraction

from app.network.pools import PoolCounters
from app.values.amounts import parse_decimal
from app.values.codes import BridgeType
from app.values.identifiers import ChainId, RouteKey


@dataclass(frozen=True, slots=True)
class ChainTerms:
    """What a chain says about transfers from or to it.

    ``minimal_max_slippage`` is in parts per million and counts where the chain is the source,
    ``drop_gas_amt`` where it is the destination.
    """

    id: ChainId
    name: str
    disabled: bool = False
    minimal_max_slippage: int = 0
    drop_gas_amt: int = 0


@dataclass(frozen=True, slots=True)
class TokenTerms:
    """The transferred token on one chain; ``decimals`` from 0 to 36.

    ``xfer_disabled`` and ``transfer_disabled`` stop all of its transfers, ``pool_disabled`` those through the
    pool. A transfer from the chain is at least ``min_send`` and at most ``max_send``; None is no bound. Of a
    pair's token they are the pair's bounds of deposits or burns, where it has them.
    """

    symbol: str
    decimals: int
    xfer_disabled: bool = False
    pool_disabled: bool = False
    transfer_disabled: bool = False
    min_send: int | None = None
    max_send: int | None = None

    @property
    def stopped(self) -> bool:
        """Whether no transfer of it is taken, of either kind."""
        return self.xfer_disabled or self.transfer_disabled


@dataclass(frozen=True, slots=True)
class FeeTier:
    """The protocol fee, in parts per million, of amounts (source units) from ``from_amount`` on."""

    from_amount: int
    ppm: int


@dataclass(frozen=True, slots=True)
class FixedRate:
    """A fixed number of destination tokens for one source token; ``text`` is how it was configured."""

    value: Fraction
    text: str

    @classmethod
    def parse(cls, text: str) -> FixedRate:
        """Read the configured decimal. Raises ``ValueError`` with a sentence for people."""
        return cls(parse_decimal(text), text)


@dataclass(frozen=True, slots=True)
class StableSwapRate:
    """A price from the balances of the two pools; ``amplification`` as Curve publishes ``A``."""

    amplification: int


@dataclass(frozen=True, slots=True)
class BaseFee:
    """The fee that pays the destination chain's gas, in destination units.

    ``since``: when it was set, None where that is not known. ``reported``: a standing ``fee.updated`` event
    set it, which takes precedence over the configured value. ``pinned_until``: an operator set it until then;
    it takes precedence over both, and is never too old.
    """

    amount: int
    since: datetime | None = None
    reported: bool = False
    pinned_until: datetime | None = None


@dataclass(frozen=True, slots=True)
class PinnedFee:
    """A base fee that an operator set over the feed, in destination units. It counts before ``until``."""

    amount: int
    until: datetime


@dataclass(frozen=True, slots=True)
class RouteTerms:
    """The price of pool transfers of one token in one direction.

    ``tiers`` ascend in ``from_amount``; below the first of them there is no protocol fee. A base fee older
    than ``base_fee_max_age_seconds`` (``None``: any age) is not quoted. A base fee or tiers of ``None`` are
    not known: then there is no quote. ``pin`` may have ended.
    """

    rate: FixedRate | StableSwapRate
    base_fee: BaseFee | None
    base_fee_max_age_seconds: int | None = None
    tiers: tuple[FeeTier, ...] | None = ()
    pin: PinnedFee | None = None


@dataclass(frozen=True, slots=True)
class PeggedTerms:
    """The price of pegged transfers in one direction: of the pair, for burn → mint of the destination's pair.

    ``base_fee`` is already the one of the direction (deposit or burn), in destination units; None, or tiers
    of None: not known, so there is no quote. ``src_token`` and ``dst_token`` are the pair's own; None: those
    of the chains.
    """

    bridge_type: BridgeType
    base_fee: int | None = 0
    tiers: tuple[FeeTier, ...] | None = ()
    src_token: TokenTerms | None = None
    dst_token: TokenTerms | None = None


class RouteBlock(Enum):
    """In which direction transfers of the token are blocked, as seen from this transfer."""

    NONE = "none"
    ONE_WAY = "one_way"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class PoolState:
    """A pool with its caps, in the smallest units of its own token.

    A cap of ``None`` is no cap. ``epoch_volume`` was sent from the pool in the current epoch;
    ``epoch_seconds`` is only named in the refusal for a reached epoch cap.
    """

    counters: PoolCounters = field(default_factory=PoolCounters)
    total_cap: int | None = None
    epoch_cap: int | None = None
    epoch_volume: int = 0
    epoch_seconds: int | None = None

    @property
    def balance(self) -> int:
        """What the pool holds, at least 0: events may be missing (docs/interface.md#pools)."""
        return max(0, self.counters.balance)

    @property
    def inbound_limit(self) -> int:
        """The largest amount that the pool takes in with one transfer, at least 0."""
        return max(0, self.counters.inbound_limit)

    @property
    def epoch_rest(self) -> int | None:
        """What may still be sent from the pool in this epoch; under 0 where the cap was lowered since."""
        return None if self.epoch_cap is None else self.epoch_cap - self.epoch_volume

    @property
    def total_rest(self) -> int | None:
        """What the pool takes until it is at its total cap; under 0 where it is over it."""
        return None if self.total_cap is None else self.total_cap - self.balance

    def moved_by(self, change: PoolCounters, epoch_volume: int = 0) -> PoolState:
        """The pool after events: counters changed, and what was sent from it in the current epoch."""
        return PoolState(
            self.counters + change, self.total_cap, self.epoch_cap, epoch_volume, self.epoch_seconds
        )


@dataclass(frozen=True, slots=True)
class EstimateRequest:
    """What was asked, already read: numbers within their protobuf types, ``amt`` at most 2^256-1.

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
        """The route that was asked for."""
        return RouteKey(self.token_symbol, self.src_chain_id, self.dst_chain_id)


@dataclass(frozen=True, slots=True)
class EstimateInputs:
    """One request with everything the answer depends on.

    ``pegged`` is the pair (or burn → mint) that would apply between the two chains, whatever
    the request's ``is_pegged`` says. ``symbol_chains`` names the enabled chains that have the
    token, ``open_destinations`` those it can go to from the source; ``spelling`` is the symbol of a token
    of the source that differs in letter case alone. All three are only for messages.
    ``facts_age``: how many seconds ago the pools' counters and the reported fee were read, for the
    explanation alone; None where they were not asked for.
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
