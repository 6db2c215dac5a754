"""How many transfers there are in each state, and how many need somebody."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from app.db.engine import ask, reading
from app.domain.codes import TransferHistoryStatus as Status
from app.domain.transfer.anomalies import AnomalyKind
from app.domain.transfer.latency import window
from app.domain.transfer.stuck import MustAct, Thresholds
from app.queries.latency import middles_by_pair
from app.queries.transfers.anomalies import open_anomalies_by_kind
from app.queries.transfers.status import count_at_status
from app.runtime.gateway import Gateway
from app.services.transfers.stuck_count import count_stuck


def transfers_by_status(gateway: Gateway) -> Mapping[int, int]:
    """How many transfers are at each status; each counted up to ``COUNTED``."""
    with reading(gateway.reads) as connection:
        return {int(status): count_at_status(connection, int(status)) for status in Status}


def stuck_transfers(gateway: Gateway) -> Mapping[MustAct, int]:
    """How many are longer in their state than the rule allows, by who must act; counted up to ``COUNTED``."""
    with reading(gateway.reads) as connection:
        thresholds = Thresholds.of(middles_by_pair(connection, *window(gateway.clock())))
    return {who: count_stuck(gateway, who, thresholds)[0] for who in MustAct}


def open_anomalies(gateway: Gateway) -> Mapping[str, int]:
    """How many anomalies of each kind nobody has acknowledged; in all counted up to ``COUNTED``."""
    found = Counter({kind.value: 0 for kind in AnomalyKind})
    found.update(ask(gateway.reads, open_anomalies_by_kind))
    return found
