"""The tables that operators configure: chains, tokens, pools, routes, blocks, pegged pairs and validators.

Every row has an integer ``id`` for the console, in the order of insertion. Its unique constraint says what
identifies it.
"""

from app.network.models.account_tables import (
    BlockedAddress,
    BlockedNetwork,
    ConfigField,
    NetworkPart,
    OpeningValidator,
    ReportedValidatorSet,
)
from app.network.models.chain_tables import Chain, Pool, Token
from app.network.models.route_tables import PeggedPair, Route, RouteBlock

__all__ = [
    "BlockedAddress",
    "BlockedNetwork",
    "Chain",
    "ConfigField",
    "NetworkPart",
    "OpeningValidator",
    "PeggedPair",
    "Pool",
    "ReportedValidatorSet",
    "Route",
    "RouteBlock",
    "Token",
]
