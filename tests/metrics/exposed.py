"""A whole exposition of a gateway: with requests, a reporter, chains that are watched, and a replica."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from flask import Flask
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import insert

from app.audit.keys import AuditKeys
from app.credentials.rules.ingest_token import EnvironmentTokens
from app.db.database import Database
from app.db.engine import writing
from app.db.replica import PublicReads, Replica
from app.http.application import part_of
from app.http.limits import LimitStore
from app.monitoring import metrics
from app.monitoring.figures import ProcessMetrics
from app.monitoring.metrics import Exposition, StateMetrics, parts_of_state
from app.network.document import export_network, import_network
from app.network.snapshot import SnapshotSource
from app.observability.metric_files import MetricFiles
from app.waiting.register import Waiting
from app.watcher.models import ChainWatch
from tests.actors import TESTER
from tests.applications import OpenApp, change_part, editing_of
from tests.metrics.counted import as_process
from tests.sandboxes import load_into

EVERYTHING: dict[str, Any] = {
    "rate_limit_storage_url": "redis://127.0.0.1:1/0",
    "audit_anchors": ("udp://127.0.0.1:9",),
}
"""Settings of parts that a gateway may have; none of these is there, and none is used at the start."""


@contextmanager
def exposition(open_app: OpenApp, folder: Path, patch: pytest.MonkeyPatch) -> Iterator[Exposition]:
    """One in which every metric has a sample, read from the files of all workers."""
    patch.setattr(metrics, "TIMEOUT_SECONDS", 60)
    files = MetricFiles(folder)
    with as_process(patch, files, 1):
        app = open_app(own=True, metrics_port=0, **EVERYTHING)
        _fill(app)
        _send_requests(app)
        parts = parts_of_state(
            part_of(app, Database), part_of(app, SnapshotSource), part_of(app, EnvironmentTokens)
        )
        report(ProcessMetrics(), with_replica(app))
        yield Exposition(files, StateMetrics(parts), lambda: True, "1.2.3")


def with_replica(app: Flask, *, used: bool = True) -> Flask:
    """Have the application read from a replica that is up to date, or else have one that is left out."""
    database = part_of(app, Database)
    made_up = SimpleNamespace(engine=database.reads, is_usable=lambda: used, lag_bytes=7)
    change_part(app, Database, public=PublicReads(database.engine, database.reads, cast(Replica, made_up)))
    return app


def labels_of(text: bytes) -> Mapping[str, frozenset[str]]:
    """The labels of every metric that has a sample, by its name; a histogram has one name."""
    found: dict[str, frozenset[str]] = {}
    for family in text_string_to_metric_families(text.decode()):
        for sample in family.samples:
            name = family.name if family.type == "histogram" else sample.name
            found[name] = found.get(name, frozenset()) | (sample.labels.keys() - {"le"})
    return found


def _fill(app: Flask) -> None:
    database = part_of(app, Database)
    load_into(app)
    document = json.loads(export_network(database))
    for chain in document["chains"]:
        chain |= {"watch_from_block": 10, "rpc": ["RPC_URL_TEST"]}
    import_network(*editing_of(app), json.dumps(document).encode(), actor=TESTER)
    now = database.clock()
    read: dict[str, Any] = {
        "chain_id": 1,
        "epoch": 1,
        "head": 9,
        "live_to": 8,
        "head_at": now,
        "read_at": now,
    }
    read |= {"owner": "host 1", "until": now + timedelta(hours=1)}
    with writing(database.engine) as connection:
        connection.execute(insert(ChainWatch), [read])


def _send_requests(app: Flask) -> None:
    client = app.test_client()
    estimate = {"src_chain_id": 1, "dst_chain_id": 56, "token_symbol": "USDT", "amt": 10**6}
    response = client.get("/v2/estimateAmt", query_string={**estimate, "slippage_tolerance": 3000})
    assert response.status_code == 200
    headers = {"Authorization": "Bearer test-ingest-token", "Content-Type": "application/x-ndjson"}
    assert client.post("/ingest/v1/events", data=b"{}", headers=headers).status_code == 200


def report(metrics: ProcessMetrics, app: Flask) -> None:
    """Have a process report its state."""
    metrics.report(
        part_of(app, Database),
        part_of(app, SnapshotSource),
        part_of(app, AuditKeys),
        part_of(app, Waiting),
        part_of(app, LimitStore),
    )
