"""The terms of transfers between two chains: tokens, tiers, rates, routes, pairs, base fees.

Which base fee of a route counts (pinned, reported or configured), and for how long:
docs/interface.md#base-fee-age.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import Enum
from fractions import Fraction
from typing import Final

from msgspec import Struct

from app.values.amounts import parse_decimal
from app.values.codes import BridgeType
from app.values.identifiers import ChainId


class ChainTerms(Struct, frozen=True):
    """The terms of transfers from or to a chain.

    ``minimal_max_slippage`` is in parts per million and counts where the chain is the source,
    ``drop_gas_amt`` where it is the destination.
    """

    id: ChainId
    name: str
    disabled: bool = False
    minimal_max_slippage: int = 0
    drop_gas_amt: int = 0


class TokenTerms(Struct, frozen=True):
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
        """Whether no transfer of it is accepted, of either kind."""
        return self.xfer_disabled or self.transfer_disabled


class FeeTier(Struct, frozen=True):
    """The protocol fee, in parts per million, of amounts (source units) from ``from_amount`` on."""

    from_amount: int
    ppm: int


class FixedRate(Struct, frozen=True):
    """A fixed number of destination tokens for one source token; ``text`` is how it was configured."""

    value: Fraction
    text: str

    @classmethod
    def parse(cls, text: str) -> FixedRate:
        """Read the configured decimal. Raises ``ValueError`` with a sentence for people."""
        return cls(parse_decimal(text), text)


class StableSwapRate(Struct, frozen=True):
    """A price from the balances of the two pools; ``amplification`` as Curve publishes ``A``."""

    amplification: int


class RouteTerms(Struct, frozen=True):
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


class PeggedTerms(Struct, frozen=True):
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


LONGEST_PIN: Final = timedelta(days=30)
"""How far ahead a pin may end. A forgotten one would otherwise hide the feed for ever."""


class BaseFee(Struct, frozen=True):
    """The fee that pays the destination chain's gas, in destination units.

    ``since``: when it was set, None where that is not known. ``reported``: a canonical ``fee.updated`` event
    set it, which takes precedence over the configured value. ``pinned_until``: an operator set it until then;
    it takes precedence over both, and is never too old.
    """

    amount: int
    since: datetime | None = None
    reported: bool = False
    pinned_until: datetime | None = None


class PinnedFee(Struct, frozen=True):
    """A base fee that an operator set over the feed, in destination units. It counts before ``until``."""

    amount: int
    until: datetime


Reported = tuple[int, datetime]
"""The fee of the latest canonical ``fee.updated`` of a route, in destination units, and its time."""


def base_fee_now(
    pin: PinnedFee | None, reported: Reported | None, configured: BaseFee | None, now: datetime
) -> BaseFee | None:
    """The base fee that an estimate is made with; None where none is known."""
    return outranking(pin, reported, now) or configured


def outranking(pin: PinnedFee | None, reported: Reported | None, now: datetime) -> BaseFee | None:
    """The base fee that counts in place of the configured one; None where that one counts."""
    if pin is not None and now < pin.until:
        return BaseFee(pin.amount, pinned_until=pin.until)
    if reported is not None:
        amount, since = reported
        return BaseFee(amount, since=since, reported=True)
    return None


def overdue_by_limit(fee: BaseFee | None, limit_seconds: int | None, now: datetime) -> int | None:
    """The greatest age of a route's base fee in seconds, where the fee is older. An unknown age is too old.

    A pinned fee has no age.

    :param limit_seconds: ``base_fee_max_age_seconds`` of the route; None: any age.
    """
    if fee is None or limit_seconds is None or fee.pinned_until is not None:
        return None
    if fee.since is None:
        return limit_seconds
    age = now - fee.since
    seconds = age.days * 86_400 + age.seconds
    return limit_seconds if (seconds, age.microseconds) > (limit_seconds, 0) else None
