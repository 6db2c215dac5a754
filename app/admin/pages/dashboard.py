"""The dashboard: what is going on now."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import Final

from app.admin.pages.components import (
    AnomalyLine,
    ChainName,
    Count,
    TransferLine,
    anomaly_line,
    chain_name,
    transfer_line,
)
from app.admin.pages.estimate_summary import EstimateSummary, estimate_summary
from app.admin.pages.freshness import Freshness, freshness
from app.admin.pages.labels import STATUS_WORDS, StatusWords
from app.admin.pages.latencies import Middles, PairLatency, middles_of_the_week, slowest_pairs
from app.admin.pages.pools import PoolLine, pool_lines
from app.admin.pages.refunds import RefundView, refund_view
from app.admin.pages.stuck import StuckCount, StuckPage, count_stuck, stuck_transfers
from app.admin.pages.trends.courses import Period, Trend, trend
from app.db.engine import reading, reading_consistently
from app.domain.codes import TransferHistoryStatus as Status
from app.domain.transfer.state import transfer_state
from app.domain.transfer.stuck import MustAct
from app.queries.feed.facts import load_network_facts
from app.queries.feed.histories import load_histories
from app.queries.transfers.anomalies import count_open_anomalies, open_anomalies
from app.queries.transfers.lists import transfers_with_ids
from app.queries.transfers.status import count_at_status, oldest_at_status, reached_since
from app.runtime.gateway import Gateway
from app.services.refunds.evidence import evidence_of

SHOWN: Final = 10
"""Rows of each list on the page."""

DAY: Final = timedelta(days=1)
WEEK: Final = timedelta(days=7)


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


class Dashboard:
    """Everything on the first page. Each part is read when it is first asked for, so that one which
    cannot be read takes no other along.

    :raises Unavailable: by a part that needs the configuration, where that cannot be read.
    """

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self.now = gateway.clock()
        self._trends: dict[Period, Trend] = {}

    def trend(self, period: Period) -> Trend:
        """What became of transfers over a period."""
        if period not in self._trends:
            self._trends[period] = trend(self._gateway, period)
        return self._trends[period]

    @cached_property
    def chains(self) -> tuple[ChainName, ...]:
        """The chains in service, by name: those that can be stopped. They come from memory."""
        terms = self._gateway.snapshots.current().terms
        in_service = (chain_id for chain_id, chain in terms.chains.items() if not chain.disabled)
        names = [chain_name(terms.chain_infos, chain_id) for chain_id in in_service]
        return tuple(sorted(names, key=lambda chain: (chain.name, chain.id)))

    @cached_property
    def statuses(self) -> tuple[StatusCount, ...]:
        """How many transfers came to each state."""
        return status_counts(self._gateway)

    @cached_property
    def stuck(self) -> StuckPage:
        """The transfers that the bridge should have moved on."""
        return stuck_transfers(self._gateway, size=SHOWN, middles=self._middles)

    @cached_property
    def stuck_number(self) -> StuckCount:
        """How many of them there are."""
        return count_stuck(self._gateway, MustAct.BRIDGE, self._middles)

    @cached_property
    def waiting(self) -> StuckPage:
        """The transfers that wait for their user."""
        return stuck_transfers(self._gateway, size=SHOWN, middles=self._middles, who=MustAct.USER)

    @cached_property
    def waiting_number(self) -> StuckCount:
        """How many of them there are."""
        return count_stuck(self._gateway, MustAct.USER, self._middles)

    @cached_property
    def refunds(self) -> tuple[WaitingRefund, ...]:
        """The refunds that wait for signatures."""
        return waiting_refunds(self._gateway)

    @cached_property
    def refunds_number(self) -> Count:
        """How many of them there are."""
        with reading(self._gateway.reads) as connection:
            return Count(count_at_status(connection, int(Status.TRANSFER_REQUESTING_REFUND)))

    @cached_property
    def anomalies(self) -> tuple[AnomalyLine, ...]:
        """The newest that nobody has acknowledged."""
        return self._anomalies[0]

    @cached_property
    def anomalies_open(self) -> Count:
        """How many of them there are."""
        return self._anomalies[1]

    @cached_property
    def latencies(self) -> tuple[PairLatency, ...]:
        """How long transfers took, the slowest pairs of chains first."""
        return slowest_pairs(self._gateway, self._middles)

    @cached_property
    def pools(self) -> tuple[PoolLine, ...]:
        """The pools."""
        return pool_lines(self._gateway)

    @cached_property
    def pools_near_a_limit(self) -> int:
        """How many of them have a warning."""
        return sum(bool(pool.warnings) for pool in self.pools)

    @cached_property
    def estimates(self) -> EstimateSummary:
        """How the estimates of the last hour ended."""
        return estimate_summary(self._gateway)

    @cached_property
    def freshness(self) -> Freshness:
        """How recently each chain and the feed reported."""
        return freshness(self._gateway)

    @cached_property
    def _middles(self) -> Middles:
        return middles_of_the_week(self._gateway)

    @cached_property
    def _anomalies(self) -> tuple[tuple[AnomalyLine, ...], Count]:
        return anomalies_to_acknowledge(self._gateway)


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
        kept = {row.transfer_id: row for row in transfers_with_ids(connection, ids)}
    found = []
    for transfer_id in ids:
        history = histories[transfer_id]
        # Without a log there is nothing to fold: what is kept of the transfer has to do.
        state = transfer_state(history, facts) if history.log else kept[transfer_id]
        evidence = evidence_of(history, Status(state.status), facts, terms.chain_infos)
        found.append(WaitingRefund(transfer_line(terms, state), refund_view(evidence)))
    return tuple(found)


def anomalies_to_acknowledge(gateway: Gateway, size: int = SHOWN) -> tuple[tuple[AnomalyLine, ...], Count]:
    """The newest that nobody has acknowledged, and how many there are."""
    with reading(gateway.reads) as connection:
        rows, number = open_anomalies(connection, size), count_open_anomalies(connection)
    return tuple(anomaly_line(row) for row in rows), Count(number)
