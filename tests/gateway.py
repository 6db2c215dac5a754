"""The parts of an application in one hand, for tests: what a use case takes, they name by its part."""

from __future__ import annotations

from typing import Any

from flask import Flask, current_app
from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Engine

from app.accounts.rules.proposal import TwoPersons
from app.audit.keys import AuditKeys
from app.credentials.callers import KeyUses, RequestLimits
from app.credentials.rules.ingest_token import EnvironmentTokens
from app.db.database import CachedReads, Database
from app.db.replica import PublicReads
from app.estimates.services import EstimateCounts
from app.feed.services.ingest import Intake
from app.http.application import add_part, part_of
from app.http.limits import LimitStore, RefundRequestLimit
from app.monitoring.readiness import Readiness
from app.network.snapshot import SnapshotSource
from app.transfers.services.status import StatusRows
from app.values.times import Clock
from app.waiting.register import Waiting
from app.webhooks.rules.addresses import AllowedNetworks

PARTS: dict[str, type[Any]] = {
    "database": Database,
    "snapshots": SnapshotSource,
    "audit_keys": AuditKeys,
    "two_persons": TwoPersons,
    "intake": Intake,
    "waiting": Waiting,
    "rows": StatusRows,
    "estimate_counts": EstimateCounts,
    "key_uses": KeyUses,
    "limit_store": LimitStore,
    "request_limits": RequestLimits,
    "refund_request_limit": RefundRequestLimit,
    "readiness": Readiness,
    "environment_tokens": EnvironmentTokens,
    "allowed": AllowedNetworks,
}


class Gateway(Struct, frozen=True):
    """All parts of one application."""

    database: Database
    snapshots: SnapshotSource
    audit_keys: AuditKeys
    two_persons: TwoPersons
    intake: Intake
    waiting: Waiting
    rows: StatusRows
    estimate_counts: EstimateCounts
    key_uses: KeyUses
    limit_store: LimitStore
    request_limits: RequestLimits
    refund_request_limit: RefundRequestLimit
    readiness: Readiness
    environment_tokens: EnvironmentTokens
    allowed: AllowedNetworks

    @property
    def engine(self) -> Engine:
        return self.database.engine

    @property
    def reads(self) -> Engine:
        return self.database.reads

    @property
    def feed(self) -> Engine:
        return self.database.feed

    @property
    def clock(self) -> Clock:
        return self.database.clock

    @property
    def public(self) -> PublicReads:
        return self.database.public

    @property
    def cached(self) -> CachedReads:
        return self.database.cached

    @property
    def audited(self) -> tuple[Database, AuditKeys]:
        """What a deed takes that is recorded."""
        return self.database, self.audit_keys

    @property
    def editing(self) -> tuple[Database, AuditKeys, TwoPersons]:
        """What an edit takes: it is recorded, and may wait for a second person."""
        return self.database, self.audit_keys, self.two_persons

    def but(self, **changes: Any) -> Gateway:
        """The same with other parts, or with another field of ``database`` or ``intake``."""
        of_database = {name: changes.pop(name) for name in _DATABASE & changes.keys()}
        of_intake = {name: changes.pop(name) for name in _INTAKE & changes.keys()}
        if of_intake:
            changes["intake"] = replace(self.intake, **of_intake)
        if of_database:
            changes["database"] = replace(self.database, **of_database)
        return replace(self, **changes)


_DATABASE = set(Database.__struct_fields__)
_INTAKE = set(Intake.__struct_fields__)


def gateway_of(app: Flask) -> Gateway:
    """The application's parts."""
    return Gateway(**{name: part_of(app, kind) for name, kind in PARTS.items()})


def use_gateway(app: Flask, gateway: Gateway) -> None:
    """Have the application hold these parts."""
    for name, kind in PARTS.items():
        add_part(app, kind, getattr(gateway, name))


def current_gateway() -> Gateway:
    """The parts of the application whose context this is."""
    return gateway_of(current_app)


def parts(gateway: Gateway, *names: str) -> tuple[Any, ...]:
    """Some of its parts, in this order."""
    return tuple(getattr(gateway, name) for name in names)
