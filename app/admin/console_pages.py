"""The console's pages: one module for each entity or task."""

from app.accounts.admin import AccountView, OperatorsView
from app.admin.dashboard import HomeView
from app.admin.search import SearchView
from app.approvals.admin import ProposalsView
from app.audit.admin import AuditView
from app.console.views import ConsoleView
from app.credentials.admin.views import ApiKeysView, IngestTokensView
from app.estimates.admin.views import EstimatesView
from app.network.admin.blocks import BlockedAddressesView, BlockedNetworksView, RouteBlocksView
from app.network.admin.chains import ChainsView
from app.network.admin.connect import ConnectView
from app.network.admin.document import DocumentView
from app.network.admin.history import HistoryView
from app.network.admin.pegged_pairs import PeggedPairsView
from app.network.admin.pools import PoolsView
from app.network.admin.routes import RoutesView
from app.network.admin.tokens import TokensView
from app.network.admin.validators import ValidatorsView
from app.refunds.admin import UserRequestsView
from app.transfers.admin.anomalies import AnomaliesView
from app.transfers.admin.views import TransfersView
from app.watcher.admin import WatchingView
from app.webhooks.admin import WebhooksView

VIEWS: tuple[type[ConsoleView], ...] = (
    TransfersView,
    EstimatesView,
    AnomaliesView,
    UserRequestsView,
    ProposalsView,
    ChainsView,
    ConnectView,
    WatchingView,
    TokensView,
    PoolsView,
    RoutesView,
    PeggedPairsView,
    BlockedAddressesView,
    BlockedNetworksView,
    RouteBlocksView,
    ValidatorsView,
    DocumentView,
    AuditView,
    HistoryView,
    WebhooksView,
    OperatorsView,
    IngestTokensView,
    ApiKeysView,
    AccountView,
    SearchView,
)
"""The views in the order of the menu, within its sections."""

__all__ = ["VIEWS", "HomeView"]
