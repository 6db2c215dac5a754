"""The first page: what needs an operator's attention now."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

from flask import request, url_for
from flask_admin import expose
from markupsafe import Markup

from app.admin.access import READ, REFRESH
from app.admin.pages.components import ChainName
from app.admin.pages.dashboard import Dashboard
from app.admin.pages.pools import PoolLine
from app.admin.pages.trends.courses import Period
from app.admin.views.base import ConsoleView
from app.admin.views.charts import estimates_chart, token_rows, trend_chart
from app.db.writes import is_unavailable
from app.outages import FAILURES
from app.runtime.gateway import current_gateway

_log = logging.getLogger(__name__)

REFRESH_SECONDS: Final = 15
"""How often an open page asks for its panels again."""

SHARED_FOR: Final = timedelta(seconds=10)
"""Pages that refresh themselves share what was read within this time. It is shorter than their interval, so
a page never goes back to before what it shows."""


class HomeView(ConsoleView):
    """The dashboard."""

    access = {"index": READ, "refresh": REFRESH}

    def __init__(self) -> None:
        super().__init__(name="Dashboard", endpoint="admin", url="/admin")
        self._shared: Dashboard | None = None

    @expose("/")
    def index(self) -> str:
        """The present state of the gateway."""
        return self._rendered(Dashboard(current_gateway()), "console/base.html")

    @expose("/refresh")
    def refresh(self) -> str:
        """The tiles and panels alone, for a page that is open."""
        return self._rendered(self._recent(), "console/dashboard/parts_alone.html")

    def _recent(self) -> Dashboard:
        """What was read a moment ago, for whoever; each process keeps its own."""
        now = current_gateway().clock()
        if self._shared is None or not timedelta(0) <= now - self._shared.now < SHARED_FOR:
            self._shared = Dashboard(current_gateway())
        return self._shared

    def _rendered(self, board: Dashboard, frame: str) -> str:
        period = _period()
        return self.render(
            "console/dashboard/index.html",
            frame=frame,
            board=board,
            period=period,
            periods=Period,
            refresh_url=url_for("admin.refresh", period=period.value),
            refresh_seconds=REFRESH_SECONDS,
            to_stop=_to_stop(board),
            panel=_panel,
            tile=_tile,
            estimates_chart=lambda: estimates_chart(board.estimates),
            trend_chart=trend_chart,
            token_rows=token_rows,
            divided=lambda: _divided(board.pools),
        )


def _period() -> Period:
    """What the address asks for; a day where it asks for nothing that there is."""
    asked = request.args.get("period", "")
    return Period(asked) if asked in set(Period) else Period.DAY


def _to_stop(board: Dashboard) -> tuple[ChainName, ...]:
    """The chains that can be stopped. Where they cannot be told, the menu still leads to their list."""
    try:
        return board.chains
    except Exception as error:  # the way to stop a chain stays, whatever fails
        _report("Stop chain", error)
        return ()


def _panel(title: str, name: str, caller: Callable[[], Any], more: str = "") -> Markup:
    """A panel of the page. One that fails says so in its place, and the others are shown.

    :param more: faint words beside the title.
    """
    try:
        content = caller()
    except Exception as error:  # one panel must not take the page along
        _report(title, error)
        content = _complaint(error)
    beside = Markup(' <span class="faint">{}</span>').format(more) if more else ""
    return Markup('<section class="card" id="{}">\n  <h2>{}{}</h2>\n{}</section>').format(
        name, title, beside, content
    )


def _tile(label: str, target: str, caller: Callable[[], Any]) -> Markup:
    """A tile of the page; without its number where that cannot be read."""
    try:
        content = caller()
    except Exception as error:
        _report(label, error)
        content = Markup(
            '<span class="tile-number tile-failed">?</span>'
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
    """Pools that have a cap or a warning or are under zero, and the others."""
    capped = [pool for pool in pools if pool.total or pool.epoch or pool.under_zero or pool.warnings]
    return capped, [pool for pool in pools if pool not in capped]
