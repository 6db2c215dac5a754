"""The first page: what needs an operator's attention now."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from flask_admin import expose
from markupsafe import Markup

from app.admin.access import READ
from app.admin.pages.components import ChainName
from app.admin.pages.dashboard import Dashboard
from app.admin.pages.pools import PoolLine
from app.admin.views.base import ConsoleView
from app.admin.views.heat_map import heat
from app.outages import FAILURES
from app.runtime.faults import is_unavailable
from app.runtime.gateway import current_gateway

_log = logging.getLogger(__name__)


class HomeView(ConsoleView):
    """The dashboard."""

    access = {"index": READ}

    def __init__(self) -> None:
        super().__init__(name="Dashboard", endpoint="admin", url="/admin")

    @expose("/")
    def index(self) -> str:
        """The present state of the gateway."""
        board = Dashboard(current_gateway())
        return self.render(
            "console/dashboard/index.html",
            board=board,
            to_stop=_to_stop(board),
            panel=_panel,
            tile=_tile,
            heat=lambda: heat(board.latencies),
            minutes=lambda: _minutes(board),
            divided=lambda: _divided(board.pools),
        )


def _to_stop(board: Dashboard) -> tuple[ChainName, ...]:
    """The chains that can be stopped. Where they cannot be told, the menu still leads to their list."""
    try:
        return board.chains
    except Exception as error:  # the way to stop a chain stays, whatever fails
        _report("Stop a chain", error)
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
            '<span>{} <span class="faint">could not be read</span></span>'
        ).format(label)
    return Markup('<li class="tile"><a href="{}">{}</a></li>').format(target, content)


def _report(what: str, error: Exception) -> None:
    level = logging.WARNING if is_unavailable(error) else logging.ERROR
    FAILURES.report(_log, level, "the dashboard's part %r could not be shown", what, error=error)


def _complaint(error: Exception) -> Markup:
    why = (
        "The database did not answer in time. Refresh the page in a few seconds."
        if is_unavailable(error)
        else "Something went wrong in the gateway. The log tells what happened; the other panels are right."
    )
    return Markup('<p class="message message-error" role="alert">This could not be shown. {}</p>').format(why)


def _minutes(board: Dashboard) -> list[dict[str, Any]]:
    return [
        {"at": minute.at.isoformat(), "answered": minute.answered, "refused": minute.refused}
        for minute in board.estimates.minutes
    ]


def _divided(pools: tuple[PoolLine, ...]) -> tuple[list[PoolLine], list[PoolLine]]:
    """Pools that have a cap or are under zero, and the others."""
    capped = [pool for pool in pools if pool.total or pool.epoch or pool.under_zero]
    return capped, [pool for pool in pools if pool not in capped]
