"""Which base fee of a route counts: the pinned one, else the reported one, else the configured one.

The order, and how long a fee counts, are in docs/interface.md#base-fee-age.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

LONGEST_PIN: Final = timedelta(days=30)
"""How far ahead a pin may end: forgotten, it would hide the feed for ever."""


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


Reported = tuple[int, datetime]
"""The fee of the latest standing ``fee.updated`` of a route, in destination units, and its time."""


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
    """The seconds that a route allows its base fee, where it is older; an unknown age is too old.

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
