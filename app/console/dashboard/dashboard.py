"""The first page: the present state, and what needs an operator's attention."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cached_property, partial
from typing import Any, Final

from flask import request, url_for
from flask_admin import expose
from markupsafe import Markup
from msgspec import Struct

from app.audit.previews import TriedRoute
from app.console.dashboard.charts import Period, Trend, estimates_chart, token_rows, trend, trend_chart
from app.console.dashboard.freshness import ChainFreshness, Freshness, Reading, freshness
from app.console.estimates.summary import EstimateSummary, estimate_summary
from app.console.latency import Medians, PairLatency, medians_of_the_week, slowest_pairs
from app.console.network.pools import PoolLine, pool_lines
from app.console.refunds import WaitingRefund, waiting_refunds
from app.console.shell.access import READ, REFRESH
from app.console.shell.formats import Look, grouped, look_of_count
from app.console.shell.views import ConsoleView
from app.console.transfers.components import (
    AnomalyLine,
    Count,
    anomaly_line,
)
from app.console.transfers.labels import STATUS_WORDS, StatusWords
from app.console.transfers.stuck import StuckCount, StuckPage, count_stuck, stuck_transfers
from app.db.database import Database
from app.db.engine import reading
from app.db.writes import is_unavailable
from app.estimates.planned import far_routes
from app.http.application import current
from app.network.edits.route_changes import chain_names
from app.network.edits.tried_routes import shown
from app.network.snapshot import SnapshotSource
from app.observability.outages import FAILURES
from app.transfers.queries.anomalies import count_open_anomalies, open_anomalies
from app.transfers.queries.status import count_at_status, reached_since
from app.transfers.rules.stuck import MustAct
from app.values.codes import TransferHistoryStatus as Status


class Doubt(Struct, frozen=True):
    """Why a number may be wrong although nobody reported a fault. ``since`` is None if it was never known."""

    words: str
    since: datetime | None


class Tile(Struct, frozen=True):
    """The content of a tile. ``doubt`` is why its number may be wrong."""

    shown: str
    look: Look
    note: str = ""
    doubt: Doubt | None = None
    is_age: bool = False


TILES: Final = (
    ("stuck", "Stuck: bridge must act", "#stuck"),
    ("waiting", "Stuck: user must act", "#waiting"),
    ("refunds", "Waiting refunds", "#refunds"),
    ("anomalies", "Open anomalies", "#anomalies"),
    ("not_read", "Chains not read", "#freshness"),
    ("pools", "Pools near a limit", "#pools"),
    ("last_event", "Last event", "#freshness"),
)
"""The tiles in their order: name, label, and the panel that each opens."""


def new_of(count: StuckCount) -> str:
    """How many of them are new, in words; empty where none is."""
    return f"{grouped(count.new)} new in 24 h" if count.new else ""


def number_of(number: int, otherwise: Look, existing: int, where_none: str) -> Tile:
    """A tile with the number of things in some state; if no such thing exists it shows ``where_none``."""
    look = look_of_count(number, otherwise, known=existing > 0)
    return Tile(grouped(number), look) if existing else Tile("–", look, where_none)


SHOWN: Final = 4
"""Rows of each list on the page: so it has two screens at most."""

DAY: Final = timedelta(days=1)
WEEK: Final = timedelta(days=7)


class StatusCount(Struct, frozen=True):
    """How many transfers reached a status in the last day, and in the last 7, and still have it."""

    status: Status
    words: StatusWords
    day: Count
    week: Count


class Dashboard:
    """Everything on the first page. Each part is read when it is first used, so that one which cannot be read
    does not affect the others.

    :raises Unavailable: from a part that needs the configuration, where that cannot be read.
    """

    def __init__(self, database: Database, snapshots: SnapshotSource) -> None:
        self._database = database
        self._snapshots = snapshots
        self.now = database.clock()
        self._trends: dict[Period, Trend] = {}

    def trend(self, period: Period) -> Trend:
        if period not in self._trends:
            self._trends[period] = trend(self._database, self._snapshots, period)
        return self._trends[period]

    @cached_property
    def statuses(self) -> tuple[StatusCount, ...]:
        return status_counts(self._database)

    @cached_property
    def stuck(self) -> StuckPage:
        return stuck_transfers(self._database, self._snapshots, size=SHOWN, medians=self._medians)

    @cached_property
    def stuck_number(self) -> StuckCount:
        return count_stuck(self._database, MustAct.BRIDGE, self._medians)

    @cached_property
    def waiting(self) -> StuckPage:
        return stuck_transfers(
            self._database, self._snapshots, size=SHOWN, medians=self._medians, who=MustAct.USER
        )

    @cached_property
    def waiting_number(self) -> StuckCount:
        return count_stuck(self._database, MustAct.USER, self._medians)

    @cached_property
    def refunds(self) -> tuple[WaitingRefund, ...]:
        return waiting_refunds(self._database, self._snapshots, SHOWN)

    @cached_property
    def refunds_number(self) -> Count:
        with reading(self._database.reads) as connection:
            return Count(count_at_status(connection, int(Status.TRANSFER_REQUESTING_REFUND)))

    @cached_property
    def anomalies(self) -> tuple[AnomalyLine, ...]:
        return self._anomalies[0]

    @cached_property
    def anomalies_open(self) -> Count:
        return self._anomalies[1]

    @cached_property
    def latencies(self) -> tuple[PairLatency, ...]:
        return slowest_pairs(self._database, self._snapshots, self._medians)

    @cached_property
    def pools(self) -> tuple[PoolLine, ...]:
        return pool_lines(self._database, self._snapshots)

    @cached_property
    def far_routes(self) -> tuple[TriedRoute, ...]:
        found = far_routes(self._database, self._snapshots)
        return shown(found, chain_names(self._snapshots.current().terms))

    @cached_property
    def pools_near_a_limit(self) -> int:
        return sum(bool(pool.warnings) for pool in self.pools)

    @cached_property
    def not_read(self) -> tuple[ChainFreshness, ...]:
        return tuple(chain for chain in self.freshness.chains if chain.reading is Reading.NOT_READ)

    @cached_property
    def doubt(self) -> Doubt | None:
        """Why a count of zero may be wrong: a chain in service is not read. None if all are read."""
        if self.freshness.feed.received_at is None:
            return Doubt("no event was ever reported", None)
        if not self.not_read:
            return None
        number, times = len(self.not_read), [chain.read_at for chain in self.not_read]
        known = [at for at in times if at is not None]
        since = min(known) if len(known) == number else None
        return Doubt("1 chain is not read" if number == 1 else f"{number} chains are not read", since)

    def tile(self, name: str) -> Tile:
        match name:
            case "stuck":
                return self._count(self.stuck_number.number, Look.BAD, new_of(self.stuck_number))
            case "waiting":
                return self._count(self.waiting_number.number, Look.PLAIN, new_of(self.waiting_number))
            case "refunds":
                return self._count(self.refunds_number, Look.WARN)
            case "anomalies":
                return self._count(self.anomalies_open, Look.BAD)
            case "not_read":
                chains = len(self.freshness.chains)
                return number_of(len(self.not_read), Look.WARN, chains, "no chain is configured")
            case "pools" if not self.pools:
                return number_of(0, Look.WARN, 0, "no pool is configured")
            case "pools":
                return self._count(Count(self.pools_near_a_limit), Look.WARN)
        feed = self.freshness.feed
        note = f"from {feed.reporter}" if feed.reporter else ""
        return Tile(feed.age, feed.look, note, is_age=True)

    def _count(self, count: Count, otherwise: Look, note: str = "") -> Tile:
        """A number of which 0 may be wrong: what is not read may have more."""
        doubt = None if count.number else self.doubt
        return Tile(str(count), look_of_count(count.number, otherwise, known=doubt is None), note, doubt)

    def is_troubled(self, panel: str) -> bool:
        """Whether an operator has something to do about a panel. Other panels are closed."""
        troubles: dict[str, Callable[[], object]] = {
            "stuck": lambda: self.stuck.transfers,
            "refunds": lambda: self.refunds,
            "anomalies": lambda: self.anomalies,
            "freshness": lambda: self.not_read,
            "pools": lambda: self.pools_near_a_limit,
            "rates": lambda: self.far_routes,
        }
        return panel in troubles and bool(troubles[panel]())

    @cached_property
    def estimates(self) -> EstimateSummary:
        return estimate_summary(self._database)

    @cached_property
    def freshness(self) -> Freshness:
        return freshness(self._database, self._snapshots)

    @cached_property
    def _medians(self) -> Medians:
        return medians_of_the_week(self._database)

    @cached_property
    def _anomalies(self) -> tuple[tuple[AnomalyLine, ...], Count]:
        return anomalies_to_acknowledge(self._database)


def status_counts(database: Database) -> tuple[StatusCount, ...]:
    """How many transfers reached each status lately. Status 0 has no time, so it is not counted."""
    now = database.clock()
    known = [status for status in Status if status is not Status.TRANSFER_UNKNOWN]
    with reading(database.reads) as connection:
        day, week = (reached_since(connection, [*map(int, known)], now - span) for span in (DAY, WEEK))
    return tuple(
        StatusCount(status, STATUS_WORDS[status], Count(day[status]), Count(week[status])) for status in known
    )


def anomalies_to_acknowledge(database: Database, size: int = SHOWN) -> tuple[tuple[AnomalyLine, ...], Count]:
    """The newest anomalies that are not acknowledged, and how many there are."""
    with reading(database.reads) as connection:
        rows, number = open_anomalies(connection, size), count_open_anomalies(connection)
    return tuple(anomaly_line(row) for row in rows), Count(number)


_log = logging.getLogger(__name__)

REFRESH_SECONDS: Final = 15
"""The seconds after which an open page requests its panels again."""

SHARED_FOR: Final = timedelta(seconds=10)
"""Pages that refresh themselves share what was read within this time. It is shorter than their interval, so a
page never returns to an earlier state."""


class HomeView(ConsoleView):
    """The dashboard."""

    access = {"index": READ, "refresh": REFRESH}

    def __init__(self) -> None:
        super().__init__(name="Dashboard", endpoint="admin", url="/admin")
        self._shared: Dashboard | None = None

    @expose("/")
    def index(self) -> str:
        return self._rendered(Dashboard(current(Database), current(SnapshotSource)), "console/base.html")

    @expose("/refresh")
    def refresh(self) -> str:
        return self._rendered(self._recent(), "console/dashboard/parts_alone.html")

    def _recent(self) -> Dashboard:
        """The parts that were read a moment ago, shared by all users. Each process has its own cache."""
        now = current(Database).clock()
        if self._shared is None or not timedelta(0) <= now - self._shared.now < SHARED_FOR:
            self._shared = Dashboard(current(Database), current(SnapshotSource))
        return self._shared

    def _rendered(self, board: Dashboard, frame: str) -> str:
        period = Period.MONTH if request.args.get("period") == Period.MONTH else Period.DAY
        return self.render(
            "console/dashboard/index.html",
            frame=frame,
            board=board,
            period=period,
            periods=Period,
            refresh_url=url_for("admin.refresh", period=period.value),
            refresh_seconds=REFRESH_SECONDS,
            panel=partial(_panel, board),
            tiles=TILES,
            shown=SHOWN,
            tile=_tile,
            estimates_chart=lambda: estimates_chart(board.estimates),
            trend_chart=trend_chart,
            token_rows=token_rows,
            divided=lambda: _divided(board.pools),
        )


def _panel(board: Dashboard, title: str, name: str, caller: Callable[[], Any], more: str = "") -> Markup:
    """A panel of the page, closed where there is nothing to do. One that fails shows that, and no other does.

    :param more: faint words next to the title.
    """
    heading = Markup("<h2>{}{}</h2>").format(
        title, Markup(' <span class="faint">{}</span>').format(more) if more else ""
    )
    try:
        content, is_open = caller(), board.is_troubled(name)
    except Exception as error:  # one failed panel must not fail the page
        _report(title, error)
        content, is_open = _complaint(error), True
    if not is_open:
        heading = Markup('<details class="panel"><summary>{}</summary>').format(heading)
        content = Markup("{}</details>").format(content)
    return Markup('<section class="card" id="{}">\n  {}\n{}</section>').format(name, heading, content)


def _tile(label: str, target: str, caller: Callable[[], Any]) -> Markup:
    """A tile of the page, without its number where that cannot be read."""
    try:
        content = caller()
    except Exception as error:
        _report(label, error)
        content = Markup(
            '<span class="tile-number tile-unknown">?</span>'
            '<span>{} <span class="faint">not available</span></span>'
        ).format(label)
    return Markup('<li class="tile"><a href="{}">{}</a></li>').format(target, content)


def _report(what: str, error: Exception) -> None:
    level = logging.WARNING if is_unavailable(error) else logging.ERROR
    FAILURES.report(_log, level, "the dashboard's part %r could not be shown", what, error=error)


def _complaint(error: Exception) -> Markup:
    why = (
        "The database did not answer in time. Refresh the page in a few seconds."
        if is_unavailable(error)
        else "Something went wrong in the gateway; its log has the details. Other panels are not affected."
    )
    return Markup(
        '<p class="message message-error" role="alert">This panel could not be loaded. {}</p>'
    ).format(why)


def _divided(pools: tuple[PoolLine, ...]) -> tuple[list[PoolLine], list[PoolLine]]:
    """Pools that have a warning or are under zero, and the others, those with a cap first."""
    troubled = [pool for pool in pools if pool.under_zero or pool.warnings]
    others = [pool for pool in pools if pool not in troubled]
    return troubled, sorted(others, key=lambda pool: not (pool.total or pool.epoch))
