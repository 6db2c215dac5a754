"""The console's pages: one module for each entity or question."""

from app.admin.views.account import AccountView
from app.admin.views.anomalies import AnomaliesView
from app.admin.views.audit import AuditView
from app.admin.views.base import ConsoleView
from app.admin.views.dashboard import HomeView
from app.admin.views.estimates import EstimatesView
from app.admin.views.history import HistoryView
from app.admin.views.ingest_tokens import IngestTokensView
from app.admin.views.integrators.api_keys import ApiKeysView
from app.admin.views.integrators.webhooks import WebhooksView
from app.admin.views.network.blocked import BlockedAddressesView, BlockedNetworksView
from app.admin.views.network.chains import ChainsView
from app.admin.views.network.connect import ConnectView
from app.admin.views.network.document import DocumentView
from app.admin.views.network.pegged_pairs import PeggedPairsView
from app.admin.views.network.pools import PoolsView
from app.admin.views.network.route_blocks import RouteBlocksView
from app.admin.views.network.routes import RoutesView
from app.admin.views.network.tokens import TokensView
from app.admin.views.network.validators import ValidatorsView
from app.admin.views.operators import OperatorsView
from app.admin.views.proposals import ProposalsView
from app.admin.views.refund_asks import RefundAsksView
from app.admin.views.search import SearchView
from app.admin.views.transfers import TransfersView
from app.admin.views.watching import WatchingView

VIEWS: tuple[type[ConsoleView], ...] = (
    TransfersView,
    EstimatesView,
    AnomaliesView,
    RefundAsksView,
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
