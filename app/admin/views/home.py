"""The first page."""

from __future__ import annotations

from flask_admin import expose

from app.admin.access import READ
from app.admin.views.base import ConsoleView


class HomeView(ConsoleView):
    """What needs an operator's eye now."""

    access = {"index": READ}

    def __init__(self) -> None:
        super().__init__(name="Dashboard", endpoint="admin", url="/admin")

    @expose("/")
    def index(self) -> str:
        """The dashboard."""
        return self.render("console/home.html")
