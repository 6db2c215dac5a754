"""What events say about a route, as it is kept for a moment."""

from __future__ import annotations

from datetime import datetime

from app.domain.estimate.inputs import PoolState
from app.domain.keys import RouteKey
from app.domain.times import Epoch
from app.queries.estimates import EstimateFacts, estimate_facts
from app.runtime.gateway import Gateway


def kept_facts(
    gateway: Gateway, route: RouteKey, src: PoolState, now: datetime
) -> tuple[EstimateFacts, float]:
    """The facts of a route, and how many seconds ago they were read: of one statement, all of one moment.

    The epoch is that of ``now``, and facts are kept for one epoch each. So the volume of an epoch that has
    ended is never counted.

    :param src: the pool that the transfer is sent from. Without an epoch cap the volume is 0.
    """
    capped = src.epoch_cap is not None and src.epoch_seconds
    epoch = Epoch.at(now, src.epoch_seconds) if capped and src.epoch_seconds else None
    return gateway.kept_reads.ask(
        (estimate_facts, route, epoch), lambda: gateway.public_reads.ask(estimate_facts, route, epoch)
    )
