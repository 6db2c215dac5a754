"""How long a base fee may be pinned (docs/interface.md#base-fee-age)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from app.domain.estimate.base_fees import LONGEST_PIN
from app.services.network.changes import Change


def pins_too_long(changes: Iterable[Change], now: datetime) -> Iterator[str]:
    """The reason for each pin that would last too long, after its JSON path.

    A pin that stands is not judged again, and one that has ended may be imported: an export has both.
    """
    for change in changes:
        row = change.after
        if change.section.name != "routes" or row is None or "pinned_until" not in change.columns:
            continue
        until = row["pinned_until"]
        if until is not None and until - now > LONGEST_PIN:
            latest = f"{now + LONGEST_PIN:%Y-%m-%d %H:%M}Z"
            yield (
                f"routes[{change.index}].pinned_until: must be at most {LONGEST_PIN.days} days ahead, "
                f"no later than {latest}: a pinned fee hides what the event feed reports"
            )
