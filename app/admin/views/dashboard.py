"""The first page: what needs an operator's attention now."""

from __future__ import annotations

from flask_admin import expose

from app.admin.access import READ
from app.admin.pages.dashboard import dashboard
from app.admin.views.base import ConsoleView
from app.admin.views.heat_map import heat
from app.runtime.gateway import current_gateway


class HomeView(ConsoleView):
    """The dashboard."""

    access = {"index": READ}

    def __init__(self) -> None:
        super().__init__(name="Dashboard", endpoint="admin", url="/admin")

    @expose("/")
    def index(self) -> str:
        """The present state of the gateway."""
        board = dashboard(current_gateway())
        minutes = [
            {"at": minute.at.isoformat(), "answered": minute.answered, "refused": minute.refused}
            for minute in board.estimates.minutes
        ]
        capped = [pool for pool in board.pools if pool.total or pool.epoch or pool.under_zero]
        return self.render(
            "console/dashboard/index.html",
            board=board,
            heat=heat(board.latencies),
            minutes=minutes,
            capped=capped,
            free=[pool for pool in board.pools if pool not in capped],
        )
