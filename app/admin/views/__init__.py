"""The console's pages, one entity or question a file."""

from app.admin.views.account import AccountView
from app.admin.views.audit import AuditView
from app.admin.views.base import ConsoleView
from app.admin.views.home import HomeView
from app.admin.views.operators import OperatorsView

VIEWS: tuple[type[ConsoleView], ...] = (AuditView, OperatorsView, AccountView)
"""In the order of the menu, within its sections."""

__all__ = ["VIEWS", "HomeView"]
