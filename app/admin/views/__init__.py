"""The console's pages, one entity or question a file."""

from app.admin.views.account import AccountView
from app.admin.views.anomalies import AnomaliesView
from app.admin.views.audit import AuditView
from app.admin.views.base import ConsoleView
from app.admin.views.dashboard import HomeView
from app.admin.views.estimates import EstimatesView
from app.admin.views.ingest_tokens import IngestTokensView
from app.admin.views.network.blocked import BlockedAddressesView, BlockedNetworksView
from app.admin.views.network.core import ChainsView, PoolsView, TokensView
from app.admin.views.network.routes import PeggedPairsView, RouteBlocksView, RoutesView
from app.admin.views.network.validators import ValidatorsView
from app.admin.views.operators import OperatorsView
from app.admin.views.transfers import TransfersView

VIEWS: tuple[type[ConsoleView], ...] = (
    TransfersView,
    EstimatesView,
    AnomaliesView,
    ChainsView,
    TokensView,
    PoolsView,
    RoutesView,
    PeggedPairsView,
    ValidatorsView,
    RouteBlocksView,
    BlockedAddressesView,
    BlockedNetworksView,
    AuditView,
    OperatorsView,
    IngestTokensView,
    AccountView,
)
"""In the order of the menu, within its sections."""

__all__ = ["VIEWS", "HomeView"]
