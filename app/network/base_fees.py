"""Which base fee of a route counts: the pinned one, else the reported one, else the configured one.

The order, and how long a fee counts, are in docs/interface.md#base-fee-age.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from app.estimates.inputs import BaseFee, PinnedFee

LONGEST_PIN: Final = timedelta(days=30)
"""How far ahead a pin may end: forgotten, it would hide the feed for ever."""


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
