"""The dashboard: what is going on now."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from app.admin.pages.components import AnomalyLine, TransferLine, anomaly_line, transfer_line
from app.admin.pages.estimate_summary import EstimateSummary, estimate_summary
from app.admin.pages.freshness import Freshness, freshness
from app.admin.pages.labels import STATUS_WORDS, StatusWords
from app.admin.pages.latencies import PairLatency, heat_map, latencies_by_pair
from app.admin.pages.pools import PoolLine, pool_lines
from app.admin.pages.refunds import RefundView, refund_view
from app.admin.pages.stuck import StuckPage, stuck_transfers
from app.domain.codes import TransferHistoryStatus as Status
from app.domain.transfer.state import transfer_state
from app.models.engine import reading, reading_consistently
from app.queries.feed.facts import load_network_facts
from app.queries.feed.histories import load_histories
from app.queries.transfers.anomalies import count_open_anomalies, open_anomalies
from app.queries.transfers.by_status import COUNTED, oldest_at_status, reached_since
from app.runtime.gateway import Gateway
from app.services.refunds.evidence import evidence_of

SHOWN: Final = 10
"""Rows of each list on the page."""

DAY: Final = timedelta(days=1)
WEEK: Final = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Count:
    """A number, exact while it is under ``COUNTED``."""

    number: int

    @property
    def at_least(self) -> bool:
        """Whether there may be more."""
        return self.number >= COUNTED

    def __str__(self) -> str:
        return f"{self.number:,}" + ("+" if self.at_least else "")


@dataclass(frozen=True, slots=True)
class StatusCount:
    """How many transfers came to a status in the last day, and in the last 7, and are still there."""

    status: Status
    words: StatusWords
    day: Count
    week: Count


@dataclass(frozen=True, slots=True)
class WaitingRefund:
    """A refund that waits for its request or for signatures, and what is missing."""

    line: TransferLine
    refund: RefundView


@dataclass(frozen=True, slots=True)
class Dashboard:
    """Everything on the first page. Each part has a function of its own."""

    now: datetime
    statuses: tuple[StatusCount, ...]
    stuck: StuckPage
    refunds: tuple[WaitingRefund, ...]
    anomalies: tuple[AnomalyLine, ...]
    anomalies_open: Count
    latencies: tuple[PairLatency, ...]
    pools: tuple[PoolLine, ...]
    estimates: EstimateSummary
    freshness: Freshness


def dashboard(gateway: Gateway) -> Dashboard:
    """The whole page.

    :raises Unavailable: the configuration cannot be read.
    """
    orders = latencies_by_pair(gateway)
    anomalies, number = anomalies_to_acknowledge(gateway)
    return Dashboard(
        now=gateway.clock(),
        statuses=status_counts(gateway),
        stuck=stuck_transfers(gateway, size=SHOWN, orders=orders),
        refunds=waiting_refunds(gateway),
        anomalies=anomalies,
        anomalies_open=number,
        latencies=heat_map(gateway, orders),
        pools=pool_lines(gateway),
        estimates=estimate_summary(gateway),
        freshness=freshness(gateway),
    )


def status_counts(gateway: Gateway) -> tuple[StatusCount, ...]:
    """How many transfers came to each status lately. Status 0 has no time, so it is not counted."""
    now = gateway.clock()
    known = [status for status in Status if status is not Status.TRANSFER_UNKNOWN]
    with reading(gateway.reads) as connection:
        day, week = (reached_since(connection, [*map(int, known)], now - span) for span in (DAY, WEEK))
    return tuple(
        StatusCount(status, STATUS_WORDS[status], Count(day[status]), Count(week[status])) for status in known
    )


def waiting_refunds(gateway: Gateway, size: int = SHOWN) -> tuple[WaitingRefund, ...]:
    """Refunds that have begun and are not ready, the longest waiting first, each judged anew."""
    terms = gateway.snapshots.current().terms
    with reading_consistently(gateway.engine) as connection:
        ids = oldest_at_status(connection, int(Status.TRANSFER_REQUESTING_REFUND), size)
        if not ids:
            return ()
        histories, facts = load_histories(connection, ids), load_network_facts(connection)
    found = []
    for transfer_id in ids:
        state = transfer_state(histories[transfer_id], facts)
        evidence = evidence_of(histories[transfer_id], state.status, facts, terms.chain_infos)
        found.append(WaitingRefund(transfer_line(terms, state), refund_view(evidence)))
    return tuple(found)


def anomalies_to_acknowledge(gateway: Gateway, size: int = SHOWN) -> tuple[tuple[AnomalyLine, ...], Count]:
    """The newest that nobody has acknowledged, and how many there are."""
    with reading(gateway.reads) as connection:
        rows, number = open_anomalies(connection, size), count_open_anomalies(connection)
    return tuple(anomaly_line(row) for row in rows), Count(number)
